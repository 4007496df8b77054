"""No episode is in the set twice."""

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings


def find(batch: Batch) -> Findings:
    """Yield groups of episodes whose every number is the same.

    Why: a copy counts twice in training, and in a split it puts test data into training.
    Fix: keep one of them.
    """
    if len(batch.episodes) < 2:
        raise NotAssessed(f"{len(batch.episodes)} episodes; a copy needs two")
    groups: dict[bytes, list[Synopsis]] = {}
    for episode in batch.episodes:
        if episode.frames:
            groups.setdefault(episode.digest, []).append(episode)
    for group in groups.values():
        if len(group) > 1:
            first, *others = group
            copies = ", ".join(str(other.index) for other in others)
            verb = "is an exact copy" if len(others) == 1 else "are exact copies"
            yield Finding(
                f"episode {copies} {verb} of episode {first.index}: "
                f"all {first.frames} frames are the same",
                episodes=tuple(episode.index for episode in group),
                value=float(len(group)),
                limit=1.0,
            )


CHECK = Check(find, topic="sets", severity="quarantine", scope="batch", formerly=("no_duplicates",))
