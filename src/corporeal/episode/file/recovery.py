"""Makes an episode of what a killed writer left behind."""

from __future__ import annotations

from pathlib import Path

from corporeal.episode.file.assembly import assemble
from corporeal.episode.file.spool import SUFFIX, Lock
from corporeal.episode.video import VideoError
from corporeal.errors import EpisodeError


def find_spools(folder: Path) -> list[Path]:
    """Every spool folder in, or at, `folder`."""
    if folder.name.endswith(SUFFIX):
        return [folder]
    return sorted(path for path in folder.glob(f"**/*{SUFFIX}") if path.is_dir())


def recover(spool: Path | str) -> Path:
    """The episode with every whole sample of the spool folder; it is marked as recovered.

    Nothing is removed before the episode is in place. A folder in use by a live writer is
    refused.
    """
    folder = Path(spool)
    if not folder.is_dir() or not folder.name.endswith(SUFFIX):
        raise EpisodeError(f"{folder}: not a spool folder; expected a folder named *{SUFFIX}.")
    lock = Lock(folder)
    try:
        target = folder.with_name(folder.name.removesuffix(SUFFIX))
        return assemble(folder, target, recovered="the writer ended before it closed the episode")
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, VideoError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EpisodeError(
            f"{folder}: cannot be made an episode: {reason}. Nothing of it was removed."
        ) from error
    finally:
        lock.release()
