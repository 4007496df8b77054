"""What we write as robomimic, ALOHA and Zarr is read alike by the programs that people have."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.partners import partner_python
from tests.exchange.small_sets import table_writer, write_episodes

from corporeal.exchange.conversion import ExportResult, export
from corporeal.exchange.formats.robomimic import read as read_robomimic
from corporeal.exchange.library import ask
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.proof import prove

pytestmark = pytest.mark.slow

FORMATS = ("aloha", "robomimic", "zarr")
REAL = (
    "lerobot/gr1_picknplace_v20",
    "hdf5_rlds/robomimic/robomimic_mh/dummy_data/lift_image.hdf5",
    "hdf5_rlds/robomimic/robomimic_mg/dummy_data/can_low_dim.hdf5",
)
# forge knows ALOHA's, robomimic's and diffusion policy's layouts by itself: a judge of its own.
FORGE = """\
import json, sys
from pathlib import Path
from forge.formats.hdf5.reader import HDF5Reader
from forge.formats.zarr.reader import ZarrReader

path, reader, sums = Path(sys.argv[1]), sys.argv[2], []
for episode in {"hdf5": HDF5Reader, "zarr": ZarrReader}[reader]().read_episodes(path):
    frames = list(episode.frames())
    last = frames[-1]
    sums.append({
        "length": len(frames),
        "state": last.state.tolist() if last.state is not None else None,
        "action": last.action.tolist(),
        "pictures": {name: int(image.load().sum()) for name, image in last.images.items()},
    })
print(json.dumps(sums))
"""


@pytest.fixture(scope="module")
def python() -> str:
    return str(partner_python("robomimic"))


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("conformance") / "source", 11, seconds=0.2)


def written(
    source: Path, out: Path, name: str, options: ExportOptions | None = None
) -> ExportResult:
    numbers = open_dataset(source).episodes[:11]
    return export(
        partial(open_dataset, source),
        out,
        name,
        replace(options or ExportOptions(), episodes=tuple(numbers)),
    )


@pytest.mark.parametrize("name", FORMATS)
def test_recorded_episodes_are_read_alike(
    name: str, episodes: Path, tmp_path: Path, python: str
) -> None:
    exported = written(episodes, tmp_path / "out", name, ExportOptions(view="hierarchical"))
    proof = prove(exported, python=python)
    assert proof.holds, proof.evidence
    read_by_others = [each for each in proof.evidence if each.by != "corporeal"]
    assert {each.what for each in read_by_others} >= {"episode boundaries", "values", "pictures"}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("source", REAL)
def test_real_episodes_are_read_alike(
    name: str, source: str, shared_data: Path, tmp_path: Path, python: str
) -> None:
    options = ExportOptions(image_size=96) if "gr1" in source else ExportOptions()
    proof = prove(written(shared_data / source, tmp_path / "out", name, options), python=python)
    assert proof.holds, proof.evidence
    assert any(each.by != "corporeal" and each.what == "values" for each in proof.evidence)


@pytest.mark.parametrize("name", FORMATS)
def test_forge_reads_the_same_states_commands_and_pictures(
    name: str, episodes: Path, tmp_path: Path, python: str
) -> None:
    exported = written(episodes, tmp_path / "out", name)
    path = {
        "aloha": tmp_path / "out",
        "robomimic": tmp_path / "out/dataset.hdf5",
        "zarr": tmp_path / "out/replay.zarr",
    }[name]
    asked = [python, "-c", FORGE, str(path), "zarr" if name == "zarr" else "hdf5"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    dataset, writer = open_dataset(tmp_path / "out", restore=False), table_writer(name)
    assert len(found) == len(exported.episodes)
    assert exported.layout is not None
    for got, number in zip(found, dataset.episodes, strict=True):
        signals = dataset.open(number).signals
        action = np.asarray(signals[str(writer.label("action"))][-1])
        assert got["length"] == len(signals[str(writer.label("action"))])
        np.testing.assert_allclose(got["action"], action, rtol=1e-6)
        state = np.asarray(signals[str(writer.label("observation.state"))][-1])
        if name != "robomimic":
            np.testing.assert_allclose(got["state"][: len(state)], state, rtol=1e-6)
        sums = {int(np.asarray(signals[str(writer.label(key))][-1]).sum())
                for key in exported.layout.cameras}  # fmt: skip
        assert set(got["pictures"].values()) == sums


def test_a_consumer_notices_a_row_that_is_another_one(
    episodes: Path, tmp_path: Path, python: str
) -> None:
    exported = written(episodes, tmp_path / "out", "robomimic")
    writer = table_writer("robomimic")
    assert writer.consumer is not None
    answer = ask(writer.consumer, exported.out, [(3, 0), (3, 1)], ["obs/state"], [], python=python)
    signal = read_robomimic(exported.out).open(3).signals["obs/state"]
    np.testing.assert_array_equal(answer.samples[1, "obs/state"], signal[1])
    assert not np.array_equal(answer.samples[0, "obs/state"], signal[1])
