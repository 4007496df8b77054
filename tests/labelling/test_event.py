"""Each detector finds its event between two samples, and nothing where nothing happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.labelling import event as events_module
from corporeal.labelling.detectors import arm_motion, finger_contact
from corporeal.labelling.event import detectors, holds, openings, track
from corporeal.labelling.proposal import detect
from corporeal.schema import Stream

Array = NDArray[np.float64]
END_S = 6.0
# A moment that lies on no sample of any rate used here.
THEN = 2.1234


def _signal(name: str, rate_hz: float, values: Callable[[Array], Array]) -> ArraySignal:
    time_s = np.arange(0.0, END_S, 1 / rate_hz)
    return _stamped(name, np.round(time_s * 1e9).astype(np.int64), values(time_s))


def _stamped(name: str, stamps: NDArray[np.int64], values: Array) -> ArraySignal:
    spec = Stream(name=name, group="debug", shape=tuple(map(int, values.shape[1:])))
    return ArraySignal(spec, stamps, values)


def _recording(*signals: ArraySignal, robot: Embodiment | None = None) -> Recording:
    found: dict[str, Signal] = {signal.spec.path: signal for signal in signals}
    return Recording("episode", Path("episode"), 0, found, embodiment=robot)


def _ramp(time_s: Array, begin: float, slope: float, most: float) -> Array:
    return np.clip((time_s - begin) * slope, 0.0, most)


def _columns(count: int, values: Array, place: int = 0) -> Array:
    whole = np.zeros((len(values), count))
    whole[:, place] = values
    return whole


def _noise(time_s: Array, size: float) -> Array:
    return np.random.default_rng(3).normal(0.0, size, len(time_s))


def _pressed(time_s: Array, begin: float, end: float) -> Array:
    load = _ramp(time_s, begin, 5.0, 1.0) * (time_s < end) + _noise(time_s, 1e-4)
    return np.tile(load[:, None], 4)


def _pad(time_s: Array) -> Array:
    return _pressed(time_s, THEN - 0.13 * 0.2, END_S + 1)


def _smooth_step(time_s: Array, begin: float, seconds: float) -> Array:
    part = np.clip((time_s - begin) / seconds, 0.0, 1.0)
    moved: Array = part**3 * (10 - 15 * part + 6 * part**2)
    return moved


def _joints(time_s: Array) -> Array:
    return _columns(3, _smooth_step(time_s, THEN, 1.2)) + 1e-5 * _noise(time_s, 1.0)[:, None]


def _base(time_s: Array) -> Array:
    pose = _columns(7, np.concatenate([[0], np.cumsum(_ramp(time_s, THEN - 0.2, 0.4, 0.5))[:-1]]))
    pose[:, 0] *= time_s[1] - time_s[0]
    pose[:, 2] = 0.8
    return pose


def _falling(time_s: Array) -> Array:
    return _columns(7, 0.8 - _ramp(time_s, THEN - 0.28, 1.0, 0.7), 2)


def _thing(time_s: Array) -> Array:
    return _columns(7, _ramp(time_s, THEN - 0.2, 0.1, 0.3), 2)


def _wrist(time_s: Array) -> Array:
    return _columns(6, _ramp(time_s, THEN - 0.1, 300.0, 60.0) * (time_s < THEN + 0.4))


def _foot(time_s: Array) -> Array:
    return _columns(6, _ramp(time_s, THEN - 0.15 * 0.5, 800.0, 400.0), 2)


def _closing(time_s: Array, begin: float, least: float) -> Array:
    return np.maximum(0.09 - _ramp(time_s, begin, 0.1, 0.09), least)[:, None]


def _stuck() -> tuple[ArraySignal, ArraySignal]:
    """Fingers that follow their target 60 ms late, and stop on something 5 cm wide."""
    begin = THEN - 0.06 - (0.09 - 0.05 + 0.06 * 0.09) / 0.1
    asked = _signal("left_gripper_target", 50, lambda time_s: _closing(time_s, begin, 0.0))
    done = _signal("left_gripper", 100, lambda time_s: _closing(time_s - 0.06, begin, 0.05))
    return asked, done


def _lifted_arm() -> tuple[Recording, float]:
    """The robot's right arm swings up while its pad bears; when the hand is 2 cm higher."""
    robot = open_robot("g1")
    column = robot.joint_names.index("right_shoulder_pitch_joint")

    def angles(time_s: Array) -> Array:
        return _columns(len(robot.joint_names), -_ramp(time_s, 2.0, 0.4, 1.2), column)

    fine = np.arange(0.0, END_S, 1e-3)
    name = next(each for each in robot.end_effectors if each.startswith("right"))
    height = Kinematics(robot).end_effectors(angles(fine)).position(name)[:, 2]
    when = float(fine[np.flatnonzero(height - np.minimum.accumulate(height) > 0.02)[0]])
    joints = _signal("joint_position", 100, angles)
    spec = joints.spec.model_copy(update={"components": robot.joint_names})
    pad = _signal("right_tactile", 60, lambda time_s: _pressed(time_s, 1.0, 5.0))
    return _recording(ArraySignal(spec, joints.time_ns, joints.values), pad, robot=robot), when


