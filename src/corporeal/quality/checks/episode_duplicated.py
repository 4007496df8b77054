"""No episode is in the set twice."""

import re
from functools import partial

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings


def find(batch: Batch) -> Findings:
    """Yield groups of episodes whose every number is the same, and name all but the first of each.

    The first is the one with the least UUID, whichever order they are judged in; where ids are no
    UUIDs, the one with the least number. In a catalogue the first is the one that came in first.

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
            first, *others = sorted(group, key=partial(_age, batch))
            copies = ", ".join(str(other.index) for other in others)
            verb = "is an exact copy" if len(others) == 1 else "are exact copies"
            yield Finding(
                f"episode {copies} {verb} of episode {first.index}: "
                f"all {first.frames} frames are the same",
                episodes=tuple(sorted(other.index for other in others)),
                value=float(len(group)),
                limit=1.0,
            )


def _age(batch: Batch, episode: Synopsis) -> tuple[bool, str, str, int]:
    is_uuid = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", episode.id) is not None
    came = batch.arrived.get(episode.index)
    is_new = came is None and episode.index not in batch.beside
    return is_new, came or "", episode.id if is_uuid else "", episode.index


CHECK = Check(find, topic="sets", severity="quarantine", scope="batch", formerly=("no_duplicates",))
