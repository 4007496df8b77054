"""No episode is another one again with a little noise, a shift or a cut."""

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.duplicates import path_distance, shared_rows, worth_comparing


def find(batch: Batch, *, min_distance: float = 0.1, max_shared: float = 0.3) -> Findings:
    """Yield pairs whose paths lie closer than `min_distance`, or that share rows.

    The distance is RMS over time and columns after the best shift, as a share of how far the
    motion itself goes; people who repeat a task stay above 0.2. `max_shared` is the share of
    distinct rows that two episodes may have in common; real sensors never repeat a row.

    Why: a copy with noise passes every other check, counts twice and leaks between splits.
    Fix: keep one of them; if augmentation made it, mark it as augmented.
    """
    if len(batch.episodes) < 2:
        raise NotAssessed(f"{len(batch.episodes)} episodes; a copy needs two")
    episodes = batch.episodes
    comparable = [each for each in episodes if each.path is not None and each.frames]
    if len(comparable) < 2:
        raise NotAssessed("no state to compare")
    for first, second in worth_comparing(comparable):
        yield from _judge(comparable[first], comparable[second], min_distance, max_shared)


def _judge(one: Synopsis, two: Synopsis, min_distance: float, max_shared: float) -> Findings:
    if one.digest == two.digest:
        return  # said by episode_duplicated
    shared = shared_rows(one, two)
    pair = (one.index, two.index)
    if shared > max_shared:
        message = (
            f"episodes {one.index} and {two.index} share about {100 * shared:.0f} % of their rows"
        )
        yield Finding(message, episodes=pair, value=shared, limit=max_shared)
        return
    if one.names != two.names or min(one.measures["motion_s"], two.measures["motion_s"]) <= 0:
        return
    distance = path_distance(one, two, near=4 * min_distance)
    if distance < min_distance:
        message = (
            f"episodes {one.index} and {two.index} are nearly the same motion: "
            f"their paths lie {100 * distance:.1f} % of the motion apart"
        )
        yield Finding(message, episodes=pair, value=distance, limit=min_distance)


CHECK = Check(
    find, topic="sets", severity="quarantine", scope="batch", formerly=("no_near_duplicates",)
)
