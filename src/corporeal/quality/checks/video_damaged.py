"""Every movie decodes to its end."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import pictures_of
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_torn: int = 0) -> Findings:
    """Yield movies that break off, change their size, or have more than `max_torn` torn pictures.

    Why: a training run stops at the first picture that cannot be decoded, or learns from rubble.
    Fix: copy the movie again from where it was recorded; else cut the episode before the damage.
    """
    if not subject.footage:
        raise NotAssessed("no video stream")
    for label, footage in subject.footage.items():
        track = pictures_of(subject, label)
        expected = len(footage.time_ns)
        if track.error is not None:
            yield Finding(
                f"{label} breaks off after {len(track)} of {expected} pictures: {track.error}",
                stream=label,
                frames=((len(track), max(expected, len(track) + 1)),),
                value=len(track),
                limit=expected,
            )
        torn = int(np.count_nonzero(track.is_torn))
        if torn > max_torn:
            where = runs(track.is_torn)
            message = (
                f"{label} has {torn} pictures whose data is damaged, the first at picture "
                f"{where[0][0]}: the decoder made up parts of them."
            )
            yield Finding(message, stream=label, frames=where, value=torn, limit=max_torn)
        if len(track.sizes) > 1:
            sizes = ", ".join(f"{width} x {height}" for height, width in track.sizes)
            message = f"{label} has pictures of several sizes: {sizes} pixels."
            yield Finding(message, stream=label, value=len(track.sizes), limit=1)


CHECK = Check(find, topic="pictures", severity="fail", pictures=True, formerly=("pictures_decode",))
