"""Faults of what the cameras saw."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np

from bench.detection.editing import (
    Pictures,
    any_camera,
    cameras_of,
    encode,
    film,
    moving_span,
    pictures_of,
    rate_of,
    refilm,
    span,
)
from bench.detection.fault import Fault, NotApplicable, Truth, fault
from corporeal.episode.recording import Recording, VideoFile

Rng = np.random.Generator
Injected = tuple[Recording, Truth]


@fault({"picture_black", "exposure_wrong", "picture_glitch", "lens_covered"}, strengths=(1, 5, 30),
       tolerance=5, unit="pictures", pictures=True)  # fmt: skip
def black(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Pictures are black."""
    label = any_camera(recording, rng)
    where = span(rng, len(recording.signals[label]), int(strength))

    def change(pictures: Pictures) -> Pictures:
        pictures[where] = rng.integers(0, 4, pictures[where].shape, np.uint8)
        return pictures

    return refilm(recording, label, change), Truth((label,), ((where.start, where.stop),))


@fault({"camera_frozen"}, strengths=(5, 15, 60), tolerance=15, unit="pictures", pictures=True)
def frozen(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A camera repeats one picture while the scene moves on."""
    label = any_camera(recording, rng)
    pictures = pictures_of(cameras_of(recording)[label])
    small = pictures[:, ::16, ::16].astype(np.float64).reshape(len(pictures), -1)
    where = moving_span(rng, small, int(strength), share=0.6)

    def change(pictures: Pictures) -> Pictures:
        pictures[where] = pictures[where.start]
        return pictures

    return refilm(recording, label, change), Truth((label,), ((where.start, where.stop),))


def _gain(strength: float, name: str, what: str, expected: set[str]) -> Fault:
    def inject(recording: Recording, rng: Rng, _: float) -> Injected:
        label = any_camera(recording, rng)

        def change(pictures: Pictures) -> Pictures:
            brighter: Pictures = np.clip(pictures * strength, 0, 255).astype(np.uint8)
            return brighter

        return refilm(recording, label, change), Truth((label,))

    inject.__name__, inject.__doc__ = name, what
    made = fault(expected, pictures=True)(inject)
    return replace(made, topic="pictures")


over_exposed = _gain(
    4.0, "over_exposed", "A camera is over-exposed throughout.", {"exposure_wrong"}
)
under_exposed = _gain(
    0.06,
    "under_exposed",
    "A camera is nearly dark throughout.",
    {"exposure_wrong", "picture_black"},
)


def _box(pictures: Pictures, radius: int) -> Pictures:
    """Blurred by moving averages: two passes each way, without another package."""
    out: np.ndarray = pictures.astype(np.float32)
    for axis in (1, 2, 1, 2):
        pad = [(0, 0)] * 4
        pad[axis] = (radius + 1, radius)
        total = np.cumsum(np.pad(out, pad, mode="edge"), axis=axis, dtype=np.float32)
        size = 2 * radius + 1
        top = np.take(total, np.arange(size, total.shape[axis]), axis=axis)
        low = np.take(total, np.arange(0, total.shape[axis] - size), axis=axis)
        out = (top - low) / size
    blurred: Pictures = np.clip(out, 0, 255).astype(np.uint8)
    return blurred


@fault({"picture_blurred", "view_changed"}, strengths=(0.006, 0.015, 0.03), tolerance=0.015,
       unit="of the width", pictures=True)  # fmt: skip
def blurred(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A camera is out of focus throughout."""
    label = any_camera(recording, rng)

    def change(pictures: Pictures) -> Pictures:
        radius = max(1, round(strength * pictures.shape[2]))
        blocks = [_box(block, radius) for block in np.array_split(pictures, 8) if len(block)]
        return np.concatenate(blocks)

    return refilm(recording, label, change), Truth((label,))


@fault({"lens_covered", "picture_black", "exposure_wrong", "view_changed", "picture_blurred"},
       strengths=(0.3, 0.6, 1.0), tolerance=0.6, unit="of the picture", pictures=True)  # fmt: skip
def covered(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Something covers part of the lens for two seconds."""
    label = any_camera(recording, rng)
    stamps = recording.signals[label].time_ns
    where = span(rng, len(stamps), round(2 * rate_of(stamps)))

    def change(pictures: Pictures) -> Pictures:
        width = round(strength * pictures.shape[2])
        shape = pictures[where, :, :width].shape
        pictures[where, :, :width] = np.clip(rng.normal(45, 3, shape), 0, 255).astype(np.uint8)
        return pictures

    return refilm(recording, label, change), Truth((label,), ((where.start, where.stop),))


@fault({"camera_misplaced", "view_changed", "pictures_unusual"}, pictures=True, among=4)
def cameras_swapped(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Two cameras are exchanged."""
    del strength
    cameras = cameras_of(recording)
    # Two eyes six centimetres apart see nearly the same.
    names = [name for name in sorted(cameras) if not name.endswith("head_right")]
    if len(names) < 2:
        raise NotApplicable("one camera")
    one, two = (str(name) for name in rng.choice(names, 2, replace=False))
    first, second = cameras[one], cameras[two]
    if first.spec.shape != second.spec.shape:
        raise NotApplicable("the cameras differ in size")
    signals = {**recording.signals, one: _as(second, first), two: _as(first, second)}
    return replace(recording, signals=signals), Truth((one, two))


def _as(movie: VideoFile, place: VideoFile) -> VideoFile:
    return replace(movie, spec=place.spec)


@fault({"view_changed", "pictures_unusual", "camera_misplaced"}, strengths=(0.03, 0.1, 0.2),
       tolerance=0.1, unit="of the width", pictures=True, among=4)  # fmt: skip
def viewpoint_moved(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A camera was knocked: it looks elsewhere than in the other episodes."""
    label = any_camera(recording, rng)
    right = bool(rng.integers(2))

    def change(pictures: Pictures) -> Pictures:
        shift = round(strength * pictures.shape[2])
        source = np.clip(np.arange(pictures.shape[2]) + (shift if right else -shift), 0,
                         pictures.shape[2] - 1)  # fmt: skip
        down = np.clip(np.arange(pictures.shape[1]) + shift // 2, 0, pictures.shape[1] - 1)
        return pictures[:, down][:, :, source]

    return refilm(recording, label, change), Truth((label,))


@fault({"view_changed", "picture_glitch"}, strengths=(0.05, 0.1), tolerance=0.1,
       unit="of the width", pictures=True)  # fmt: skip
def bumped(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A camera is knocked halfway through the episode."""
    label = _fixed(recording, rng)
    count = len(recording.signals[label])
    place = int(rng.integers(count // 3, 2 * count // 3))

    def change(pictures: Pictures) -> Pictures:
        shift = round(strength * pictures.shape[2])
        source = np.clip(np.arange(pictures.shape[2]) + shift, 0, pictures.shape[2] - 1)
        pictures[place:] = pictures[place:, :, source]
        return pictures

    truth = Truth((label,), ((place - 1, place + 1),))
    return refilm(recording, label, change), truth


def _fixed(recording: Recording, rng: Rng) -> str:
    """A camera that stands still."""
    cameras = cameras_of(recording)
    still = [name for name in sorted(cameras) if cameras[name].spec.placement == "external"]
    return str(rng.choice(still or sorted(cameras)))


@fault({"footage_incomplete", "video_damaged", "metadata_wrong"}, strengths=(1, 5, 30),
       tolerance=5, unit="pictures", pictures=True)  # fmt: skip
def footage_short(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The movie has fewer pictures than the table has rows."""
    label = any_camera(recording, rng)
    footage = cameras_of(recording)[label]
    pictures = pictures_of(footage)[: -int(strength)]
    data = encode(pictures, rate_hz=rate_of(footage.time_ns))
    count = len(footage.time_ns) if footage.count is not None else None
    new = replace(footage, open=lambda: BytesIO(data), first=0, count=count)
    truth = Truth((label,), ((len(pictures), len(footage)),))
    return replace(recording, signals={**recording.signals, label: new}), truth


@fault({"video_damaged", "footage_incomplete", "episode_unreadable"}, strengths=(0.1, 0.5),
       unit="of the file", pictures=True)  # fmt: skip
def movie_damaged(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The movie file is damaged: bytes in its middle are lost."""
    label = any_camera(recording, rng)
    footage = cameras_of(recording)[label]
    data = bytearray(encode(pictures_of(footage), rate_hz=rate_of(footage.time_ns)))
    first = int(len(data) * 0.3)
    stop = first + int(len(data) * 0.6 * strength)
    data[first:stop] = bytes(stop - first)
    broken = bytes(data)
    count = len(footage.time_ns) if footage.count is not None else None
    new = replace(footage, open=lambda: BytesIO(broken), first=0, count=count)
    return replace(recording, signals={**recording.signals, label: new}), Truth((label,))


@fault({"picture_glitch", "picture_black", "picture_blurred"}, strengths=(1, 3), unit="pictures",
       pictures=True)  # fmt: skip
def glitch(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Blocks of a few pictures are torn: a transmission error."""
    label = any_camera(recording, rng)
    where = span(rng, len(recording.signals[label]), int(strength))

    def change(pictures: Pictures) -> Pictures:
        for number in range(where.start, where.stop):
            rows = rng.permutation(pictures.shape[1] // 16)
            order = (rows[:, None] * 16 + np.arange(16)).ravel()
            pictures[number, : len(order)] = pictures[number, order]
            pictures[number, ::2] = np.roll(pictures[number, ::2], 40, axis=1)
        return pictures

    return refilm(recording, label, change), Truth((label,), ((where.start, where.stop),))


@fault({"picture_glitch", "view_changed", "picture_black", "exposure_wrong"}, strengths=(1, 3),
       unit="pictures", pictures=True)  # fmt: skip
def foreign_picture(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A picture of another camera, or none at all, stands between two of this one."""
    label = any_camera(recording, rng)
    where = span(rng, len(recording.signals[label]), int(strength))

    def change(pictures: Pictures) -> Pictures:
        pictures[where] = np.clip(rng.normal(128, 40, pictures[where].shape), 0, 255)
        return pictures

    return refilm(recording, label, change), Truth((label,), ((where.start, where.stop),))


@fault({"view_changed", "pictures_unusual", "camera_misplaced"}, pictures=True, among=4)
def upside_down(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A camera was mounted upside down in this one episode."""
    del strength
    label = any_camera(recording, rng)
    return refilm(recording, label, lambda pictures: pictures[:, ::-1, ::-1]), Truth((label,))


@fault({"view_changed", "camera_misplaced", "pictures_unusual"}, pictures=True, among=4)
def colours_swapped(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Red and blue are exchanged in this one episode: BGR taken for RGB."""
    del strength
    label = any_camera(recording, rng)
    return refilm(recording, label, lambda pictures: pictures[..., ::-1]), Truth((label,))


@fault({"camera_frozen", "frames_dropped", "footage_incomplete"},
       strengths=(0.2, 0.4), tolerance=0.4, unit="share", pictures=True)  # fmt: skip
def repeated_pictures(recording: Recording, rng: Rng, strength: float) -> Injected:
    """The camera is slower than it is recorded: many pictures are shown twice."""
    label = any_camera(recording, rng)

    def change(pictures: Pictures) -> Pictures:
        held = rng.random(len(pictures)) < strength
        held[0] = False
        return pictures[np.maximum.accumulate(np.where(held, 0, np.arange(len(pictures))))]

    footage = cameras_of(recording)[label]
    new = film(footage, change(pictures_of(footage)))
    return replace(recording, signals={**recording.signals, label: new}), Truth((label,))


FAULTS: tuple[Fault, ...] = (
    black, frozen, over_exposed, under_exposed, blurred, covered, cameras_swapped, viewpoint_moved,
    bumped, footage_short, movie_damaged, glitch, foreign_picture, upside_down, colours_swapped,
    repeated_pictures,
)  # fmt: skip
