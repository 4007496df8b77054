"""No operator makes too much of the batch."""

from collections import Counter

from corporeal.errors import NotAssessed
from corporeal.protocol import Protocol
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings


def find(batch: Batch, *, max_share: float = 0.3, min_episodes: int = 10) -> Findings:
    """Yield operators who made more than `max_share` of the episodes.

    Fewer than `min_episodes` with a named operator are not judged. With so few operators that
    someone must be above the share, the finding is only a note.

    Why: a policy copies the person it saw most, tremor and shortcuts included.
    Fix: rotate the operators, or weigh the episodes in training.
    """
    makers = {each.index: each.facts.operator for each in batch.episodes if each.facts.operator}
    if len(makers) < min_episodes:
        raise NotAssessed(f"{len(makers)} episodes name their operator; expected {min_episodes}")
    if isinstance(batch.protocol, Protocol):
        max_share = batch.protocol.operators.greatest_share
    counts = Counter(makers.values())
    few = 1 / len(counts) > max_share
    for operator, count in counts.most_common():
        share = count / len(makers)
        # One episode over is the rounding of a small batch.
        if count - 1 <= max_share * len(makers) or (few and share <= 1 / len(counts) + 0.1):
            continue
        yield Finding(
            f"operator {operator} made {count} of {len(makers)} episodes ({100 * share:.0f} %)",
            value=share,
            limit=max_share,
        )
    if few:
        message = f"{len(counts)} operators made all {len(makers)} episodes"
        yield Finding(message, value=float(len(counts)), limit=1 / max_share, severity="note")


CHECK = Check(
    find, topic="sets", severity="quarantine", scope="batch", formerly=("operator_share",)
)
