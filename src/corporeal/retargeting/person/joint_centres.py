"""Centres of joints from markers on the skin, by published regressions and widths of joints.

Hips: Harrington and others 2007 (J. Biomech. 40, 595). Shoulders: Rab and others 2002 (Gait and
Posture 15, 180). Knees, ankles and elbows: half way between the two sides of the joint, or in from
its outer side by half its width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from corporeal.geometry import Array, normalise
from corporeal.retargeting.motion import POINTS, SIDES
from corporeal.retargeting.person.standard_axes import median
from corporeal.schema import Part

_TRUNK_MARKS = ("sacrum", "c7", "t10", "sternum_top", "sternum_end", "head_top", "head_front")
_SIDE_MARKS = (
    "asis", "psis", "trochanter", "femur_outer", "femur_inner", "malleolus_outer",
    "malleolus_inner", "calcaneus", "metatarsal_1", "metatarsal_2", "metatarsal_5", "toe_tip",
    "acromion", "humerus_outer", "humerus_inner", "radius_end", "ulna_end", "knuckle_2",
    "knuckle_3", "knuckle_5", "ball", "head_front", "head_back", "head_side", "back",
    "thigh_1", "thigh_2", "thigh_3", "shank_1", "shank_2", "shank_3",
)  # fmt: skip
# What a marker may sit on; or it is one of POINTS itself, where a program computed those.
LANDMARKS: tuple[str, ...] = (
    *_TRUNK_MARKS,
    "head_base",
    *(f"{side}_{mark}" for side in SIDES for mark in _SIDE_MARKS),
)
# Markers that keep their distances, so that a lost one can be found from three others.
CLUSTERS: tuple[tuple[str, ...], ...] = (
    ("left_asis", "right_asis", "left_psis", "right_psis", "sacrum"),
    ("c7", "t10", "sternum_top", "sternum_end", "left_back", "right_back"),
    (
        "head_top", "head_front", "left_head_front", "right_head_front",
        "left_head_back", "right_head_back", "left_head_side", "right_head_side",
    ),
    *(
        tuple(f"{side}_{mark}" for mark in marks)
        for side in SIDES
        for marks in (
            ("thigh_1", "thigh_2", "thigh_3", "femur_outer", "femur_inner"),
            ("shank_1", "shank_2", "shank_3", "malleolus_outer", "malleolus_inner"),
            ("calcaneus", "metatarsal_1", "metatarsal_2", "metatarsal_5", "toe_tip"),
            ("radius_end", "ulna_end", "knuckle_2", "knuckle_3", "knuckle_5"),
        )
    ),
)  # fmt: skip

_Length = Annotated[float, Field(gt=0, lt=0.5)]


class Sizes(Part):
    """Sizes that markers do not show, in metres; means of adults unless measured."""

    knee_width_m: _Length = 0.10
    ankle_width_m: _Length = 0.07
    elbow_width_m: _Length = 0.08
    marker_radius_m: _Length = 0.007
    heel_depth_m: _Length | None = None
    toe_depth_m: _Length | None = None


class MarkedBody:
    """Places (T, 3) by name, NaN where unknown, and how far each is to be trusted, (T,) 0 to 1."""

    def __init__(
        self, places: dict[str, Array], trust: dict[str, Array], frames: int, sizes: Sizes
    ) -> None:
        self.places = places
        self.trust = trust
        self.sizes = sizes
        self._nowhere = np.full((frames, 3), np.nan)

    def at(self, name: str) -> Array:
        """Where it is, NaN throughout for a name that is not known."""
        return self.places.get(name, self._nowhere)

    def half(self, outer: str, inner: str, otherwise: float) -> float:
        """Half the width of a joint with the marker on it, measured where both sides are seen."""
        measured = median(np.linalg.norm(self.at(outer) - self.at(inner), axis=1)) / 2
        return measured if 0.01 < measured < 0.12 else otherwise / 2 + self.sizes.marker_radius_m


def across(vectors: Array, axis: Array) -> Array:
    """The part of vectors (T, 3) at right angles to unit axes (T, 3)."""
    along = np.sum(vectors * axis, axis=1, keepdims=True)
    return np.asarray(vectors - axis * along)


# How often the axis of a knee is found anew from the centres that it gave.
_ROUNDS = 3


@dataclass(frozen=True)
class PlaceRecipe:
    """How one place follows from others: `make` needs all of `needs`; its trust is at most `at`."""

    place: str
    needs: tuple[str, ...]
    make: Callable[[MarkedBody], Array]
    at: float = 1.0


def reachable(marks: Iterable[str]) -> set[str]:
    """The POINTS that can be had from these landmarks."""
    known = set(marks)
    for recipe in RECIPES:
        if known.issuperset(recipe.needs):
            known.add(recipe.place)
    return known.intersection(POINTS)


def add_places(body: MarkedBody) -> None:
    """Add to the body every place that follows; a better recipe's frames are never replaced."""
    for recipe in RECIPES:
        if not all(need in body.places for need in recipe.needs):
            continue
        made = recipe.make(body)
        trust = np.minimum(recipe.at, np.min([body.trust[need] for need in recipe.needs], axis=0))
        lost = (trust == 0) | ~np.all(np.isfinite(made), axis=1)
        before = body.trust.get(recipe.place)
        if before is not None:
            kept = before > 0
            made = np.where(kept[:, None], body.at(recipe.place), made)
            trust, lost = np.where(kept, before, trust), lost & ~kept
        body.places[recipe.place] = np.where(lost[:, None], np.nan, made)
        body.trust[recipe.place] = np.where(lost, 0.0, trust)


