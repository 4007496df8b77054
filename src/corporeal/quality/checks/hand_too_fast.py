"""Hands move no faster than hands can."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.rigid_motion import has_chain, poses_in_base
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs
from corporeal.words import some_of


def find(subject: Subject, *, max_speed_m_s: float = 5.0, min_step_m: float = 0.04) -> Findings:
    """Yield the frames in which an end effector moves over `max_speed_m_s` against the base.

    Only effectors whose joints are all in the data are looked at, and steps of at least
    `min_step_m`. The base's own motion is left out: it has a check of its own.

    Why: no arm moves so; the joints jumped, or stamps are too close together.
    Fix: drop the frames, or mend the joints or stamps that the other findings name.
    """
    posture = subject.posture
    if len(posture) < 3:
        raise NotAssessed(f"{posture.label} has {len(posture)} samples")
    kinematics, poses = subject.kinematics, poses_in_base(subject)
    placed = {name: kinematics.place(at) for name, at in subject.robot.end_effectors.items()}
    placed = {
        name: (link, at)
        for name, (link, at) in placed.items()
        if has_chain(subject, kinematics.names[link])
    }
    if not placed:
        raise NotAssessed(f"no arm of {subject.robot.name} is complete in {posture.label}")
    seconds = np.maximum(np.diff(posture.time_ns) / 1e9, 1e-9)
    steps = []
    for link, at in placed.values():
        place = poses.positions[:, link] + poses.rotations[:, link] @ at[:, 3]
        steps.append(np.linalg.norm(np.diff(place, axis=0), axis=1))
    step = np.stack(steps, axis=1)
    speed = step / seconds[:, None]
    fast = (speed > max_speed_m_s) & (step > min_step_m)
    if not fast.any():
        return
    names = [name for name, hit in zip(placed, np.any(fast, axis=0).tolist(), strict=True) if hit]
    worst = int(np.nanargmax(np.where(fast.any(axis=1), np.nanmax(speed, axis=1), 0.0)))
    window = slice(max(0, worst - 60), worst + 61)
    curves = {name: speed[window, column] for column, name in enumerate(placed)}
    yield Finding(
        f"{some_of(names)} in {posture.label} moves at {np.nanmax(speed[worst]):.1f} m/s at "
        f"{posture.time_ns[worst + 1] / 1e9:.3f} s; a hand reaches {max_speed_m_s:.3g} m/s.",
        stream=posture.label,
        frames=runs(np.append(False, fast.any(axis=1))),
        value=float(np.nanmax(speed[worst])),
        limit=max_speed_m_s,
        evidence={"time_s": posture.time_ns[1:][window] / 1e9, **curves},
    )


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    needs_rate=True,
    unit="m/s",
    formerly=("end_effector_speed",),
)
