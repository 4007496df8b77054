"""The writer takes samples in any order, refuses what does not fit, and loses nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import recover
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError, WriteError
from corporeal.schema import Schema, open_schema

MakeSchema = Callable[..., Schema]


@pytest.fixture
def schema(make_schema: MakeSchema) -> Schema:
    return make_schema(
        {"name": "arm", "group": "observations", "shape": [2]},
        {"name": "count", "group": "debug", "dtype": "int8"},
        {"name": "flag", "group": "debug", "dtype": "bool"},
        {"name": "cloud", "group": "debug", "kind": "points", "shape": [3]},
        {"name": "words", "group": "debug", "kind": "text"},
        {"name": "depth", "group": "debug", "kind": "depth", "shape": [4, 6]},
        {"name": "camera", "group": "debug", "kind": "video", "shape": [16, 16, 3]},
    )


def _run(script: str, *arguments: object, timeout_s: float = 60) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_samples_may_come_in_any_order_of_streams(
    tmp_path: Path, every_schema: Schema, every_sample: Any
) -> None:
    mixed = [(path, *sample) for path, samples in every_sample.items() for sample in samples]
    order = np.random.default_rng(0).permutation(len(mixed))
    # Shuffled between streams; each stream in its own order.
    queues = {path: iter(samples) for path, samples in every_sample.items()}
    with EpisodeWriter(tmp_path / "a.h5", schema=every_schema) as writer:
        for number in order:
            path = mixed[number][0]
            writer.append(path, *next(queues[path]))
    assert verify(tmp_path / "a.h5") == ()
    with Episode.open(tmp_path / "a.h5") as episode:
        for path, samples in every_sample.items():
            assert episode[path].time_ns.tolist() == [stamp for stamp, _ in samples]
        expected = np.stack([value for _, value in every_sample["observations/depth"]])
        np.testing.assert_array_equal(episode["observations/depth"][:], expected)


def test_a_name_that_is_taken_is_refused(tmp_path: Path, schema: Schema) -> None:
    target = tmp_path / "a.h5"
    target.write_text("mine")
    with pytest.raises(WriteError) as caught:
        EpisodeWriter(target, schema=schema)
    assert str(caught.value) == f"{target} already exists and episodes are immutable."
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(tmp_path: Path, schema: Schema) -> None:
    target = tmp_path / "a.h5"
    writer = EpisodeWriter(target, schema=schema)
    writer.append("debug/count", 0, np.int8(1))
    target.write_text("mine")
    with pytest.raises(WriteError, match="already exists and episodes are immutable"):
        writer.close()
    assert target.read_text() == "mine"
    target.unlink()
    assert recover(writer.journal_path) == target


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path: Path, schema: Schema) -> None:
    target = tmp_path / "a.h5"
    with EpisodeWriter(target, schema=schema) as writer:
        writer.append("debug/count", 0, np.int8(1))
        with pytest.raises(WriteError, match=r"a\.journal is in use by another writer"):
            EpisodeWriter(target, schema=schema)
        with pytest.raises(WriteError, match="is in use by another writer"):
            recover(writer.journal_path)
        script = (
            "import sys\n"
            "from corporeal.episode.writer import EpisodeWriter\n"
            "from corporeal.errors import WriteError\n"
            "from corporeal.schema.schema import open_schema\n"
            "try:\n"
            "    EpisodeWriter(sys.argv[1], schema=open_schema('mocap'))\n"
            "except WriteError as error:\n"
            "    print(error)\n"
        )
        assert "is in use by another writer" in _run(script, target)
    assert verify(target) == ()


def test_a_journal_that_was_left_must_be_recovered_first(tmp_path: Path, schema: Schema) -> None:
    target = tmp_path / "a.h5"
    writer = EpisodeWriter(target, schema=schema)
    writer.append("debug/count", 0, np.int8(1))
    with pytest.raises(KeyboardInterrupt), writer:
        raise KeyboardInterrupt
    assert not target.exists()
    with pytest.raises(WriteError, match=r"is left from a writer that was killed\. Make"):
        EpisodeWriter(target, schema=schema)
    recover(writer.journal_path)
    with Episode.open(target) as episode:
        assert episode["debug/count"][:].tolist() == [1]
        assert episode.recovered == "the writer ended before it closed the episode"


def test_an_episode_without_a_sample_is_refused_and_leaves_nothing(
    tmp_path: Path, schema: Schema
) -> None:
    target = tmp_path / "a.h5"
    for _ in range(2):
        with pytest.raises(WriteError) as caught, EpisodeWriter(target, schema=schema):
            pass
        assert str(caught.value) == (
            f"{target}: no stream has a sample, so there is no episode to write."
        )
        assert list(tmp_path.iterdir()) == []


def test_abort_leaves_nothing(tmp_path: Path, schema: Schema) -> None:
    writer = EpisodeWriter(tmp_path / "a.h5", schema=schema)
    writer.append("debug/camera", 0, np.zeros((16, 16, 3), np.uint8))
    writer.abort()
    assert list(tmp_path.iterdir()) == []
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as again:
        again.append("debug/count", 0, np.int8(1))


def test_closing_twice_is_closing_once_and_nothing_can_follow(
    tmp_path: Path, schema: Schema
) -> None:
    writer = EpisodeWriter(tmp_path / "a.h5", schema=schema)
    writer.append("debug/count", 0, np.int8(1))
    assert writer.close() == writer.close() == tmp_path / "a.h5"
    with pytest.raises(WriteError, match="is closed; episodes are immutable"):
        writer.append("debug/count", 1, np.int8(1))
    with pytest.raises(WriteError, match="is closed; episodes are immutable"):
        writer.extend("debug/count", [1], np.ones(1, np.int8))


PICTURE = np.zeros((16, 16, 3), np.uint8)
WRONG: list[tuple[str, Any, Any, str]] = [
    ("debug/arm", 0, [0, 0], "unknown stream, got 'debug/arm'; expected one of: "),
    ("observations/arm", 0, [1.0], "got float64 of shape (1,); expected float32 of shape (2,)."),
    ("observations/arm", 0, 1.0, "got float64 of shape (); expected float32 of shape (2,)."),
    ("observations/arm", 0, ["a", "b"], "got <U1 of shape (2,); expected float32"),
    ("observations/arm", 0, [1j, 2j], "got complex128 of shape (2,); expected float32"),
    ("observations/arm", 0, [[1.0], [1.0, 2.0]], "got rows of different lengths"),
    ("observations/arm", 0, None, "got object of shape (); expected float32 of shape (2,)."),
    ("observations/arm", 0, [1e300, 0], "got the value 1e+300; expected values that fit float32."),
    ("observations/arm", 1.5, [0, 0], "stamp, got 1.5; expected whole nanoseconds"),
    ("observations/arm", "now", [0, 0], "stamp, got 'now'; expected whole nanoseconds"),
    ("observations/arm", None, [0, 0], "stamp, got None; expected whole nanoseconds"),
    ("observations/arm", np.array([1, 2]), [0, 0], "expected whole nanoseconds"),
    ("observations/arm", 2**63, [0, 0], f"stamp, got {2**63}; expected a 64-bit integer."),
    ("debug/count", 0, 1.5, "got float64 of shape (); expected int8 of shape ()."),
    ("debug/count", 0, 300, "got the value 300; expected values that fit int8."),
    ("debug/flag", 0, 1, "got int64 of shape (); expected bool of shape ()."),
    ("debug/cloud", 0, 5.0, "got float64 of shape (); expected float32 of shape (0, 3)."),
    ("debug/cloud", 0, [[1.0, 2.0]], "got float64 of shape (1, 2); expected float32"),
    ("debug/words", 0, b"bytes", "got bytes; expected text."),
    ("debug/words", 0, None, "got NoneType; expected text."),
    ("debug/words", 0, "a\ud800b", "got half of a character; expected text that UTF-8 holds."),
    ("debug/depth", 0, np.zeros((4, 5), np.uint16), "got uint16 of shape (4, 5); expected uint16"),
    ("debug/depth", 0, np.zeros((4, 6)), "got float64 of shape (4, 6); expected uint16"),
    ("debug/depth", 0, np.full((4, 6), 70_000, np.uint32), "got the value 70000; expected values"),
    ("debug/camera", 0, PICTURE[..., 0], "got uint8 of shape (16, 16); expected uint8 of shape"),
    ("debug/camera", 0, PICTURE.astype(np.float32), "got float32 of shape (16, 16, 3)"),
    ("debug/camera", 0, PICTURE + np.uint16(999), "got the value 999; expected values that fit"),
]


@pytest.mark.parametrize(("path", "stamp", "value", "sentence"), WRONG)
def test_a_sample_that_does_not_fit_is_one_sentence_and_costs_nothing(
    tmp_path: Path, schema: Schema, path: str, stamp: Any, value: Any, sentence: str
) -> None:
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        writer.append("observations/arm", 1, [1, 2])
        with pytest.raises(CorporealError) as caught:
            writer.append(path, stamp, value)
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)
        writer.append("observations/arm", 2, [3, 4])
    with Episode.open(tmp_path / "a.h5") as episode:
        assert list(episode) == ["observations/arm"]
        assert episode["observations/arm"][:].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("times", "values", "sentence"),
    [
        ([0, 1], np.zeros((3, 2)), "observations/arm: 2 stamps for 3 values."),
        ([0.0, 1.0], np.zeros((2, 2)), "stamps, got float64 of shape (2,); expected one row"),
        ([[0], [1]], np.zeros((2, 2)), "stamps, got int64 of shape (2, 1); expected one row"),
        (np.array([2**63], np.uint64), np.zeros((1, 2)), "expected one row of 64-bit integers"),
        ([0, 1], np.zeros((2, 3)), "got float64 of shape (2, 3); expected float32 of shape (2, 2)"),
        ([0, 1], iter([[1, 2], [3, 4]]), "2 stamps for an unknown number of values."),
    ],
)
def test_many_samples_that_do_not_fit_are_refused_together(
    tmp_path: Path, schema: Schema, times: Any, values: Any, sentence: str
) -> None:
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        with pytest.raises(WriteError) as caught:
            writer.extend("observations/arm", times, values)
        assert sentence in str(caught.value)
        writer.extend("observations/arm", [5], [[1, 2]])
    with Episode.open(tmp_path / "a.h5") as episode:
        assert episode["observations/arm"].time_ns.tolist() == [5]


def test_infinity_and_nothing_are_kept_as_they_are(tmp_path: Path, schema: Schema) -> None:
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        writer.append("observations/arm", 0, [np.inf, np.nan])
    with Episode.open(tmp_path / "a.h5") as episode:
        assert str(episode["observations/arm"][0].tolist()) == "[inf, nan]"


@pytest.mark.parametrize(
    "wrap",
    [lambda a: a, memoryview, lambda a: a.view(np.memmap), lambda a: a[:]],
    ids=["array", "memory", "memmap", "view"],
)
def test_a_driver_may_use_its_buffer_again_at_once(
    tmp_path: Path, schema: Schema, wrap: Callable[[Any], Any]
) -> None:
    buffer = np.zeros((4, 6), np.uint16)
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        for number in range(40):
            buffer[:] = number
            writer.append("debug/depth", number, wrap(buffer))
    with Episode.open(tmp_path / "a.h5") as episode:
        assert episode["debug/depth"][:][:, 0, 0].tolist() == list(range(40))


def test_a_picture_in_any_memory_layout_is_taken(tmp_path: Path, schema: Schema) -> None:
    picture = np.zeros((16, 16, 3), np.uint8)
    picture[:, :8] = 200
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        for number, layout in enumerate([picture, np.asfortranarray(picture), picture[:, ::-1]]):
            writer.append("debug/camera", number, layout)
    with Episode.open(tmp_path / "a.h5") as episode:
        first, second, mirrored = episode["debug/camera"][:].astype(int)
    assert np.abs(first - picture).mean() < 5
    assert np.abs(second - picture).mean() < 5
    assert np.abs(mirrored - picture[:, ::-1]).mean() < 5


@pytest.mark.parametrize("metadata", [{"a": float("nan")}, {"a": object()}, {"a": "\ud800"},
                                      {(1, 2): 3}])  # fmt: skip
def test_metadata_that_is_no_json_is_refused_at_once(
    tmp_path: Path, schema: Schema, metadata: Any
) -> None:
    with pytest.raises(WriteError, match="metadata cannot be written as JSON"):
        EpisodeWriter(tmp_path / "a.h5", schema=schema, metadata=metadata)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"epoch_ns": 2**63}, {"episode_id": "a\0b"}, {"metadata": {"a": "x" * (17 << 20)}}]
)
def test_what_the_file_cannot_hold_is_refused_before_the_first_sample(
    tmp_path: Path, schema: Schema, options: Any
) -> None:
    with pytest.raises(WriteError):
        EpisodeWriter(tmp_path / "a.h5", schema=schema, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_explained(tmp_path: Path, schema: Schema) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"cannot be written: Not a directory\."):
        EpisodeWriter(tmp_path / "file" / "a.h5", schema=schema)


def test_joints_need_a_robot(tmp_path: Path, robot: Embodiment) -> None:
    schema = open_schema("teleop_humanoid")
    with pytest.raises(WriteError, match="joint_position has one value per joint; expected an emb"):
        EpisodeWriter(tmp_path / "a.h5", schema=schema)
    with EpisodeWriter(tmp_path / "a.h5", schema=schema, embodiment=robot) as writer:
        writer.append("observations/joint_position", 0, np.zeros(len(robot.joint_names)))


LONG_RECORDING = """
import resource, sys
import numpy as np
from corporeal.episode.episode import Episode
from corporeal.episode.writer import EpisodeWriter
from corporeal.schema.schema import Schema

