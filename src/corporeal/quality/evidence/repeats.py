"""Whether a camera shows every picture twice: it ran at half the rate of its stamps."""

from __future__ import annotations

import numpy as np

from corporeal.quality.evidence.pictures import PICTURE, PictureTrack, pictures_of
from corporeal.quality.subject import Subject

# A scene that stirs less than this may as well stand.
VISIBLE = 8.0
# Of two neighbours one that stirs less than this share of the other repeats the picture before.
_QUIET = 0.35
_FEWEST_PAIRS = 10
# More pairs have a repeat where the rate is half, and fewer where the camera keeps up.
HALF_RATE, KEEPS_UP = 0.7, 0.1


def repeated_share(track: PictureTrack) -> float:
    """The share of neighbouring pairs in which one repeats; NaN where too few show motion."""
    stir = track.stir[1:]
    pairs = stir[: len(stir) // 2 * 2].reshape(-1, 2)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    # Key pictures alone may stir a still scene that is coarsely coded.
    keys = track.is_key[1:][: len(pairs) * 2].reshape(-1, 2)
    pulsing = keys[np.arange(len(pairs)), pairs.argmax(axis=1)] & ~keys.all(axis=1)
    lively = high > np.where(pulsing, 4 * VISIBLE, 2 * VISIBLE)
    if lively.sum() < _FEWEST_PAIRS:
        return float("nan")
    return float((low[lively] < _QUIET * high[lively]).mean())


def repeat_measures(subject: Subject) -> dict[str, float]:
    """The same of every camera, to compare episodes by: `picture/<camera>/repeated`."""
    shares = {label: repeated_share(pictures_of(subject, label)) for label in subject.footage}
    return {
        f"{PICTURE}{label}/repeated": share for label, share in shares.items() if np.isfinite(share)
    }
