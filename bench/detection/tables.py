"""Turns recordings into one-rate tables, and recordings of tables into LeRobot datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.detection.editing import Array, encode, pictures_of, rate_of
from bench.detection.lerobot_writer import Head, Movie, TableEpisode, Version, write
from corporeal.episode.recording import Recording, VideoFile
from corporeal.signal.track import track_of
from corporeal.units import SECOND_NS

FPS = 30.0
STATE, ACTION = "observation.state", "action"
HANDS = ("left_gripper", "right_gripper")
CAMERAS = {"head_left": "observation.images.head", "external_front": "observation.images.front"}
# What operators type: one sentence for all episodes of a task.
TEXTS = {
    "reach": "Reach for the mark with one hand.",
    "pick_place": "Pick up the object and put it on the mark.",
    "bimanual_lift": "Lift the crate with both hands and put it back.",
    "handover": "Pass the object from one hand to the other.",
    "stand": "Stand still.",
}
# Pictures that the statistics of a camera are made of.
_SAMPLED = 20


def table_of(recording: Recording, *, fps: float = FPS, cameras: bool = True) -> TableEpisode:
    """An episode of many rates as a recorder of one rate would have stored it.

    Every row has the newest reading and the newest command at its time, and the newest picture.
    """
    joints = recording.signals["observations/joint_position"]
    first, last = int(joints.time_ns[0]), int(joints.time_ns[-1])
    count = int((last - first) / SECOND_NS * fps)
    grid = first + np.rint(np.arange(1, count) * SECOND_NS / fps).astype(np.int64)
    readings = ["observations/joint_position", *(f"observations/{hand}" for hand in HANDS)]
    commands = ["actions/joint_position_target", *(f"actions/{hand}_target" for hand in HANDS)]
    columns = {
        STATE: np.concatenate([_newest(recording, label, grid) for label in readings], axis=1),
        ACTION: np.concatenate([_newest(recording, label, grid) for label in commands], axis=1),
    }
    movies = {}
    for camera, key in CAMERAS.items():
        for label, signal in recording.signals.items():
            if cameras and isinstance(signal, VideoFile) and label.endswith(camera):
                movies[key] = _movie(signal, grid, fps)
    return TableEpisode(
        columns={key: values.astype(np.float32) for key, values in columns.items()},
        timestamp=np.arange(len(grid)) / fps,
        task=TEXTS.get(str(recording.metadata.get("task")), "Do as you were told."),
        movies=movies,
    )


def head_of(recording: Recording, *, fps: float = FPS) -> Head:
    """The head of a set of such tables."""
    names = recording.signals["observations/joint_position"].spec.components
    assert isinstance(names, tuple)
    return Head(fps, "unitree_g1", {STATE: (*names, *HANDS), ACTION: (*names, *HANDS)})


def _newest(recording: Recording, label: str, grid: NDArray[np.int64]) -> Array:
    track = track_of(label, recording.signals[label])
    place = np.searchsorted(track.time_ns, grid, side="right") - 1
    return np.asarray(track.values[np.clip(place, 0, len(track) - 1)])


def _movie(footage: VideoFile, grid: NDArray[np.int64], fps: float) -> Movie:
    pictures = pictures_of(footage)
    place = np.clip(np.searchsorted(footage.time_ns, grid, side="right") - 1, 0, len(pictures) - 1)
    return movie_of(pictures[place], fps)


def movie_of(pictures: NDArray[np.uint8], fps: float) -> Movie:
    """Pictures as a movie."""
    some = np.linspace(0, len(pictures) - 1, min(_SAMPLED, len(pictures))).astype(int)
    return Movie(encode(pictures, rate_hz=fps), pictures[some])


def as_table(recording: Recording) -> TableEpisode:
    """A recording of one clock, faulty or not, as it is stored."""
    arrays = {
        label: track_of(label, signal)
        for label, signal in recording.signals.items()
        if signal.spec.kind == "array" and label in (STATE, ACTION)
    }
    stamps = next(iter(arrays.values())).time_ns
    movies = {
        label: stored(signal)
        for label, signal in recording.signals.items()
        if isinstance(signal, VideoFile)
    }
    return TableEpisode(
        columns={label: track.values.astype(np.float32) for label, track in arrays.items()},
        timestamp=(stamps - stamps[0]) / SECOND_NS,
        task=task_of(recording),
        movies=movies,
    )


def task_of(recording: Recording) -> str:
    """What the recording was told to be."""
    for key in ("instruction", "task"):
        text = recording.metadata.get(key)
        if isinstance(text, str):
            return text
    return ""


def stored(footage: VideoFile) -> Movie:
    """A camera's movie: the file itself where the footage is all of it, otherwise encoded anew."""
    opened = footage.open()
    data = Path(opened).read_bytes() if isinstance(opened, str | Path) else opened.read()
    height, width = (size for size in footage.spec.shape[:2] if isinstance(size, int))
    some: NDArray[np.uint8] = np.zeros((1, height, width, 3), np.uint8)
    if footage.first == 0:
        return Movie(data, some)
    pictures = pictures_of(footage)
    return movie_of(pictures, rate_of(footage.time_ns))


def write_set(
    folder: Path, head: Head, recordings: Sequence[Recording], *, version: Version = "v3.0"
) -> Path:
    """Recordings of tables as a dataset on disk."""
    return write(folder, head, [as_table(each) for each in recordings], version=version)
