"""Episode files are a dataset of training samples: the rows that an export would hold."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.partners import PROJECT, PartnerError, partner_python
from tests.exchange.small_sets import tables_of, write_episode, write_episodes

from corporeal.errors import (
    CorporealError,
    EpisodeError,
    MissingExtraError,
    UnknownNameError,
    WriteError,
)
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import EpisodeTable
from corporeal.exchange.training.normalisation import fit
from corporeal.exchange.training.torch_dataset import EpisodeDataset

LEFT = "observation.images.head_left"
SIZE = (48, 64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes of 1.0, 1.2 and 1.4 s; the last one failed."""
    place = write_episodes(tmp_path_factory.mktemp("sets") / "set", 2, size=SIZE)
    write_episode(place / "e0002.h5", seed=2, seconds=1.4, size=SIZE, outcome=False)
    return place


@pytest.fixture(scope="module")
def tables(folder: Path) -> list[EpisodeTable]:
    return tables_of(folder)[1]


def test_every_row_is_that_of_the_exported_table(folder: Path, tables: list[EpisodeTable]) -> None:
    dataset = EpisodeDataset(folder, chunk=4, cameras=())
    plain = tables_of(folder, ExportOptions(exclude=tuple(_films(tables[0]))))[1]
    assert len(dataset) == sum(map(len, plain))
    index = 0
    for number, table in enumerate(plain):
        columns = table.whole()
        for row in range(len(table)):
            item = dataset.sample(index)
            place = item["episode_index"], item["frame_index"], item["index"]
            assert place == (number, row, index)
            assert item["timestamp"] == pytest.approx(row / table.rate_hz)
            assert item["task"] == table.text
            ahead = np.minimum(np.arange(row, row + 4), len(table) - 1)
            for key, values in columns.items():
                wanted = values[ahead] if key.startswith("action") else values[row]
                np.testing.assert_array_equal(item[key], wanted)
            np.testing.assert_array_equal(item["action_is_pad"], row + np.arange(4) >= len(table))
            index += 1


def _films(table: EpisodeTable) -> list[str]:
    return [camera.spec.stream.name for camera in table.cameras.values()]


def test_pictures_are_those_of_the_table_in_any_order(
    folder: Path, tables: list[EpisodeTable]
) -> None:
    dataset = EpisodeDataset(folder, columns=["observation.state"])
    order = np.random.default_rng(0).permutation(len(dataset))[:40]
    shown = {
        (number, key): [picture.transpose(2, 0, 1) / 255 for picture in pictures_of(camera)]
        for number, table in enumerate(tables)
        for key, camera in table.cameras.items()
    }
    for index in order.tolist():
        item = dataset.sample(index)
        number, row = int(item["episode_index"]), int(item["frame_index"])
        for key in tables[0].cameras:
            assert item[key].dtype == np.float32
            assert item[key].shape == (3, *SIZE)
            assert np.abs(item[key] - shown[number, key][row]).max() <= 2.01 / 255


def test_pictures_can_be_small_squares_and_bytes(folder: Path) -> None:
    tables = tables_of(folder, ExportOptions(image_size=32))[1]
    dataset = EpisodeDataset(folder, image_size=32, image_dtype="uint8")
    for row, picture in zip(range(8), pictures_of(tables[0].cameras[LEFT]), strict=False):
        got = dataset.sample(row)[LEFT]
        assert got.dtype == np.uint8
        np.testing.assert_array_equal(got.transpose(1, 2, 0), picture)


def test_a_history_has_the_rows_before_and_says_where_there_are_none(folder: Path) -> None:
    dataset = EpisodeDataset(folder, history=3, columns=["observation.state"])
    plain = EpisodeDataset(folder, columns=["observation.state"])
    item = dataset.sample(1)
    assert item[LEFT].shape == (3, 3, *SIZE)
    np.testing.assert_array_equal(item["observation_is_pad"], [True, False, False])
    for place, row in enumerate((0, 0, 1)):
        for key in ("observation.state", LEFT):
            np.testing.assert_array_equal(item[key][place], plain.sample(row)[key])


