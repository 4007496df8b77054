"""Velocities are the rate of change of positions."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.joint_identity import accusations
from corporeal.quality.evidence.joint_response import MIN_SAMPLES, Response, motion, paired
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array
from corporeal.words import some_of


def find(subject: Subject, *, max_slope_error: float = 0.15, min_speed: float = 0.06) -> Findings:
    """Yield joints whose velocity is not the rate of their position: by factor, sign or column.

    Judged where a joint moves by `min_speed` (root mean square, rad/s).

    Why: a policy that is given both learns from the contradiction.
    Fix: check the unit and the order of the velocity; or leave it out and differentiate.
    """
    moved = motion(subject)
    wrong = [each for each in accusations(subject) if each.role == "velocity"]
    degrees = [each for each in wrong if each.kind == "degrees"]
    if degrees:
        first, names = degrees[0], [name for each in degrees for name in each.names]
        message = f"{some_of(names)} of {first.stream} are in degrees per second: {first.why}"
        yield Finding(
            message,
            stream=first.stream,
            value=first.before,
            limit=first.after,
            columns=tuple(names),
        )
    for each in (each for each in wrong if each.kind != "degrees"):
        how = {
            "exchanged": f"are exchanged with {some_of(each.partners)}",
            "flipped": "have the wrong sign",
        }.get(each.kind, "do not fit")
        message = f"{some_of(each.names)} of {each.stream} {how}: {each.why}"
        yield Finding(
            message,
            stream=each.stream,
            value=each.before,
            limit=each.after,
            columns=tuple(each.names),
        )
    named = {name for each in accusations(subject) for name in each.names}
    slope, fits = _slopes(moved)
    judged = fits & (moved.targets.std(axis=0) > min_speed)
    judged &= np.array([name not in named for name in moved.names], bool)
    off = np.flatnonzero(judged & (np.abs(slope - 1) > max_slope_error))
    # Where frames are held, steps and pauses are the rate, and a mean over a few is not.
    stepwise = _equal_steps(subject, max_slope_error) if len(off) else frozenset()
    off = np.array([at for at in off.tolist() if moved.names[at] not in stepwise], int)
    if not len(off):
        return
    worst = int(off[np.abs(slope[off] - 1).argmax()])
    names = [moved.names[column] for column in off.tolist()]
    factor = f"{slope[worst]:.2f} times"
    if len(off) > 1:
        factor = f"{slope[off].min():.2f} to {slope[off].max():.2f} times"
    yield Finding(
        f"{some_of(names)} of {moved.state.label} is {factor} the rate of {moved.action.label}",
        stream=moved.state.label,
        value=abs(float(slope[worst]) - 1),
        limit=max_slope_error,
        columns=tuple(names),
    )


def _slopes(moved: Response) -> tuple[Array, Array]:
    """Slope (D,) of velocity on rate through the origin, and whether the two go together."""
    own = np.diagonal(moved.correlation)
    return moved.slope, np.asarray(own > 0.9)


def _equal_steps(subject: Subject, max_error: float) -> frozenset[str]:
    """Joints whose velocity is the step of their position, of the last or of the next."""
    position, velocity = subject.track(roles.JOINT_POSITION), subject.track(roles.JOINT_VELOCITY)
    if len(position) != len(velocity) or len(position) < MIN_SAMPLES:
        return frozenset()
    shared, ours, theirs = paired(velocity, position)
    rate = np.diff(bridge_gaps(position.values[:, theirs]), axis=0) / position.period_s
    speed = bridge_gaps(velocity.values[:, ours])
    equal: set[str] = set()
    for stated in (speed[:-1], speed[1:]):
        apart = np.sqrt(((stated - rate) ** 2).mean(axis=0))
        size = np.sqrt((rate**2).mean(axis=0))
        equal |= {name for name, near in zip(shared, apart < max_error * size, strict=True) if near}
    return frozenset(equal)


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    rests_on=("rate_hz",),
    explains=("joint_too_fast",),
    formerly=("velocity_matches_position",),
)
