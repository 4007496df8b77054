"""No picture is out of place among its neighbours."""

import numpy as np
from numpy.typing import NDArray

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import PictureTrack, cameras
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array

# The longest disturbance that counts as a glitch; what lasts longer has a check of its own.
LONGEST = 4
# Pictures around a place that tell how much the scene usually changes there.
NEARBY = 12
BLACK = 14.0


def find(subject: Subject, *, min_change: float = 2.5, min_ratio: float = 3.0) -> Findings:
    """Yield pictures that differ from both neighbours by much more than these from each other.

    The difference is the mean over brightness and both colours, of 255; it must exceed
    `min_change`, and `min_ratio` times the change of the scene around.

    Why: stripes, blocks or a picture of another camera teach a policy what the world never shows.
    Fix: drop the pictures or the episode; check cables, bandwidth and the encoder.
    """
    for track in cameras(subject, least=5):
        glitch, size = _glitches(track, min_change, min_ratio)
        where = runs(glitch)
        if where:
            yield Finding(
                f"{track.label} is disturbed in {int(glitch.sum())} pictures, first at "
                f"{track.when(where[0][0])}: the pictures before and after belong together, these "
                "do not.",
                stream=track.label,
                frames=where,
                value=float(size[glitch].max()),
                limit=min_change,
                evidence=track.curve(size, "out_of_place"),
            )


def _glitches(track: PictureTrack, min_change: float, min_ratio: float) -> tuple[Flags, Array]:
    """Pictures out of place, and by how much each differs from its neighbours."""
    pictures = _features(track)
    count = len(pictures)
    step = np.concatenate(([0.0], _distance(pictures[1:], pictures[:-1])))
    usual = _usual(step)
    glitch = np.zeros(count, bool)
    size = np.zeros(count)
    for length in range(1, min(LONGEST, count - 2) + 1):
        first = np.flatnonzero(step[1:-length] > min_change) + 1
        first = first[step[first + length] > min_change]
        if not len(first):
            continue
        out = np.minimum(step[first], step[first + length])
        across = _distance(pictures[first + length], pictures[first - 1])
        expected = np.maximum(usual[first], across)
        bad = out > np.maximum(min_change, min_ratio * expected)
        for place, extent in zip(first[bad].tolist(), out[bad].tolist(), strict=True):
            if not glitch[place : place + length].any():
                glitch[place : place + length] = True
                size[place : place + length] = extent
    return glitch & (track.mean > BLACK), size


def _features(track: PictureTrack) -> NDArray[np.int16]:
    """Every picture as (T, 3, h, w): brightness at half size, and both colours."""
    luma = track.luma.astype(np.uint16)
    half = (luma[:, ::2, ::2] + luma[:, 1::2, ::2] + luma[:, ::2, 1::2] + luma[:, 1::2, 1::2]) // 4
    return np.concatenate((half[:, None].astype(np.int16), track.chroma.astype(np.int16)), axis=1)


def _distance(one: NDArray[np.int16], two: NDArray[np.int16]) -> Array:
    """Mean absolute difference, the colours counted in full: they change less than brightness."""
    difference = np.abs(one - two).mean(axis=(2, 3), dtype=np.float32)
    return np.asarray(difference.sum(axis=1), np.float64)


def _usual(step: Array) -> Array:
    """The median change of the pictures around each."""
    padded = np.pad(step, NEARBY, mode="reflect" if len(step) > NEARBY else "edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEARBY + 1)
    return np.asarray(np.median(windows, axis=1))


CHECK = Check(
    find, topic="pictures", severity="fail", pictures=True, formerly=("no_picture_glitches",)
)
