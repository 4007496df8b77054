"""TensorFlow Datasets reads what we write as RLDS: values, pictures, boundaries, texts."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from bench.partners import partner_python
from tests.exchange.small_sets import tables_of, write_episodes, write_with

from corporeal.exchange.formats.rlds import FORMAT
from corporeal.exchange.library import LibraryAnswer, ask
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rlds import writer as rlds_writer
from corporeal.exchange.rlds.features import label
from corporeal.exchange.table import EpisodeTable

pytestmark = pytest.mark.slow

# Written by TensorFlow Datasets itself, with every kind of feature that the reader knows.
MAKE = """
import sys
import numpy as np
import tensorflow_datasets as tfds

F = tfds.features
HEIGHT, WIDTH, STEPS = 6, 8, 5


class Everything(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        observation = {
            "image": F.Image(shape=(HEIGHT, WIDTH, 3), encoding_format="png"),
            "depth": F.Image(shape=(HEIGHT, WIDTH, 1), dtype=np.uint16, encoding_format="png"),
            "depth_m": F.Image(shape=(HEIGHT, WIDTH, 1), dtype=np.float32),
            "state": F.Tensor(shape=(7,), dtype=np.float64),
            "packed": F.Tensor(shape=(2, 3), dtype=np.float64, encoding=F.Encoding.ZLIB),
            "plain": F.Tensor(shape=(2,), dtype=np.int16, encoding=F.Encoding.BYTES),
            "touch": F.Tensor(shape=(), dtype=np.bool_),
            "label": F.ClassLabel(names=["no", "yes"]),
            "points": F.Sequence(F.Tensor(shape=(3,), dtype=np.float32)),
            "natural_language_instruction": F.Text(),
        }
        arm = F.Tensor(shape=(6,), dtype=np.float32)
        steps = {"observation": observation, "action": {"arm": arm}, "is_first": np.bool_}
        features = F.FeaturesDict({"steps": F.Dataset(steps), "success": np.bool_})
        return tfds.core.DatasetInfo(builder=self, features=features)

    def _split_generators(self, manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for episode in range(3):
            yield episode, {"steps": [step(n, episode) for n in range(STEPS)], "success": True}


def step(number, episode):
    random = np.random.default_rng([number, episode])
    depth = random.integers(0, 65535, (HEIGHT, WIDTH, 1)).astype(np.uint16)
    observation = {
        "image": random.integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8),
        "depth": depth,
        "depth_m": (depth / 1000).astype(np.float32),
        "state": np.full(7, episode + 0.25 * number),
        "packed": random.normal(size=(2, 3)),
        "plain": np.array([-number, 300], np.int16),
        "touch": number % 2 == 1,
        "label": "yes",
        "points": [[1.0, 2.0, 3.0]] * number,
        "natural_language_instruction": "stack",
    }
    action = {"arm": np.arange(6, dtype=np.float32)}
    return {"observation": observation, "action": action, "is_first": number == 0}


builder = Everything(data_dir=sys.argv[1])
builder.download_and_prepare()
found = []
for episode in tfds.as_numpy(builder.as_dataset(split="train")):
    found.append(list(episode["steps"]))
keys = ("image", "depth", "depth_m", "state", "packed", "plain", "touch", "label")
arrays = {f"{key}_{place}": np.stack([step["observation"][key] for step in steps])
          for place, steps in enumerate(found) for key in keys}
np.savez(sys.argv[2], **arrays)
"""


@pytest.fixture(scope="module")
def python() -> str:
    return str(partner_python("tfds"))


def asked(
    out: Path, tables: list[EpisodeTable], rows: list[tuple[int, int]], python: str
) -> LibraryAnswer:
    writer, layout = FORMAT.writer, tables[0].layout
    assert writer is not None
    assert writer.consumer is not None
    keys = [label(key) for key in layout.columns] + (["mode"] if layout.mode else [])
    cameras = [label(key) for key in layout.cameras]
    return ask(writer.consumer, out, rows, keys, cameras, python=python)


def check(answer: LibraryAnswer, tables: list[EpisodeTable], rows: list[tuple[int, int]]) -> None:
    """The rows that were asked for are those of the tables, and so are lengths and texts."""
    assert answer.library == "tensorflow-datasets"
    assert [episode.length for episode in answer.episodes] == [len(table) for table in tables]
    texts = [episode.instructions for episode in answer.episodes]
    assert texts == [[table.text] for table in tables]
    shown = {number: _pictures(tables[number]) for number, _ in rows}
    for place, (number, row) in enumerate(rows):
        for key, values in tables[number].block(row, row + 1).items():
            got = answer.samples[place, label(key)]
            assert np.array_equal(got, values[0].astype(got.dtype)), key
            assert got.dtype == values.dtype or values.dtype == np.float64
        for key, pictures in shown[number].items():
            # TensorFlow decodes JPEG in its fast way, which is some levels off.
            difference = answer.samples[place, label(key)].astype(int) - pictures[row]
            assert np.abs(difference).mean() < 5, key
        if tables[number].mode is not None:
            assert answer.samples[place, "mode"] == tables[number].mode[row]  # type: ignore[index]


def _pictures(table: EpisodeTable) -> Mapping[str, list[np.ndarray]]:
    return {key: list(pictures_of(camera)) for key, camera in table.cameras.items()}


@pytest.mark.parametrize("view", ["flat", "hierarchical"])
def test_simulated_episodes_in_several_files_are_read(
    view: str, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rlds_writer, "SHARD_BYTES", 500_000)
    source = write_episodes(tmp_path / "source", 3, seconds=0.6)
    options = ExportOptions(view=view)
    assert FORMAT.writer is not None
    out = write_with(FORMAT.writer, source, tmp_path / "work", options)
    assert len(list(out.glob("*.tfrecord*"))) > 1
    _, tables = tables_of(source, options)
    rows = [(0, 0), (1, 7), (2, len(tables[2]) - 1)]
    check(asked(out, tables, rows, python), tables, rows)


def test_bridge_that_was_read_and_written_again_is_read(
    python: str, shared_data: Path, tmp_path: Path
) -> None:
    source = shared_data / "hdf5_rlds" / "rlds_bridge"
    assert FORMAT.writer is not None
    out = write_with(FORMAT.writer, source, tmp_path)
    _, tables = tables_of(source)
    rows = [(0, 0), (12, 3), (24, len(tables[24]) - 1)]
    check(asked(out, tables, rows, python), tables, rows)


def test_what_tensorflow_datasets_writes_is_read_alike(python: str, tmp_path: Path) -> None:
    script, said = tmp_path / "make.py", tmp_path / "said.npz"
    script.write_text(MAKE)
    command = [python, "-I", str(script), str(tmp_path / "data"), str(said)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    dataset = open_dataset(tmp_path / "data")
    assert dataset.defects == ()
    with np.load(said) as wanted:
        for number in dataset.episodes:
            recording = dataset.open(number)
            assert recording.defects == ()
            assert recording.metadata["instruction"] == "stack"
            assert recording.metadata["success"] is True
            assert recording.signals["action/arm"].spec.group == "actions"
            assert "observation/points" not in recording.signals
            for key in ("image", "depth", "depth_m", "state", "packed", "plain", "touch", "label"):
                values = wanted[f"{key}_{number}"]
                got = np.asarray(recording.signals[f"observation/{key}"][:])
                assert np.array_equal(got.reshape(values.shape), values), key
    assert recording.signals["observation/depth"].spec.kind == "depth"
    assert recording.signals["observation/touch"].spec.dtype == "bool"
