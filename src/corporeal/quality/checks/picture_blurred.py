"""Every camera is in focus."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import cameras
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(
    subject: Subject,
    *,
    min_sharpness: float = 0.032,
    min_share_of_own: float = 0.5,
    min_length_s: float = 0.25,
) -> Findings:
    """Yield stretches longer than `min_length_s` whose finest detail is lost.

    Detail over one pixel is compared with that over eight (for a picture 640 wide): crisp edges
    give about 0.12, blur with a standard deviation of two pixels 0.025. A stretch is blurred below
    `min_sharpness`, or below `min_share_of_own` of the episode's own median. Shorter stretches are
    motion blur.

    Why: fingers and object edges cannot be told apart, and a camera that hunts for focus jumps.
    Fix: set the focus by hand and lock it; clean the lens.
    """
    for track in cameras(subject, least=5):
        sharpness = track.sharpness
        known = np.isfinite(sharpness)
        if not known.any():
            continue
        usual = float(np.median(sharpness[known]))
        limit = max(min_sharpness, min_share_of_own * usual)
        blurred = known & (sharpness < limit)
        least = min(track.count_in(min_length_s, least=3), len(track))
        where = runs(blurred, gap=2, least=least)
        if not where:
            continue
        inside = np.concatenate([sharpness[first:stop] for first, stop in where])
        yield Finding(
            f"{track.label} is blurred in {track.extent(where)}: "
            f"{np.nanmedian(inside):.3f} of the detail is fine, "
            f"{usual:.3f} in the episode's median picture.",
            stream=track.label,
            frames=where,
            value=float(np.nanmedian(inside)),
            limit=limit,
            evidence=track.curve(np.nan_to_num(sharpness), "sharpness"),
        )


CHECK = Check(find, topic="pictures", severity="quarantine", pictures=True, formerly=("sharp",))
