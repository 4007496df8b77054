"""The arms of the set look like arms: every column is the joint, and has the sign, that it says."""

from collections.abc import Sequence

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.arm_order import PREFIX, UNNATURAL
from corporeal.quality.evidence.order_changes import (
    Ranked,
    columns_in,
    rank_changes,
    rivals_of,
)
from corporeal.words import counted, listed

# A single episode is odd among so many natural ones.
MOSTLY = 0.75
# So many that are odd in the same way are odd for the same reason.
LEAST_ALIKE = 2


def find(
    batch: Batch,
    *,
    min_gain: float = 0.6,
    min_unnatural: float = 0.2,
    min_gain_natural: float = 1.0,
    min_gain_alone: float = 1.5,
    min_share: float = 0.6,
    min_episodes: int = 3,
) -> Findings:
    """Yield joints of the arms that are exchanged or turned round in `min_share` of all episodes.

    Told by the body alone, so that it does not matter that all episodes are alike: by limits;
    elbows inside the trunk or above the shoulders; hands above the shoulders, behind the elbows or
    beyond the middle; two arms that do not rest alike; hands that turn more than the joints of
    one that is led. The change must gain `min_gain`; the clean sets that it was tuned on reach
    0.25. Arms that look natural as they stand (below `min_unnatural`) need `min_gain_natural`: at
    the share, or on average where it is the best change of every single episode. Among natural
    episodes a single one needs `min_gain_alone`, several that agree on a change `min_gain`. It asks
    a human and fails nothing: arms may be held in odd ways.

    Why: one wrong line in a converter makes every episode wrong in the same way, and no comparison
    between episodes shows it; the policy is trained well and moves another joint on the robot.
    Fix: put the columns in the robot's own order and signs, in the converter, and convert again.
    """
    known = [each for each in batch.episodes if UNNATURAL in each.measures]
    if len(known) < min_episodes:
        arms = counted(len(known), "episode")
        raise NotAssessed(f"both arms are known of {arms}; {min_episodes} are needed")
    unnatural = float(np.median([each.measures[UNNATURAL] for each in known]))
    limit = min_gain if unnatural >= min_unnatural else min_gain_natural
    ranked = _agreed(known, min_gain / 2) or _ranked(known, min_share)
    if ranked and ranked[0][1] > limit:
        yield _of_the_set(known, ranked, limit, min_gain / 2)
        return
    odd = [each for each in known if each.measures[UNNATURAL] > min_unnatural]
    natural = len(known) - len(odd)
    alike = _alike(odd, min_gain)
    if alike and natural >= max(min_episodes, len(known) / 2):
        yield _of_some(alike, min_gain)
    # Where many are odd, each in its own way, the motion is: no order of columns would mend it.
    if natural < max(min_episodes, MOSTLY * len(known)):
        return
    for each in odd:
        ranked = _ranked([each], 1.0)
        if each not in alike and ranked and ranked[0][1] > min_gain_alone:
            yield _of_some([each], min_gain_alone)


def _of_the_set(known: Sequence[Synopsis], ranked: Ranked, limit: float, least: float) -> Finding:
    change, gain = ranked[0]
    hit = [each for each in known if each.measures.get(PREFIX + change, 0.0) > least]
    where = "the whole set" if len(hit) == len(known) else "most of the set"
    return Finding(
        f"order or sign of joints is wrong in {where}: {change}, in {len(hit)} of {len(known)} "
        f"episodes alike; read so, the arms are natural{rivals_of(ranked)}",
        value=gain,
        limit=limit,
        episodes=tuple(each.index for each in hit),
        columns=columns_in(hit[0], change),
    )


def _of_some(episodes: Sequence[Synopsis], limit: float) -> Finding:
    """One that is odd alone, or several that are odd in the same way."""
    ranked = _ranked(episodes, 1.0)
    change, gain = ranked[0]
    indices = [each.index for each in episodes]
    one = len(indices) == 1
    where = f"episode{'' if one else 's'} {listed(map(str, indices))}{'' if one else ' alike'}"
    return Finding(
        f"order or sign of joints looks wrong in {where}: {change}; read so, the arms are "
        f"natural{rivals_of(ranked)}",
        value=gain,
        limit=limit,
        episodes=tuple(indices),
        columns=columns_in(episodes[0], change),
    )


def _agreed(known: Sequence[Synopsis], least: float) -> Ranked:
    """The change that is the best of every episode, by over `least`, with what it gains on average.

    Nothing where they do not agree. An episode in which one hand rests tells little of it.
    """
    best = [_ranked([each], 1.0)[:1] for each in known]
    changes = {change for top in best for change, gain in top if gain > least}
    gains = [gain for top in best for _, gain in top if gain > least]
    if len(changes) != 1 or len(gains) < len(known):
        return []
    (change,) = changes
    others = [(other, gain) for other, gain in _ranked(known, 1.0) if other != change]
    return [(change, float(np.mean(gains))), *others]


def _alike(odd: Sequence[Synopsis], min_gain: float) -> list[Synopsis]:
    """Those of the odd episodes, more than half of them, whose best change is the same one."""
    best: dict[str, list[Synopsis]] = {}
    for each in odd:
        for change, gain in _ranked([each], 1.0)[:1]:
            if gain > min_gain:
                best.setdefault(change, []).append(each)
    most = max(best.values(), key=len, default=[])
    return most if len(most) >= LEAST_ALIKE and 2 * len(most) > len(odd) else []


def _ranked(known: Sequence[Synopsis], share: float) -> Ranked:
    return rank_changes(known, share, prefix=PREFIX, besides=UNNATURAL)


CHECK = Check(
    find,
    topic="sets",
    severity="quarantine",
    scope="batch",
    explains=("joint_beyond_limit", "joint_names_wrong", "hand_too_fast", "self_collision"),
)
