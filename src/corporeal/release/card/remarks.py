"""What a reader should know before trusting a release: limits and lopsidedness, from its counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from corporeal.release.card.facts import CardFacts
from corporeal.release.card.parts import UNKNOWN, CardShare, TaskFacts
from corporeal.words import counted

# Nobody should have made more than the first share; a task or place above the second dominates.
_MOST_OF_ONE, _DOMINATES = 0.30, 0.80
_FIELDS = {"recorded_ns": "time of recording", "duration_s": "duration", "success": "outcome"}
_MOST_FINDINGS = 12


def limitations(facts: CardFacts) -> Iterator[str]:
    """What is missing, and what checks found that is still in the release."""
    for finding in facts.findings[:_MOST_FINDINGS]:
        yield (
            f"{_part(finding.episodes, facts)} with a finding of the check {finding.check} "
            f"({finding.severity})."
        )
    if len(facts.findings) > _MOST_FINDINGS:
        yield f"Findings of {len(facts.findings) - _MOST_FINDINGS} more checks."
    for hole in facts.holes:
        field = _FIELDS.get(hole.field, hole.field)
        yield f"{_part(hole.episodes, facts)} without a stated {field}."
    for stream in facts.streams:
        if stream.episodes < facts.episodes:
            missing = facts.episodes - stream.episodes
            yield f"{_part(missing, facts)} without the stream {stream.path}."
    if facts.erased:
        yield f"{_part(facts.erased, facts)} erased since the release was made."
    if facts.licence is None:
        yield "No licence is stated."


def biases(facts: CardFacts) -> Iterator[str]:
    """What there is more of than the rest: people, tasks, places, robots."""
    for share in facts.operators:
        if share.name != UNKNOWN and share.episodes > _MOST_OF_ONE * facts.episodes:
            yield f"One person ({share.name}) made {share.episodes / facts.episodes:.0%} of it."
    kinds: Mapping[str, Sequence[CardShare | TaskFacts]] = {
        "task": facts.tasks,
        "station": facts.stations,
        "environment": facts.environments,
        "robot": facts.robots,
    }
    for kind, shares in kinds.items():
        named = [share for share in shares if share.name != UNKNOWN]
        if len(named) == 1:
            yield f"Every stated {kind} is the same: {named[0].name}."
        elif named and named[0].episodes > _DOMINATES * facts.episodes:
            part = named[0].episodes / facts.episodes
            yield f"The {kind} {named[0].name} makes up {part:.0%} of it."


def _part(episodes: int, facts: CardFacts) -> str:
    share = episodes / max(1, facts.episodes)
    told = "under 1%" if 0 < share < 0.01 else f"{share:.0%}"
    return f"{counted(episodes, 'episode')} ({told})"