def test_cameras_columns_state_and_action_can_be_chosen(folder: Path) -> None:
    dataset = EpisodeDataset(
        folder, cameras=[LEFT], columns=["action", "observation.state"],
        state=["joint_position", "joint_velocity"], action=["joint_position_target"],
    )  # fmt: skip
    item = dataset.sample(0)
    assert [key for key in item if key.startswith("observation.images")] == [LEFT]
    assert item["observation.state"].shape == (58,)
    assert item["action"].shape == (16, 29)
    assert "observation.joint_torque" not in item
    assert dataset.joint_order["action"]["index"] == list(range(29))


def test_values_are_normalised_as_the_document_says(
    folder: Path, tables: list[EpisodeTable]
) -> None:
    dataset = EpisodeDataset(folder, normalisation="quantiles")
    expected = fit([table.recording for table in tables], dataset.layout, "quantiles", None)
    assert dataset.normalisation == expected
    raw = EpisodeDataset(folder)
    for key in ("observation.state", "action"):
        back = expected.invert(key, dataset.sample(5)[key])
        np.testing.assert_allclose(back, raw.sample(5)[key], atol=1e-5)
    given = EpisodeDataset(folder, normalisation=expected)
    np.testing.assert_array_equal(given.sample(7)["action"], dataset.sample(7)["action"])


def test_the_mode_is_there_when_asked_for(folder: Path) -> None:
    assert "mode" not in EpisodeDataset(folder, cameras=()).sample(0)
    assert EpisodeDataset(folder, cameras=(), mode=True).sample(0)["mode"] in (0, 1, 2, 3)


def test_weights_are_by_episode_and_a_failure_is_never_drawn(folder: Path) -> None:
    plain = EpisodeDataset(folder, cameras=())
    names = [entry.id for entry in plain.episodes]
    assert plain.weights == dict.fromkeys(names, 1.0)
    dataset = EpisodeDataset(folder, cameras=(), weights={names[0]: 0.5, names[2]: 1.5})
    assert dataset.weights == {names[0]: 0.5, names[1]: 1.0, names[2]: 0.0}
    with pytest.raises(CorporealError, match="none would be drawn"):
        EpisodeDataset(folder / "e0002.h5", cameras=(), weights={})


def test_a_copy_for_a_worker_holds_no_open_file(folder: Path) -> None:
    dataset = EpisodeDataset(folder, columns=["observation.state"])
    before = dataset.sample(3)
    packed = pickle.dumps(dataset)
    assert len(packed) < 100_000
    again = pickle.loads(packed).sample(3)
    np.testing.assert_array_equal(again[LEFT], before[LEFT])


