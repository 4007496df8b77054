"""A live session on disk as it comes, and as an ordinary episode once it is over."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.goal.footholds import ground_of
from corporeal.retargeting.goal.goals import body_of, goals_of, on_the_floor
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.goal.supports import supports_of
from corporeal.retargeting.live.frame_solver import LivePose
from corporeal.retargeting.live.pose_message import PoseMessage
from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError, Origin
from corporeal.retargeting.result import ENDS, FAR_M, Retargeted
from corporeal.retargeting.robot_episode import write_episode
from corporeal.retargeting.solver.chain import MotionState
from corporeal.signal.grid import interpolate
from corporeal.units import SECOND_NS

_KEPT_EVERY_S = 0.2
_HEAD, _ROWS, _END = "head.json", "frames.f64", "end.json"
# Where nobody counted what the sender sent, its step is near the shortest ones that were followed.
_SHORT_SHARE = 20
_VERSION = 1
_MAX_HEAD_BYTES = 1 << 20
# t, then q, base (7), error (4), ok, latency in ms, points (P x 3), confidence (P).
_FIXED = 1 + 7 + len(ENDS) + 2 + 4 * len(POINTS)


@dataclass(frozen=True, eq=False)
class LiveFrames:
    """T frames as they were followed, at the sender's times `t_s` (T,), which are not even.

    `q` (T, J), `base` (T, 7), `error_m` (T, 4), `ok` (T,), `latency_ms` (T,), and the person as
    received: `positions` (T, P, 3), NaN where not known, and `confidence` (T, P). `step_s` is that
    of the sender, and `tally` what became of its messages, where the session came to its end.
    """

    robot: str
    joint_names: tuple[str, ...]
    t_s: Array
    q: Array
    base: Array
    error_m: Array
    ok: NDArray[np.bool_]
    latency_ms: Array
    positions: Array
    confidence: Array
    step_s: float | None = None
    tally: Mapping[str, int] | None = None

    def __len__(self) -> int:
        return len(self.t_s)


class LiveRecording:
    """A folder of raw rows beside the episode that they will become."""

    def __init__(self, folder: Path, robot: str, joint_names: Sequence[str]) -> None:
        if folder.exists():
            raise MotionError(
                f"{folder}: left by a recording that was not finished. Make an episode of it, or "
                "remove it."
            )
        folder.mkdir(parents=True)
        head = {"version": _VERSION, "robot": robot, "joints": list(joint_names)}
        (folder / _HEAD).write_text(json.dumps(head), encoding="utf-8")
        self.folder = folder
        self._file: BinaryIO = (folder / _ROWS).open("ab")
        self._kept_s = time.monotonic()

    def write(self, person: PoseMessage, pose: LivePose, latency_ms: float) -> None:
        """One more frame; on disk within a fifth of a second while frames come."""
        robot = ([person.t_s], pose.q, pose.base, pose.error_m, [float(pose.ok), latency_ms])
        row = np.concatenate([*robot, person.positions.ravel(), person.confidence])
        self._file.write(row.astype("<f8").tobytes())
        if time.monotonic() - self._kept_s > _KEPT_EVERY_S:
            self.keep()

    def keep(self) -> None:
        """Bring everything written so far to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._kept_s = time.monotonic()

    def conclude(self, step_s: float | None, tally: Mapping[str, int]) -> None:
        """Say at the end how often the sender sent, and what became of its messages."""
        text = json.dumps({"step_s": step_s, "tally": dict(tally)})
        (self.folder / _END).write_text(text, encoding="utf-8")

    def close(self) -> None:
        """Keep the rest, and free the file."""
        if not self._file.closed:
            self.keep()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def recording_folder(episode: Path) -> Path:
    """Where the frames of an episode that is being recorded lie until it is written."""
    return episode.with_name(f"{episode.name}.live")


def read_live_frames(folder: Path) -> LiveFrames:
    """The frames in a folder, also after a kill: a row that was not finished is left out."""
    try:
        with (folder / _HEAD).open("rb") as file:
            head = json.loads(file.read(_MAX_HEAD_BYTES))
        names = tuple(str(name) for name in head["joints"])
        robot, version = str(head["robot"]), int(head["version"])
    except (OSError, ValueError, KeyError, TypeError):
        raise MotionError(
            f"{folder}: no live recording. Name the folder ending in .live."
        ) from None
    if version != _VERSION:
        raise MotionError(f"{folder}: version {version}; expected {_VERSION}. Update corporeal.")
    width = _FIXED + len(names)
    rows = folder / _ROWS
    size = rows.stat().st_size if rows.is_file() else 0
    count = size // (8 * width)
    if not count:
        raise MotionError(f"{folder}: not one whole frame was recorded. Record again.")
    data = np.fromfile(rows, "<f8", count * width).reshape(count, width)
    ends = np.cumsum([1, len(names), 7, len(ENDS), 1, 1, 3 * len(POINTS)])
    t, q, base, error, ok, latency, points, confidence = np.split(data, ends, axis=1)
    return LiveFrames(
        robot,
        names,
        t[:, 0],
        q,
        base,
        error,
        ok[:, 0] > 0,
        latency[:, 0],
        points.reshape(count, len(POINTS), 3),
        confidence,
        *_read_end(folder / _END),
    )


