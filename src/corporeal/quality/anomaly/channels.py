"""What an anomaly detector looks at: what was felt and what was asked, at 10 Hz, with its phase."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import is_hand
from corporeal.errors import NotAssessed
from corporeal.quality.evidence.pictures import cameras
from corporeal.quality.scoring.motion import arm_columns, hand_tracks, on_grid, pressure_track
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.filters import moving_mean
from corporeal.signal.grid import even_times
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

RATE_HZ = 10.0
# Peaks of force and acceleration are over in a moment: they are looked for at this rate.
PEAK_HZ = 50.0
HALF_SECOND = round(0.5 * PEAK_HZ)
MIN_STEPS = 10
# Below this share of the pace of its quick moments a robot rests.
RESTING = 0.05
# Fingers that go less far together have not closed, in their own unit: shares, or radians.
FINGERS_MOVE = 0.05
ANY_HAND = "hand"
CAMERA = "camera/"
"""What the names of channels of pictures begin with."""
LEAST_SPREADS = {"joint_rest": 0.3, "grips": 0.25}
"""Channels that are the same in most episodes, and what is no difference in them."""
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


def channels_of(subject: Subject, *, pictures: bool = False) -> Channels:
    """The channels that the recording has; raises NotAssessed where there is too little.

    With `pictures` also what every camera sees change: that decodes its whole movie.
    """
    state = subject.state
    if len(state) < MIN_STEPS:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    step_ns = round(1e9 / PEAK_HZ)
    fine: NDArray[Any] = even_times(state.time_ns[0], state.time_ns[-1], step_ns).astype(np.int64)
    steps = len(fine) // round(PEAK_HZ / RATE_HZ)
    if steps < MIN_STEPS:
        raise NotAssessed(f"{state.label} lasts {steps / RATE_HZ:.1f} s")
    fine = fine[: steps * round(PEAK_HZ / RATE_HZ)]
    channels = _Gathering(subject, fine)
    near, far = channels.add_hands()
    channels.add_body()
    if pictures:
        channels.add_pictures()
    felt, asked = channels.felt, channels.asked
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


@dataclass(frozen=True, eq=False)
class _Gathering:
    """Channels by name, as they are added; `fine` are stamps at PEAK_HZ."""

    subject: Subject
    fine: NDArray[np.int64]
    felt: dict[str, Array] = field(default_factory=dict)
    asked: dict[str, Array] = field(default_factory=dict)

    def add_hands(self) -> tuple[Array, Array]:
        """Add the channels of two hands; returns where each is told to be closed (T,)."""
        sides = [name.removesuffix(roles.GRIPPER) for name in self._roles(roles.GRIPPER)]
        places = attempt(self._places, self.subject) or {}
        if not sides:
            fingers = self._finger_sides()
            sides = [name.removesuffix("_hand") for name in places] or fingers
            if ANY_HAND in fingers:
                sides = [ANY_HAND, *(side for side in sides if side != ANY_HAND)]
        shut = {side: self._shut(side) for side in sides}
        never = len(self.fine)
        first = {side: int(np.argmax(shut[side])) if shut[side].any() else never for side in sides}
        sides.sort(key=lambda side: (first[side], -_way(places.get(f"{side}_hand"))))
        for side, title in zip(sides, ("near", "far"), strict=False):
            self._add_hand(side, title, places.get(f"{side}_hand"), shut[side])
        if "near_opening" in self.felt:
            self.felt["grips"] = _last(np.sum([_grips(shut[side]) for side in sides[:2]], axis=0))
        nothing = np.zeros(len(self.fine))
        near, far, *_ = (*(shut[side] for side in sides[:2]), nothing, nothing)
        return near, far

    def _add_hand(self, side: str, title: str, place: Array | None, shut: Array) -> None:
        opening, target = self._openings(side)
        if opening is not None:
            self.felt[f"{title}_opening"] = _last(opening)
            self.felt[f"{title}_grip_pace"] = _strongest(np.abs(np.gradient(opening)) * PEAK_HZ)
        if opening is not None and target is not None:
            self.felt[f"{title}_gap"] = _last(opening - target)
        if target is not None:
            self.asked[f"{title}_opening_asked"] = _last(target)
        skin = pressure_track(self.subject, side)
        if skin is not None:
            self.felt[f"{title}_touch"] = _last(_touch(on_grid(skin, self.fine)[:, 0]))
        force = self._length(f"{side}_wrist_wrench")
        if force is not None:
            self.felt[f"{title}_force"] = _last(force)
            self.felt[f"{title}_knock"] = _strongest(_change(force))
        if place is not None:
            self.felt[f"{title}_speed"] = _last(_pace(place))
            self.felt[f"{title}_lift"] = _last(place[:, 2] - _when_changed(place[:, 2], shut))

    def add_body(self) -> None:
        """Add what joints, commands, inertial sensors and motors tell."""
        state = on_grid(self.subject.state, self.fine)
        arms = self._arm_columns(self.subject.state)
        pace = _pace(state[:, arms])
        self.felt["joint_speed"] = _strongest(pace)
        self.felt["joint_jolt"] = _strongest(_jolt(state[:, arms]))
        self.felt["joint_rest"] = _last(_rest_s(pace))
        target = self._values(*roles.COMMANDED)
        if target is not None:
            if target.shape[1] == state.shape[1]:
                self.felt["lag"] = _last(np.linalg.norm((target - state)[:, arms], axis=1))
                self.felt["target_jolt"] = _strongest(_jolt(target[:, arms]))
            self.asked["speed_asked"] = _last(moving_mean(_pace(target), HALF_SECOND))
        for name in self._roles(roles.IMU):
            values = on_grid(self.subject.track(name), self.fine)
            knock = _change(np.linalg.norm(values[:, :3], axis=1))
            self.felt[f"{name}_knock"] = _strongest(knock)
            self.felt[f"{name}_turn"] = _strongest(np.linalg.norm(values[:, 3:6], axis=1))
        torque = self._length(roles.JOINT_TORQUE)
        if torque is not None:
            self.felt["torque"] = _last(moving_mean(torque, HALF_SECOND))

    def add_pictures(self) -> None:
        """Add what each camera sees: how light it is, what changes, what is not as at first."""
        for track in (
            attempt(lambda subject: [*cameras(subject, least=MIN_STEPS)], self.subject) or ()
        ):
            count = min(len(track), len(track.time_ns))
            small = track.luma[:count].astype(np.float32)
            change = np.abs(np.diff(small, axis=0, prepend=small[:1])).mean(axis=(1, 2))
            scene = np.abs(small - small[0]).mean(axis=(1, 2))
            seconds, when = self.fine / SECOND_NS, track.seconds[:count]
            name = f"{CAMERA}{track.label}"
            self.felt[f"{name}_light"] = _last(np.interp(seconds, when, small.mean(axis=(1, 2))))
            self.felt[f"{name}_change"] = _strongest(np.interp(seconds, when, change))
            self.felt[f"{name}_scene"] = _last(np.interp(seconds, when, scene))

    def _roles(self, suffix: str) -> list[str]:
        return sorted({track.spec.name for track in self.subject.ending_in(suffix).values()})

    def _places(self, subject: Subject) -> dict[str, Array]:
        """Positions (T, 3) of the hands by name, where the robot is known."""
        return {track.label: on_grid(track, self.fine) for track in hand_tracks(subject)}

    def _shut(self, side: str) -> Array:
        """1 where the hand is told to be closed: below the middle of its range.

        Fingers may count either way: they are closed where they are farther from how they began.
        """
        if not self._roles(roles.GRIPPER):
            opening, target = self._openings(side)
            order = opening if target is None else target
            if order is None or np.ptp(order) < FINGERS_MOVE:
                return np.zeros(len(self.fine))
            return np.asarray(order < 1 - 0.5 * np.ptp(order), np.float64)
        order = self._column(f"{side}_gripper_target")
        if order is None:
            order = self._column(f"{side}_gripper")
        if order is None or np.ptp(order) < 1e-3:
            return np.zeros(len(self.fine))
        return np.asarray(order < order.max() - 0.5 * np.ptp(order), np.float64)

    def _openings(self, side: str) -> tuple[Array | None, Array | None]:
        """How open a hand is and is told to be (T,): its gripper, or its fingers in the state.

        Fingers count from 1, where they begin, down by how far they have gone together.
        """
        opening, target = (self._column(f"{side}_gripper{end}") for end in ("", "_target"))
        if opening is not None or target is not None:
            return opening, target
        return self._fingers(side, *roles.MEASURED), self._fingers(side, *roles.COMMANDED)

    def _fingers(self, side: str, *names: str) -> Array | None:
        track = self.subject.find_track(*names)
        columns = [] if track is None else self._finger_columns(track, side)
        if track is None or not columns:
            return None
        try:
            values = on_grid(track.select(columns), self.fine)
        except NotAssessed:
            return None
        return np.asarray(1.0 - np.abs(values - values[0]).mean(axis=1))

    def _finger_columns(self, track: Track, side: str) -> list[int]:
        arms = set(self._arm_columns(track).tolist())
        hands = [n for n in range(len(track.names)) if n not in arms]
        own = [n for n in hands if side in track.names[n].lower()]
        return own or (hands if side == ANY_HAND else [])

    def _arm_columns(self, track: Track) -> NDArray[np.int64]:
        """The joints of the robot that are no fingers; by their names where none is known."""
        robot = self.subject.recording.embodiment
        known = set(robot.joint_names) if robot is not None else set()
        joints = [n for n, name in enumerate(track.names) if name in known]
        arms = [n for n in joints if not is_hand(track.names[n], robot)]
        return np.array(arms) if arms else arm_columns(track)

    def _finger_sides(self) -> list[str]:
        """The sides that the state has fingers of, or one hand of no side."""
        state = self.subject.state
        sides = [side for side in ("left", "right") if self._finger_columns(state, side)]
        return sides or ([ANY_HAND] if self._finger_columns(state, ANY_HAND) else [])

    def _values(self, *names: str) -> Array | None:
        """The first stream in one of these roles; None where there is none, or too little of it."""
        return attempt(lambda subject: on_grid(subject.track(*names), self.fine), self.subject)

    def _column(self, role: str) -> Array | None:
        values = self._values(role)
        return None if values is None else values[:, 0]

    def _length(self, role: str) -> Array | None:
        values = self._values(role)
        if values is None:
            return None
        return np.asarray(np.linalg.norm(values[:, :3] if "wrench" in role else values, axis=1))


def _last(values: Array) -> Array:
    """Every fifth value: 50 Hz to 10 Hz."""
    step = round(PEAK_HZ / RATE_HZ)
    return values[step - 1 :: step]


def _strongest(values: Array) -> Array:
    """The largest of every five values."""
    return np.asarray(values.reshape(-1, round(PEAK_HZ / RATE_HZ)).max(axis=1))


def _when_changed(height: Array, shut: Array) -> Array:
    """The height at the last closing; before the first one, that at the start."""
    closing = np.flatnonzero(np.diff(shut, prepend=shut[0]) > 0)
    last = np.searchsorted(closing, np.arange(len(height)), side="right") - 1
    return np.where(last < 0, height[0], height[closing[last]] if len(closing) else height[0])


def _way(place: Array | None) -> float:
    if place is None:
        return 0.0
    # Every half second, so that a shake is no way.
    return float(np.linalg.norm(np.diff(place[::25], axis=0), axis=1).sum())


def _pace(values: Array) -> Array:
    """How fast all columns change together (T,), per second."""
    return np.asarray(np.linalg.norm(np.gradient(values, axis=0), axis=1) * PEAK_HZ)


def _jolt(values: Array) -> Array:
    """How far the columns are from their own mean over a quarter of a second, together (T,)."""
    smooth = np.stack([moving_mean(column, HALF_SECOND // 2) for column in values.T], axis=1)
    return np.asarray(np.linalg.norm(values - smooth, axis=1))


def _grips(shut: Array) -> Array:
    """How often a hand has closed up to each moment (T,), for half a second or longer."""
    lasting = moving_mean(shut, HALF_SECOND) > 0.5
    return np.cumsum(np.diff(lasting.astype(np.float64), prepend=0.0) > 0).astype(np.float64)


def _rest_s(pace: Array) -> Array:
    """For how long (T,) nothing has moved, as a logarithm; at the start nothing has yet."""
    slow = moving_mean(pace, HALF_SECOND) < RESTING * float(np.quantile(pace, 0.9))
    begun = int(np.argmin(slow)) if not slow.all() else len(slow)
    slow[:begun] = False
    count = np.arange(1, len(slow) + 1)
    last = np.maximum.accumulate(np.where(slow, 0, count))
    return np.asarray(np.log1p((count - last) / PEAK_HZ))


def _touch(pressed: Array) -> Array:
    """Pressure on the whole skin, as a logarithm above its own noise."""
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
