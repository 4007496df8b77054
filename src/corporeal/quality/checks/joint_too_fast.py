"""Joints are no faster than their motors."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import runs
from corporeal.signal.track import Array, Track


def find(subject: Subject, *, margin: float = 0.05, min_steps: int = 3) -> Findings:
    """Yield each joint faster than its limit by `margin`: by its velocity, or by its position.

    Positions must be too fast in `min_steps` steps in a row, all the same way: one step alone is a
    spike or a jump, and has a check of its own.

    Why: a speed that the motor cannot reach comes from a wrong unit, clock or number.
    Fix: check units and stamps; reject the frames.
    """
    limits = {joint.name: joint.velocity for joint in subject.robot.actuated if joint.velocity}
    looked = 0
    for role in (roles.JOINT_VELOCITY, roles.JOINT_POSITION):
        track = subject.find_track(role)
        if track is None:
            continue
        columns = {n: c for n, c in subject.joint_columns(track).items() if n in limits}
        if not columns or len(track) < min_steps + 1:
            continue
        looked += 1
        names, numbers = list(columns), list(columns.values())
        limit = np.array([float(limits[name] or 0.0) for name in names])
        if role == roles.JOINT_VELOCITY:
            speed = np.abs(bridge_gaps(track.values[:, numbers]))
        else:
            speed = _steady(track, numbers, min_steps)
        for number in np.flatnonzero((speed > (1 + margin) * limit).any(axis=0)):
            yield _finding(
                track, names[number], numbers[number], speed[:, number], limit[number], margin
            )
    if not looked:
        raise NotAssessed("no joint with a speed limit in the state")


def _steady(track: Track, columns: list[int], steps: int) -> Array:
    """The speed (T, D) kept up over `steps` steps in one direction; zero elsewhere."""
    values = bridge_gaps(track.values[:, columns])
    time = np.diff(track.seconds)
    slope = np.diff(values, axis=0) / np.where(time > 0, time, np.inf)[:, None]
    count = len(slope) - steps + 1
    windows = np.stack([slope[start : start + count] for start in range(steps)])
    one_way = (windows > 0).all(axis=0) | (windows < 0).all(axis=0)
    kept = np.where(one_way, np.abs(windows).min(axis=0), 0.0)
    speed = np.zeros_like(values)
    for start in range(steps + 1):
        speed[start : start + count] = np.maximum(speed[start : start + count], kept)
    return speed


def _finding(
    track: Track, name: str, column: int, speed: Array, limit: float, margin: float
) -> Finding:
    frames = runs(speed > (1 + margin) * limit, gap=4)
    worst = int(speed.argmax())
    how = "" if track.spec.name == roles.JOINT_VELOCITY else ", going by its position"
    return Finding(
        f"{name} of {track.label} moves at {speed[worst]:.1f} rad/s at {track.seconds[worst]:.2f} s"
        f"{how}; its motor reaches {limit:.1f} rad/s",
        stream=track.label,
        frames=frames,
        value=float(speed[worst] / limit - 1),
        limit=margin,
        evidence=drawn(track, frames[0][0], frames[-1][1], [column]),
        columns=(name,),
    )


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    unit="share",
    rests_on=("rate_hz", "robot"),
    formerly=("joint_speed",),
)
