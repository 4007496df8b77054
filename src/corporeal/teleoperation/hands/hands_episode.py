"""A robot's motion from a person's hands as an ordinary episode, with what was not seen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal import __version__
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.facts import NOT_SEEN as NOT_SEEN_FIELD
from corporeal.episode.file import VideoReader
from corporeal.episode.video import is_key_frame, packets_of
from corporeal.geometry import Array
from corporeal.schema import Schema, Stream, open_schema, roles
from corporeal.signal.grid import even_stamps
from corporeal.teleoperation.hands.hand_track import NOT_SEEN
from corporeal.teleoperation.hands.hands_to_robot import REACHED_M, HandsMotion
from corporeal.teleoperation.operator_input import SIDES

RIG = "hands_to_robot"
MODE = "egocentric demonstration"
_SAID = ("task", "instruction", "operator", "station", "session", "batch", "environment")


def write_episode(
    motion: HandsMotion, source: Path, path: Path, facts: Mapping[str, Any] | None = None
) -> Path:
    """Write the motion as an episode file and return its path.

    `facts` is what is known of the take: task, operator, instruction ...; they take the place of
    what is said here. Where the source is an episode, its pictures come along as they are, and so
    does what it says of the take.
    """
    with ExitStack() as stack:
        recorded = stack.enter_context(Episode(source)) if source.suffix == ".h5" else None
        return _write(motion, source, recorded, path, facts or {})


def _write(
    motion: HandsMotion,
    source: Path,
    recorded: Episode | None,
    path: Path,
    facts: Mapping[str, Any],
) -> Path:
    stamps = even_stamps(len(motion.joints), motion.rate_hz)
    cameras = _cameras(recorded)
    schema = _schema(motion, [_seen_by_person(camera) for camera in cameras])
    metadata: dict[str, Any] = {
        **_said(recorded),
        "software": f"corporeal {__version__}",
        "mode": MODE,
        "segments": _segments(motion, stamps, source.name),
        "source_file": source.name,
        "source_format": "hands",
        "source_sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "robot": motion.robot.name,
        "hands_to_robot": {
            "reached_share": motion.reached_share,
            "reached_m": REACHED_M,
            "seen_share": motion.seen_share,
            "glitches": {side: track.glitches for side, track in motion.tracks.items()},
            "base": motion.base.tolist(),
            "room_from_world": motion.room_from_world.tolist(),
        },
        **facts,
    }
    metadata.setdefault("task", source.stem)
    arrays = _arrays(motion)
    with EpisodeWriter(path, schema=schema, embodiment=motion.robot, metadata=metadata) as writer:
        for name, values in arrays.items():
            writer.extend(name, stamps, values)
        for name, (times, values) in motion.person.items():
            writer.extend(name, times, values.astype(np.float32))
        for camera in cameras:
            _copy_pictures(writer, camera, motion.start_ns, int(stamps[-1]))
        instruction = metadata.get("instruction")
        if isinstance(instruction, str) and instruction.strip():
            writer.extend("observations/instruction", stamps[:1], [instruction.strip()])
    return writer.path


def _arrays(motion: HandsMotion) -> dict[str, NDArray[Any]]:
    q = motion.joints
    arrays: dict[str, Array] = {
        f"observations/{roles.JOINT_POSITION}": q,
        f"observations/{roles.JOINT_VELOCITY}": np.gradient(q, axis=0) * motion.rate_hz,
        f"actions/{roles.JOINT_POSITION_TARGET}": np.concatenate([q[1:], q[-1:]]),
        "debug/hand_error": np.nan_to_num(motion.error_m),
    }
    seen = np.full((len(q), 2), NOT_SEEN, np.uint8)
    for number, side in enumerate(SIDES):
        track = motion.tracks.get(side)
        if track is None or not track.seen.any():
            continue
        seen[:, number] = track.seen
        arrays[f"debug/{side}_hand_goal"] = _held(motion.goals[side])
        # A gripper waits as its arm does; whose fingers were never seen is open.
        is_known = np.isfinite(track.opening).any()
        opening = track.opening if is_known else np.ones(len(q))
        arrays[f"actions/{side}{roles.GRIPPER_TARGET}"] = _held(opening[:, None])
    told: dict[str, NDArray[Any]] = {
        name: values.astype(np.float32) for name, values in arrays.items()
    }
    return {**told, "debug/hand_seen": seen}


def _segments(motion: HandsMotion, stamps: NDArray[np.int64], source: str) -> list[dict[str, Any]]:
    """The stretches of the motion: in each, the same hands were seen or were not."""
    followed = {side: track.seen for side, track in motion.tracks.items() if track.seen.any()}
    away = np.stack([seen == NOT_SEEN for seen in followed.values()], axis=1)
    changes = 1 + np.flatnonzero((away[1:] != away[:-1]).any(axis=1))
    segments = []
    for rows in np.split(np.arange(len(away)), changes):
        segment = {"start_ns": int(stamps[rows[0]]), "end_ns": int(stamps[rows[-1]]),
                   "mode": MODE, "source": source}  # fmt: skip
        sides = [side for side, is_away in zip(followed, away[rows[0]], strict=True) if is_away]
        if sides:
            segment[NOT_SEEN_FIELD] = [f"{side}_hand" for side in sides]
            segment["note"] = f"{' and '.join(sides)} hand not seen; the arm waits"
        segments.append(segment)
    return segments


def _held(rows: Array) -> Array:
    """Rows with what is not known as the last that was, and the first before it."""
    known = np.isfinite(rows[:, 0])
    last = np.maximum.accumulate(np.where(known, np.arange(len(rows)), -1))
    return np.asarray(rows[np.where(last < 0, int(np.argmax(known)), last)])


def _cameras(recorded: Episode | None) -> list[VideoReader]:
    every = () if recorded is None else recorded.values()
    return [stream for stream in every if isinstance(stream, VideoReader) and len(stream)]


def _seen_by_person(camera: VideoReader) -> Stream:
    """The stream as the robot's episode has it: no camera of the robot, so in no frame of it."""
    words = "what the person's camera saw: their hands, not the robot's"
    return camera.spec.model_copy(update={"frame": None, "description": words})