streams = [{"name": "a", "group": "debug", "shape": [64, 64], "dtype": "float32"},
           {"name": "b", "group": "debug", "kind": "points", "shape": [4]}]
schema = Schema.model_validate(
    {"document": "schema", "name": "s", "version": "1.0.0", "streams": streams}
)
block = np.random.default_rng(0).normal(size=(64, 64, 64)).astype(np.float32)
with EpisodeWriter(sys.argv[1] + ".warm", schema=schema) as writer:
    writer.extend("debug/a", np.arange(64), block)
def peak_kilobytes():
    # Not getrusage: a process begins with the peak of the one that started it.
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])


before = peak_kilobytes()
with EpisodeWriter(sys.argv[1], schema=schema) as writer:
    for number in range(200):
        if number % 4 == 0:
            for row in range(64):
                writer.append("debug/a", number * 64 + row, block[row])
        elif number % 4 == 1:
            writer.append("debug/b", number, block.reshape(-1, 4))
        else:
            writer.extend("debug/a", number * 64 + np.arange(64), block)
with Episode.open(sys.argv[1]) as episode:
    count = len(episode["debug/a"])
    assert (episode["debug/a"][count - 1] == block[-1]).all()
print(peak_kilobytes() - before)
"""


@pytest.mark.slow
def test_memory_stays_flat_through_a_long_recording(tmp_path: Path) -> None:
    grown_kb = int(_run(LONG_RECORDING, tmp_path / "a.h5"))
    assert (tmp_path / "a.h5").stat().st_size > 200 << 20
    assert grown_kb < 40 << 10


FULL_DISK = """
import resource, sys, time
import numpy as np
from corporeal.episode.episode import Episode
from corporeal.episode.file.recovery import recover
from corporeal.episode.overview.verification import verify
from corporeal.episode.writer import EpisodeWriter
from corporeal.errors import WriteError
from corporeal.schema.schema import Schema

