"""Rotations change smoothly, and their quaternions do not flip sign."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.rigid_motion import steps_rad
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs
from corporeal.signal.track import Array, Track


def find(
    subject: Subject,
    *,
    max_step_rad: float = 0.2,
    max_rate_rad_s: float = 15.0,
    object_room: float = 4.0,
) -> Findings:
    """Yield jumps of a rotation, and changes of sign that leave the rotation as it is.

    A jump is a step over `max_step_rad` and faster than `max_rate_rad_s`; an object that is knocked
    may turn `object_room` times as far and fast. Signs that change only so that w stays positive
    are a convention, and a note; others put the episode aside.

    Why: between q and -q, the same rotation, interpolation passes through every other one.
    Fix: multiply by -1 from each change of sign on; drop the frames of a jump.
    """
    tracks = [track for track in subject.tracks.values() if track.spec.quaternion_columns]
    # Transforms of several senders come as events, each with a rotation of its own.
    tracks = [track for track in tracks if len(track) >= 3 and track.spec.rate_hz is not None]
    if not tracks:
        raise NotAssessed("no stream holds quaternions over time")
    for track in tracks:
        q = track.values[:, list(track.spec.quaternion_columns or ())]
        q = np.where(np.isfinite(q), q, np.nan)
        length = np.linalg.norm(q, axis=1, keepdims=True)
        # Four zeros are no orientation, to which nothing jumps.
        unit = q / np.where(length > 0, length, np.nan)
        angle = steps_rad(unit)
        seconds = np.maximum(np.diff(track.seconds), 1e-9)
        room = object_room if track.spec.name == roles.OBJECT_POSE else 1.0
        jump = (angle > room * max_step_rad) & (angle / seconds > room * max_rate_rad_s)
        if jump.any():
            yield _jump(track, angle, jump, room * max_step_rad)
        flip = (np.einsum("ti,ti->t", unit[1:], unit[:-1]) < 0) & ~jump
        if flip.any():
            yield _flip(track, unit, flip)


def _jump(track: Track, angle: Array, jump: np.ndarray, limit: float) -> Finding:
    worst = int(np.argmax(np.where(jump, angle, 0.0)))
    return Finding(
        f"the rotation in {track.label} jumps by {np.degrees(angle[worst]):.0f} degrees at "
        f"{track.seconds[worst + 1]:.3f} s, {np.count_nonzero(jump)} times in all.",
        stream=track.label,
        frames=runs(np.append(False, jump)),
        value=float(angle[worst]),
        limit=limit,
        evidence=_curve(track, worst),
        severity="fail",
    )


def _flip(track: Track, unit: Array, flip: np.ndarray) -> Finding:
    count = int(np.count_nonzero(flip))
    first = int(np.argmax(flip))
    convention = bool((unit[np.isfinite(unit[:, 0]), 0] >= -1e-6).all())
    why = "so that w stays positive" if convention else "for no reason of convention"
    return Finding(
        f"the quaternion in {track.label} changes sign {count} times, first at "
        f"{track.seconds[first + 1]:.3f} s, {why}; the rotation is the same.",
        stream=track.label,
        frames=runs(np.append(False, flip)),
        value=float(count),
        limit=0.0,
        evidence=_curve(track, first),
        severity="note" if convention else "quarantine",
    )


def _curve(track: Track, around: int) -> dict[str, Array]:
    columns = track.spec.quaternion_columns or ()
    return drawn(track, around, around + 1, columns, margin=40)


CHECK = Check(
    find, topic="frames", severity="quarantine", unit="rad", formerly=("quaternion_continuity",)
)