def _read_end(path: Path) -> tuple[float | None, dict[str, int] | None]:
    """The sender's step and the tally; None where the session was cut off."""
    try:
        end = json.loads(path.read_bytes()[:_MAX_HEAD_BYTES])
        step = end["step_s"]
        tally = {str(name): int(count) for name, count in end["tally"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, None
    return (float(step) if isinstance(step, int | float) and step > 0 else None), tally


def discard_recording(folder: Path) -> None:
    """Remove the folder once its episode is written; anything that is no recording is left."""
    if (folder / _HEAD).is_file():
        shutil.rmtree(folder)


LEAST_FRAMES = 4


def episode_of_live(
    folder: Path, episode: Path, robot: Embodiment, facts: Mapping[str, Any] | None = None
) -> Path:
    """Write the frames in a folder as an episode, and remove the folder once that is on disk.

    `facts` is what is known of the session, such as the operator.
    """
    frames = read_live_frames(folder)
    if frames.robot != robot.name:
        raise MotionError(
            f"{folder}: was recorded with robot {frames.robot!r}, got {robot.name!r}. "
            "Name the right --robot."
        )
    result = live_result(frames, robot, folder)
    settings = {
        "live": True,
        "latency_p95_ms": round(float(np.percentile(frames.latency_ms, 95)), 2),
        **({} if frames.tally is None else {"messages": dict(frames.tally)}),
    }
    followed, time_ns = as_followed(frames, result)
    written = write_episode(
        followed, episode, metrics=measure_result(result), facts=facts, settings=settings,
        time_ns=time_ns,
    )  # fmt: skip
    shutil.rmtree(folder)
    return written


def as_followed(frames: LiveFrames, even: Retargeted) -> tuple[Retargeted, NDArray[np.int64]]:
    """The frames that were followed and no others, at the sender's own stamps, which begin at 0.

    What was measured on the even motion as a whole, the person and the contacts, is read off at
    those stamps. The rate is the sender's: poses that were skipped or never came are gaps.
    """
    times, kept = _in_order(frames)
    since = times - times[0]
    nearest = np.clip(np.rint(since * even.rate_hz).astype(int), 0, len(even) - 1)
    step_s = frames.step_s or float(np.percentile(np.diff(times), _SHORT_SHARE))
    error = frames.error_m[kept]
    followed = replace(
        even,
        rate_hz=1 / step_s,
        q=frames.q[kept],
        base=frames.base[kept],
        human=replace(
            even.human,
            rate_hz=1 / step_s,
            positions=even.human.positions[nearest],
            confidence=even.human.confidence[nearest],
            rotations={name: turned[nearest] for name, turned in even.human.rotations.items()},
        ),
        goals=even.goals.take(nearest),
        error_m=error,
        infeasible=np.asarray(error.max(axis=1) > FAR_M),
    )
    return followed, np.rint(since * SECOND_NS).astype(np.int64)


def _in_order(frames: LiveFrames) -> tuple[Array, NDArray[np.int64]]:
    """The stamps of all frames, each once and in order, and the frames that have them."""
    order = np.argsort(frames.t_s, kind="stable")
    times, first = np.unique(frames.t_s[order], return_index=True)
    return times, order[first]


def live_result(frames: LiveFrames, robot: Embodiment, source: Path) -> Retargeted:
    """The frames at an even rate, with the person and the contacts that they show as a whole."""
    times, kept = _in_order(frames)
    if len(times) < LEAST_FRAMES:
        raise MotionError(f"{source}: {len(times)} frames; expected {LEAST_FRAMES} or more.")
    rate = float(1 / np.median(np.diff(times)))
    even = np.arange(round((times[-1] - times[0]) * rate) + 1) / rate + times[0]
    state = MotionState(frames.base[kept], frames.q[kept])
    state = MotionState.from_rows(interpolate(even, times, state.rows))
    nearest = np.clip(np.searchsorted(times, even), 0, len(times) - 1)
    origin = Origin(source, "live", notes=("followed live, frame by frame",))
    points = frames.positions[kept]
    motion = HumanMotion(
        source.stem, rate, points[nearest], frames.confidence[kept][nearest], origin
    )
    motion = clean(motion)
    person = on_the_floor(motion, ground_of(motion))
    mapped = robot_map(robot)
    goals = goals_of(person, mapped)
    goals = replace(goals, supports=supports_of(person, mapped, body_of(person)))
    error = interpolate(even, times, frames.error_m[kept])
    # What brings the person's first place over the ground to the robot's.
    beside = np.array([*(state.base[0, :2] - person.point("pelvis")[0, :2]), 0.0])
    return Retargeted(
        robot=robot,
        rate_hz=rate,
        q=state.q,
        base=state.base,
        human=replace(person, positions=person.positions + beside),
        goals=goals,
        error_m=error,
        infeasible=np.asarray(error.max(axis=1) > FAR_M),
        converged=bool(frames.ok.mean() > 0.5),
        notes=origin.notes,
    )