kind, target = sys.argv[1:]
streams = [{"name": "a", "group": "debug", "shape": [1000], "dtype": "int64"},
           {"name": "count", "group": "debug", "dtype": "int64"},
           {"name": "d", "group": "debug", "kind": "depth", "shape": [64, 64]},
           {"name": "v", "group": "debug", "kind": "video", "shape": [64, 64, 3]}]
schema = Schema.model_validate(
    {"document": "schema", "name": "s", "version": "1.0.0", "streams": streams}
)
rng = np.random.default_rng(0)
make = {
    "a": lambda n: np.full(1000, n),
    "d": lambda n: np.concatenate([[[n] * 64], rng.integers(0, 65535, (63, 64))]).astype(np.uint16),
    "v": lambda n: rng.integers(0, 255, (64, 64, 3)).astype(np.uint8),
}[kind[0]]


def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


writer = EpisodeWriter(target, schema=schema)
try:
    if kind.endswith("late"):
        for number in range(60):
            writer.append("debug/" + kind[0], number, make(number))
        writer.flush()
        time.sleep(0.3)  # Until the pictures are out of their queues.
        limit(100_000)
        writer.close()
    limit(200_000)
    number = 0
    while number < 5000:
        writer.append("debug/" + kind, number, make(number))
        writer.append("debug/count", number, number)
        number += 1
    writer.close()
