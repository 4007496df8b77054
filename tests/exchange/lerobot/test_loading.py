"""LeRobot's own loaders read what we write, and give the same numbers, texts and pictures."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.partners import PROJECT, PartnerError, partner_python
from tests.exchange.lerobot_exports import stored, write_set
from tests.exchange.small_sets import table_writer, tables_of, write_episodes, write_tables

from corporeal.exchange.format import ExportContext
from corporeal.exchange.lerobot.layouts import Limits, assemble_v3
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.table import EpisodeTable

STEPS = 8

_LOADS = """
import sys
import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset

root, target, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
plain = LeRobotDataset("test/set", root=root, video_backend="torchcodec")
chunks = {"action": [step / plain.fps for step in range(steps)]}
data = LeRobotDataset("test/set", root=root, video_backend="torchcodec", delta_timestamps=chunks)
wanted = [int(row) for row in sys.argv[4].split(",")]
kept = {"length": len(plain), "episodes": plain.num_episodes}
for row in wanted:
    item = data[row]
    for key, value in item.items():
        kept[f"{row}/{key}"] = value if isinstance(value, str) else value.numpy()
for key, stated in plain.meta.stats.items():
    for name, value in stated.items():
        kept[f"stats/{key}/{name}"] = value
np.savez(target, **kept)
"""


def load(partner: str, root: Path, rows: list[int], folder: Path) -> dict[str, Any]:
    """What a release of LeRobot gives for these rows of a dataset."""
    try:
        python = partner_python(partner)
    except PartnerError as reason:
        pytest.skip(f"no environment with LeRobot: {reason}")
    target = folder / "loaded.npz"
    listed = ",".join(map(str, rows))
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), "-c", _LOADS, str(root), str(target), str(STEPS), listed],
        cwd=PROJECT,
        env=clean | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(target) as stored:
        return dict(stored)


def is_loaded(partner: str, root: Path, tables: list[EpisodeTable], folder: Path) -> None:
    """Hold the first, a middle and the last row of every episode against its table."""
    starts = np.cumsum([0, *map(len, tables)])
    rows = {
        int(start) + row: (table, row)
        for start, table in zip(starts, tables, strict=False)
        for row in (0, len(table) // 2, len(table) - 1)
    }
    found = load(partner, root, list(rows), folder)
    assert (found["length"], found["episodes"]) == (starts[-1], len(tables))
    for number, (table, row) in rows.items():
        item = {key.split("/", 1)[1]: value for key, value in found.items()
                if key.startswith(f"{number}/")}  # fmt: skip
        assert item["task"] == table.instructions[table.instruction[row]]
        assert (item["index"], item["episode_index"], item["frame_index"]) == (
            number, table.number, row,
        )  # fmt: skip
        whole = {key: stored(values) for key, values in table.whole().items()}
        for key, values in whole.items():
            if key != "action":
                assert np.array_equal(item[key].ravel(), values[row].ravel()), key
        chunk = [min(row + step, len(table) - 1) for step in range(STEPS)]
        assert np.array_equal(item["action"], whole["action"][chunk])
        assert item["action_is_pad"].tolist() == [row + step >= len(table) for step in range(STEPS)]
        for key, camera in table.cameras.items():
            shown = list(pictures_of(camera))[row].transpose(2, 0, 1) / 255
            # Two decoders turn colours into red, green and blue not quite alike.
            assert np.abs(item[key] - shown).mean() < 0.02, key
            others = list(pictures_of(camera))[(row + len(table) // 3) % len(table)]
            other = np.abs(item[key] - others.transpose(2, 0, 1) / 255).mean()
            assert np.abs(item[key] - shown).mean() < other


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExportContext, list[EpisodeTable]]:
    folder = write_episodes(tmp_path_factory.mktemp("source") / "episodes", 3)
    context, tables = tables_of(folder)
    half = np.arange(len(tables[1])) // 20
    tables[1] = replace(tables[1], instructions=("take it", "put it down"), instruction=half)
    return context, tables


@pytest.mark.slow
def test_lerobot_loads_v3(source: tuple[ExportContext, list[EpisodeTable]], tmp_path: Path) -> None:
    context, tables = source
    out = write_set("lerobot", context, tables, tmp_path)
    is_loaded("lerobot", out, tables, tmp_path)


@pytest.mark.slow
def test_lerobot_loads_v3_in_several_files(
    source: tuple[ExportContext, list[EpisodeTable]], tmp_path: Path
) -> None:
    context, tables = source
    pieces = write_tables(table_writer("lerobot"), context, tables, tmp_path)
    size = (pieces[0].folder / "observation.images.head_left.mp4").stat().st_size
    out = tmp_path / "out"
    out.mkdir()
    assemble_v3(pieces, out, context, limits=Limits(data_bytes=1, video_bytes=int(2.8 * size)))
    is_loaded("lerobot", out, tables, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lerobot_v21", "groot"])
def test_the_last_lerobot_that_knows_v21_loads_it(
    source: tuple[ExportContext, list[EpisodeTable]], tmp_path: Path, name: str
) -> None:
    context, tables = source
    out = write_set(name, context, tables, tmp_path)
    is_loaded("lerobot_v21", out, tables, tmp_path)


@pytest.mark.slow
def test_lerobot_loads_a_real_set_of_v2_as_v3(shared_data: Path, tmp_path: Path) -> None:
    context, tables = tables_of(shared_data / "lerobot" / "gr1_picknplace_v20")
    out = write_set("lerobot", context, tables[:3], tmp_path)
    is_loaded("lerobot", out, tables[:3], tmp_path)
