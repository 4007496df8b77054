"""The levels of every planned factor have the share of episodes that was planned."""

from corporeal.errors import NotAssessed
from corporeal.protocol.coverage import coverage
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol


def find(batch: Batch, *, max_error: float = 0.1, min_episodes: int = 20) -> Findings:
    """Yield levels whose share differs from the protocol's plan by more than `max_error`.

    Fewer than `min_episodes` are not judged.

    Why: a label that is rare in the data is rare in what the policy can do.
    Fix: collect the levels that are behind next.
    """
    factors = protocol_of(batch).factors
    episodes = [each.metadata for each in under_protocol(batch)]
    if not factors:
        raise NotAssessed("the protocol plans no factors")
    if len(episodes) < min_episodes:
        raise NotAssessed(f"{len(episodes)} episodes; expected {min_episodes}")
    told = {
        factor.name: sum(factor.level_of(each) is not None for each in episodes)
        for factor in factors
    }
    if not any(count >= min_episodes for count in told.values()):
        raise NotAssessed("the metadata does not state the planned factors")
    for cell in coverage(factors, episodes):
        if told[cell.factor] < min_episodes:
            continue
        share, planned = cell.count / told[cell.factor], cell.planned / len(episodes)
        if abs(share - planned) > max_error:
            yield Finding(
                f"{cell.factor} {cell.level} makes {100 * share:.0f} % of {told[cell.factor]} "
                f"episodes; planned are {100 * planned:.0f} %",
                value=share,
                limit=planned,
            )


CHECK = Check(find, topic="sets", severity="quarantine", scope="batch", formerly=("label_balance",))
