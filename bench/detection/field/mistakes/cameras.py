"""Mistakes of cameras: bumped, exchanged, late, turned, covered, out of focus, cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PIL import Image

from bench.detection.field.mistake import (
    Mistake,
    Rng,
    Takes,
    exchange,
    marked,
    mistake,
    one_take,
)
from bench.detection.field.take import CannotPlantError, Film, Mark, Pictures, Take

_OTHER_VIEW = {"camera_misplaced", "view_changed", "pictures_unusual"}
Change = Callable[[Pictures], Pictures]


def _camera(takes: Takes, rng: Rng) -> tuple[int, str, Film]:
    number = one_take(takes, rng)
    camera = str(rng.choice(sorted(takes[number].films)))
    return number, camera, takes[number].films[camera]


def _refilmed(takes: Takes, number: int, camera: str, change: Change) -> Takes:
    film = takes[number].films[camera]
    pictures = film.pictures()
    return exchange(
        takes, number, takes[number].with_film(camera, film.with_pictures(change(pictures)))
    )


def _moment(film: Film, rng: Rng, length_s: float) -> tuple[int, int]:
    """A stretch in the middle of the take, where the arms are at work."""
    count = len(film.time_ns)
    length = round(length_s * 30)
    first = int(
        rng.integers(round(0.3 * count), max(round(0.3 * count) + 1, round(0.65 * count) - length))
    )
    return first, min(first + length, count)


def _span(film: Film, first: int, stop: int) -> tuple[int, int]:
    return int(film.time_ns[first]), int(film.time_ns[min(stop, len(film.time_ns)) - 1])


def _each(change: Callable[[Image.Image], Image.Image]) -> Change:
    def apply(pictures: Pictures) -> Pictures:
        return np.stack([np.asarray(change(Image.fromarray(each))) for each in pictures])

    return apply


def _knock(pictures: Pictures, rng: Rng) -> Pictures:
    """What a camera sees after a knock: turned by some degrees and moved, edges filled."""
    height, width = pictures.shape[1:3]
    angle = rng.uniform(4, 8) * rng.choice([-1, 1])
    move = (
        rng.uniform(0.06, 0.12) * width * rng.choice([-1, 1]),
        rng.uniform(-0.05, 0.05) * height,
    )
    pad = (height // 4, width // 4)
    outcome = []
    for each in pictures:
        wide = np.pad(each, ((pad[0],) * 2, (pad[1],) * 2, (0, 0)), mode="reflect")
        image = Image.fromarray(wide).rotate(
            angle, translate=(round(move[0]), round(move[1])), resample=Image.Resampling.BILINEAR
        )
        outcome.append(np.asarray(image)[pad[0] : pad[0] + height, pad[1] : pad[1] + width])
    return np.stack(outcome)


@mistake({"view_changed", "picture_glitch"}, {"films"})
def bumped_while_recording(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Somebody knocks against the camera in the middle of the take."""
    number, camera, film = _camera(takes, rng)
    first, _ = _moment(film, rng, 1.0)

    def change(pictures: Pictures) -> Pictures:
        return np.concatenate((pictures[:first], _knock(pictures[first:], rng)))

    span = _span(film, first - 1, first + 1)
    return _refilmed(takes, number, camera, change), marked(number, camera, span_ns=span)


