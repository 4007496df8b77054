"""Every camera shows what it shows in the other episodes."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.pictures import edges, likeness, shift, turned_views, unlike_others
from corporeal.signal.track import Array

# So many episodes are needed to know what is usual, and at most so many are compared.
FEWEST, MOST = 4, 40
# Another camera, or a turned picture, must fit better by this much.
BETTER = 0.25
# An episode's view is another one when it is less like the others by this much.
UNLIKE = 0.35
# A camera is fixed when its view moves by less than this between episodes, in small pixels.
FIXED = 0.75
# Two cameras see the same from two places when one fits the other so well, shifted by so much.
STEREO_FIT, STEREO_SHIFT, STEREO_LIKE = 0.6, 1.0, 0.35

Views = dict[int, Array]


def find(batch: Batch, *, max_shift: float = 0.02) -> Findings:
    """Yield cameras that are exchanged, turned, moved by `max_shift` or show something else.

    The median picture of each camera is compared with that of the same camera in the other
    episodes by its edges, which hardly depend on light and colours. A shift is a share of the
    picture's width and counts for cameras that are otherwise fixed.

    Why: a policy reads a picture by the name of its camera; an exchanged pair is wrong every time.
    Fix: rename the two streams; calibrate a camera that was moved before recording on.
    """
    by_camera = _by_camera(batch)
    if not by_camera:
        raise NotAssessed(f"fewer than {FEWEST} episodes have pictures of the same camera")
    drawn = {
        label: {n: edges(view) for n, view in views.items()} for label, views in by_camera.items()
    }
    told: set[tuple[int, str]] = set()
    for number, one, two in _exchanged(by_camera, drawn):
        told |= {(number, one), (number, two)}
        for label in (one, two):
            yield Finding(
                f"episode {number}: {one} and {two} are exchanged: each shows what the other shows "
                "in the other episodes.",
                stream=label,
                episodes=(number,),
            )
    for label, views in by_camera.items():
        yield from _moved(label, views, drawn[label], told, max_shift)


def _by_camera(batch: Batch) -> dict[str, Views]:
    """Views by camera and episode, for the cameras that enough episodes have."""
    found: dict[str, Views] = {}
    for synopsis in batch.episodes:
        for label, view in synopsis.views.items():
            if view.ndim == 2 and view.std() > 1.0:
                found.setdefault(label, {})[synopsis.index] = view.astype(np.float64)
    return {label: views for label, views in found.items() if len(views) >= FEWEST}


def _others(views: Views, number: int) -> list[Array]:
    """Views of the other episodes, evenly chosen where there are many."""
    rest = [view for other, view in views.items() if other != number]
    step = max(1, len(rest) // MOST)
    return rest[::step][:MOST]


def _like_others(view: Array, others: list[Array]) -> float:
    return float(np.median([likeness(view, other) for other in others]))


def _exchanged(
    by_camera: dict[str, Views], drawn: dict[str, Views]
) -> Iterator[tuple[int, str, str]]:
    for one, two in combinations(sorted(by_camera), 2):
        both = [number for number in by_camera[one] if number in by_camera[two]]
        if len(both) < FEWEST or by_camera[one][both[0]].shape != by_camera[two][both[0]].shape:
            continue
        stereo = _wrong_side(by_camera[one], by_camera[two], both)
        for number in both:
            first, second = drawn[one][number], drawn[two][number]
            ones, twos = _others(drawn[one], number), _others(drawn[two], number)
            crossed = (_like_others(first, twos), _like_others(second, ones))
            gain = min(
                crossed[0] - _like_others(first, ones), crossed[1] - _like_others(second, twos)
            )
            pair = number in stereo and gain > -BETTER and min(crossed) > STEREO_LIKE
            if gain > BETTER or pair:
                yield number, one, two


def _wrong_side(one: Views, two: Views, both: list[int]) -> set[int]:
    """Episodes in which a stereo pair sees its parallax the wrong way round."""
    moves = {number: shift(one[number], two[number]) for number in both}
    aside = np.array([right for _, right, fit in moves.values() if fit > STEREO_FIT])
    if len(aside) < max(FEWEST, 0.7 * len(both)):
        return set()
    usual = float(np.median(aside))
    # The parallax depends on what lies before the cameras, its direction does not.
    if abs(usual) < STEREO_SHIFT or (np.sign(aside) == np.sign(usual)).mean() < 0.7:
        return set()
    return {
        number
        for number, (_, right, fit) in moves.items()
        if fit > STEREO_FIT and right * np.sign(usual) < -0.4 * abs(usual)
    }


def _moved(
    label: str, views: Views, drawn: Views, told: set[tuple[int, str]], max_shift: float
) -> Findings:
    usual = {number: _like_others(drawn[number], _others(drawn, number)) for number in views}
    typical = float(np.median(list(usual.values())))
    for number, view in views.items():
        if (number, label) in told:
            continue
        others = _others(drawn, number)
        what, best = max(
            ((what, _like_others(turned, others)) for what, turned in turned_views(drawn[number])),
            key=lambda each: each[1],
        )
        if best > usual[number] + BETTER:
            yield unlike_others(number, label, f"{what}, unlike in the other episodes", best)
            continue
        size = _shifted(view, _others(views, number))
        if size is not None and size >= max_shift * view.shape[1]:
            share = size / view.shape[1]
            text = f"is shifted by {100 * share:.1f} % of its width against the other episodes"
            yield unlike_others(number, label, text, share, limit=max_shift)
        elif typical > 0.6 and usual[number] < typical - UNLIKE:
            text = "shows another view than in the other episodes"
            yield unlike_others(number, label, text, usual[number], limit=typical - UNLIKE)


def _shifted(view: Array, others: list[Array]) -> float | None:
    """How far the view is from where the others agree it should be; None if they do not agree."""
    moves = np.array([shift(other, view) for other in others])
    if float(np.median(moves[:, 2])) < 0.5:
        return None
    down, right = np.median(moves[:, 0]), np.median(moves[:, 1])
    # Fixed: the others lie within a fraction of a pixel of each other.
    away = np.hypot(moves[:, 0] - down, moves[:, 1] - right)
    return float(np.hypot(down, right)) if float(np.quantile(away, 0.7)) < FIXED else None


CHECK = Check(
    find,
    topic="pictures",
    severity="quarantine",
    scope="batch",
    pictures=True,
    formerly=("cameras_in_place",),
)
