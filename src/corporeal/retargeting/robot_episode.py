"""A result as an ordinary episode: streams, the robot, where it comes from and how good it is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from corporeal import __version__
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode import EpisodeWriter, new_id
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.recording import SOURCE_LEDGER, ArraySignal, Recording
from corporeal.geometry import Array, continuous_quaternions
from corporeal.retargeting.measure.limbs import limb_angles
from corporeal.retargeting.measure.metrics import Metrics
from corporeal.retargeting.result import ENDS, Goals, Retargeted
from corporeal.schema import Schema, open_schema, roles
from corporeal.signal.grid import even_stamps
from corporeal.signal.runs import Flags, runs
from corporeal.units import SECOND_NS

RIG = "retargeted"
# Frames further apart than so many of their steps are not of one motion.
_GAP_STEPS = 5


def recording_of(
    result: Retargeted,
    *,
    metrics: Metrics | None = None,
    facts: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    source_sha256: str | None = None,
    epoch_ns: int = 0,
    index: int = 0,
    time_ns: NDArray[np.int64] | None = None,
) -> Recording:
    """The result as stages see an episode, without a file.

    `facts` is what is known of the take: operator, demonstrator, consent, session, instruction
    ...; they take the place of what is said here. `settings` are those of the solve. `time_ns`
    are the frames' own stamps; by default they are even.
    """
    schema = schema_at(result.rate_hz)
    stamps = even_stamps(len(result), result.rate_hz) if time_ns is None else time_ns
    metadata = metadata_of(result, metrics, facts or {}, settings or {}, source_sha256, stamps)
    streams = {stream.path: stream for stream in result.robot.resolve(schema).streams}
    signals: dict[str, ArraySignal] = {
        path: ArraySignal(streams[path], stamps, values)
        for path, values in _arrays(result, stamps).items()
    }
    instruction = metadata.get("instruction")
    if isinstance(instruction, str) and (text := instruction.strip()):
        path = "observations/instruction"
        signals[path] = ArraySignal(streams[path], stamps[:1], [text])
    return Recording(
        id=new_id(),
        source=result.human.origin.path,
        index=index,
        signals=signals,
        embodiment=result.robot,
        metadata=metadata,
        missing_metadata=tuple(
            name for name in schema.metadata if metadata.get(name) in (None, "")
        ),
        documents={"schema": schema.canonical(), "embodiment": result.robot.canonical()},
        epoch_ns=epoch_ns,
    )


def write_episode(
    result: Retargeted,
    path: Path,
    *,
    metrics: Metrics | None = None,
    facts: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    source_sha256: str | None = None,
    epoch_ns: int | None = None,
    time_ns: NDArray[np.int64] | None = None,
) -> Path:
    """Write the result as an episode file and return its path; see `recording_of`.

    The hash of the source is taken from its file unless it is given.
    """
    origin = result.human.origin.path
    if source_sha256 is None and origin.is_file():
        source_sha256 = file_sha256(origin)
    made = recording_of(
        result, metrics=metrics, facts=facts, settings=settings, source_sha256=source_sha256,
        time_ns=time_ns,
    )  # fmt: skip
    with EpisodeWriter(
        path,
        schema=schema_at(result.rate_hz),
        embodiment=result.robot,
        metadata=made.metadata,
        epoch_ns=epoch_ns,
        episode_id=made.id,
    ) as writer:
        for name, signal in made.signals.items():
            writer.extend(name, signal.time_ns, signal[:])
    return writer.path


def metadata_of(
    result: Retargeted,
    metrics: Metrics | None,
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
    source_sha256: str | None,
    stamps: NDArray[np.int64],
) -> dict[str, Any]:
    """What an episode says of itself: task, mode by segment, source, and how it was retargeted."""
    origin = result.human.origin
    segment = {
        "start_ns": 0,
        "end_ns": int(stamps[-1]) if len(stamps) else 0,
        "mode": RETARGETED_MOCAP,
        "motion_source": origin.path.name,
    }
    metadata: dict[str, Any] = {
        "task": result.human.name,
        "environment": "motion capture",
        "software": f"corporeal {__version__}",
        "mode": RETARGETED_MOCAP,
        "segments": [segment],
        "source_file": origin.path.name,
        "source_format": origin.format,
        "source_skeleton": origin.skeleton,
        "source_sha256": source_sha256,
        "source_notes": list(origin.notes),
        SOURCE_LEDGER: origin.ledger.to_json(),
        "robot": result.robot.name,
        "retargeting": {
            "converged": result.converged,
            "notes": list(result.notes),
            "settings": dict(settings),
            "scales": {name: float(scale) for name, scale in result.goals.scales.items()},
            "infeasible": [list(span) for span in runs(result.infeasible)],
            # What nothing else in an episode says: where the ground is, and when nobody is on it.
            "ground_height_m": 0.0,
            "airborne": [list(span) for span in runs(airborne(result.goals))],
            "metrics": None if metrics is None else metrics.to_json(),
        },
        **facts,
    }
    return {name: value for name, value in metadata.items() if value not in (None, "", [])}


def airborne(goals: Goals) -> Flags:
    """Frames (T,) in which nothing is meant to touch the ground: no foot, and nothing else."""
    touches = goals.contacts.any(axis=(1, 2))
    if goals.supports is not None:
        touches = touches | goals.supports.touches.any(axis=1)
    return np.asarray(~touches)


def schema_at(rate_hz: float) -> Schema:
    """The rig of retargeted motion at the rate of a clip."""
    schema = open_schema(RIG)
    streams = tuple(
        stream if stream.rate_hz is None else stream.model_copy(update={"rate_hz": float(rate_hz)})
        for stream in schema.streams
    )
    return schema.model_copy(update={"streams": streams})


def file_sha256(path: Path) -> str:
    """The sha256 of a file in hex, read a piece at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _arrays(result: Retargeted, stamps: NDArray[np.int64]) -> dict[str, Any]:
    q, human = result.q, result.human
    error = np.where(result.goals.confidence > 0, np.nan_to_num(result.error_m), 0.0)
    speeds = _speeds(q, stamps / SECOND_NS, result.rate_hz)
    # A quaternion and its negative are the same rotation; a step between them looks like a leap.
    base = np.concatenate([result.base[:, :3], continuous_quaternions(result.base[:, 3:])], axis=1)
    arrays: dict[str, Any] = {
        "observations/joint_position": q.astype(np.float32),
        "observations/joint_velocity": speeds.astype(np.float32),
        "actions/joint_position_target": np.concatenate([q[1:], q[-1:]]).astype(np.float32),
        "debug/base_pose": base.astype(np.float32),
        "debug/human_points": np.nan_to_num(human.positions).astype(np.float32),
        "debug/human_confidence": human.confidence.astype(np.float32),
        "debug/retarget_error": error.astype(np.float32),
        "debug/retarget_confidence": result.goals.confidence.astype(np.float32),
        "debug/foot_contact": result.goals.contacts.reshape(len(q), len(ENDS)),
    }
    if result.goals.limbs:
        poses = model_of(result.robot, Kinematics).transforms(q, result.base)
        limbs = limb_angles(result.robot, poses, result.goals.limbs)
        arrays["debug/" + roles.RETARGET_LIMB_ERROR] = np.nan_to_num(limbs).astype(np.float32)
    if result.goals.supports is not None:
        arrays["debug/" + roles.BODY_CONTACT] = result.goals.supports.touches
    return arrays


def _speeds(q: Array, times: Array, rate_hz: float) -> Array:
    """Velocities (T, J): those of a spline, since differences miss a fifth at 5 of 30 Hz.

    A gap ends the spline, which would swing out over it.
    """
    speeds = np.zeros_like(q, np.float64)
    ends = np.flatnonzero(np.diff(times) * rate_hz > _GAP_STEPS) + 1
    for first, stop in pairwise([0, *ends.tolist(), len(q)]):
        if stop - first > 1:
            part = slice(first, stop)
            speeds[part] = CubicSpline(times[part], q[part])(times[part], 1)
    return speeds
