"""The batch has every approach of its protocol often enough, and no other."""

from collections import Counter

from corporeal.errors import NotAssessed
from corporeal.protocol.coverage import Factor
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol


def find(batch: Batch) -> Findings:
    """Yield approaches with fewer episodes than the protocol's minimum, and ones it does not know.

    Why: a policy that saw one approach only has no answer when that one is blocked.
    Fix: collect the missing ones next.
    """
    approaches = protocol_of(batch).approaches
    if not approaches:
        raise NotAssessed("the protocol names no approach")
    by_name = Factor(name="approach", levels=tuple(each.name for each in approaches))
    told = {each.index: by_name.level_of(each.metadata) for each in under_protocol(batch)}
    counts = Counter(level for level in told.values() if level is not None)
    if not counts:
        raise NotAssessed("no episode names its approach")
    for approach in approaches:
        if counts[approach.name] < approach.minimum:
            yield Finding(
                f"approach {approach.name} has {counts[approach.name]} episodes; "
                f"the protocol asks for {approach.minimum}",
                value=float(counts[approach.name]),
                limit=float(approach.minimum),
            )
    for name in sorted(set(counts) - set(by_name.levels)):
        strangers = tuple(index for index, level in told.items() if level == name)
        yield Finding(
            f"approach {name} is none of the protocol's ({', '.join(by_name.levels)})",
            episodes=strangers,
        )


CHECK = Check(
    find, topic="protocol", severity="quarantine", scope="batch", formerly=("protocol_approaches",)
)
