"""The arms of the set look like arms: every column is the joint, and has the sign, that it says."""

from collections.abc import Sequence

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.arm_order import PREFIX, UNNATURAL
from corporeal.words import some_of

# A change that gains this share of the best one is named beside it.
RIVAL = 0.8
MOST_RIVALS = 2


def find(
    batch: Batch,
    *,
    min_gain: float = 0.6,
    min_unnatural: float = 0.2,
    min_gain_natural: float = 1.0,
    min_share: float = 0.6,
    min_episodes: int = 3,
) -> Findings:
    """Yield joints of the arms that are exchanged or turned round in `min_share` of all episodes.

    Told by the body alone, so that it does not matter that all episodes are alike: by limits;
    elbows inside the trunk or above the shoulders; hands above the shoulders, behind the elbows or
    beyond the middle; two arms that do not rest alike; hands that turn more than the joints of
    one that is led. The change must gain `min_gain`, clean sets reach 0.25. Arms that look natural
    as they stand (below `min_unnatural`) need `min_gain_natural`, and ask a human only.

    Why: one wrong line in a converter makes every episode wrong in the same way, and no comparison
    between episodes shows it; the policy is trained well and moves another joint on the robot.
    Fix: put the columns in the robot's own order and signs, in the converter, and convert again.
    """
    known = [each for each in batch.episodes if UNNATURAL in each.measures]
    if len(known) < min_episodes:
        raise NotAssessed(f"both arms are known of {len(known)} episodes; it needs {min_episodes}")
    ranked = _ranked(known, min_share)
    if not ranked:
        return
    change, gain = ranked[0]
    unnatural = float(np.median([each.measures[UNNATURAL] for each in known]))
    sure = unnatural >= min_unnatural
    limit = min_gain if sure else min_gain_natural
    if gain <= limit:
        return
    rivals = [other for other, also in ranked[1 : 1 + MOST_RIVALS] if also > RIVAL * gain]
    hit = [each for each in known if each.measures.get(PREFIX + change, 0.0) > min_gain / 2]
    whole = len(hit) == len(known)
    yield Finding(
        f"order or sign of joints is wrong in {'the whole set' if whole else 'most of the set'}: "
        f"{change}, in {len(hit)} of {len(known)} episodes alike; read so, the arms are natural"
        + (f"; it may also be that {some_of(rivals)}" if rivals else ""),
        value=gain,
        limit=limit,
        severity=None if sure else "quarantine",
        episodes=tuple(each.index for each in hit),
    )


def _ranked(known: Sequence[Synopsis], share: float) -> list[tuple[str, float]]:
    """Changes with what they gain in at least this share of the episodes, the best first."""
    names = set().union(*(each.measures for each in known)) - {UNNATURAL}
    gains = {}
    for name in (name for name in names if name.startswith(PREFIX)):
        own = [each.measures.get(name, 0.0) for each in known]
        gains[name.removeprefix(PREFIX)] = float(np.quantile(own, 1 - share))
    return sorted(gains.items(), key=lambda each: (-each[1], each[0]))


CHECK = Check(find, topic="sets", severity="fail", scope="batch")