def _one(name: str, rate_hz: float, values: Callable[[Array], Array]) -> tuple[Recording, float]:
    return _recording(_signal(name, rate_hz, values)), THEN


def _pads() -> tuple[Recording, float]:
    first = _signal("left_tactile", 60, lambda time_s: _pressed(time_s, 0.5, 4.0))
    return _recording(first, _signal("right_tactile", 60, _pad)), THEN


def _carried_aside() -> tuple[Recording, float]:
    """Pads bear load from 0.5 s on; the object rises at 1 s and is 5 cm aside at THEN."""

    def pose(time_s: Array) -> Array:
        values = _columns(7, 0.1 * np.clip(time_s - 1.0, 0.0, 1.0), 2)
        values[:, 0] = np.clip(0.05 + 0.1 * (time_s - THEN), 0.0, 0.2)
        return values

    pads = _signal("right_tactile", 60, lambda time_s: _pressed(time_s, 0.5, END_S + 1))
    return _recording(pads, _signal("object_pose", 100, pose)), THEN


FINDS: dict[str, tuple[str, float, Callable[[], tuple[Recording, float]]]] = {
    # detector: the event, how far off it may be in seconds (half a sample), the recording
    "finger_contact": ("contact_begins", 1 / 120, lambda: _one("left_tactile", 60, _pad)),
    # Smoothing that takes a person's tremor out costs up to one picture.
    "arm_motion": ("motion_begins", 1 / 30, lambda: _one("joint_position", 100, _joints)),
    "base_motion": ("base_moves", 1 / 200, lambda: _one("base_pose", 100, _base)),
    "object_motion": ("object_lifts", 1 / 200, lambda: _one("object_pose", 100, _thing)),
    "hand_bump": ("hand_bumps", 1 / 400, lambda: _one("left_wrist_wrench", 200, _wrist)),
    "foot_contact": ("foot_strikes", 1 / 400, lambda: _one("left_ankle_wrench", 200, _foot)),
    "gripper_motion": ("gripper_closes", 1 / 200, lambda: _one(
        "left_gripper", 100, lambda time_s: _closing(time_s, THEN, 0.0))),
    "grip_shortfall": ("grip_bears", 1 / 200, lambda: (_recording(*_stuck()), THEN)),
    "hand_hold": ("hand_holds", 0.1, lambda: (_fingers(), THEN)),
    "hand_height": ("hand_lifts", 1 / 200, _lifted_arm),
    "hold_motion": ("carry_begins", 1 / 100, _carried_aside),
    "hand_exchange": ("second_hand_takes", 1 / 120, _pads),
}  # fmt: skip