def middle(*names: str) -> Callable[[MarkedBody], Array]:
    """The mean of some places."""
    return lambda body: np.mean([body.at(name) for name in names], axis=0)


def pelvis_axes(body: MarkedBody, back: Array) -> Array:
    """Rotations (T, 3, 3) of the pelvis with columns forward, left, up, in the markers' plane."""
    left = normalise(body.at("left_asis") - body.at("right_asis"))
    front = (body.at("left_asis") + body.at("right_asis")) / 2 - back
    forward = normalise(across(front, left))
    return np.stack([forward, left, np.cross(forward, left)], axis=-1)


def _hip(side: str, *back: str) -> Callable[[MarkedBody], Array]:
    def make(body: MarkedBody) -> Array:
        behind = middle(*back)(body)
        front = (body.at("left_asis") + body.at("right_asis")) / 2
        # Sizes of the pelvis do not change, so the median of the clip is better than each frame.
        depth = median(np.linalg.norm(front - behind, axis=1))
        width = median(np.linalg.norm(body.at("left_asis") - body.at("right_asis"), axis=1))
        outward = 1.0 if side == "left" else -1.0
        offset = np.array(
            [-0.24 * depth - 0.0099, outward * (0.33 * width + 0.0073), -0.30 * width - 0.0109]
        )
        return np.asarray(front + pelvis_axes(body, behind) @ offset)

    return make


def _hip_of_trochanters(side: str) -> Callable[[MarkedBody], Array]:
    def make(body: MarkedBody) -> Array:
        left, right = body.at("left_trochanter"), body.at("right_trochanter")
        return (left + right) / 2 + (0.26 if side == "left" else -0.26) * (left - right)

    return make


