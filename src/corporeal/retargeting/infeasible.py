"""What becomes of frames that the robot cannot follow: bridged, cut out, or no result at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_dilation

from corporeal.retargeting.goal.contacts import runs
from corporeal.retargeting.motion import POINTS, HumanMotion
from corporeal.retargeting.result import ENDS, FAR_M, Retargeted
from corporeal.retargeting.settings import InfeasiblePolicy

# Frames beside a bad one are no better; pieces shorter than this are no motion, s.
BESIDE_S, SHORTEST_S = 0.05, 0.5
_LIMBS = {"hand": ("elbow", "wrist", "hand"), "foot": ("knee", "ankle", "heel", "toe")}


def drop_confidence(person: HumanMotion, result: Retargeted) -> tuple[HumanMotion, str]:
    """The person with the limbs unseen where the robot could not follow them, and a note of it."""
    confidence = person.confidence.copy()
    reach = max(1, round(BESIDE_S * result.rate_hz))
    for column, end in enumerate(ENDS):
        side, part = end.split("_")
        far = (result.error_m[:, column] > FAR_M) & result.infeasible
        if far.any():
            wide = binary_dilation(far, iterations=reach)
            for point in _LIMBS[part]:
                confidence[wide, POINTS.index(f"{side}_{point}")] = 0.0
    count = int(np.count_nonzero(result.infeasible))
    return replace(person, confidence=confidence), f"{count} frames out of reach were bridged"


def split_infeasible(result: Retargeted, policy: InfeasiblePolicy) -> list[Retargeted]:
    """The pieces of a result that are kept: all of it, what is feasible, or nothing."""
    if not result.infeasible.any() or policy in ("clip", "interpolate"):
        return [result]
    if policy == "reject":
        return []
    least = max(2, round(SHORTEST_S * result.rate_hz))
    pieces = [(a, b) for a, b in runs(~result.infeasible) if b - a >= least]
    lost = int(result.infeasible.sum())
    note = f"cut out of {len(result)} frames, of which {lost} were out of reach"
    return [
        replace(
            result.part(first, stop), notes=(*result.notes, f"frames {first} to {stop - 1}, {note}")
        )
        for first, stop in pieces
    ]