def _fingers(*, opens_at_one: bool = True) -> Recording:
    """Five fingers that close at THEN and stay closed while the arm swings."""
    time_s = np.arange(0, 2 * THEN, 0.02)
    opening = 0.9 - 0.4 * np.clip((time_s - THEN) / 0.1 + 0.65, 0.0, 1.0)
    arm = 0.5 * np.sin(time_s)
    fingers = [f"kRightHand{name}" for name in ("Pinky", "Ring", "Middle", "Index", "ThumbBend")]
    closed = opening if opens_at_one else 1.0 - opening
    columns = np.stack([arm, *(closed for _ in fingers)], axis=1)
    spec = Stream(name="joint_position", group="observations", shape=(6,), rate_hz=50,
                  components=("right_shoulder_pitch_joint", *fingers))  # fmt: skip
    return _recording(ArraySignal(spec, np.round(time_s * 1e9).astype(np.int64), columns))


def test_fingers_of_a_hand_are_found_among_the_joints() -> None:
    (hand,) = openings(_fingers())
    assert (hand.side, hand.is_gripper, hand.target) == ("right", False, None)
    assert hand.opening.values[0, 0] > hand.opening.values[-1, 0]
    assert hand.sure < 1.0


def _still() -> Recording:
    """Every signal there is, none of which does anything but shiver a little."""
    robot = open_robot("g1")
    sizes = {"left_tactile": 4, "right_tactile": 4, "base_pose": 7, "object_pose": 7,
             "left_wrist_wrench": 6, "left_ankle_wrench": 6, "left_gripper": 1,
             "left_gripper_target": 1, "joint_position": len(robot.joint_names)}  # fmt: skip
    rng = np.random.default_rng(5)
    signals = [
        _stamped(name, np.arange(600) * 10**7, 0.5 + rng.normal(0.0, 1e-4, (600, size)))
        for name, size in sizes.items()
    ]
    last = signals[-1]
    spec = last.spec.model_copy(update={"components": robot.joint_names})
    signals[-1] = ArraySignal(spec, last.time_ns, last.values)
    return _recording(*signals, robot=robot)


def test_every_detector_is_put_to_the_test() -> None:
    assert set(FINDS) == set(detectors())


@pytest.mark.parametrize("name", sorted(FINDS))
def test_a_detector_finds_its_event_between_two_samples(name: str) -> None:
    wanted, within_s, make = FINDS[name]
    recording, when_s = make()
    found = [event for event in detectors()[name].find(recording) if event.name == wanted]
    assert found
    assert abs(found[0].time_ns / 1e9 - when_s) < within_s
    assert 0.0 < found[0].confidence <= 1.0


@pytest.mark.parametrize("name", sorted(FINDS))
def test_a_detector_passes_over_a_robot_that_does_nothing(name: str) -> None:
    assert list(detectors()[name].find(_still())) == []


@pytest.mark.parametrize("name", sorted(FINDS))
def test_a_detector_says_only_what_it_says_it_says(name: str) -> None:
    recording, _ = FINDS[name][2]()
    assert {event.name for event in detectors()[name].find(recording)} <= set(
        detectors()[name].names
    )


def test_a_base_that_sinks_is_a_fall_at_the_moment_it_is_too_low() -> None:
    falls = [event for event in detect(_recording(_signal("base_pose", 100, _falling)))
             if event.name == "base_falls"]  # fmt: skip
    assert abs(falls[0].time_ns / 1e9 - THEN) < 1 / 200


def test_a_fall_shows_in_the_pelvis_where_nobody_tracks_the_base() -> None:
    def pull(time_s: Array) -> Array:
        lean = np.radians(_ramp(time_s, THEN - 0.2, 300.0, 90.0))
        return np.stack([np.sin(lean) * 9.8, 0 * lean, np.cos(lean) * 9.8], axis=1)

    falls = [event for event in detect(_recording(_signal("pelvis_imu", 200, pull)))
             if event.name == "base_falls"]  # fmt: skip
    assert abs(falls[0].time_ns / 1e9 - THEN) < 0.02
    assert falls[0].confidence < 0.9


def test_tremor_is_no_motion() -> None:
    def shaking(time_s: Array) -> Array:
        return _columns(3, 0.005 * np.sin(2 * np.pi * 7.0 * time_s))

    assert list(arm_motion.find(_recording(_signal("joint_position", 100, shaking)))) == []


