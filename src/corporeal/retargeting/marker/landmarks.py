"""Where markers sit on a body, and the body as far as it is known from them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES
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
        width = np.linalg.norm(self.at(outer) - self.at(inner), axis=1)
        known = width[np.isfinite(width)]
        measured = float(np.median(known)) / 2 if len(known) else np.nan
        return measured if 0.01 < measured < 0.12 else otherwise / 2 + self.sizes.marker_radius_m


def across(vectors: Array, axis: Array) -> Array:
    """The part of vectors (T, 3) at right angles to unit axes (T, 3)."""
    along = np.sum(vectors * axis, axis=1, keepdims=True)
    return np.asarray(vectors - axis * along)


def median(values: Array) -> float:
    """The median of what is known, NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")
