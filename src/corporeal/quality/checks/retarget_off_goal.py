"""A retargeted robot has its hands and feet where the person's motion puts them."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Track


def find(subject: Subject, *, max_error_m: float = 0.05, min_confidence: float = 0.5) -> Findings:
    """Yield each hand or foot that is over `max_error_m` from its goal, where it has one.

    A goal counts where `retarget_confidence` is over `min_confidence`, if there is such a stream.

    Why: such frames are out of the robot's reach: they teach another motion than was shown.
    Fix: retarget again with a policy for these frames (clip, interpolate, split), or reject them.
    """
    track = subject.track(roles.RETARGET_ERROR)
    if not len(track):
        raise NotAssessed(f"{track.label} has no samples")
    known = _known(subject, track, min_confidence)
    for column, name in enumerate(track.names):
        error = np.where(known[:, column], track.values[:, column], 0.0)
        bad = error > max_error_m
        if not bad.any():
            continue
        worst = int(np.nanargmax(error))
        frames = runs(bad)
        yield Finding(
            f"the {name.replace('_', ' ')} is {error[worst]:.3f} m from its goal at "
            f"{track.seconds[worst]:.2f} s, and over {max_error_m:.3g} m in "
            f"{np.count_nonzero(bad)} of {len(bad)} frames.",
            stream=track.label,
            frames=frames,
            value=float(error[worst]),
            limit=max_error_m,
            evidence=drawn(track, frames[0][0], frames[-1][1], [column]),
        )


def _known(subject: Subject, track: Track, least: float) -> Flags:
    """Where (T, N) there is a goal: everywhere, unless a stream of confidences says otherwise."""
    sure = subject.find_track(roles.RETARGET_CONFIDENCE)
    if sure is None or sure.values.shape != track.values.shape:
        return np.ones(track.values.shape, bool)
    return np.asarray(sure.values > least)


CHECK = Check(find, topic="frames", severity="quarantine", unit="m", formerly=("retarget_error",))
