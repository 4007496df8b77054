"""Every quaternion has unit length."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_error: float = 0.01) -> Findings:
    """Yield the samples whose quaternion is longer or shorter than 1 by more than `max_error`.

    Why: a quaternion of another length scales whatever it turns, and says that columns were mixed,
    averaged or cut.
    Fix: take the rotation from its source again; normalise only if nothing else is wrong.
    """
    tracks = [track for track in subject.tracks.values() if track.spec.quaternion_columns]
    if not tracks:
        raise NotAssessed("no stream holds a quaternion")
    for track in tracks:
        length = np.linalg.norm(track.values[:, list(track.spec.quaternion_columns or ())], axis=1)
        error = np.abs(length - 1.0)
        bad = error > max_error
        if bad.any():
            worst = int(np.nanargmax(error))
            yield Finding(
                f"the quaternion in {track.label} has length {length[worst]:.3g} at "
                f"{track.seconds[worst]:.3f} s, and is off in {np.count_nonzero(bad)} of "
                f"{len(bad)} samples; expected 1.",
                stream=track.label,
                frames=runs(bad),
                value=float(error[worst]),
                limit=max_error,
                evidence=drawn_whole(track.seconds, {"length": length}),
            )


CHECK = Check(find, topic="frames", severity="fail", formerly=("quaternion_norm",))
