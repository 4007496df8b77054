"""Every camera keeps its place, its way up and its colours through the episode."""

from collections.abc import Iterator

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import (
    WIDTH,
    PictureTrack,
    busy_share,
    cameras,
    likeness,
    shift,
    turned_views,
)
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

# Pictures on either side of a sudden change that tell what the camera showed.
NEARBY = 10
# How far one step of change stands out of those around it.
SUDDEN = 2.5
# Share of the picture that changes when the camera itself moves.
EVERYWHERE = 0.5
# A turned picture is recognised when its misfit is this share of the plain one's; red and blue
# when the exchanged colours fit by so much better.
BETTER = 0.3
# A shift is more than so many pixels of the camera's own.
PIXELS = 1.5
# Two scenes have about as much detail; a covered or black one has less than this share.
LIVELY = 0.6


def find(subject: Subject, *, max_shift: float = 0.01) -> Findings:
    """Yield cameras whose whole view changes from one picture to the next and stays changed.

    A shift counts from `max_shift` on, as a share of the picture's width, and from one and a half
    pixels of the camera. What a codec shows late at a key picture is none. Turned or mirrored
    pictures, red and blue exchanged, and a cut to another scene are named as such.

    Why: a camera that was knocked no longer fits its calibration, nor the other episodes.
    Fix: fasten and calibrate the camera again; keep the pictures before the change only.
    """
    for track in cameras(subject, least=2 * NEARBY):
        for place, what, pixels in _steps(track, max_shift):
            yield Finding(
                f"{track.label} {what} at {track.when(place)} (picture {place}) and stays so.",
                stream=track.label,
                frames=((place, len(track)),),
                value=pixels / WIDTH,
                limit=max_shift,
                evidence=track.curve(_change(track), "change"),
            )


def _steps(track: PictureTrack, max_shift: float) -> Iterator[tuple[int, str, float]]:
    """Sudden changes of the whole picture that stay: where, what explains them, pixels moved."""
    change = _change(track)
    last = -NEARBY
    for place in _sudden(change):
        if place - last < NEARBY or track.is_refreshed(place):
            continue
        before = _typical(track, max(0, place - NEARBY), place)
        after = _typical(track, place, min(len(track), place + NEARBY))
        # A step of one pixel of a small movie is its codec's; of a large one it is a shift.
        width = min((size[1] for size in track.sizes), default=WIDTH)
        found = _explain(before, after, max(max_shift, PIXELS / width))
        if found is not None:
            last = place
            yield place, *found


def _change(track: PictureTrack) -> Array:
    """Mean absolute change of brightness and colours of the small pictures (T,)."""
    later, earlier = track.luma[1:], track.luma[:-1]
    luma = (np.maximum(later, earlier) - np.minimum(later, earlier)).mean(axis=(1, 2))
    later, earlier = track.chroma[1:], track.chroma[:-1]
    colour = (np.maximum(later, earlier) - np.minimum(later, earlier)).mean(axis=(1, 2, 3))
    return np.concatenate(([0.0], luma + colour))


def _sudden(change: Array) -> list[int]:
    """Places where the change stands out of the changes on both sides."""
    places = []
    for place in np.flatnonzero(change > 1.0).tolist():
        if place < NEARBY // 2 or place > len(change) - NEARBY // 2:
            continue
        around = np.concatenate((change[max(1, place - 4) : place], change[place + 1 : place + 5]))
        if change[place] > SUDDEN * max(0.3, float(around.max())):
            places.append(place)
    return places


def _typical(track: PictureTrack, first: int, stop: int) -> tuple[Array, Array]:
    """Median brightness (HEIGHT, WIDTH) and colours (2, ...) of a few pictures."""
    luma = np.median(track.luma[first:stop], axis=0)
    return luma, np.median(track.chroma[first:stop], axis=0) - 128.0


def _explain(
    before: tuple[Array, Array], after: tuple[Array, Array], max_shift: float
) -> tuple[str, float] | None:
    """What happened to the whole picture, and by how many small pixels it moved."""
    plain = likeness(before[0], after[0])
    exchanged = likeness(before[1][::-1], after[1]) - likeness(before[1], after[1])
    if exchanged > BETTER and plain > 0.5:
        return "has red and blue exchanged", 0.0
    what, turned = max(
        ((what, likeness(before[0], view)) for what, view in turned_views(after[0])),
        key=lambda each: each[1],
    )
    if turned > 0.6 and 1.0 - turned < BETTER * (1.0 - plain):
        return what, 0.0
    if float((np.abs(after[0] - before[0]) > 2.0).mean()) < EVERYWHERE * busy_share(before[0]):
        return None
    down, right, fit = shift(before[0], after[0])
    size = float(np.hypot(down, right))
    if fit > 0.5 and 1.0 - fit < 0.8 * (1.0 - plain) and size >= max_shift * WIDTH:
        share = 100 * size / WIDTH
        return f"jumps by {share:.1f} % of the picture's width", size
    busy = sorted((busy_share(before[0]), busy_share(after[0])))
    if plain < 0.3 and fit < 0.5 and busy[0] > LIVELY * busy[1]:
        return "cuts to another view", 0.0
    return None


CHECK = Check(
    find,
    topic="pictures",
    severity="quarantine",
    unit="share",
    pictures=True,
    formerly=("same_viewpoint",),
)
