"""A live session as an ordinary episode: what the robot was told, at an even rate."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array, normalise
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.goal.contacts import ground_of
from corporeal.retargeting.goal.goals import goals_of, on_the_floor
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.live.recording import LiveFrames, read_live_frames
from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.motion import HumanMotion, MotionError, Origin
from corporeal.retargeting.recording import write_episode
from corporeal.retargeting.result import FAR_M, Retargeted
from corporeal.retargeting.solver.low_pass import one_sided

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
    }
    written = write_episode(
        result, episode, metrics=measure_result(result), facts=facts, settings=settings
    )
    shutil.rmtree(folder)
    return written


def live_result(frames: LiveFrames, robot: Embodiment, source: Path) -> Retargeted:
    """The frames at an even rate, with the person and the contacts that they show as a whole."""
    order = np.argsort(frames.t_s, kind="stable")
    times, first = np.unique(frames.t_s[order], return_index=True)
    kept = order[first]
    if len(times) < LEAST_FRAMES:
        raise MotionError(f"{source}: {len(times)} frames; expected {LEAST_FRAMES} or more.")
    rate = float(1 / np.median(np.diff(times)))
    even = np.arange(round((times[-1] - times[0]) * rate) + 1) / rate + times[0]
    base = np.concatenate([frames.base[kept, :3], one_sided(frames.base[kept, 3:])], axis=1)
    base = _at(base, times, even)
    nearest = np.clip(np.searchsorted(times, even), 0, len(times) - 1)
    origin = Origin(source, "live", notes=("followed live, frame by frame",))
    points = frames.positions[kept]
    motion = HumanMotion(
        source.stem, rate, points[nearest], frames.confidence[kept][nearest], origin
    )
    motion = clean(motion)
    person = on_the_floor(motion, ground_of(motion))
    goals = goals_of(person, robot_map(robot))
    error = _at(frames.error_m[kept], times, even)
    base = np.concatenate([base[:, :3], normalise(base[:, 3:])], axis=1)
    return Retargeted(
        robot=robot,
        rate_hz=rate,
        q=_at(frames.q[kept], times, even),
        base=base,
        human=replace(person, positions=person.positions + _start(person, base)),
        goals=goals,
        error_m=error,
        infeasible=np.asarray(error.max(axis=1) > FAR_M),
        converged=bool(frames.ok.mean() > 0.5),
        notes=origin.notes,
    )


def _start(person: HumanMotion, base: Array) -> Array:
    """What brings the person's first place over the ground to the robot's."""
    return np.array([*(base[0, :2] - person.point("pelvis")[0, :2]), 0.0])


def _at(values: Array, times: Array, wanted: Array) -> Array:
    """Columns (T, n) at other times, straight between the samples."""
    return np.stack([np.interp(wanted, times, column) for column in values.T], axis=1)
