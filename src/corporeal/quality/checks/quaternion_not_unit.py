"""Every quaternion has unit length."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track
from corporeal.words import some_of


def find(subject: Subject, *, max_error: float = 0.01) -> Findings:
    """Yield the samples whose quaternion is longer or shorter than 1 by more than `max_error`.

    Four zeros say that there is no orientation: throughout, the source has none to give; in some
    samples of many it was lost there, and a human is asked.

    Why: a quaternion of another length scales whatever it turns, and says that columns were mixed,
    averaged or cut.
    Fix: take the rotation from its source again; normalise only if nothing else is wrong.
    """
    tracks = [track for track in subject.tracks.values() if track.spec.quaternion_columns]
    if not tracks:
        raise NotAssessed("no stream holds a quaternion")
    told = [(track, _lengths(track)) for track in tracks]
    told = [(track, length) for track, length in told if length.any()]
    if not told:
        raise NotAssessed(f"{some_of([track.label for track in tracks])} gives no orientation")
    for track, length in told:
        error = np.abs(length - 1.0)
        none = length == 0
        bad = (error > max_error) & ~none
        if not bad.any() and none.any():
            yield _lost(track, none, max_error)
        if bad.any():
            worst = int(np.nanargmax(np.where(none, 0.0, error)))
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


def _lengths(track: Track) -> Array:
    columns = list(track.spec.quaternion_columns or ())
    return np.asarray(np.linalg.norm(track.values[:, columns], axis=1))


def _lost(track: Track, none: Flags, max_error: float) -> Finding:
    first = int(np.argmax(none))
    return Finding(
        f"the quaternion in {track.label} is all zeros in {np.count_nonzero(none)} of {len(none)} "
        f"samples, first at {track.seconds[first]:.3f} s: no orientation is known there.",
        stream=track.label,
        frames=runs(none),
        value=1.0,
        limit=max_error,
        severity="quarantine",
    )


CHECK = Check(find, topic="frames", severity="fail", formerly=("quaternion_norm",))
