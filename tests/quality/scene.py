"""A small filmed scene: a textured wall, and a box that moves as the robot's state does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import ArraySignal, ImageSequence, Recording, Signal, VideoFile
from corporeal.episode.video import Encoder, write_mp4
from corporeal.quality import Subject
from corporeal.schema import Stream

Picture = NDArray[np.uint8]
HEIGHT, WIDTH, RATE_HZ = 120, 160, 30.0
CAMERA = "observations/camera"
STATE = "observations/joint_position"


def wall(seed: int = 0) -> Picture:
    """A background with edges of several sizes in warm colours."""
    dice = np.random.default_rng(seed)
    tiles = dice.integers(60, 190, (HEIGHT // 12 + 1, WIDTH // 12 + 1, 1))
    fine = dice.integers(-25, 25, (HEIGHT // 3 + 1, WIDTH // 3 + 1, 1))
    large = np.kron(tiles, np.ones((12, 12, 1)))[:HEIGHT, :WIDTH]
    small = np.kron(fine, np.ones((3, 3, 1)))[:HEIGHT, :WIDTH]
    return np.asarray(np.clip((large + small) * np.array([1.1, 0.9, 0.6]), 0, 255), np.uint8)


def state_at(time_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two joints that move with changing speed."""
    one = np.sin(1.7 * time_s) + 0.5 * np.sin(4.1 * time_s + 1) + 0.2 * np.sin(7.3 * time_s)
    two = np.cos(1.3 * time_s) + 0.4 * np.sin(5.2 * time_s)
    return np.stack((one, two), axis=1)


def pictures(
    frames: int, *, late_s: float = 0.0, seed: int = 0, moving: bool = True
) -> list[Picture]:
    """What the camera sees, with a little noise of its sensor."""
    dice = np.random.default_rng(seed + 1)
    scene = wall(seed)
    time_s = np.arange(frames) / RATE_HZ - late_s
    places = state_at(time_s if moving else np.zeros(frames))
    shown = []
    for one, two in places:
        share = _extent(HEIGHT, 45 + 18 * two, 30)[:, None] * _extent(WIDTH, 68 + 30 * one, 24)
        picture = scene + share[:, :, None] * (np.array([230, 220, 240]) - scene)
        picture += dice.integers(-2, 3, picture.shape, np.int16)
        shown.append(np.clip(picture, 0, 255).astype(np.uint8))
    return shown


def _extent(size: int, first: float, length: float) -> NDArray[np.float64]:
    """How much of each pixel the box takes, so that it moves by parts of a pixel."""
    pixel = np.arange(size)
    return np.asarray(np.clip(np.minimum(pixel + 1 - first, first + length - pixel), 0, 1))


def filmed(
    frames: int = 150,
    *,
    change: Callable[[list[Picture]], list[Picture]] | None = None,
    late_s: float = 0.0,
    moving: bool = True,
    seed: int = 0,
) -> Recording:
    """A recording with one camera; `change` spoils its pictures."""
    shown = pictures(frames, late_s=late_s, moving=moving, seed=seed)
    if change is not None:
        shown = change(shown)
    time_ns = np.round(np.arange(frames) / RATE_HZ * 1e9).astype(np.int64)
    state_ns = np.arange(0, int(frames / RATE_HZ * 1e9), 10_000_000)
    values = state_at(state_ns / 1e9 if moving else np.zeros(len(state_ns)))
    joints = Stream(
        name="joint_position", group="observations", shape=(2,), rate_hz=100, unit="rad"
    )
    signals: dict[str, Signal] = {
        STATE: ArraySignal(joints, state_ns, values),
        CAMERA: ImageSequence(camera(), time_ns, shown),
    }
    return Recording("scene", Path("scene"), 0, signals)


def camera() -> Stream:
    """The description of the camera."""
    return Stream(
        name="camera", group="observations", kind="video", shape=(HEIGHT, WIDTH, 3), rate_hz=RATE_HZ
    )


def subject(frames: int = 150, **options: object) -> Subject:
    """The same, ready for a check."""
    return Subject(filmed(frames, **options))  # type: ignore[arg-type]


def blind() -> Subject:
    """A recording without a camera."""
    recording = filmed(30)
    return Subject(replace(recording, signals={STATE: recording.signals[STATE]}))


def movie(target: Path, shown: list[Picture]) -> VideoFile:
    """The pictures as an H.264 movie in a file."""
    encoder = Encoder(HEIGHT, WIDTH, rate_hz=RATE_HZ)
    time_ns = np.round(np.arange(len(shown)) / RATE_HZ * 1e9).astype(np.int64)
    write_mp4(target, [encoder.encode(picture) for picture in shown], time_ns)
    return VideoFile(camera(), time_ns, lambda: str(target))


def within(first: int, stop: int, spoil: Callable[[Picture], Picture]) -> Callable[
    [list[Picture]], list[Picture]
]:  # fmt: skip
    """A change of the pictures first..stop-1."""
    return lambda shown: [
        spoil(each) if first <= number < stop else each for number, each in enumerate(shown)
    ]


def overlap(frames: tuple[tuple[int, int], ...], first: int, stop: int) -> int:
    """How many of the pictures first..stop-1 the ranges name."""
    return sum(max(0, min(high, stop) - max(low, first)) for low, high in frames)
