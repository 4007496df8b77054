"""A policy from an ONNX file that drives arms, hands and base; docs/spec/teleoperation.md decides.

It is asked whoever drives, so that what it would have done is known where a person corrects it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import MissingExtraError, ModelError, UnknownNameError
from corporeal.geometry import Array
from corporeal.network_bounds import bounded_options, run_bounded
from corporeal.schema import Stream, roles
from corporeal.teleoperation.operator_input import SIDES, Side
from corporeal.teleoperation.robot_link import RobotLink
from corporeal.teleoperation.session import PolicyAction

STATE, PICTURE, ACTION = "observation.state", "observation.images.", "action"
# A policy that did not answer for so long drives no more, s.
SILENT_S: Final = 0.5
_LARGEST_FILE = 2 << 30
_GRIPPERS: Final = {f"{side}{roles.GRIPPER_TARGET}.opening": side for side in SIDES}
_VELOCITY: Final = tuple(f"{roles.BASE_VELOCITY}.{part}" for part in ("vx", "vy", "wz"))


@dataclass(frozen=True, eq=False)
class _Answer:
    """The actions (T, m) that follow an observation, and when that was made."""

    observed_ns: int
    actions: Array


class ArmPolicy:
    """A policy for a robot; `joints` names those that are commanded.

    With `is_live` it thinks in a thread of its own while its last answer is played; else the robot
    waits for it, so that the same observations give the same actions.
    """

    def __init__(
        self, path: Path, link: RobotLink, joints: Sequence[str], *, is_live: bool
    ) -> None:
        self._session = _open(path)
        self.name = path.name
        with path.open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        self._link = link
        self._fail = _Refusal(path.name)
        try:
            meta = self._session.get_modelmeta().custom_metadata_map
        except UnicodeDecodeError:
            raise self._fail("metadata that are no text", "UTF-8") from None
        self.rate_hz = self._rate(meta)
        self._state = tuple(_listed(meta, "state_names", self._fail))
        self._action = tuple(_listed(meta, "action_names", self._fail))
        self._readers = [self._reader(name) for name in self._state]
        self._joints = self._columns(joints)
        self._count = len(joints)
        self._cameras = self._inputs()
        self._pictures: dict[str, NDArray[np.float32]] = {}
        self._played = self._steps(meta)
        self._answer: _Answer | None = None
        self._thinking: Future[_Answer] | None = None
        self._asked_ns = 0
        self._pool = ThreadPoolExecutor(1, "arm policy") if is_live else None
        self.trouble = ""

    def see_picture(self, camera: str, picture: NDArray[np.uint8]) -> None:
        """The newest picture (height, width, 3) of a camera."""
        if camera in self._cameras:
            rows = np.moveaxis(picture, -1, 0).astype(np.float32) / np.float32(255)
            self._pictures[camera] = rows[None]

    def act(self, now_ns: int) -> PolicyAction | None:
        """What it wants at a time of the host's clock; None, with `trouble`, where it is silent."""
        self._take_answer()
        if self._is_due(now_ns):
            self._ask(now_ns)
            self._take_answer()
        answer = self._answer
        if answer is None or now_ns - answer.observed_ns > self._lasts_ns(answer):
            if now_ns - self._asked_ns > 1e9 * SILENT_S:
                self.trouble = self.trouble or f"the policy did not answer for {SILENT_S:g} s"
            return None
        step = min(self._step(now_ns, answer), len(answer.actions) - 1)
        row = answer.actions[step]
        if not np.isfinite(row).all():
            self.trouble = "the policy's action is not finite"
            return None
        self.trouble = ""
        return self._as_action(row)

    def forget(self) -> None:
        """Begin anew: the scene is another one."""
        self._answer, self._thinking = None, None

    def close(self) -> None:
        """End its thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _as_action(self, row: Array) -> PolicyAction:
        joints = np.full(self._count, np.nan)
        openings: dict[Side, float] = {}
        velocity = np.zeros(3)
        for number, name in enumerate(self._action):
            value = float(row[number])
            if name in self._joints:
                joints[self._joints[name]] = value
            elif name in _GRIPPERS:
                share = value / self._link.opening_m
                openings[_GRIPPERS[name]] = float(np.clip(share, 0.0, 1.0))
            else:
                velocity[_VELOCITY.index(name)] = value
        moves = any(name in _VELOCITY for name in self._action)
        return PolicyAction(joints, openings, velocity if moves else None)

    def _is_due(self, now_ns: int) -> bool:
        if self._thinking is not None:
            return False
        answer = self._answer
        if answer is None:
            return True
        most = len(answer.actions)
        return self._step(now_ns, answer) >= min(self._played or most, most)

    def _step(self, now_ns: int, answer: _Answer) -> int:
        # Half a nanosecond's worth of rounding must not repeat a step.
        return int((now_ns - answer.observed_ns) * self.rate_hz / 1e9 + 1e-6)

    def _lasts_ns(self, answer: _Answer) -> float:
        return 1e9 * (len(answer.actions) / self.rate_hz + SILENT_S)

    def _ask(self, now_ns: int) -> None:
        missing = [camera for camera in self._cameras if camera not in self._pictures]
        if missing:
            self.trouble = f"the policy waits for a picture of {missing[0]}"
            return
        seen = self._link.measure()
        row = np.array([[reader(seen) for reader in self._readers]], np.float32)
        given: dict[str, NDArray[np.float32]] = {STATE: row}
        given |= {f"{PICTURE}{camera}": self._pictures[camera] for camera in self._cameras}
        self._asked_ns = now_ns
        done: Future[_Answer] = Future()
        if self._pool is not None:
            done = self._pool.submit(self._think, given, now_ns)
        else:
            try:
                done.set_result(self._think(given, now_ns))
            except ModelError as error:
                done.set_exception(error)
        self._thinking = done

    def _take_answer(self) -> None:
        if self._thinking is None or not self._thinking.done():
            return
        done, self._thinking = self._thinking, None
        try:
            self._answer = done.result()
        except ModelError as error:
            self.trouble = str(error)

    def _think(self, given: Mapping[str, NDArray[np.float32]], now_ns: int) -> _Answer:
        faults = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        try:
            (out,) = run_bounded(self._session, [ACTION], given)
        except (faults.RuntimeException, faults.InvalidArgument, faults.Fail) as error:
            raise self._fail(f"an error while it ran: {error}", "a run without one") from None
        made = out if isinstance(out, np.ndarray) and out.dtype.kind == "f" else np.zeros(0)
        rows = made.astype(np.float64).reshape(-1, made.shape[-1] if made.size else 1)
        if rows.shape[1] != len(self._action) or not len(rows):
            raise self._fail(
                f"actions of shape {list(np.shape(out))}", f"{len(self._action)} columns"
            )
        return _Answer(now_ns, rows)

    def _rate(self, meta: Mapping[str, str]) -> float:
        try:
            rate_hz = float(meta.get("rate_hz", ""))
        except ValueError:
            rate_hz = 0.0
        if not 0 < rate_hz <= 100:
            raise self._fail(
                f"rate_hz {meta.get('rate_hz')!r} in its metadata", "a number up to 100"
            )
        return rate_hz

    def _steps(self, meta: Mapping[str, str]) -> int:
        text = meta.get("played_steps", "") or "0"
        if not (text.isascii() and text.isdigit() and len(text) < 7):
            raise self._fail(f"played_steps {text[:60]!r} in its metadata", "a number of steps")
        return int(text)

    def _columns(self, joints: Sequence[str]) -> dict[str, int]:
        known = (*joints, *_GRIPPERS, *_VELOCITY)
        for name in self._action:
            if name not in known:
                raise UnknownNameError(f"action of the policy {self.name}", name, known)
        return {name: number for number, name in enumerate(joints)}

    def _reader(self, name: str) -> Callable[[Mapping[str, Any]], float]:
        """Where an entry of the state stands in what the robot measures."""
        streams = [stream for stream in self._link.streams if stream.group == "observations"]
        known = {label: place for stream in streams for label, place in _labels(stream, self._link)}
        if name not in known:
            raise UnknownNameError(f"state of the policy {self.name}", name, tuple(known))
        path, column = known[name]
        return lambda seen: float(seen[path][column])

    def _inputs(self) -> tuple[str, ...]:
        """The cameras that it looks at; its inputs are checked."""
        height, width = self._link.picture_size
        shapes = {given.name: list(given.shape) for given in self._session.get_inputs()}
        state = shapes.pop(STATE, None)
        if state is None or state[-1] != len(self._state):
            raise self._fail(
                f"{STATE} of shape {state}", f"(1, {len(self._state)}), as state_names has it"
            )
        for name, shape in shapes.items():
            camera = name.removeprefix(PICTURE)
            if camera == name or camera not in self._link.cameras:
                listed = [f"{PICTURE}{each}" for each in self._link.cameras]
                raise UnknownNameError(f"input of the policy {self.name}", name, [STATE, *listed])
            if shape[-3:] != [3, height, width]:
                raise self._fail(f"{name} of shape {shape}", f"(1, 3, {height}, {width})")
        if ACTION not in [made.name for made in self._session.get_outputs()]:
            raise self._fail("no output called action", "one of (1, n) or (1, T, n)")
        return tuple(name.removeprefix(PICTURE) for name in shapes)


@dataclass(frozen=True)
class _Refusal:
    """Says of a file what is wrong with it."""

    name: str

    def __call__(self, got: str, expected: str) -> ModelError:
        return ModelError(
            f"policy {self.name}, got {got}; expected {expected}. "
            "docs/spec/teleoperation.md says what a policy's file holds."
        )


def _labels(stream: Stream, link: RobotLink) -> list[tuple[str, tuple[str, int]]]:
    """The columns of a stream by the names that an export gives them."""
    if stream.name == roles.JOINT_POSITION:
        names: Sequence[str] = link.robot.joint_names
        return [(name, (stream.path, number)) for number, name in enumerate(names)]
    parts = link.robot.joint_names if stream.components == "joints" else stream.names
    return [(f"{stream.name}.{part}", (stream.path, number)) for number, part in enumerate(parts)]


def _open(path: Path) -> Any:
    try:
        onnxruntime = import_module("onnxruntime")
        faults = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    except ModuleNotFoundError:
        raise MissingExtraError("onnxruntime", "vision") from None
    refuse = _Refusal(path.name)
    if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
        raise refuse(f"{str(path)!r}", "an ONNX file of up to 2 GiB")
    try:
        return onnxruntime.InferenceSession(
            str(path), bounded_options(), providers=["CPUExecutionProvider"]
        )
    except (
        faults.Fail,
        faults.InvalidProtobuf,
        faults.InvalidGraph,
        faults.NotImplemented,
        faults.InvalidArgument,
        faults.RuntimeException,
        faults.NoSuchFile,
    ) as error:
        raise refuse(f"a file that cannot be read ({error})", "an ONNX file") from None


def _listed(meta: Mapping[str, str], key: str, refuse: _Refusal) -> list[str]:
    try:
        names = json.loads(meta.get(key, ""))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
        raise refuse(f"{key} {str(meta.get(key))[:60]!r} in its metadata", "a JSON list of names")
    return names
