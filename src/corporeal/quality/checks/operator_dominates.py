"""No operator makes too much of the batch."""

from collections import Counter

from corporeal.errors import NotAssessed
from corporeal.protocol import Protocol
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings


def find(
    batch: Batch, *, max_share: float = 0.3, min_episodes: int = 10, slack: float = 0.1
) -> Findings:
    """Yield operators who made more than `max_share` of the episodes.

    With so few operators that someone must be above the share, each may make an even part of the
    work and `slack` more; that they are few is a note. Fewer than `min_episodes` with a named
    operator are not judged.

    Why: a policy copies the person it saw most, tremor and shortcuts included.
    Fix: rotate the operators, or weigh the episodes in training.
    """
    makers = {each.index: each.facts.operator for each in batch.episodes if each.facts.operator}
    if len(makers) < min_episodes:
        raise NotAssessed(f"{len(makers)} episodes name their operator; expected {min_episodes}")
    if isinstance(batch.protocol, Protocol):
        max_share = batch.protocol.operators.greatest_share
    counts = Counter(makers.values())
    even = 1 / len(counts)
    limit = max_share if even <= max_share else even + slack
    for operator, count in counts.most_common():
        share = count / len(makers)
        # One episode over is the rounding of a small batch.
        if count - 1 <= max_share * len(makers) or share <= limit:
            continue
        yield Finding(
            f"operator {operator} made {count} of {len(makers)} episodes ({100 * share:.0f} %)",
            value=share,
            limit=limit,
        )
    if even > max_share:
        people = "1 operator" if len(counts) == 1 else f"{len(counts)} operators"
        message = (
            f"{people} made all {len(makers)} episodes; with so few, each is held to an even part "
            f"({100 * even:.0f} %) instead of {100 * max_share:.0f} %"
        )
        yield Finding(message, value=float(len(counts)), limit=1 / max_share, severity="note")


CHECK = Check(
    find, topic="sets", severity="quarantine", scope="batch", formerly=("operator_share",)
)