def _leg_joint(side: str, joint: str) -> Callable[[MarkedBody], Array]:
    """A knee or ankle, in from its outer marker; its axis and the centres are found in turns."""

    def make(body: MarkedBody) -> Array:
        inward = -1.0 if side == "left" else 1.0
        sizes, hip = body.sizes, body.at(f"{side}_hip")
        outer = [body.at(f"{side}_femur_outer"), body.at(f"{side}_malleolus_outer")]
        halves = [
            body.half(f"{side}_femur_outer", f"{side}_femur_inner", sizes.knee_width_m),
            body.half(f"{side}_malleolus_outer", f"{side}_malleolus_inner", sizes.ankle_width_m),
        ]
        knee, ankle = outer
        for _ in range(_ROUNDS):
            axis = _leftward(body, side, hip, knee, ankle)
            knee, ankle = (
                at + inward * half * axis for at, half in zip(outer, halves, strict=True)
            )
            if joint == "ankle":
                # By now the knee is known, perhaps better than from its outer marker.
                knee = body.at(f"{side}_knee")
        return knee if joint == "knee" else ankle

    return make


def _leftward(body: MarkedBody, side: str, hip: Array, knee: Array, ankle: Array) -> Array:
    """The axis about which a knee bends, to the left; all evidence there is, added up."""
    thigh, shank = normalise(knee - hip), normalise(ankle - knee)
    foot = normalise(body.at(f"{side}_forefoot") - body.at(f"{side}_calcaneus"))
    hips = normalise(body.at("left_hip") - body.at("right_hip"))
    # Bent, the leg shows its axis itself; straight, foot and pelvis do so roughly.
    evidence = (np.cross(thigh, shank), 0.5 * normalise(np.cross(foot, shank)), 0.5 * hips)
    total = np.sum([np.nan_to_num(each) for each in evidence], axis=0)
    return normalise(across(total, thigh))


def _toe(side: str) -> Callable[[MarkedBody], Array]:
    # The heads of the metatarsals lie at about three quarters of a foot's length.
    return _between(f"{side}_calcaneus", f"{side}_forefoot", 1.3)


def _shoulder(side: str) -> Callable[[MarkedBody], Array]:
    def make(body: MarkedBody) -> Array:
        span = median(np.linalg.norm(body.at("left_acromion") - body.at("right_acromion"), axis=1))
        trunk = normalise(body.at("neck") - body.at("pelvis"))
        return body.at(f"{side}_acromion") - 0.17 * span * trunk

    return make


def _elbow(side: str) -> Callable[[MarkedBody], Array]:
    def make(body: MarkedBody) -> Array:
        outer = body.at(f"{side}_humerus_outer")
        half = body.half(f"{side}_humerus_outer", f"{side}_humerus_inner", body.sizes.elbow_width_m)
        upper = normalise(outer - body.at(f"{side}_shoulder"))
        fore = normalise(body.at(f"{side}_wrist") - outer)
        aside = body.at("right_acromion") - body.at("left_acromion")
        hips = body.at("right_hip") - body.at("left_hip")
        aside = normalise(np.where(np.isfinite(aside), aside, hips))
        # Bent, the arm shows its axis itself; straight, the width of the shoulders does so, which
        # was found to bring a real walk's elbows to within 5 mm of those from both sides.
        axis = np.cross(upper, fore) + 0.5 * np.nan_to_num(aside)
        return outer + (half if side == "left" else -half) * normalise(across(axis, upper))

    return make


def _neck_of_shoulders(body: MarkedBody) -> Array:
    left, right = body.at("left_acromion"), body.at("right_acromion")
    up = normalise((left + right) / 2 - body.at("pelvis"))
    return (left + right) / 2 + 0.02 * up


def _head_of_base(body: MarkedBody) -> Array:
    return body.at("head_base") + 0.09 * normalise(body.at("head_base") - body.at("neck"))


def _between(first: str, second: str, part: float) -> Callable[[MarkedBody], Array]:
    return lambda body: (1 - part) * body.at(first) + part * body.at(second)


