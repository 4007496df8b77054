"""Enough episodes of the batch show an edge case on purpose."""

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol


def find(batch: Batch, *, min_episodes: int = 10) -> Findings:
    """Yield a batch with fewer deliberate edge cases than the protocol's share.

    Episodes with `edge_case` in their metadata count. Fewer than `min_episodes` are not judged.

    Why: a policy that never saw a thing go wrong cannot put it right.
    Fix: provoke some; name the case with --meta edge_case="..." when recording.
    """
    wanted = protocol_of(batch).edge_case_share
    if wanted is None:
        raise NotAssessed("the protocol asks for no share of edge cases")
    episodes = under_protocol(batch)
    if len(episodes) < min_episodes:
        raise NotAssessed(f"the batch has {len(episodes)} episodes; expected {min_episodes}")
    shown = sum(bool(each.facts.other.get("edge_case")) for each in episodes)
    share = shown / len(episodes)
    if share < wanted:
        yield Finding(
            f"{shown} of {len(episodes)} episodes show an edge case ({100 * share:.0f} %); the "
            f"protocol asks for {100 * wanted:.0f} %",
            value=share,
            limit=wanted,
        )


CHECK = Check(find, topic="protocol", severity="quarantine", scope="batch")
