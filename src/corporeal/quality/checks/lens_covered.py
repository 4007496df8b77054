"""Nothing covers a lens."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import GRID, PictureTrack, cameras
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array

# A cell with less detail than this shows a plain surface anyway.
TEXTURED = 2.0
# A covered cell keeps at most this share of its usual detail, and this much contrast.
LEFT, FLAT = 0.05, 3.0
# What is white throughout is over-exposed, which another check names.
WHITE = 245.0
# A picture is plain when its contrast is this share of its brightness.
PLAIN = 0.08
# A picture without any contrast that is darker than this is black, which another check names.
BLACK = 14.0


def find(subject: Subject, *, max_covered: float = 0.3, min_length_s: float = 0.15) -> Findings:
    """Yield stretches longer than `min_length_s` with more than `max_covered` of the view lost.

    A part of the picture is lost when its detail and contrast vanish while the rest of the episode
    shows some there. A camera that shows one plain colour throughout is covered as well.

    Why: a hand, a cable or a lens cap in front of the camera hides what the policy must learn from.
    Fix: move what hangs in front of the lens; discard the episode or cut the stretch.
    """
    for track in cameras(subject, least=3):
        covered = covered_share(track)
        where = runs(covered > max_covered, gap=2, least=track.count_in(min_length_s, least=2))
        if not where:
            continue
        most = max(float(np.median(covered[first:stop])) for first, stop in where)
        yield Finding(
            f"{track.label} is covered over {100 * most:.0f} % of the view in "
            f"{track.extent(where)}.",
            stream=track.label,
            frames=where,
            value=most,
            limit=max_covered,
            evidence=track.curve(covered, "covered_share"),
        )


def covered_share(track: PictureTrack) -> Array:
    """Share of the view that shows nothing while it does elsewhere in the episode (T,)."""
    contrast, level = _cells(track)
    usual = np.quantile(track.texture, 0.75, axis=0)
    textured = (usual > TEXTURED) & (np.quantile(contrast, 0.75, axis=0) > FLAT)
    # Less light takes contrast away without hiding anything.
    light = np.minimum(1.0, track.mean / max(1.0, float(np.median(track.mean)))) ** 2
    faint = track.texture < LEFT * usual * light[:, None, None]
    lost: Flags = faint & (contrast < FLAT) & textured & (level < WHITE)
    share = lost.sum(axis=(1, 2)) / max(1, int(textured.sum()))
    if textured.sum() < 4:
        share = np.zeros(len(track))
    plain = (track.contrast < np.maximum(1.0, PLAIN * track.mean)) & (track.detail[:, 0] < TEXTURED)
    return np.where(track.mean < BLACK, 0.0, np.where(plain, 1.0, share))


def _cells(track: PictureTrack) -> tuple[Array, Array]:
    """Standard deviation and mean of brightness in every cell, both (T, *GRID)."""
    count, height, width = track.luma.shape
    rows, columns = GRID
    cells = track.luma.reshape(count, rows, height // rows, columns, width // columns)
    contrast = cells.std(axis=(2, 4), dtype=np.float32)
    level = cells.mean(axis=(2, 4), dtype=np.float32)
    return contrast.astype(np.float64), level.astype(np.float64)


CHECK = Check(
    find,
    topic="pictures",
    severity="quarantine",
    unit="share",
    pictures=True,
    formerly=("not_covered",),
)
