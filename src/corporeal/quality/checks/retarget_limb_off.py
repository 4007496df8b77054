"""A retargeted robot's arms and legs point where the person's do."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import lasting_runs


def find(subject: Subject, *, max_angle_deg: float = 45.0, min_duration_s: float = 0.2) -> Findings:
    """Yield each limb that points over `max_angle_deg` away from the person's for a while.

    Limbs are upper arms, forearms, thighs and shanks. Shorter than `min_duration_s` is a limb
    that swings past faster than the robot's can.

    Why: with hands and feet in place a knee or an elbow may still be on the wrong side of the
    limb: the robot does another motion than was shown, often close to its joint limits.
    Fix: look at the clip's knees, elbows and toes there; cut the stretch out, or capture it again.
    """
    track = subject.track(roles.RETARGET_LIMB_ERROR)
    if not len(track):
        raise NotAssessed(f"{track.label} has no samples")
    if not np.any(track.values):
        raise NotAssessed(f"{track.label} knows no limb of the person")
    step_s = float(np.median(np.diff(track.seconds))) if len(track) > 1 else 0.0
    for column, name in enumerate(track.names):
        angle = np.degrees(track.values[:, column])
        off = angle > max_angle_deg
        frames = lasting_runs(off, track.seconds, min_duration_s, edge_s=step_s)
        if not frames:
            continue
        inside = np.concatenate([np.arange(first, stop) for first, stop in frames])
        worst = int(inside[np.argmax(angle[inside])])
        yield Finding(
            f"the {name.replace('_', ' ')} points {angle[worst]:.0f} degrees away from the "
            f"person's at {track.seconds[worst]:.2f} s, and over {max_angle_deg:.3g} degrees in "
            f"{len(inside)} of {len(off)} frames.",
            stream=track.label,
            frames=frames,
            value=float(angle[worst]),
            limit=max_angle_deg,
            evidence=drawn(track, frames[0][0], frames[-1][1], [column]),
        )


CHECK = Check(find, topic="frames", severity="quarantine", unit="deg")