@mistake(_OTHER_VIEW, {"films", "rows"})
def moved_before_the_take(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The camera's arm sank before this take: it looks elsewhere than in the others."""
    number, camera, _ = _camera(takes, rng)
    return (
        _refilmed(takes, number, camera, lambda pictures: _knock(pictures, rng)),
        marked(number, camera),
    )


@mistake(_OTHER_VIEW, {"films", "rows"})
def cameras_exchanged(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Two cameras came up in the other order after a reboot."""
    number = one_take(takes, rng)
    one, two = sorted(takes[number].films)[:2]
    films = takes[number].films
    swapped = {**films, one: films[two], two: films[one]}
    return exchange(takes, number, replace(takes[number], films=swapped)), marked(number, one, two)


@mistake(_OTHER_VIEW, {"films", "rows"})
def mounted_upside_down(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The camera was put back the wrong way up, or the driver mirrors."""
    number, camera, _ = _camera(takes, rng)
    turned = bool(rng.integers(2))

    def change(pictures: Pictures) -> Pictures:
        return np.ascontiguousarray(pictures[:, ::-1, ::-1] if turned else pictures[:, :, ::-1])

    return _refilmed(takes, number, camera, change), marked(number, camera)


@mistake(_OTHER_VIEW, {"films", "rows"})
def blue_for_red(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One station writes BGR."""
    number, camera, _ = _camera(takes, rng)
    return (
        _refilmed(takes, number, camera, lambda each: np.ascontiguousarray(each[..., ::-1])),
        marked(number, camera),
    )


@mistake({"camera_late", "lag_drifts", "lag_unusual", "streams_out_of_sync"}, {"films"})
def camera_lags(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Pictures wait in a buffer and come a fifth to a third of a second late."""
    number, camera, _ = _camera(takes, rng)
    steps = int(rng.integers(6, 11))

    def change(pictures: Pictures) -> Pictures:
        return pictures[np.maximum(np.arange(len(pictures)) - steps, 0)]

    return _refilmed(takes, number, camera, change), marked(number, camera)


@mistake(
    {
        "camera_late",
        "lag_drifts",
        "lag_unusual",
        "footage_incomplete",
        "camera_misplaced",
        "streams_out_of_sync",
    },
    {"films", "rows"},
)
def movie_of_another_take(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The converter pairs a take's rows with the movie of its neighbour."""
    number = one_take(takes, rng)
    other = (number + 1) % len(takes)
    camera = str(rng.choice(sorted(takes[number].films)))
    film, foreign = takes[number].films[camera], takes[other].films[camera]
    rows = np.minimum(np.arange(len(film.time_ns)), len(foreign.time_ns) - 1)
    return (
        _refilmed(takes, number, camera, lambda _: foreign.pictures()[rows]),
        marked(number, camera),
    )


@mistake({"camera_frozen", "frames_dropped"}, {"films"})
def camera_hangs(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The camera hangs for a second or two and its last picture is written again."""
    number, camera, film = _camera(takes, rng)
    first, stop = _moment(film, rng, float(rng.uniform(1.0, 2.0)))

    def change(pictures: Pictures) -> Pictures:
        rows = np.arange(len(pictures))
        rows[first:stop] = first
        return pictures[rows]

    return _refilmed(takes, number, camera, change), marked(
        number, camera, span_ns=_span(film, first, stop)
    )


@mistake({"camera_frozen", "frames_dropped", "pictures_unusual"}, {"films"})
def camera_at_half_rate(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The bus gives every second picture only, and each is written twice."""
    number, camera, _ = _camera(takes, rng)
    return (
        _refilmed(
            takes, number, camera, lambda pictures: pictures[np.arange(len(pictures)) // 2 * 2]
        ),
        marked(number, camera),
    )


@mistake({"picture_glitch", "picture_black", "video_damaged", "view_changed"}, {"films"})
def broken_picture(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """A packet is lost: one or two pictures are green stripes from the middle down."""
    number, camera, film = _camera(takes, rng)
    first, stop = _moment(film, rng, float(rng.choice([1 / 30, 2 / 30])))

    def change(pictures: Pictures) -> Pictures:
        half = pictures.shape[1] // 2
        pictures = pictures.copy()
        pictures[first:stop, half:] = np.array([20, 160, 30], np.uint8)
        return pictures

    return _refilmed(takes, number, camera, change), marked(
        number, camera, span_ns=_span(film, first, stop)
    )


@mistake(
    {
        "lens_covered",
        "view_changed",
        "exposure_wrong",
        "picture_black",
        "pictures_unusual",
        "picture_blurred",
    },
    {"films"},
)
def sleeve_before_the_lens(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The operator's sleeve covers most of the picture for some seconds."""
    number, camera, film = _camera(takes, rng)
    first, stop = _moment(film, rng, float(rng.uniform(2.0, 3.0)))
    colour = rng.integers(30, 110, 3)
    share = rng.uniform(0.7, 0.9)

    def change(pictures: Pictures) -> Pictures:
        pictures = pictures.copy()
        width = int(share * pictures.shape[2])
        cloth = colour + rng.normal(0, 2, (pictures.shape[1], width, 3))
        pictures[first:stop, :, :width] = np.clip(cloth, 0, 255).astype(np.uint8)
        return pictures

    return _refilmed(takes, number, camera, change), marked(
        number, camera, span_ns=_span(film, first, stop)
    )


@mistake({"exposure_wrong", "picture_black", "pictures_unusual"}, {"films"})
def lamp_went_out(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The lamp fails: from one moment on there is next to nothing to see."""
    number, camera, film = _camera(takes, rng)
    first, _ = _moment(film, rng, 1.0)

    def change(pictures: Pictures) -> Pictures:
        pictures = pictures.copy()
        pictures[first:] = (pictures[first:] * 0.04).astype(np.uint8)
        return pictures

    span = _span(film, first, len(film.time_ns))
    return _refilmed(takes, number, camera, change), marked(number, camera, span_ns=span)


@mistake({"picture_blurred", "pictures_unusual"}, {"films"})
def out_of_focus(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The lens ring was turned before the take."""
    number, camera, film = _camera(takes, rng)
    small = max(8, film.size[1] // 22), max(8, film.size[0] // 22)

    def blur(image: Image.Image) -> Image.Image:
        tiny = image.resize(small, Image.Resampling.BOX)
        return tiny.resize(image.size, Image.Resampling.BICUBIC)

    return _refilmed(takes, number, camera, _each(blur)), marked(number, camera)


@mistake({"footage_incomplete", "video_damaged"}, {"films", "rows"})
def movie_too_short(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The encoder was stopped before its last pictures were written."""
    number, camera, film = _camera(takes, rng)
    kept = len(film.time_ns) - int(rng.integers(10, 60))
    if kept < 60:
        raise CannotPlantError("the movie is too short")
    return (
        _refilmed(takes, number, camera, lambda pictures: pictures[:kept]),
        marked(number, camera),
    )


@mistake({"footage_incomplete", "video_damaged", "episode_unreadable"}, {"films", "rows"})
def movie_file_cut(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The copy to the server broke off: the movie's file ends in the middle."""
    number, camera, film = _camera(takes, rng)
    data = film.data[: int(len(film.data) * rng.uniform(0.3, 0.9))]
    take: Take = takes[number].with_film(camera, replace(film, data=data))
    return exchange(takes, number, take), marked(number, camera)


MISTAKES: tuple[Mistake, ...] = (
    bumped_while_recording,
    moved_before_the_take,
    cameras_exchanged,
    mounted_upside_down,
    blue_for_red,
    camera_lags,
    movie_of_another_take,
    camera_hangs,
    camera_at_half_rate,
    broken_picture,
    sleeve_before_the_lens,
    lamp_went_out,
    out_of_focus,
    movie_too_short,
    movie_file_cut,
)
