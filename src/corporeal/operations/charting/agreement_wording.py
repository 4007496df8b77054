"""Words and queries that the charts of agreement share."""

from __future__ import annotations

from collections.abc import Iterable

from corporeal.catalog.query import Condition, OneOf

NO_PAIRS = "Cannot tell: no episode here was labelled and submitted by two people yet."
ADVICE = (
    "Make a queue under Labels; at least one episode in ten is given to two people who do not "
    "see each other."
)
_MOST = 60


def only(episodes: Iterable[str]) -> Condition:
    """These episodes and no others, as a query; the first ones of very many."""
    return OneOf("id", tuple(dict.fromkeys(episodes))[:_MOST])


def rule_words(rule: str) -> str:
    """`phase/grasp.starts` as people say it."""
    lane, _, rest = rule.partition("/")
    label, _, edge = rest.partition(".")
    told = "begins" if edge == "starts" else "ends"
    where = "" if lane == "phase" else f" ({lane.replace('_', ' ')})"
    return f"{label.replace('_', ' ')} {told}{where}"


def lean(frames: float) -> str:
    """A signed difference as people say it."""
    if abs(frames) < 0.05:
        return "on time"
    return f"{abs(frames):.1f} {'late' if frames > 0 else 'early'}"
