"""Every format into every other: rows, pictures and texts survive, but for what a format says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.small_sets import write_episodes

from corporeal.episode.recording import Recording
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.conversion import ExportResult, export
from corporeal.exchange.format import RecordingWriter, TableWriter, formats
from corporeal.exchange.opening import open_dataset, open_rows
from corporeal.exchange.options import NO_ACTION, ExportOptions
from corporeal.exchange.proof import prove

# Written by one name and read by another: a pair needs one of each only.
TABLES = sorted(name for name, each in formats().items() if isinstance(each.writer, TableWriter))
MANY_RATES = sorted(
    name for name, each in formats().items()
    if isinstance(each.writer, RecordingWriter) and each.read is not None
)  # fmt: skip
REAL = {
    "lerobot v2.0": "lerobot/gr1_picknplace_v20",
    "lerobot v3.0": "lerobot/so101_v30",
    "robomimic": "hdf5_rlds/robomimic",
    "rlds": "hdf5_rlds/rlds_bridge",
    "motion_csv": "retarget/g1_csv_xyzw",
}


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("episodes")
    return write_episodes(folder / "recorded", 2, seconds=0.5, size=(32, 48))


@pytest.fixture(scope="module")
def datasets(episodes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same episodes in every format."""
    folder = tmp_path_factory.mktemp("datasets")
    return {
        name: export(partial(open_dataset, episodes), folder / name, name, ExportOptions()).out
        for name in (*TABLES, *MANY_RATES)
    }


def _proved(exported: ExportResult) -> ExportResult:
    proof = prove(exported)
    assert proof.holds, [each for each in proof.evidence if not each.holds]
    assert {"episode boundaries", "values"} <= {each.what for each in proof.evidence}
    return exported


def _same_streams(wanted: Recording, got: Recording) -> None:
    """Every stream as it was recorded: path, unit, names, stamps and values."""
    streams = {each.spec.path: each for each in wanted.signals.values()}
    there = {each.spec.path: each for each in got.signals.values()}
    for path, signal in streams.items():
        if signal.spec.kind == "video":
            continue
        assert path in there, f"{path} is lost"
        assert there[path].spec.unit == signal.spec.unit, path
        assert there[path].spec.components == signal.spec.components, path
        np.testing.assert_array_equal(there[path].time_ns, signal.time_ns, err_msg=path)
        if signal.spec.kind == "text":
            assert list(there[path][:]) == list(signal[:])
        else:
            np.testing.assert_array_equal(there[path][:], signal[:], err_msg=path)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_what_is_exported_is_what_was_recorded(name: str, episodes: Path, tmp_path: Path) -> None:
    _proved(export(partial(open_dataset, episodes), tmp_path / "out", name, ExportOptions()))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES, *MANY_RATES])
def test_streams_of_many_rates_survive_beside_a_format_of_one(
    name: str, episodes: Path, datasets: dict[str, Path]
) -> None:
    source, back = open_dataset(episodes), open_dataset(datasets[name])
    for number in source.episodes:
        wanted, got = source.open(number), back.open(number)
        _same_streams(wanted, got)
        assert got.id == wanted.id
        assert got.metadata["outcome"] == wanted.metadata["outcome"]
        assert got.embodiment == wanted.embodiment


@pytest.mark.slow
@pytest.mark.parametrize("target", TABLES)
@pytest.mark.parametrize("source", TABLES)
def test_every_format_becomes_every_other(
    source: str, target: str, datasets: dict[str, Path], tmp_path: Path
) -> None:
    exported = export(
        partial(open_rows, datasets[source]), tmp_path / "out", target, ExportOptions()
    )
    _proved(exported)


@pytest.mark.slow
@pytest.mark.parametrize("target", TABLES)
@pytest.mark.parametrize("name", REAL)
def test_real_sets_become_every_format(
    name: str, target: str, shared_data: Path, tmp_path: Path
) -> None:
    path = shared_data / REAL[name]
    if name in ("robomimic", "motion_csv"):
        path = sorted([*path.rglob("*.hdf5"), *path.rglob("*.csv")])[-1]
    opener = partial(open_dataset, path)
    first = opener().episodes[:2]
    options = ExportOptions(
        episodes=tuple(first),
        image_size=64 if target in ("rlds", "zarr", "robomimic", "aloha") else None,
    )
    if name == "motion_csv":
        with pytest.raises(EpisodeError, match="no action, got only observations"):
            export(opener, tmp_path / "out", target, options)
        options = replace(options, action=NO_ACTION)
    if (name, target) == ("motion_csv", "aloha"):
        with pytest.raises(WriteError, match="got no action"):
            export(opener, tmp_path / "out", target, options)
        return
    exported = export(opener, tmp_path / "out", target, options)
    _proved(exported)