_FORKS = """
import os, sys
from corporeal.exchange.training.torch_dataset import EpisodeDataset
dataset = EpisodeDataset(sys.argv[1], columns=["observation.state"])
dataset.sample(3)
child = os.fork()
if child == 0:
    pictures = [dataset.sample(index)["observation.images.head_left"] for index in (-1, 3)]
    os._exit(0 if all(picture.any() for picture in pictures) else 1)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_process_that_was_forked_goes_on_reading(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FORKS, str(folder)], cwd=PROJECT, timeout=60)
    assert done.returncode == 0


def test_a_file_that_lost_its_end_meanwhile_is_an_error(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.h5"
    path.write_bytes((folder / "e0000.h5").read_bytes())
    dataset = EpisodeDataset(path)
    dataset.sample(0)
    os.truncate(path, 1000)
    with pytest.raises(EpisodeError, match="ends within a picture"):
        dataset.sample(8)


def test_few_files_are_open_and_little_is_kept(folder: Path) -> None:
    dataset = EpisodeDataset(folder, open_files=1, cached_bytes=1)
    inside = Path("/proc/self/fd")
    if not inside.is_dir():
        pytest.skip("this system does not list open files")
    wide = EpisodeDataset(folder)
    rows = [entry.first for entry in dataset.episodes] * 2
    for index in rows:
        np.testing.assert_array_equal(dataset.sample(index)[LEFT], wide.sample(index)[LEFT])
    assert len(dataset._held) == 1
    assert len(dataset._projector._files) == 1


def test_what_is_handed_out_may_be_changed(folder: Path) -> None:
    dataset = EpisodeDataset(folder, cameras=())
    before = dataset.sample(2)["observation.state"].copy()
    dataset.sample(2)["observation.state"][:] = 7
    dataset.sample(2)["action"][:] = 7
    np.testing.assert_array_equal(dataset.sample(2)["observation.state"], before)


def test_places_beyond_the_end_are_refused_and_the_last_is_minus_one(folder: Path) -> None:
    dataset = EpisodeDataset(folder, cameras=())
    assert dataset.sample(-1)["index"] == len(dataset) - 1
    for index in (len(dataset), -len(dataset) - 1):
        with pytest.raises(IndexError):
            dataset.sample(index)


def test_wrong_requests_are_refused_in_words(folder: Path, tmp_path: Path) -> None:
    for options in ({"cameras": ["nose"]}, {"columns": ["observation.mood"]},
                    {"action": ["mood"]}, {"image_dtype": "int3"}):  # fmt: skip
        with pytest.raises(UnknownNameError):
            EpisodeDataset(folder, **options)
    with pytest.raises(CorporealError, match="expected 1 or more"):
        EpisodeDataset(folder, chunk=0)
    with pytest.raises(CorporealError, match="no path"):
        EpisodeDataset([])
    with pytest.raises(EpisodeError, match="does not exist"):
        EpisodeDataset(tmp_path / "nothing")
    with pytest.raises(EpisodeError, match="corporeal import"):
        EpisodeDataset(tmp_path)
    with pytest.raises(EpisodeError, match="s at most"):
        EpisodeDataset(folder, tolerance_s=1e-9)


def test_tensors_without_torch_say_what_to_install(folder: Path) -> None:
    if find_spec("torch") is not None:
        pytest.skip("torch is installed here")
    dataset = EpisodeDataset(folder, cameras=())
    for needs in (lambda: dataset[0], dataset.sampler):
        with pytest.raises(MissingExtraError, match="corporeal\\[train\\]"):
            needs()


ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


def _torch_python() -> str:
    if find_spec("torch") is not None:
        return sys.executable
    try:
        return str(partner_python("train"))
    except PartnerError as reason:
        pytest.skip(f"no environment with torch: {reason}")


_LOADS = """
import sys, torch
from torch.utils.data import DataLoader
from corporeal.exchange.training.torch_dataset import EpisodeDataset

plain = EpisodeDataset(sys.argv[1])
names = [entry.id for entry in plain.episodes]
dataset = EpisodeDataset(sys.argv[1], weights={names[0]: 3.0, names[1]: 1.0}, mode=True)
item = dataset[0]
assert item["action"].shape == (16, 29) and item["action"].dtype == torch.float32
assert item["action_is_pad"].dtype == torch.bool
assert item["index"].dtype == torch.int64 and item["index"].ndim == 0
for context in ("fork", "spawn"):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, multiprocessing_context=context,
                        sampler=dataset.sampler(torch.Generator().manual_seed(0)))
    batches = list(loader)
    assert sum(len(batch["task"]) for batch in batches) == len(dataset)
    drawn = torch.cat([batch["episode_index"] for batch in batches])
    assert not (drawn == 2).any(), "a failed episode was drawn"
    assert (drawn == 0).sum() > (drawn == 1).sum()
    picture = batches[0]["observation.images.head_left"]
    assert picture.shape == (8, 3, 48, 64) and 0 <= picture.min() and 0.2 < picture.max() <= 1
