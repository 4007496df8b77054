"""Every planned environment, object and surface occurs in the batch."""

from corporeal.errors import NotAssessed
from corporeal.protocol.coverage import coverage
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol


def find(batch: Batch, *, episodes_per_level: int = 3) -> Findings:
    """Yield levels of the protocol's factors that no episode has.

    A factor is judged once there are `episodes_per_level` for each of its levels on average.

    Why: what a policy never saw it will not handle; the plan said that it should see it.
    Fix: collect the missing levels next.
    """
    factors = protocol_of(batch).factors
    episodes = [each.metadata for each in under_protocol(batch)]
    ripe = [
        factor
        for factor in factors
        if sum(factor.level_of(each) is not None for each in episodes)
        >= episodes_per_level * len(factor.levels)
    ]
    if not ripe:
        raise NotAssessed("the protocol plans no factors, or too few episodes state them")
    for cell in coverage(ripe, episodes):
        if not cell.count:
            yield Finding(f"no episode has {cell.factor} {cell.level}", value=0.0, limit=1.0)


CHECK = Check(
    find, topic="sets", severity="note", scope="batch", formerly=("environment_coverage",)
)
