"""Feet stay above the ground."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.base_and_feet import footing_of
from corporeal.quality.subject import Subject
from corporeal.signal.runs import flags_of, lasting_runs
from corporeal.words import some_of


def find(subject: Subject, *, max_depth_m: float = 0.03, min_duration_s: float = 0.02) -> Findings:
    """Yield the frames in which a sole is more than `max_depth_m` below the ground.

    The ground is where a retargeted episode says, else z = 0, or where the robot stands if that is
    a little lower. A robot that jumps or steps on something is above it; what it then comes down
    to is no depth.

    Why: a foot in the floor is a base or a leg that is wrong, and no simulator can replay it.
    Fix: raise the base, or solve the legs again with the ground as a constraint.
    """
    footing = footing_of(subject)
    is_off = footing.ground < footing.floor - max_depth_m
    ground = footing.floor if is_off else min(footing.floor, footing.ground)
    depth = ground - footing.lowest
    seconds = footing.time_ns / 1e9
    deep = np.nan_to_num(depth).max(axis=1) > max_depth_m
    frames = lasting_runs(deep, seconds, min_duration_s)
    if not frames:
        return
    inside = flags_of(frames, len(deep))
    below = (depth > max_depth_m) & inside[:, None]
    names = [
        name for name, hit in zip(footing.names, np.any(below, axis=0).tolist(), strict=True) if hit
    ]
    worst = int(np.argmax(np.where(inside, np.nan_to_num(depth).max(axis=1), -np.inf)))
    curves = {f"{name}_m": -depth[:, column] for column, name in enumerate(footing.names)}
    yield Finding(
        f"the {some_of(names)} foot is {depth[worst].max():.3f} m below the ground at "
        f"{seconds[worst]:.2f} s, {100 * inside.mean():.0f} % of the time.",
        stream=footing.label,
        frames=frames,
        value=float(depth[worst].max()),
        limit=max_depth_m,
        evidence=drawn_whole(seconds, curves),
    )


CHECK = Check(
    find,
    topic="frames",
    severity="quarantine",
    rests_on=("robot",),
    unit="m",
    formerly=("feet_penetration",),
)