def test_a_short_pause_does_not_end_a_motion_and_a_long_one_does() -> None:
    def twice(pause_s: float) -> list[str]:
        def moved(time_s: Array) -> Array:
            first = _smooth_step(time_s, 1.0, 1.0)
            return _columns(3, first + _smooth_step(time_s, 2.0 + pause_s, 1.0))

        found = arm_motion.find(_recording(_signal("joint_position", 100, moved)))
        return [event.name for event in found]

    assert twice(0.4) == ["motion_begins", "motion_ends"]
    assert twice(1.6) == ["motion_begins", "motion_ends"] * 2


def test_a_dead_taxel_does_not_silence_the_pad() -> None:
    pad = _signal("left_tactile", 60, _pad)
    pad.values[:, 2] = np.nan
    assert [event.name for event in finger_contact.find(_recording(pad))] == ["contact_begins"]


def test_what_is_held_to_the_end_is_a_hold_without_an_end() -> None:
    held = holds(_recording(_signal("left_tactile", 60, _pad)))
    assert [(hold.side, hold.end) for hold in held] == [("left", None)]


def test_a_stamp_that_leaps_ahead_costs_one_sample_and_not_all_that_follow() -> None:
    pad = _signal("left_tactile", 60, _pad)
    stamps = pad.time_ns.copy()
    stamps[40] += 3600 * 10**9
    found = track(_recording(ArraySignal(pad.spec, stamps, pad.values)), "left_tactile")
    assert found is not None
    assert len(found.time_ns) == len(stamps) - 1


HOSTILE: dict[str, Callable[[], ArraySignal]] = {
    "no samples": lambda: _stamped("x", np.zeros(0, np.int64), np.zeros((0, 6))),
    "two samples": lambda: _stamped("x", np.array([0, 10**7]), np.ones((2, 6))),
    "nothing but NaN": lambda: _signal("x", 50, lambda time_s: np.full((len(time_s), 6), np.nan)),
    "some infinite": lambda: _signal("x", 50, lambda time_s: np.where(
        np.arange(6) == 2, np.inf, _columns(6, time_s))),
    "huge": lambda: _signal("x", 50, lambda time_s: _columns(6, 1e300 * time_s)),
    "clock backwards": lambda: _stamped("x", np.arange(300, 0, -1) * 10**7, np.ones((300, 6))),
    "clock stands": lambda: _stamped("x", np.full(300, 7), np.ones((300, 6))),
    "one number": lambda: _signal("x", 50, lambda time_s: np.sin(time_s)),
}  # fmt: skip
ROLES = ("joint_position", "joint_position_target", "left_tactile", "left_gripper", "base_pose",
         "left_gripper_target", "object_pose", "left_wrist_wrench", "left_ankle_wrench",
         "pelvis_imu")  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_nothing_that_a_stream_may_hold_stops_the_detectors(case: str) -> None:
    signals = []
    for role in ROLES:
        made = HOSTILE[case]()
        spec = made.spec.model_copy(update={"name": role})
        signals.append(ArraySignal(spec, made.time_ns, made.values))
    for event in detect(_recording(*signals, robot=open_robot("g1"))):
        assert 0.0 <= event.confidence <= 1.0


def test_a_long_recording_is_read_in_pieces_and_gives_each_event_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events_module, "_WINDOW_NS", 100 * 10**9)
    time_s = np.arange(0.0, 1000.0, 1 / 60)
    values = (np.sin(2 * np.pi * time_s / 37.0) > 0.5).astype(float)[:, None]
    values = values + _noise(time_s, 1e-4)[:, None]
    stamps = np.round(time_s * 1e9).astype(np.int64)
    asked: list[int] = []

    class Counting:
        def __getitem__(self, selection: slice) -> Array:
            asked.append(len(values[selection]))
            return values[selection]

    pad = _stamped("left_tactile", stamps, values)
    found = detect(_recording(ArraySignal(pad.spec, stamps, Counting())))
    times = [event.time_ns for event in found if event.name == "contact_begins"]
    assert len(times) == len(set(times)) == 27
    assert max(asked) < 0.2 * len(values)
