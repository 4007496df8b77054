"""Every camera is as bright, sharp, coloured, quick and free as in the other episodes."""

from collections.abc import Iterator, Sequence

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.pictures import GRID, edges, unlike_others
from corporeal.quality.evidence.repeats import HALF_RATE, KEEPS_UP
from corporeal.signal.track import Array

# So many episodes are needed to know what is usual.
FEWEST = 4
# How far beyond the spread of the others an episode must lie, in median absolute deviations.
FAR = 6.0
# Exchanged colours come nearer the others by this factor, and were so far off before.
NEARER, COLOURED = 0.4, 6.0
# A covered part keeps at most this share of the edges that the others show there.
LEFT, EDGES = 0.1, 1.0


def find(
    batch: Batch,
    *,
    max_brightness_ratio: float = 1.8,
    min_sharpness_share: float = 0.4,
    max_covered: float = 0.3,
) -> Findings:
    """Yield cameras whose pictures differ throughout an episode from those of the others.

    Too bright or dark by `max_brightness_ratio`, less sharp than `min_sharpness_share` of the
    others' median, red and blue exchanged, more than `max_covered` of the view without the
    edges that the others show there, or every picture shown twice where the others show none
    twice. The others' own spread widens each limit.

    Why: what is wrong from the first picture to the last shows only against other episodes.
    Fix: set exposure, focus and colour order as for the others; free the lens.
    """
    labels = sorted({label for each in batch.episodes for label in each.views})
    judged = False
    for label in labels:
        chosen = [each for each in batch.episodes if label in each.views]
        if len(chosen) < FEWEST:
            continue
        judged = True
        numbers = [each.index for each in chosen]
        views = np.stack([each.views[label] for each in chosen]).astype(np.float64)
        measures = {
            name: np.array(
                [each.measures.get(f"picture/{label}/{name}", np.nan) for each in chosen]
            )
            for name in ("blue", "red", "sharpness", "repeated")
        }
        found = [
            *_bright(views, max_brightness_ratio),
            *_sharp(measures["sharpness"], min_sharpness_share),
            *_colours(measures["blue"], measures["red"]),
            *_covered(views, max_covered),
            *_repeated(measures["repeated"], [_has_witness(each, label) for each in chosen]),
        ]
        for place, text, value, limit in found:
            yield unlike_others(numbers[place], label, text, value, limit=limit)
    if not judged:
        raise NotAssessed(f"fewer than {FEWEST} episodes have pictures of the same camera")


Found = Iterator[tuple[int, str, float, float]]


def _bright(views: Array, max_ratio: float) -> Found:
    level = np.log(np.maximum(views.mean(axis=(1, 2)), 1.0))
    usual, spread = _middle(level)
    limit = max(float(np.log(max_ratio)), FAR * spread)
    for place in np.flatnonzero(np.abs(level - usual) > limit).tolist():
        ratio = float(np.exp(level[place] - usual))
        yield place, f"is {ratio:.2f} times as bright as in the other episodes", ratio, max_ratio


def _sharp(sharpness: Array, min_share: float) -> Found:
    known = np.isfinite(sharpness) & (sharpness > 0)
    if known.sum() < FEWEST:
        return
    level = np.log(np.where(known, sharpness, 1.0))
    usual, spread = _middle(level[known])
    limit = max(-float(np.log(min_share)), FAR * spread)
    for place in np.flatnonzero(known & (usual - level > limit)).tolist():
        share = float(np.exp(level[place] - usual))
        yield place, f"is {share:.2f} times as sharp as in the other episodes", share, min_share


def _colours(blue: Array, red: Array) -> Found:
    known = np.isfinite(blue) & np.isfinite(red)
    if known.sum() < FEWEST:
        return
    usual_blue, usual_red = float(np.median(blue[known])), float(np.median(red[known]))
    plain = np.hypot(blue - usual_blue, red - usual_red)
    exchanged = np.hypot(red - usual_blue, blue - usual_red)
    limit = max(COLOURED, FAR / 2 * float(np.median(plain[known])))
    bad = known & (np.nan_to_num(plain) > limit)
    for place in np.flatnonzero(bad & (exchanged < NEARER * plain)).tolist():
        text = "has red and blue exchanged, judged by the other episodes"
        yield place, text, float(plain[place]), limit


def _covered(views: Array, max_covered: float) -> Found:
    rows, columns = GRID
    count, height, width = views.shape
    drawn = np.stack([edges(view) for view in views])
    cells = drawn.reshape(count, rows, height // rows, columns, width // columns).mean(axis=(2, 4))
    usual = np.median(cells, axis=0)
    # Only where every other episode shows something can it be missing.
    steady = (usual > EDGES) & (np.quantile(cells, 0.25, axis=0) > 0.5 * usual)
    if steady.sum() < 4:
        return
    missing = ((cells < LEFT * usual) & steady).sum(axis=(1, 2)) / steady.sum()
    for place in np.flatnonzero(missing > max_covered).tolist():
        share = float(missing[place])
        text = f"shows nothing in {100 * share:.0f} % of the view, where the other episodes do"
        yield place, text, share, max_covered


def _has_witness(episode: Synopsis, label: str) -> bool:
    """Whether another camera of the episode keeps up: then `camera_frozen` speaks."""
    return any(
        episode.measures.get(f"picture/{other}/repeated", 1.0) < KEEPS_UP
        for other in episode.views
        if other != label
    )


def _repeated(shares: Array, has_witness: Sequence[bool]) -> Found:
    full = np.flatnonzero(shares < KEEPS_UP)
    halved = np.flatnonzero((shares > HALF_RATE) & ~np.array(has_witness))
    if len(full) < FEWEST - 1 or len(halved) > len(full):
        return
    for place in halved.tolist():
        text = f"shows every picture twice, where it keeps up in {len(full)} other episodes"
        yield place, text, float(shares[place]), HALF_RATE


def _middle(values: Array) -> tuple[float, float]:
    """Median and scaled median absolute deviation."""
    middle = float(np.median(values))
    return middle, 1.4826 * float(np.median(np.abs(values - middle)))


CHECK = Check(
    find,
    topic="pictures",
    severity="quarantine",
    scope="batch",
    pictures=True,
    formerly=("pictures_are_usual",),
)
