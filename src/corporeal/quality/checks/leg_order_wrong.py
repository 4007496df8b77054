"""Legs and waist of the set fit the ground and the momentum of a body, as they are named."""

from collections.abc import Sequence

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.leg_order import AS_IS, LEGS, WAIST
from corporeal.quality.evidence.order_changes import (
    Ranked,
    columns_in,
    rank_changes,
    rivals_of,
)

_FITS = {
    LEGS: "the soles stand level and still on the floor",
    WAIST: "the body turns with less momentum",
}


def find(
    batch: Batch,
    *,
    min_gain_legs: float = 0.1,
    min_gain_legs_alone: float = 0.3,
    min_gain_waist: float = 0.3,
    min_gain_waist_alone: float = 0.6,
    min_share: float = 0.6,
    min_episodes: int = 3,
) -> Findings:
    """Yield joints of legs or waist that are exchanged or turned round, in all episodes or in one.

    Told by the body and the pose of its base alone, so that it does not matter that all episodes
    are alike. The lower sole of a body that stands, walks or dances is level, at rest and on the
    floor, and joints keep within their limits: `min_gain_legs` is the share of what is askew that a
    change must mend in `min_share` of at least `min_episodes` episodes, `min_gain_legs_alone` in a
    single one. Who turns the chest one way turns arms and legs the other way: a change of the waist
    must lower the swing of the angular momentum and of its rate by `min_gain_waist` (logarithms,
    added up over the axes); it is looked at where feet are lifted. It says nothing without the pose
    of an upright base, nor of joints that hardly move. It can hardly tell which leg is which in a
    gait that is alike on both sides. It asks a human and fails nothing.

    Why: one wrong line in a converter makes every episode wrong in the same way, and no comparison
    between episodes shows it; the policy is trained well and moves another joint on the robot.
    Fix: put the columns in the robot's own order and signs, in the converter, and convert again.
    """
    looked = 0
    for prefix, least, alone in (
        (LEGS, min_gain_legs, min_gain_legs_alone),
        (WAIST, min_gain_waist, min_gain_waist_alone),
    ):
        known = [each for each in batch.episodes if prefix + AS_IS in each.measures]
        looked += len(known)
        ranked = _ranked(known, min_share, prefix) if len(known) >= min_episodes else []
        if ranked and ranked[0][1] > least:
            yield _of_the_set(known, ranked, least, prefix)
            # What a wrong leg does to the momentum is nothing that the waist has done.
            return
        wrong = []
        for each in known:
            own = _ranked([each], 1.0, prefix)
            if own and own[0][1] > alone:
                wrong.append(each)
                yield _of_one(each, own, alone, prefix)
        if wrong:
            return
    if not looked:
        raise NotAssessed("no episode has the legs or the waist, and the pose of an upright base")


def _ranked(known: Sequence[Synopsis], share: float, prefix: str) -> Ranked:
    return rank_changes(known, share, prefix=prefix, besides=prefix + AS_IS)


def _of_the_set(known: Sequence[Synopsis], ranked: Ranked, limit: float, prefix: str) -> Finding:
    change, gain = ranked[0]
    hit = [each for each in known if each.measures.get(prefix + change, 0.0) > limit / 2]
    where = "the whole set" if len(hit) == len(known) else "most of the set"
    return Finding(
        f"order or sign of joints is wrong in {where}: {change}, in {len(hit)} of {len(known)} "
        f"episodes alike; read so, {_FITS[prefix]}{rivals_of(ranked)}",
        value=gain,
        limit=limit,
        episodes=tuple(each.index for each in hit),
        columns=columns_in(hit[0], change),
    )


def _of_one(episode: Synopsis, ranked: Ranked, limit: float, prefix: str) -> Finding:
    change, gain = ranked[0]
    return Finding(
        f"order or sign of joints looks wrong in episode {episode.index}: {change}; read so, "
        f"{_FITS[prefix]}{rivals_of(ranked)}",
        value=gain,
        limit=limit,
        episodes=(episode.index,),
        columns=columns_in(episode, change),
    )


CHECK = Check(
    find,
    topic="sets",
    severity="quarantine",
    scope="batch",
    explains=("joint_beyond_limit", "joint_names_wrong"),
    spoils=("base_height_wrong", "foot_below_ground", "foot_slides", "foot_load_mismatch"),
)