except WriteError as error:
    sentence = str(error)
else:
    sys.exit("the disk was never full")
assert "\\n" not in sentence
assert "File too large" in sentence or "errno" in sentence.lower() or "write" in sentence, sentence
assert f"corporeal recover {writer.journal_path}" in sentence, sentence
limit(resource.RLIM_INFINITY)
try:
    writer.append("debug/count", 1, 1)
except WriteError:
    pass
else:
    sys.exit("a writer that failed took another sample")
try:
    with writer:
        raise KeyError("the caller gives up")
except KeyError:
    pass
recover(writer.journal_path)
assert verify(target) == ()
with Episode.open(target) as episode:
    assert episode.recovered
    stamps = episode["debug/" + kind[0]].time_ns
    assert stamps.tolist() == list(range(len(stamps)))
    print(len(stamps))
    values = episode["debug/" + kind[0]][:]
    if kind[0] == "a":
        assert (values == stamps[:, None]).all()
    if kind[0] == "d":
        assert (values[:, 0] == stamps[:, None]).all()
"""


@pytest.mark.parametrize(("kind", "least"), [("a", 20), ("d", 20), ("v", 5), ("alate", 60),
                                             ("dlate", 60), ("vlate", 59)])  # fmt: skip
def test_a_full_disk_is_said_and_costs_only_what_came_after(
    tmp_path: Path, kind: str, least: int
) -> None:
    count = int(_run(FULL_DISK, kind, tmp_path / "a.h5"))
    assert count >= least


def test_units_are_decoded_alike_whether_a_stream_has_one_or_several(
    tmp_path: Path, make_schema: MakeSchema
) -> None:
    streams = [
        {"name": "one", "group": "debug", "shape": [2], "unit": "rad"},
        {"name": "two", "group": "debug", "shape": [2], "unit": ["m", "rad"],
         "components": ["x", "turn"]},
    ]  # fmt: skip
    target = tmp_path / "units.h5"
    with EpisodeWriter(target, schema=make_schema(*streams)) as writer:
        for path in ("debug/one", "debug/two"):
            writer.append(path, 0, np.zeros(2, np.float32))
    with h5py.File(target) as file:
        assert np.char.decode(file["debug/one"].attrs["unit"]) == "rad"
        assert np.char.decode(file["debug/two"].attrs["unit"]).tolist() == ["m", "rad"]