def _said(recorded: Episode | None) -> dict[str, Any]:
    """What the source says of the take, and which episode it is."""
    if recorded is None:
        return {}
    known = {name: recorded.metadata[name] for name in _SAID if recorded.metadata.get(name)}
    return {**known, "source_episode": recorded.id}


def _copy_pictures(writer: EpisodeWriter, camera: VideoReader, start_ns: int, last_ns: int) -> None:
    """The pictures during the motion, from the first that stands alone, not encoded anew."""
    stamps = (camera.time_ns - start_ns).tolist()
    has_begun = False
    with closing(camera.movie()) as movie:
        for stamp, packet in zip(stamps, packets_of(movie), strict=False):
            has_begun = has_begun or (stamp >= 0 and is_key_frame(packet))
            if has_begun and stamp <= last_ns:
                writer.append_packed(camera.spec.path, stamp, packet)


def _schema(motion: HandsMotion, cameras: Sequence[Stream]) -> Schema:
    """The rig at the motion's rate, with the streams that there are."""
    schema = open_schema(RIG)
    seen = [side for side, track in motion.tracks.items() if track.seen.any()]
    streams = tuple(
        stream
        if stream.rate_hz is None
        else stream.model_copy(update={"rate_hz": float(motion.rate_hz)})
        for stream in schema.streams
        if not stream.name.startswith(SIDES) or stream.name.startswith(tuple(seen))
        if stream.rate_hz is not None or stream.kind == "text" or stream.path in motion.person
    )
    return schema.model_copy(update={"streams": (*streams, *cameras)})
