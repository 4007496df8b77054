"""Makes an episode of what a killed writer left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corporeal.episode.file.assembly import ToEpisodeTime, assemble, is_published, remove_drafts
from corporeal.episode.file.journal import JOURNAL_SUFFIX, Journal, JournalError, open_journal
from corporeal.episode.video import VideoError
from corporeal.errors import EpisodeError

DAMAGED = ".damaged"
_OLD_SPOOL = ".partial"

Describe = Callable[[Journal], tuple[Mapping[str, Any], ToEpisodeTime]]


def find_leftovers(folder: Path) -> list[Path]:
    """Every journal in, or at, `folder`, and the spool folders of earlier versions."""
    if folder.name.endswith((JOURNAL_SUFFIX, _OLD_SPOOL)):
        return [folder]
    spools = [path for path in folder.glob(f"**/*.h5{_OLD_SPOOL}") if path.is_dir()]
    return sorted([*folder.glob(f"**/*{JOURNAL_SUFFIX}"), *spools])


def describe_written(journal: Journal) -> tuple[Mapping[str, Any], ToEpisodeTime]:
    """What `EpisodeWriter` knew of the episode; its stamps are those of the episode."""
    ending = f" ({journal.ending})" if journal.is_damaged else ""
    recovered = f"the writer ended before it closed the episode{ending}"
    return {**journal.header, "recovered": recovered}, lambda _, source_ns: source_ns


def recover(path: Path | str, *, describe: Describe = describe_written) -> Path:
    """The episode with every whole sample of a journal, which is removed when that is in place.

    Can be killed and repeated. A journal in use is refused; one that was changed behind a part
    that could be read is kept under another name. `describe` says what the episode is, and how
    the stamps become those of the episode.
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
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, VideoError) as error:
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
    remove_drafts(path)
    if journal.is_damaged:
        path.rename(path.with_name(path.name + DAMAGED))
    else:
        path.unlink()
    return target
