"""What an anomaly detector looks at: what was felt and what was asked, at 10 Hz, with its phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Signal
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.scoring.motion import arm_columns, on_grid
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.filters import moving_mean
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array, Track

RATE_HZ = 10.0
# Peaks of force and acceleration are over in a moment: they are looked for at this rate.
PEAK_HZ = 50.0
HALF_SECOND = round(0.5 * PEAK_HZ)
MIN_STEPS = 10
PHASES = 5
"""No gripper closed yet; the near one, the far one, both closed; none closed any more."""


@dataclass(frozen=True, eq=False)
class Channels:
    """One episode on an even clock: `felt` (T, C) and `asked` (T, K) with the names of the columns.

    `phase` (T,) is 0 before a gripper is told to close, 1 while the near one is closed, 2 the far
    one, 3 both, 4 when none is any more; `progress` (T,) runs from 0 to 1 in each. The `near` hand
    is the one that closes first, or moves more where none does, the other is `far`: a task is
    the same with either.
    """

    time_ns: NDArray[np.int64]
    felt: Array
    names: tuple[str, ...]
    asked: Array
    asked_names: tuple[str, ...]
    phase: NDArray[np.int64]
    progress: Array


def channels_of(subject: Subject) -> Channels:
    """The channels that the recording has; raises NotAssessed where there is too little."""
    state = subject.state
    if len(state) < MIN_STEPS:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    fine = np.arange(state.time_ns[0], state.time_ns[-1], round(1e9 / PEAK_HZ))
    steps = len(fine) // round(PEAK_HZ / RATE_HZ)
    if steps < MIN_STEPS:
        raise NotAssessed(f"{state.label} lasts {steps / RATE_HZ:.1f} s")
    fine = fine[: steps * round(PEAK_HZ / RATE_HZ)]
    felt: dict[str, Array] = {}
    asked: dict[str, Array] = {}
    near, far = _hands(subject, fine, felt, asked)
    _body(subject, fine, felt, asked)
    phase = _phase(_last(near) > 0.5, _last(far) > 0.5)
    return Channels(
        time_ns=_last(fine).astype(np.int64),
        felt=np.stack(list(felt.values()), axis=1),
        names=tuple(felt),
        asked=np.stack(list(asked.values()), axis=1) if asked else np.zeros((steps, 0)),
        asked_names=tuple(asked),
        phase=phase,
        progress=_progress(phase),
    )


def _last(values: Array) -> Array:
    """Every fifth value: 50 Hz to 10 Hz."""
    step = round(PEAK_HZ / RATE_HZ)
    return values[step - 1 :: step]


def _strongest(values: Array) -> Array:
    """The largest of every five values."""
    return np.asarray(values.reshape(-1, round(PEAK_HZ / RATE_HZ)).max(axis=1))


def _hands(
    subject: Subject, fine: NDArray[np.int64], felt: dict[str, Array], asked: dict[str, Array]
) -> tuple[Array, Array]:
    """Add the channels of two hands; returns where each is told to be closed (T,)."""
    sides = [name.removesuffix(roles.GRIPPER) for name in _roles(subject, roles.GRIPPER)]
    places = _places(subject, fine)
    if not sides:
        sides = [name.removesuffix("_hand") for name in places]
    shut = {side: _shut(subject, side, fine) for side in sides}
    first = {side: int(np.argmax(shut[side])) if shut[side].any() else len(fine) for side in sides}
    sides.sort(key=lambda side: (first[side], -_way(places.get(f"{side}_hand"))))
    nothing = np.zeros(len(fine))
    both = []
    for side, title in zip(sides, ("near", "far"), strict=False):
        _hand(subject, side, title, fine, places.get(f"{side}_hand"), shut[side], felt, asked)
        both.append(shut[side])
    near, far, *_ = (*both, nothing, nothing)
    return near, far


def _shut(subject: Subject, side: str, fine: NDArray[np.int64]) -> Array:
    """1 where the gripper is told to be closed: below the middle of its range."""
    order = _column(subject, f"{side}_gripper_target", fine)
    if order is None:
        order = _column(subject, f"{side}_gripper", fine)
    if order is None or np.ptp(order) < 1e-3:
        return np.zeros(len(fine))
    return np.asarray(order < order.max() - 0.5 * np.ptp(order), np.float64)


def _hand(
    subject: Subject,
    side: str,
    title: str,
    fine: NDArray[np.int64],
    place: Array | None,
    shut: Array,
    felt: dict[str, Array],
    asked: dict[str, Array],
) -> None:
    opening, target = (_column(subject, f"{side}_gripper{end}", fine) for end in ("", "_target"))
    if opening is not None:
        felt[f"{title}_opening"] = _last(opening)
    if opening is not None and target is not None:
        felt[f"{title}_gap"] = _last(opening - target)
    if target is not None:
        asked[f"{title}_opening_asked"] = _last(target)
    skin = subject.recording.named(f"{side}_tactile")
    if skin is not None:
        felt[f"{title}_touch"] = _last(_touch(skin, subject.recording.signals[skin], fine))
    force = _length(subject, f"{side}_wrist_wrench", fine)
    if force is not None:
        felt[f"{title}_force"] = _last(force)
        felt[f"{title}_knock"] = _strongest(_change(force))
    if place is not None:
        felt[f"{title}_speed"] = _last(np.linalg.norm(np.gradient(place, axis=0), axis=1) * PEAK_HZ)
        felt[f"{title}_lift"] = _last(place[:, 2] - _when_changed(place[:, 2], shut))


def _when_changed(height: Array, shut: Array) -> Array:
    """The height at the last closing; before the first one, that at the start."""
    closing = np.flatnonzero(np.diff(shut, prepend=shut[0]) > 0)
    last = np.searchsorted(closing, np.arange(len(height)), side="right") - 1
    return np.where(last < 0, height[0], height[closing[last]] if len(closing) else height[0])


def _body(
    subject: Subject, fine: NDArray[np.int64], felt: dict[str, Array], asked: dict[str, Array]
) -> None:
    state = subject.state
    joints = on_grid(state, fine)[:, arm_columns(state)]
    speed = np.linalg.norm(np.gradient(joints, axis=0), axis=1) * PEAK_HZ
    felt["joint_speed"] = _strongest(speed)
    target = _values(subject, fine, *roles.COMMANDED)
    if target is not None:
        if target.shape[1] == state.values.shape[1]:
            felt["lag"] = _last(np.linalg.norm(target - on_grid(state, fine), axis=1))
        told = np.linalg.norm(np.gradient(target, axis=0), axis=1) * PEAK_HZ
        asked["speed_asked"] = _last(moving_mean(told, HALF_SECOND))
    for name in _roles(subject, roles.IMU):
        values = on_grid(subject.track(name), fine)
        felt[f"{name}_knock"] = _strongest(_change(np.linalg.norm(values[:, :3], axis=1)))
        felt[f"{name}_turn"] = _strongest(np.linalg.norm(values[:, 3:6], axis=1))
    torque = _length(subject, roles.JOINT_TORQUE, fine)
    if torque is not None:
        felt["torque"] = _last(moving_mean(torque, HALF_SECOND))


def _roles(subject: Subject, suffix: str) -> list[str]:
    return sorted({track.spec.name for track in subject.ending_in(suffix).values()})


def _places(subject: Subject, fine: NDArray[np.int64]) -> dict[str, Array]:
    """Positions (T, 3) of the hands by name, where the robot is known."""
    try:
        posture = subject.posture
        hands = {k: v for k, v in subject.robot.end_effectors.items() if "head" not in k}
        poses = subject.kinematics.place_poses(hands, posture.q, posture.base)
        spec = subject.state.spec
        return {
            name: on_grid(Track(name, spec, posture.time_ns, poses.position(name)), fine)
            for name in hands
        }
    except CorporealError:
        return {}


def _way(place: Array | None) -> float:
    if place is None:
        return 0.0
    # Every half second, so that a shake is no way.
    return float(np.linalg.norm(np.diff(place[::25], axis=0), axis=1).sum())


def _values(subject: Subject, fine: NDArray[np.int64], *names: str) -> Array | None:
    """The first stream in one of these roles; None where there is none, or too little of it."""
    return attempt(lambda subject: on_grid(subject.track(*names), fine), subject)


def _column(subject: Subject, role: str, fine: NDArray[np.int64]) -> Array | None:
    values = _values(subject, fine, role)
    return None if values is None else values[:, 0]


def _length(subject: Subject, role: str, fine: NDArray[np.int64]) -> Array | None:
    values = _values(subject, fine, role)
    if values is None:
        return None
    return np.asarray(np.linalg.norm(values[:, :3] if "wrench" in role else values, axis=1))


def _touch(label: str, signal: Signal, fine: NDArray[np.int64]) -> Array:
    """Pressure on the whole skin, as a logarithm above its own noise."""
    maps = np.asarray(signal[:], np.float64).reshape(len(signal), -1).sum(axis=1)
    track = Track(label, signal.spec, np.asarray(signal.time_ns), maps[:, None])
    pressed = on_grid(track, fine)[:, 0]
    noise = max(float(np.quantile(pressed, 0.05)), 1e-9)
    return np.log1p(np.maximum(pressed, 0.0) / noise)


def _change(values: Array) -> Array:
    """How far a value is from its own mean over half a second around."""
    return np.abs(values - moving_mean(values, HALF_SECOND))


def _phase(near: Flags, far: Flags) -> NDArray[np.int64]:
    phase = near + 2 * far.astype(np.int64)
    ever = np.logical_or.accumulate(near | far)
    return np.where((phase == 0) & ever, 4, phase)


def _progress(phase: NDArray[np.int64]) -> Array:
    progress = np.zeros(len(phase))
    for number in range(PHASES):
        inside = np.flatnonzero(phase == number)
        progress[inside] = np.linspace(0, 1, len(inside)) if len(inside) > 1 else 0.0
    return progress
