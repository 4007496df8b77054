"""Torques stay within what the motors can give."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags, runs
from corporeal.words import some_of


def find(subject: Subject, *, max_excess: float = 0.15, min_samples: int = 2) -> Findings:
    """Yield the frames in which a joint's torque is over its limit by more than `max_excess`.

    Torque is read from motor current, which is rarely good to a few per cent. A single sample out
    of line is noise; `min_samples` in a row are not.

    Why: no motor gives more than it can, so the unit, the scale or the joint is wrong.
    Fix: correct the scale, or the limit in the robot's document.
    """
    track = subject.track(roles.JOINT_TORQUE)
    columns = subject.joint_columns(track)
    limits = {joint.name: joint.effort for joint in subject.robot.actuated if joint.effort}
    known = {name: column for name, column in columns.items() if name in limits}
    if not known:
        raise NotAssessed(f"no column of {track.label} is a joint with a limit of effort")
    limit = np.array([limits[name] for name in known])
    torque = np.abs(track.values[:, list(known.values())])
    over: Flags = torque > limit * (1 + max_excess)
    if min_samples > 1 and len(over) >= min_samples:
        before, after = np.zeros_like(over), np.zeros_like(over)
        before[1:], after[:-1] = over[:-1], over[1:]
        over &= before | after
    if not over.any():
        return
    share = np.where(over, torque / limit, 0.0)
    row, column = np.unravel_index(int(np.argmax(share)), share.shape)
    worst = list(known)[int(column)]
    names = [name for name, hit in zip(known, np.any(over, axis=0).tolist(), strict=True) if hit]
    yield Finding(
        f"{some_of(names)} in {track.label} gives more than the motor can: {worst} "
        f"{torque[row, column]:.1f} N m at {track.seconds[row]:.3f} s, limit "
        f"{limit[column]:.3g} N m.",
        stream=track.label,
        frames=runs(over.any(axis=1)),
        value=float(torque[row, column]),
        limit=float(limit[column] * (1 + max_excess)),
        evidence=drawn(track, int(row), int(row), [known[worst]], margin=100),
    )


CHECK = Check(
    find,
    topic="dynamics",
    severity="fail",
    rests_on=("robot",),
    unit="N m",
    formerly=("effort_limits",),
)
