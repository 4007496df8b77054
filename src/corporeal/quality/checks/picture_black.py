"""No picture is black."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import cameras
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(subject: Subject, *, darkest: float = 14.0, max_pictures: int = 0) -> Findings:
    """Yield cameras with more than `max_pictures` pictures that show nothing.

    A picture is black when all but its brightest fiftieth is below `darkest`, where 255 is white.

    Why: a policy that sees black acts blindly, and learns that this is normal.
    Fix: cut the black pictures off an end; discard the episode when they lie within.
    """
    for track in cameras(subject):
        height, width = track.luma.shape[1:]
        place = int(0.98 * height * width)
        flat = track.luma.reshape(len(track), -1)
        # A bright mean rules black out without sorting; almost every picture ends here.
        suspects = np.flatnonzero(track.mean < darkest)
        bright = np.partition(flat[suspects], place, axis=1)[:, place].astype(float)
        black = np.zeros(len(track), bool)
        black[suspects] = bright < darkest
        count = int(black.sum())
        if count > max_pictures:
            where = runs(black)
            yield Finding(
                f"{track.label} is black in {track.extent(where)}.",
                stream=track.label,
                frames=where,
                value=count,
                limit=max_pictures,
                evidence=track.curve(track.mean, "brightness"),
            )


CHECK = Check(find, topic="pictures", severity="fail", pictures=True, formerly=("not_black",))