even = dataset.sampler(even=True).weights
assert torch.isclose(even[:plain.episodes[0].length].sum(), torch.tensor(3.0, dtype=torch.float64))
print("good")
"""


@pytest.mark.slow
def test_a_data_loader_with_workers_draws_by_weight(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "loads.py"
    script.write_text(
        "if __name__ == '__main__':\n" + "\n".join(f"    {line}" for line in _LOADS.splitlines())
    )
    done = subprocess.run([_torch_python(), str(script), str(folder)], cwd=PROJECT,
                          capture_output=True, text=True, timeout=300, env=ONE_THREAD)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "good"


@pytest.mark.slow
def test_the_example_learns(folder: Path, tmp_path: Path) -> None:
    example = PROJECT / "examples" / "train_on_episodes.py"
    done = subprocess.run(
        [_torch_python(), str(example), str(folder), str(tmp_path / "normalisation.json")],
        cwd=PROJECT, capture_output=True, text=True, timeout=300, env=ONE_THREAD,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, last = (float(word) for word in done.stdout.split() if word.startswith("0."))
    assert last < 0.5 * first
    assert (tmp_path / "normalisation.json").is_file()


@pytest.mark.slow
def test_the_guide_shows_what_torch_can_do(folder: Path, tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "guides" / "training.md").read_text()
    blocks = [block for block in re.findall(r"^```py\n(.*?)^```", page, re.M | re.S)
              if "DataLoader" in block]  # fmt: skip
    assert len(blocks) == 2
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "demo").symlink_to(folder)
    scores = [{"id": entry.id, "total": 0.5} for entry in EpisodeDataset(folder).episodes]
    (tmp_path / "scores.json").write_text(json.dumps({"episodes": scores}))
    context = "from corporeal.exchange.training.torch_dataset import EpisodeDataset\n"
    tail = "assert len(next(iter(DataLoader(dataset, 4, sampler=dataset.sampler())))['task']) == 4"
    done = subprocess.run([_torch_python(), "-c", context + "".join(blocks) + tail], cwd=tmp_path,
                          capture_output=True, text=True, timeout=300, env=ONE_THREAD)  # fmt: skip
    assert done.returncode == 0, done.stderr


def _cached(folder: Path, cache: Path, **options: Any) -> EpisodeDataset:
    return EpisodeDataset(folder, columns=["action"], image_size=32, cache=cache, **options)


@pytest.mark.parametrize("kind", ["float32", "uint8"])
def test_pictures_of_a_cache_are_those_without_it(folder: Path, tmp_path: Path, kind: Any) -> None:
    plain = EpisodeDataset(folder, columns=["action"], image_size=32, image_dtype=kind, history=2)
    dataset = _cached(folder, tmp_path / "cache", image_dtype=kind, history=2)
    copy = pickle.loads(pickle.dumps(dataset))
    for index in range(0, len(plain), 5):
        for key in plain.layout.cameras:
            wanted = plain.sample(index)[key]
            np.testing.assert_array_equal(dataset.sample(index)[key], wanted)
            np.testing.assert_array_equal(copy.sample(index)[key], wanted)


def test_a_cache_is_built_once_and_again_when_it_is_not_whole(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    wanted = _cached(folder, cache).sample(3)[LEFT]
    files = sorted(cache.iterdir())
    before = {path: path.stat().st_mtime_ns for path in files}
    _cached(folder, cache)
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == before
    for path, content in (
        (files[0], files[0].read_bytes()[:-1]),
        (files[1], files[1].read_bytes().replace(b"sha256:", b"sha255:", 1)),
    ):
        path.write_bytes(content)
    files[2].unlink()
    dataset = _cached(folder, cache)
    assert sorted(cache.iterdir()) == files
    assert [p for p in files if p.stat().st_mtime_ns != before[p]] == files[:3]
    np.testing.assert_array_equal(dataset.sample(3)[LEFT], wanted)


def test_an_episode_of_other_content_never_gets_the_pictures_of_another(tmp_path: Path) -> None:
    path = write_episode(tmp_path / "e.h5", seed=0, size=SIZE)
    first = _cached(path, tmp_path / "cache").sample(5)[LEFT]
    path.unlink()
    write_episode(path, seed=9, size=SIZE)
    second = _cached(path, tmp_path / "cache").sample(5)[LEFT]
    np.testing.assert_array_equal(second, EpisodeDataset(path, image_size=32).sample(5)[LEFT])
    assert not np.array_equal(first, second)


def test_a_cache_that_is_deleted_meanwhile_is_said(folder: Path, tmp_path: Path) -> None:
    dataset = _cached(folder, tmp_path / "cache")
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
    with pytest.raises(EpisodeError, match=r"pictures: No such file"):
        dataset.sample(0)
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="do without the cache"):
        _cached(folder, tmp_path / "file" / "cache")
