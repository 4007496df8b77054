"""Makes an episode of what a killed writer left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py

from corporeal.episode.file.assembly import ToEpisodeTime, assemble, is_published, remove_drafts
from corporeal.episode.file.attributes import read_attribute
from corporeal.episode.file.digest import CONTENT, DIGEST, content_digest, dataset_digest
from corporeal.episode.file.journal import JOURNAL_SUFFIX, MARKS, JournalError
from corporeal.episode.file.journal_index import Journal, open_journal
from corporeal.episode.video import VideoError
from corporeal.errors import EpisodeError

DAMAGED = ".damaged"
_OLD_SPOOL = ".partial"

# A full disk, a broken picture, a header of the wrong kinds, a claim that fits no memory.
_UNMAKEABLE = (OSError, RuntimeError, MemoryError, ArithmeticError, LookupError, TypeError,
               ValueError, VideoError)  # fmt: skip
Describe = Callable[[Journal], tuple[Mapping[str, Any], ToEpisodeTime]]


def find_leftovers(folder: Path) -> list[Path]:
    """Every journal in, or at, `folder`, and the spool folders of earlier versions.

    What has the name of a journal and is none (a folder, a pipe, a link) is listed too, and
    refused with a sentence when it is opened.
    """
    if folder.name.endswith((JOURNAL_SUFFIX, _OLD_SPOOL)):
        return [folder]
    spools = [path for path in folder.glob(f"**/*.h5{_OLD_SPOOL}") if path.is_dir()]
    return sorted([*folder.glob(f"**/*{JOURNAL_SUFFIX}"), *spools])


def describe_written(journal: Journal) -> tuple[Mapping[str, Any], ToEpisodeTime]:
    """What `EpisodeWriter` knew of the episode; its stamps are those of the episode."""
    ending = f" ({journal.ending})" if journal.is_damaged else ""
    recovered = f"the writer ended before it closed the episode{ending}"
    header = {**journal.header, "recovered": recovered}
    gaps = describe_gaps(journal)
    if gaps:
        header["metadata"] = {**header["metadata"], "gaps": gaps, "quarantine": recovered}
    return header, lambda _, source_ns: source_ns


def describe_gaps(journal: Journal, *, epoch_ns: int = 0) -> list[dict[str, Any]]:
    """The damage inside a journal, as metadata has it: when, and what it cost each stream."""
    if not journal.gaps:
        return []
    lost = {stream: runs.lost for stream, runs in journal.runs.items()
            if stream != MARKS and journal.is_numbered and runs.lost}  # fmt: skip
    spans: list[dict[str, Any]] = [
        {"start_ns": None if gap.after_ns is None else gap.after_ns - epoch_ns,
         "end_ns": gap.before_ns - epoch_ns, "bytes": gap.stop_byte - gap.start_byte}
        for gap in journal.gaps
    ]  # fmt: skip
    return [*spans[:-1], {**spans[-1], "lost_in_all": lost}]


def recover(path: Path | str, *, describe: Describe = describe_written) -> Path:
    """The episode with every whole sample of a journal, which is removed when that is in place.

    Can be killed and repeated. A journal in use is refused; one that was changed is kept under
    another name, and none is removed before the episode was opened again and matched its hashes.
    `describe` says what the episode is, and how the stamps become those of the episode.
    """
    path = Path(path)
    target = path.with_name(path.name.removesuffix(JOURNAL_SUFFIX) + ".h5")
    if path.is_dir() and path.name.endswith(_OLD_SPOOL):
        raise EpisodeError(
            f"{path}: what a writer of Corporeal 0.1 left; expected a *{JOURNAL_SUFFIX}. "
            "Recover it with that version."
        )
    try:
        with open_journal(path) as journal:
            return _recover(journal, target, describe)
    except FileNotFoundError:
        if target.exists():
            # Someone else has recovered it in the meantime.
            return target
        raise JournalError(f"{path}: No such file or directory.") from None
    except JournalError:
        raise
    except _UNMAKEABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise JournalError(
            f"{path}: cannot be made an episode: {reason.splitlines()[0]}. "
            "Nothing of it was removed."
        ) from error


def _recover(journal: Journal, target: Path, describe: Describe) -> Path:
    path, name = journal.path, journal.header.get("file")
    if name is not None:
        target = path.with_name(Path(name).name)
    if not target.exists():
        header, to_episode_time = describe(journal)
        assemble(journal, header, target, to_episode_time=to_episode_time)
    elif not is_published(target, journal.header["id"]):
        raise JournalError(
            f"{target} already exists and is another episode than that of {path.name}. "
            "Move one of them away, then recover again."
        )
    _demand_whole(target, path)
    remove_drafts(path)
    if journal.is_damaged:
        path.rename(path.with_name(path.name + DAMAGED))
    else:
        path.unlink()
    return target


def _demand_whole(target: Path, journal: Path) -> None:
    """Open the episode once more and compare all of it with its hashes."""
    wrong: list[str] = []

    def compare(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and read_attribute(item, DIGEST) != dataset_digest(item):
            wrong.append(name)

    with h5py.File(target, "r") as file:
        file.visititems(compare)
        if read_attribute(file, CONTENT) != content_digest(file):
            wrong.append("its names and attributes")
    if wrong:
        raise JournalError(
            f"{target}: does not hold what was written ({wrong[0]}); the journal {journal.name} "
            "is kept. Move the file away, check the disk, then recover again."
        )
