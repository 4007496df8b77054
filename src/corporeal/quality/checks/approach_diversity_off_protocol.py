"""Over the batch the hand comes from sides as different as the protocol asks for."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol
from corporeal.quality.evidence.start_conditions import APPROACH


def find(batch: Batch, *, min_episodes: int = 10) -> Findings:
    """Yield a batch whose approaches differ in direction by less than the protocol's angle.

    The direction of an approach is that of the last 8 cm of the hand before the gripper closes;
    its angle to the mean direction counts, as root mean square over `min_episodes` or more.

    Why: who always comes from the same side has no answer when that side is blocked.
    Fix: collect approaches from other sides.
    """
    wanted = protocol_of(batch).approach_diversity_rad
    if wanted is None:
        raise NotAssessed("the protocol asks for no diversity of approach")
    directions = np.array(
        [
            [each.measures[name] for name in APPROACH]
            for each in under_protocol(batch)
            if set(APPROACH) <= each.measures.keys()
        ]
    )
    if len(directions) < min_episodes:
        raise NotAssessed(f"{len(directions)} episodes show an approach; expected {min_episodes}")
    mean = directions.mean(axis=0)
    cosines = directions @ mean / max(float(np.linalg.norm(mean)), 1e-9)
    spread = float(np.sqrt(np.mean(np.arccos(np.clip(cosines, -1, 1)) ** 2)))
    if spread < wanted:
        yield Finding(
            f"the approaches of {len(directions)} episodes differ by "
            f"{np.degrees(spread):.0f} degrees; the protocol asks for {np.degrees(wanted):.0f}",
            value=spread,
            limit=wanted,
        )


CHECK = Check(find, topic="protocol", severity="quarantine", unit="rad", scope="batch")
