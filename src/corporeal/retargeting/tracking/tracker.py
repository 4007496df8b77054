"""What a tracker is: a network that follows a motion, and how its file is recognised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.errors import MissingExtraError
from corporeal.geometry import Array
from corporeal.network_bounds import bounded_options
from corporeal.registry import plugins
from corporeal.retargeting.tracking.physics import Servos
from corporeal.retargeting.tracking.reference import MotionTrackingError, ReferenceMotion

MAX_BYTES = 1 << 30
# How onnxruntime says that a file is no network that it can run.
REFUSALS = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile",
            "NotImplemented", "RuntimeException")  # fmt: skip


@dataclass(frozen=True)
class SensedState:
    """What a robot's own sensors say: joints (J,), its base's quaternion and turning (3,)."""

    q: Array
    rates: Array
    quaternion: Array
    angular_velocity: Array


class Follower(Protocol):
    """One tracker at work on one motion; joints are in the order of its `Tracker.joints`."""

    def observe(self, state: SensedState, frame: int) -> NDArray[np.float32]:
        """What the network sees (inputs,) when the motion is at `frame`."""

    def targets(self, action: Array) -> Array:
        """Where the servos shall go (J,), given the network's answer."""


@dataclass(frozen=True)
class Tracker:
    """One layout of networks: sizes, the joints it drives, their servos, what it sees."""

    description: str
    inputs: int
    outputs: int
    joints: tuple[str, ...]
    rate_hz: float
    servos: Servos
    follow: Callable[[ReferenceMotion], Follower]


@dataclass(frozen=True, eq=False)
class TrackingPolicy:
    """A network in memory, and the layout that fits it."""

    name: str
    tracker: Tracker
    session: Any
    columns: NDArray[np.int64]

    def answer(self, observation: NDArray[np.float32]) -> Array:
        """The network's action (J,) for what it sees (inputs,)."""
        entry = self.session.get_inputs()[0].name
        (action,) = self.session.run(
            [self.session.get_outputs()[0].name], {entry: observation[None]}
        )
        return np.asarray(action[0], np.float64)


@cache
def trackers() -> dict[str, Tracker]:
    """All layouts by name: a file `trackers/<name>.py` that ends in TRACKER is all one needs."""
    return plugins("corporeal.retargeting.tracking.trackers", "TRACKER", Tracker)


def open_policy(path: Path, robot: Embodiment) -> TrackingPolicy:
    """The network in a file, if its layout is known and drives this robot; else TrackingError."""
    session = _session(path)
    ports = [*session.get_inputs(), *session.get_outputs()]
    sizes = [tuple(port.shape) for port in ports]
    # Rows of single precision in and out: (samples, numbers).
    plain = len(ports) == 2 and all(len(size) == 2 for size in sizes)
    plain = plain and all(port.type == "tensor(float)" for port in ports)
    found = [
        name
        for name, one in trackers().items()
        if plain and (sizes[0][1], sizes[1][1]) == (one.inputs, one.outputs)
    ]
    if not found:
        known = "; ".join(
            f"{name} ({one.inputs} in, {one.outputs} out: {one.description})"
            for name, one in trackers().items()
        )
        raise MotionTrackingError(
            f"{path}: a network with inputs and outputs of sizes {sizes}; expected one of: "
            f"{known}. Add its layout as a file in trackers/, or leave the tracker out."
        )
    tracker = trackers()[found[0]]
    lacking = [name for name in tracker.joints if name not in robot.joint_names]
    extra = [name for name in robot.joint_names if name not in tracker.joints]
    if lacking or extra:
        raise MotionTrackingError(
            f"{path}: tracker {found[0]!r} drives {len(tracker.joints)} joints and robot "
            f"{robot.name!r} has {len(robot.joint_names)}, {(lacking or extra)[0]!r} is only in "
            "one of them; expected the same. Leave the tracker out for a replay with help."
        )
    columns = np.array([robot.joint_names.index(name) for name in tracker.joints], np.int64)
    return TrackingPolicy(found[0], tracker, session, columns)


def _session(path: Path) -> Any:
    try:
        onnxruntime = import_module("onnxruntime")
        faults = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    except ModuleNotFoundError:
        raise MissingExtraError("onnxruntime", "vision") from None
    if not path.is_file():
        raise MotionTrackingError(
            f"{path}: no such file. Name an ONNX file, or leave the tracker out."
        )
    if path.stat().st_size > MAX_BYTES:
        raise MotionTrackingError(
            f"{path}: over {MAX_BYTES >> 20} MiB; expected a smaller network."
        )
    refusals = tuple(getattr(faults, name) for name in REFUSALS)
    try:
        return onnxruntime.InferenceSession(
            str(path), bounded_options(), providers=["CPUExecutionProvider"]
        )
    except refusals as error:
        reason = str(error).splitlines()[0]
        raise MotionTrackingError(
            f"{path}: not a network that runs here, got: {reason}; expected an ONNX file. "
            "Export it again, or leave the tracker out."
        ) from None
