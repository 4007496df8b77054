"""From a journal to an episode: what is in one is in the other, also at the second attempt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.capture.small_rig import ARM, BEGIN_NS, CAMERA, SECOND_NS, mark, samples

from corporeal.capture.conversion import episode_from_journal
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter, new_id
from corporeal.episode.file import DAMAGED, Packer, VideoReader, find_leftovers
from corporeal.episode.file.journal import MARKS, JournalError, JournalWriter
from corporeal.episode.overview import verify
from corporeal.schema import Schema
from corporeal.testing import Workload

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
Write = Callable[..., Path]


@pytest.fixture
def write(small_schema: Schema, tmp_path: Path) -> Write:
    """A journal of two seconds of the small rig, with marks, closed or not."""

    def make(
        name: str = "a", *, is_closed: bool = True, skip_pictures: int = 0,
        marks: Sequence[bytes] = (), **header: Any,
    ) -> Path:  # fmt: skip
        path = tmp_path / f"{name}.journal"
        facts = {
            "id": new_id(),
            "schema": small_schema.model_dump(mode="json"),
            "embodiment": None,
            "sources": {CAMERA: "camera"},
            "latency_ns": {"camera": 1_000_000},
            "metadata": {"task": "t"},
            "roll": None,
            **header,
        }
        facts = {name: value for name, value in facts.items() if value != "absent"}
        packers = {stream.path: Packer(stream) for stream in small_schema.streams}
        writer = JournalWriter(path, facts, list(packers), sync_every_s=0.01)
        writer.mark("start", mark("start", 0.5).arrival_ns, {"operator": "op1"})
        for sample in samples(2.0):
            packer = packers[sample.stream]
            payload = packer.pack(packer.check(sample.value))
            if sample.stream == CAMERA and skip_pictures:
                skip_pictures -= 1
                continue
            writer.append(sample.stream, sample.source_ns, sample.arrival_ns, payload)
        writer.cut()
        for payload in marks:
            writer.append(MARKS, mark("end", 1.4).arrival_ns, mark("end", 1.4).arrival_ns, payload)
        writer.mark("end", mark("end", 1.5).arrival_ns, {"outcome": "good"})
        writer.close()
        if not is_closed:
            path.write_bytes(path.read_bytes()[:-40])
        return path

    return make


def test_an_episode_has_what_its_journal_had(write: Write) -> None:
    journal = write()
    target = episode_from_journal(journal)
    assert target.name == "a.h5"
    assert not journal.exists()
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert episode.epoch_ns == BEGIN_NS + SECOND_NS // 2
        assert episode.recovered is None
        assert episode.metadata["operator"] == "op1"
        assert episode.metadata["outcome"] == "good"
        assert set(episode.metadata["clocks"]) == {"robot", "camera"}
        assert [one["time_ns"] for one in episode.metadata["marks"]] == [0, SECOND_NS]
        np.testing.assert_array_equal(episode[ARM][:][:, 0], np.arange(200))
        assert len(episode[CAMERA]) == 40


def test_a_cut_journal_is_a_quarantined_episode(write: Write) -> None:
    with Episode.open(episode_from_journal(write(is_closed=False))) as episode:
        assert episode.recovered == episode.metadata["quarantine"]
        assert "the recorder ended before the episode did" in str(episode.recovered)


def test_a_camera_begins_at_a_key_frame(write: Write) -> None:
    target = episode_from_journal(write(skip_pictures=1))
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert len(episode[CAMERA]) == 38
        camera = episode[CAMERA]
        assert isinstance(camera, VideoReader)
        assert bool(camera.packets.is_key[0])
        assert episode[CAMERA][0].shape == (16, 32, 3)


def test_a_conversion_that_was_killed_is_repeated(write: Write) -> None:
    journal = write()
    journal.with_suffix(".draft").write_bytes(b"half an episode")
    journal.with_suffix(".draft.mp4").write_bytes(b"half a movie")
    target = episode_from_journal(journal)
    with Episode.open(target) as episode:
        assert len(episode[ARM]) == 200
    assert [path.name for path in target.parent.iterdir()] == ["a.h5"]


def test_a_journal_of_version_1_becomes_the_same_episode(tmp_path: Path) -> None:
    """`journal_v1.journal` was recorded by Corporeal 0.1, and cut in its last chunk."""
    golden = Path(__file__).resolve().parents[1] / "golden" / "journal_v1.journal"
    shutil.copy(golden, tmp_path / "a.journal")
    target = episode_from_journal(tmp_path / "a.journal")
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert episode.id == "0191b3b0-0000-7000-8000-000000000001"
        assert episode.epoch_ns == BEGIN_NS + SECOND_NS // 2
        assert "(cut: in the middle of a chunk)" in str(episode.recovered)
        assert episode.metadata["operator"] == "op1"
        np.testing.assert_array_equal(episode[ARM][:][:, 0], np.arange(200))
        assert len(episode[CAMERA]) == 40
        # Half a second before the start, and the millisecond that every sample took to arrive.
        assert episode[ARM].time_ns[0] == 1_000_000 - SECOND_NS // 2
        assert episode[CAMERA].time_ns[0] == -SECOND_NS // 2


def test_a_journal_of_version_2_becomes_the_same_episode(tmp_path: Path) -> None:
    """`journal_v2.journal` has two seconds of the small rig, unnumbered, and ends in a chunk."""
    golden = Path(__file__).resolve().parents[1] / "golden" / "journal_v2.journal"
    shutil.copy(golden, tmp_path / "a.journal")
    target = episode_from_journal(tmp_path / "a.journal")
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert "(cut: in the middle of a chunk)" in str(episode.recovered)
        assert "gaps" not in episode.metadata
        np.testing.assert_array_equal(episode[ARM][:][:, 0], np.arange(150))
        assert len(episode[CAMERA]) == 30


def test_a_journal_of_version_3_with_one_header_becomes_the_same_episode(tmp_path: Path) -> None:
    """`journal_v3.journal` has its header once, and ends in the head of a chunk."""
    golden = Path(__file__).resolve().parents[1] / "golden" / "journal_v3.journal"
    shutil.copy(golden, tmp_path / "a.journal")
    target = episode_from_journal(tmp_path / "a.journal")
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert "(cut: in the middle of a chunk)" in str(episode.recovered)
        np.testing.assert_array_equal(episode["observations/arm"][:][:, 0], np.arange(54))
    data = bytearray(golden.read_bytes())
    data[200] ^= 1
    (tmp_path / "b.journal").write_bytes(data)
    with pytest.raises(JournalError, match="not a journal"):
        episode_from_journal(tmp_path / "b.journal")


def test_what_a_writer_left_is_recovered_by_the_same_call(
    tmp_path: Path, small_schema: Schema
) -> None:
    writer = EpisodeWriter(tmp_path / "a.h5", schema=small_schema)
    writer.append(ARM, 5, np.ones(3))
    with pytest.raises(KeyboardInterrupt), writer:
        raise KeyboardInterrupt
    with Episode.open(episode_from_journal(writer.journal_path)) as episode:
        assert episode[ARM].time_ns.tolist() == [5]
        assert episode.recovered == "the writer ended before it closed the episode"


def test_a_kill_after_the_episode_was_in_place_is_finished(write: Write) -> None:
    journal = write()
    kept = journal.read_bytes()
    target = episode_from_journal(journal)
    content = target.read_bytes()
    journal.write_bytes(kept)
    journal.with_suffix(".draft").touch()
    assert episode_from_journal(journal) == target
    assert target.read_bytes() == content
    assert [path.name for path in target.parent.iterdir()] == ["a.h5"]
    # And once more, when someone else has been quicker.
    assert episode_from_journal(journal) == target


def test_a_journal_never_gives_way_to_another_episode(write: Write) -> None:
    other = episode_from_journal(write())
    journal = write()
    with pytest.raises(JournalError, match=r"is another episode than that of a\.journal"):
        episode_from_journal(journal)
    assert journal.exists()
    assert other.exists()


def test_a_damaged_journal_is_kept_beside_the_episode(write: Write) -> None:
    journal = write()
    data = bytearray(journal.read_bytes())
    data[-60] ^= 1
    journal.write_bytes(data)
    target = episode_from_journal(journal)
    with Episode.open(target) as episode:
        assert "does not match its checksum" in str(episode.recovered)
    assert journal.with_name("a.journal" + DAMAGED).read_bytes() == data
    assert find_leftovers(target.parent) == []


def test_a_journal_in_use_is_left_alone(tmp_path: Path, write: Write) -> None:
    writer = JournalWriter(tmp_path / "live.journal", {}, ["a"])
    with pytest.raises(JournalError, match="in use by another writer"):
        episode_from_journal(tmp_path / "live.journal")
    writer.close()
    assert (tmp_path / "live.journal").exists()


@pytest.mark.parametrize(
    "header",
    [{"id": "absent"}, {"schema": {}}, {"schema": "absent"}, {"sources": None},
     {"embodiment": {"name": 5}}, {"metadata": "absent"}],
)  # fmt: skip
def test_a_header_of_something_else_is_refused_with_words(
    write: Write, header: dict[str, Any]
) -> None:
    journal = write(**header)
    with pytest.raises(JournalError, match="its header is not that of a recording"):
        episode_from_journal(journal)
    assert journal.exists()


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        episode_from_journal(tmp_path / "none.journal")
    (tmp_path / "folder.journal").mkdir()
    with pytest.raises(JournalError, match="no regular file"):
        episode_from_journal(tmp_path / "folder.journal")


def test_a_robot_travels_with_its_journal(tmp_path: Path) -> None:
    workload = Workload(open_robot("g1"), duration_s=0.1, size=(16, 32))
    packers = {stream.path: Packer(stream) for stream in workload.schema.streams}
    header = {
        "id": new_id(),
        "schema": json.loads(workload.schema.model_dump_json()),
        "embodiment": json.loads(workload.embodiment.model_dump_json()),
        "sources": {},
        "latency_ns": {},
        "metadata": workload.metadata,
    }
    writer = JournalWriter(tmp_path / "a.journal", header, list(packers))
    for stream, time_ns, value in workload.samples():
        packed = packers[stream].pack(packers[stream].check(value))
        writer.append(stream, time_ns, time_ns, packed)
    writer.close()
    target = episode_from_journal(tmp_path / "a.journal", reason="because")
    with Episode.open(target) as episode:
        assert episode.robot == workload.embodiment.name
        assert episode.recovered == "because"
        path = "observations/joint_position"
        np.testing.assert_array_equal(episode[path][:], workload.signal(path))


@pytest.mark.parametrize("payload", [
    b"{", b"\xff", b"[" * 9000, b"17", b"{}", b'{"what": "end"}',
    b'{"what": "note", "metadata": 3}', b'{"what": "note", "metadata": {}}',
    b'{"what": "losses", "metadata": {"losses": [1]}}',
    b'{"what": ["end"], "metadata": {"losses": "x"}}',
])  # fmt: skip
def test_a_mark_that_cannot_be_read_costs_no_sample(write: Write, payload: bytes) -> None:
    with Episode.open(episode_from_journal(write())) as whole:
        lengths = {path: len(whole[path]) for path in whole}
    with Episode.open(episode_from_journal(write("b", marks=[payload]))) as episode:
        assert {path: len(episode[path]) for path in episode} == lengths
        assert episode.metadata["outcome"] == "good"
        (warning,) = episode.metadata["warnings"]
        assert warning["message"] == "a mark that cannot be read was left out"
