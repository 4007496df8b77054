"""Whatever kills a writer, what it had received becomes an episode, and never half of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import assembly, find_leftovers, recover
from corporeal.episode.file.journal import JournalWriter
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError, EpisodeError, WriteError
from corporeal.schema import Schema

ENDLESS_WRITER = """
import sys
import numpy as np
from corporeal.episode.writer import EpisodeWriter
from corporeal.schema.schema import Schema

streams = [{"name": "a", "group": "debug", "shape": [29], "dtype": "int64"},
           {"name": "p", "group": "debug", "kind": "points", "shape": [2], "dtype": "int64"},
           {"name": "t", "group": "debug", "kind": "text"},
           {"name": "d", "group": "debug", "kind": "depth", "shape": [24, 32]},
           {"name": "v", "group": "debug", "kind": "video", "shape": [48, 64, 3], "rate_hz": 30}]
schema = Schema.model_validate(
    {"document": "schema", "name": "s", "version": "1.0.0", "streams": streams}
)
picture = np.random.default_rng(0).integers(0, 255, (48, 64, 3)).astype(np.uint8)
writer = EpisodeWriter(sys.argv[1], schema=schema, metadata={"task": "killed"})
print("open", flush=True)
number = 0
while True:
    writer.append("debug/a", number, np.full(29, number))
    writer.append("debug/p", number, np.full((number % 5, 2), number))
    writer.append("debug/t", number, f"step {number}")
    if number % 3 == 0:
        writer.append("debug/d", number, np.full((24, 32), number % 60000, np.uint16))
        writer.append("debug/v", number, np.roll(picture, number, axis=0))
    number += 1
    if number % 50 == 0:
        writer.flush()
        print(number, flush=True)
