"""Enough different operators show every variant of the protocol."""

from corporeal.errors import NotAssessed
from corporeal.protocol.coverage import Factor
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol


def find(batch: Batch, *, min_episodes: int = 10) -> Findings:
    """Yield variants (approaches, or the task) that fewer operators show than the protocol asks.

    A variant with fewer than `min_episodes` is still being collected and is not judged.

    Why: one person's habits look like the task itself.
    Fix: rotate the operators.
    """
    protocol = protocol_of(batch)
    wanted = protocol.operators.minimum_per_variant
    levels = tuple(each.name for each in protocol.approaches) or (protocol.task.name,)
    approach = Factor(name="approach", levels=levels)
    people: dict[str, list[str]] = {}
    for episode in under_protocol(batch):
        operator = episode.facts.operator
        if operator:
            variant = approach.level_of(episode.metadata) or protocol.task.name
            people.setdefault(variant, []).append(str(operator))
    if not any(len(each) >= min_episodes for each in people.values()):
        raise NotAssessed(f"no variant has {min_episodes} episodes that name their operator")
    for variant, operators in people.items():
        if len(operators) >= min_episodes and len(set(operators)) < wanted:
            yield Finding(
                f"{variant} is shown by {len(set(operators))} operators in {len(operators)} "
                f"episodes; the protocol asks for {wanted}",
                value=float(len(set(operators))),
                limit=float(wanted),
            )


CHECK = Check(
    find, topic="protocol", severity="quarantine", scope="batch", formerly=("protocol_operators",)
)
