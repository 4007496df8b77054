"""No camera is too bright or too dark to see by."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import PictureTrack, cameras
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array


def find(
    subject: Subject,
    *,
    max_saturated: float = 0.3,
    min_bright: float = 60.0,
    min_pictures: int = 3,
    white_level: int = 253,
    min_contrast: float = 2.0,
) -> Findings:
    """Yield stretches of `min_pictures` or more that are over-exposed or under-exposed.

    Over-exposed: more than `max_saturated` of the picture is white. Under-exposed: 95 % of the
    picture is darker than `min_bright`, where 255 is white. White begins at `white_level`;
    pictures with less than `min_contrast` are black or covered: other checks name them.

    Why: what is white or black throughout cannot be recovered, and looks like no other episode.
    Fix: fix exposure and gain before recording; light the workspace; discard what is too far gone.
    """
    for track in cameras(subject, least=min_pictures):
        flat = track.luma.reshape(len(track), -1)
        saturated = (flat >= white_level).mean(axis=1)
        bright = _bright(track)
        over = saturated > max_saturated
        under = (bright < min_bright) & (track.contrast > min_contrast)
        yield from _report(track, over, saturated, "over-exposed", max_saturated, min_pictures)
        yield from _report(track, under, bright, "under-exposed", min_bright, min_pictures)


def _bright(track: PictureTrack) -> Array:
    """The level that 95 % of each picture stay below."""
    # Sorting is the dear part: a third of the pixels is as good.
    part = track.luma.reshape(len(track), -1)[:, ::3]
    place = int(0.95 * part.shape[1])
    return np.partition(part, place, axis=1)[:, place].astype(np.float64)


def _report(
    track: PictureTrack,
    bad: Flags,
    measure: Array,
    what: str,
    limit: float,
    min_pictures: int,
) -> Findings:
    where = runs(bad, least=min_pictures)
    if not where:
        return
    inside = np.concatenate([measure[first:stop] for first, stop in where])
    name = "white_share" if what.startswith("over") else "bright_level"
    yield Finding(
        f"{track.label} is {what} in {track.extent(where)}.",
        stream=track.label,
        frames=where,
        value=float(np.median(inside)),
        limit=limit,
        evidence=track.curve(measure, name),
    )


CHECK = Check(
    find, topic="pictures", severity="quarantine", pictures=True, formerly=("well_exposed",)
)