"""


def _kill_somewhere(target: Path, seed: int) -> int:
    """Run the writer and kill it at a random moment; how many samples it had flushed by then."""
    rng = np.random.default_rng(seed)
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS_WRITER, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    flushed = 0
    for _ in range(int(rng.integers(1, 12))):
        line = process.stdout.readline()
        flushed = int(line) if line.strip().isdigit() else 0
    try:
        process.wait(rng.uniform(0, 0.02))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0].split()
    assert process.returncode == -signal.SIGKILL
    return int(rest[-1]) if rest and rest[-1].isdigit() else flushed


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow)
                                               for s in range(3, 10))])  # fmt: skip
def test_a_killed_writer_leaves_all_that_it_flushed(tmp_path: Path, seed: int) -> None:
    target = tmp_path / "a.h5"
    flushed = _kill_somewhere(target, seed)
    assert not target.exists()
    (journal,) = find_leftovers(tmp_path)
    if not flushed:
        # Nothing was promised yet: an episode of what is there, or a sentence.
        try:
            recover(journal)
        except WriteError as error:
            assert "no stream has a sample" in str(error)  # noqa: PT017
        return
    assert recover(journal) == target
    assert not journal.exists()
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert episode.recovered == "the writer ended before it closed the episode"
        assert episode.metadata == {"task": "killed"}
        for path in ("debug/a", "debug/p", "debug/t"):
            assert len(episode[path]) >= flushed
            assert episode[path].time_ns.tolist() == list(range(len(episode[path])))
        assert (episode["debug/a"][:] == episode["debug/a"].time_ns[:, None]).all()
        for number, text in enumerate(episode["debug/t"][:]):
            assert text == f"step {number}"
        for number, cloud in enumerate(episode["debug/p"][:]):
            assert cloud.tolist() == [[number, number]] * (number % 5)
        for path in ("debug/d", "debug/v"):
            # Those in the queue, in the encoder, and the one being written.
            stamps = episode[path].time_ns
            assert len(stamps) >= flushed / 3 - 9
            assert stamps.tolist() == [3 * number for number in range(len(stamps))]
        depth = episode["debug/d"]
        assert (depth[:][:, 0, 0] == depth.time_ns).all()
        assert episode["debug/v"][-1].shape == (48, 64, 3)


class KilledError(BaseException):
    """Stands in for a kill: nothing catches it."""


@pytest.fixture
def journal(tmp_path: Path, every_schema: Schema, every_sample: Any) -> Path:
    """What a writer leaves that never closed."""
    writer = EpisodeWriter(tmp_path / "a.h5", schema=every_schema)
    for path, samples in every_sample.items():
        for sample in samples:
            writer.append(path, *sample)
    with pytest.raises(KilledError), writer:
        raise KilledError
    return writer.journal_path


def _failing(name: str, at_call: int, *, after: bool) -> Callable[..., Any]:
    real = getattr(assembly, name)
    calls = 0

    def step(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at_call and not after:
            raise KilledError
        result = real(*arguments, **options)
        if calls == at_call:
            raise KilledError
        return result

    return step


STEPS = [
    ("_write_root", 1), ("_write_stream", 1), ("_write_stream", 4), ("_write_stream", 8),
    ("_write_array", 3), ("_write_text", 2), ("write_mp4", 1), ("index_mp4", 1),
    ("content_digest", 1), ("_publish", 1), ("remove_drafts", 1), ("remove_drafts", 2),
]  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("name", "at_call"), STEPS)
def test_assembly_can_be_killed_anywhere_and_repeated(
    journal: Path,
    every_sample: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    at_call: int,
    after: bool,
) -> None:
    target = journal.with_suffix(".h5")
    with monkeypatch.context() as patch:
        patch.setattr(assembly, name, _failing(name, at_call, after=after))
        with pytest.raises(KilledError):
            recover(journal)
    if target.exists():
        assert verify(target) == ()
    if journal.exists():
        assert recover(journal) == target
    assert not journal.exists()
    assert verify(target) == ()
    with Episode.open(target) as episode:
        assert set(episode) == set(every_sample)
        assert all(len(episode[path]) == len(samples) for path, samples in every_sample.items())


def test_a_published_episode_is_never_written_again(journal: Path) -> None:
    """Killed between giving the file its name and removing the draft: both names, one file."""
    target = journal.with_suffix(".h5")
    kept = journal.read_bytes()
    recover(journal)
    before = target.read_bytes()
    journal.write_bytes(kept)
    os.link(target, journal.with_suffix(".draft"))
    assert recover(journal) == target
    assert target.read_bytes() == before
    assert list(journal.parent.iterdir()) == [target]


def test_an_old_draft_is_never_written_into(journal: Path) -> None:
    """Not even when the episode was moved away and its draft, the same file, is still there."""
    draft, moved = journal.with_suffix(".draft"), journal.with_name("moved.h5")
    kept = journal.read_bytes()
    recover(journal).rename(moved)
    before = moved.stat().st_mtime_ns
    journal.write_bytes(kept)
    os.link(moved, draft)
    assert verify(recover(journal)) == ()
    assert moved.stat().st_mtime_ns == before
    assert not draft.exists()


@pytest.mark.parametrize("at_call", [1, 2, 3, 4, 5])
def test_removing_the_journal_can_be_killed_halfway(
    journal: Path, monkeypatch: pytest.MonkeyPatch, at_call: int
) -> None:
    target = journal.with_suffix(".h5")
    calls = -1
    publish, unlink = assembly._publish, Path.unlink

    def published(*arguments: Any) -> None:
        nonlocal calls
        publish(*arguments)
        calls = 0

    def counted(self: Path, missing_ok: bool = False) -> None:
        nonlocal calls
        calls += calls >= 0
        if calls == at_call:
            raise KilledError
        unlink(self, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(assembly, "_publish", published)
        patch.setattr(Path, "unlink", counted)
        with pytest.raises(KilledError):
            recover(journal)
    assert recover(journal) == target
    assert list(journal.parent.iterdir()) == [target]
    assert verify(target) == ()


def test_a_target_that_is_taken_keeps_the_journal(journal: Path) -> None:
    target = journal.with_suffix(".h5")
    target.write_text("mine")
    for _ in range(2):
        with pytest.raises(WriteError, match="already exists"):
            recover(journal)
    assert target.read_text() == "mine"
    target.unlink()
    assert verify(recover(journal)) == ()


@pytest.mark.parametrize("seed", range(12))
def test_a_journal_torn_at_any_byte_gives_whole_samples(
    journal: Path, every_sample: Any, seed: int
) -> None:
    """After a power cut the journal may end anywhere."""
    whole = journal.read_bytes()
    size = int(np.random.default_rng(seed).integers(len(whole) // 2, len(whole)))
    journal.write_bytes(whole[:size])
    try:
        target = recover(journal)
    except EpisodeError as error:
        # Cut in the header, or in the only chunk of all signals.
        assert "cut before its first sample" in str(error) or "no stream has" in str(error)  # noqa: PT017
        return
    assert verify(target) == ()
    with Episode.open(target) as episode:
        for path in episode:
            samples = every_sample[path]
            count = len(episode[path])
            assert 0 < count <= len(samples)
            assert episode[path].time_ns.tolist() == [stamp for stamp, _ in samples[:count]]
            if episode[path].spec.kind != "video":
                for sample, (_, value) in zip(episode[path][:], samples, strict=False):
                    np.testing.assert_array_equal(sample, value)


@pytest.mark.parametrize("seed", range(6))
def test_what_was_flushed_before_the_torn_end_is_all_there(
    tmp_path: Path, every_schema: Schema, every_sample: Any, seed: int
) -> None:
    writer = EpisodeWriter(tmp_path / "a.h5", schema=every_schema)
    for path, samples in every_sample.items():
        writer.append(path, *samples[0])
    writer.flush()
    flushed = writer.journal_path.stat().st_size
    for path, samples in every_sample.items():
        for sample in samples[1:]:
            writer.append(path, *sample)
    with pytest.raises(KilledError), writer:
        raise KilledError
    whole = writer.journal_path.read_bytes()
    assert flushed < len(whole)
    size = int(np.random.default_rng(seed).integers(flushed, len(whole)))
    writer.journal_path.write_bytes(whole[:size])
    with Episode.open(recover(writer.journal_path)) as episode:
        # Pictures come from their encoder when they are ready, whatever is flushed.
        signals = [s.path for s in every_schema.streams if s.kind not in ("video", "depth")]
        assert len(signals) > 2
        for path in signals:
            assert episode[path].time_ns[0] == every_sample[path][0][0]


def test_a_journal_that_was_changed_is_kept_beside_the_episode(journal: Path) -> None:
    data = bytearray(journal.read_bytes())
    data[-60] ^= 1
    journal.write_bytes(data)
    with Episode.open(recover(journal)) as episode:
        assert "does not match its checksum" in str(episode.recovered)
    assert journal.with_name("a.journal.damaged").read_bytes() == data


@pytest.mark.parametrize("header", [{}, {"streams": 5}, {"streams": [{}]}, {"id": "x"}])
def test_a_header_that_is_none_is_one_sentence_and_costs_nothing(
    tmp_path: Path, header: dict[str, Any]
) -> None:
    JournalWriter(tmp_path / "a.journal", header, ["a"]).close()
    with pytest.raises(EpisodeError) as caught:
        recover(tmp_path / "a.journal")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "a.journal").exists()


def test_a_sample_of_another_size_is_refused(tmp_path: Path, every_schema: Schema) -> None:
    writer = EpisodeWriter(tmp_path / "a.h5", schema=every_schema)
    writer._journal.append("observations/arm", 0, 0, b"abc")
    with pytest.raises(KilledError), writer:
        raise KilledError
    with pytest.raises(EpisodeError, match="observations/arm: got 3 packed bytes; expected"):
        recover(writer.journal_path)


def test_an_empty_journal_says_that_it_can_go(tmp_path: Path, every_schema: Schema) -> None:
    writer = EpisodeWriter(tmp_path / "a.h5", schema=every_schema)
    with pytest.raises(KilledError), writer:
        raise KilledError
    with pytest.raises(WriteError, match=r"no stream has a sample.* Remove .*a\.journal\."):
        recover(writer.journal_path)
    assert not (tmp_path / "a.h5").exists()


@pytest.mark.parametrize("name", ["missing.journal", "folder", "file.journal", "old.h5.partial"])
def test_what_is_no_journal_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "old.h5.partial").mkdir()
    (tmp_path / "file.journal").touch()
    reason = "No such file|no regular file|not a journal|what a writer of Corporeal 0.1 left"
    with pytest.raises(CorporealError, match=reason):
        recover(tmp_path / name)


def test_an_episode_of_any_name_is_recovered_under_it(
    tmp_path: Path, every_schema: Schema, every_sample: Any
) -> None:
    writer = EpisodeWriter(tmp_path / "a.hdf5", schema=every_schema)
    writer.append("observations/arm", *every_sample["observations/arm"][0])
    with pytest.raises(KilledError), writer:
        raise KilledError
    assert recover(writer.journal_path) == tmp_path / "a.hdf5"


def test_what_was_left_is_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("b/x.h5.partial", "c"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a.journal").touch()
    left = [path.relative_to(tmp_path).as_posix() for path in find_leftovers(tmp_path)]
    assert left == ["a.journal", "b/x.h5.partial"]
    assert find_leftovers(tmp_path / "a.journal") == [tmp_path / "a.journal"]
