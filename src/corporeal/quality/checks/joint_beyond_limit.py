"""Joints stay within their limits."""

import numpy as np

from corporeal.embodiment.embodiment import Joint
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs
from corporeal.signal.track import Array, Track


def find(subject: Subject, *, margin: float = 0.05, join_s: float = 0.1) -> Findings:
    """Yield each joint whose position or target is beyond a limit by `margin` of its range.

    Why: a posture that the robot cannot take comes from a wrong unit, zero, order or sign.
    Fix: check the joint's unit, encoder zero and column; clip targets where they are recorded.
    """
    joints = {joint.name: joint for joint in subject.robot.actuated}
    looked = 0
    for track in subject.joint_tracks:
        for name, column in subject.joint_columns(track).items():
            if joints[name].lower is not None and joints[name].upper is not None:
                looked += 1
                yield from _beyond(track, column, joints[name], margin, join_s)
    if not looked:
        raise NotAssessed("no joint with limits in the state or the action")


def _beyond(track: Track, column: int, joint: Joint, margin: float, join_s: float) -> Findings:
    lower, upper = float(joint.lower or 0.0), float(joint.upper or 0.0)
    allowed = margin * (upper - lower)
    values = track.values[:, column]
    excess = _excess(values, lower, upper)
    bad = excess > allowed
    if not bad.any():
        return
    join = max(1, round(join_s / track.period_s)) if len(track) > 1 and track.period_s else 1
    frames = runs(bad, gap=join - 1)
    worst = int(np.nanargmax(excess))
    yield Finding(
        f"{joint.name} of {track.label} reaches {values[worst]:.3f} at {track.seconds[worst]:.2f} s"
        f", {excess[worst]:.3f} beyond its limits {lower:.3f} to {upper:.3f}"
        f" ({100 * excess[worst] / (upper - lower):.0f} % of the range)",
        stream=track.label,
        frames=frames,
        value=float(excess[worst] / (upper - lower)),
        limit=margin,
        evidence=drawn(track, frames[0][0], frames[-1][1], [column]),
        columns=(joint.name,),
    )


def _excess(values: Array, lower: float, upper: float) -> Array:
    over = np.maximum(values - upper, lower - values)
    return np.where(np.isfinite(over), over, 0.0)


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    unit="share",
    rests_on=("robot",),
    formerly=("joint_limits",),
)
