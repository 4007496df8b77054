"""Takes as LeRobot datasets: one rate, movies of any size in the codecs that people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from bench.detection.field.take import ACTION, STATE, Channel, Film, Take, encode_film
from bench.detection.lerobot_writer import Head, Movie, TableEpisode, Version, write
from corporeal.units import SECOND_NS

FPS = 30.0
KEYS = {STATE: "observation.state", ACTION: "action"}
CAMERAS = {"head_left": "observation.images.head", "external_front": "observation.images.front"}
_HANDS = ("left_gripper", "right_gripper")
_NAMES_OF_CODECS = {"libx264": "h264", "libsvtav1": "av1", "mpeg4": "mpeg4", "libvpx-vp9": "vp9"}


def tabulate(take: Take, *, size: tuple[int, int] | None = None, codec: str = "libx264") -> Take:
    """The take as a recorder of one rate has it: per row the newest reading, command, picture."""
    clock = take.channel(STATE).time_ns
    count = int((clock[-1] - clock[0]) / SECOND_NS * FPS)
    grid = clock[0] + np.rint(np.arange(1, count) * SECOND_NS / FPS).astype(np.int64)
    own = np.rint(np.arange(count - 1) * SECOND_NS / FPS).astype(np.int64)
    channels = {}
    for key, suffix in ((STATE, ""), (ACTION, "_target")):
        parts = [take.channel(key), *(take.channel(f"{hand}{suffix}") for hand in _HANDS)]
        rows = [part.values[_newest(part.time_ns, grid)] for part in parts]
        names = (*take.channel(key).names, *_HANDS)
        channels[key] = Channel(own, np.concatenate(rows, axis=1), names)
    films = {}
    for camera in CAMERAS if size else ():
        film = take.films[camera]
        pictures = film.pictures()[_newest(film.time_ns, grid)]
        scaled = np.stack([_scale(each, size or film.size) for each in pictures])
        films[camera] = Film(own, encode_film(scaled, codec, FPS), codec, scaled.shape[1:3])
    return Take(take.name, channels, films, dict(take.facts), take.origin)


def _newest(time_ns: np.ndarray, grid: np.ndarray) -> np.ndarray:
    return np.clip(np.searchsorted(time_ns, grid, side="right") - 1, 0, len(time_ns) - 1)


def _scale(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    if picture.shape[:2] == size:
        return picture
    image = Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BOX)
    return np.asarray(image)


def write_tables(
    folder: Path, takes: Sequence[Take], unchanged: Mapping[int, Path], *, version: Version = "v3.0"
) -> list[Path]:
    """The dataset, with statistics of what is in it; all of it is written anew."""
    del unchanged
    names = {KEYS[key]: takes[0].channels[key].names for key in KEYS}
    robot = str(takes[0].facts.get("robot_type", "unitree_g1"))
    write(folder, Head(FPS, robot, names), [_episode_of(take) for take in takes], version=version)
    return [folder]


write_v21 = partial(write_tables, version="v2.1")


def _episode_of(take: Take) -> TableEpisode:
    clock = take.channel(STATE).time_ns
    return TableEpisode(
        columns={KEYS[key]: take.channels[key].values.astype(np.float32) for key in KEYS},
        timestamp=(clock - clock[0]) / SECOND_NS,
        task=str(take.facts.get("instruction", "")),
        movies={CAMERAS[name]: _movie_of(film) for name, film in take.films.items()},
    )


def _movie_of(film: Film) -> Movie:
    # The statistics of pictures are none of the mistakes: one grey picture stands for all.
    grey = np.full((1, *film.size, 3), 127, np.uint8)
    return Movie(film.data, grey, _NAMES_OF_CODECS[film.codec])