def _of_side(side: str) -> Iterator[PlaceRecipe]:
    def named(*marks: str) -> tuple[str, ...]:
        return tuple(f"{side}_{mark}" for mark in marks)

    def mean(place: str, *marks: str, at: float = 1.0) -> PlaceRecipe:
        return PlaceRecipe(f"{side}_{place}", named(*marks), middle(*named(*marks)), at)

    knee, ankle = named("knee", "ankle")
    yield mean("forefoot", "metatarsal_2")
    yield mean("forefoot", "metatarsal_1", "metatarsal_5")
    yield mean("forefoot", "metatarsal_5", at=0.7)
    yield mean("forefoot", "metatarsal_1", at=0.7)
    yield mean("knee", "femur_outer", "femur_inner")
    yield PlaceRecipe(knee, named("femur_outer", "hip"), _leg_joint(side, "knee"), 0.9)
    yield mean("ankle", "malleolus_outer", "malleolus_inner")
    yield PlaceRecipe(ankle, named("malleolus_outer", "knee"), _leg_joint(side, "ankle"), 0.9)
    sole = ("calcaneus", "forefoot", "ankle")
    yield PlaceRecipe(f"{side}_heel", named(*sole), middle(f"{side}_calcaneus"), 0.9)
    yield PlaceRecipe(f"{side}_toe", named(*sole), _toe(side), 0.9)
    # Of a solved skeleton; put on the sole later, as those of markers are.
    bones = named("ankle", "ball")
    yield PlaceRecipe(f"{side}_heel", bones, _between(ankle, f"{side}_ball", -0.3), 0.7)
    yield PlaceRecipe(f"{side}_toe", bones, _between(ankle, f"{side}_ball", 1.4), 0.7)
    yield mean("wrist", "radius_end", "ulna_end")
    yield mean("wrist", "radius_end", at=0.7)
    yield mean("wrist", "ulna_end", at=0.7)
    yield mean("hand", "knuckle_2", "knuckle_5")
    yield mean("hand", "knuckle_3")
    yield mean("hand", "knuckle_2", at=0.7)


def _recipes() -> Iterator[PlaceRecipe]:
    front = ("left_asis", "right_asis")
    for back in (("left_psis", "right_psis"), ("sacrum",)):
        for side in SIDES:
            yield PlaceRecipe(f"{side}_hip", (*front, *back), _hip(side, *back))
    for side in SIDES:
        trochanters = ("left_trochanter", "right_trochanter")
        yield PlaceRecipe(f"{side}_hip", trochanters, _hip_of_trochanters(side), 0.7)
    yield PlaceRecipe("pelvis", ("left_hip", "right_hip"), middle("left_hip", "right_hip"))
    for side in SIDES:
        yield from _of_side(side)
    acromia = ("left_acromion", "right_acromion")
    yield PlaceRecipe("neck", ("c7", "sternum_top"), _between("c7", "sternum_top", 0.4))
    yield PlaceRecipe("neck", (*acromia, "pelvis"), _neck_of_shoulders, 0.7)
    for side in SIDES:
        yield PlaceRecipe(
            f"{side}_shoulder", (f"{side}_acromion", "neck", "pelvis"), _shoulder(side)
        )
    for side in SIDES:
        inner = (f"{side}_humerus_outer", f"{side}_humerus_inner")
        yield PlaceRecipe(f"{side}_elbow", inner, middle(*inner))
        needs = (inner[0], f"{side}_shoulder", f"{side}_wrist")
        yield PlaceRecipe(f"{side}_elbow", needs, _elbow(side), 0.9)
    yield PlaceRecipe("chest", ("t10", "sternum_end"), middle("t10", "sternum_end"))
    four = tuple(f"{side}_head_{end}" for side in SIDES for end in ("front", "back"))
    yield PlaceRecipe("head", four, middle(*four))
    for pair in ((four[0], four[3]), (four[1], four[2])):
        yield PlaceRecipe("head", pair, middle(*pair), 0.7)
    yield PlaceRecipe("head", ("head_base", "neck"), _head_of_base, 0.7)
    yield PlaceRecipe("head", ("head_top", "neck"), _between("head_top", "neck", 0.4), 0.7)


RECIPES: tuple[PlaceRecipe, ...] = tuple(_recipes())
