"""Sensors that repeat themselves are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import IMU, POSITION, TORQUE, altered, reaching, table, without

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.signal_frozen import CHECK
from corporeal.schema import Stream


def freeze(first: int, stop: int, number: int | None = None) -> object:
    def edit(values: np.ndarray) -> None:
        columns = slice(None) if number is None else number
        values[first:stop, columns] = values[first, columns]

    return edit


def test_sensors_that_tremble_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize(
    ("role", "label"),
    [("pelvis_imu", IMU), ("joint_torque", TORQUE), ("joint_position", POSITION)],
)
def test_a_stream_that_repeats_all_its_values_is_found(role: str, label: str) -> None:
    (finding,) = CHECK.find(altered(**{role: freeze(200, 240)}))  # type: ignore[arg-type]
    assert (finding.stream, finding.frames) == (label, ((200, 240),))


def test_one_axis_that_is_stuck_is_found() -> None:
    (finding,) = CHECK.find(altered(pelvis_imu=freeze(400, 500, 2)))  # type: ignore[arg-type]
    assert finding.frames == ((400, 500),)
    assert "az" in finding.message


def test_a_sensor_that_never_changes_is_found() -> None:
    (finding,) = CHECK.find(altered(pelvis_imu=freeze(0, 1600)))  # type: ignore[arg-type]
    assert finding.stream == IMU


def test_a_joint_at_rest_may_repeat_its_position() -> None:
    assert list(CHECK.find(altered(joint_position=freeze(200, 300, 5)))) == []  # type: ignore[arg-type]


def test_a_recording_without_sensors_is_not_assessed() -> None:
    roles = [s.spec.name for s in reaching().signals.values() if s.spec.group != "actions"]
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), *roles)))


def test_a_robot_that_rests_may_repeat_everything() -> None:
    """Encoders of coarse steps: at the end of the motion all joints stand to the last bit."""
    recording = reaching()
    signals = dict(recording.signals)
    for label, signal in recording.signals.items():
        if signal.spec.name != "pelvis_imu":
            values = np.array(signal[:])
            values[-len(values) // 4 :] = values[-len(values) // 4]
            signals[label] = ArraySignal(signal.spec, np.asarray(signal.time_ns), values)
    assert list(CHECK.find(Subject(replace(recording, signals=signals)))) == []


def test_a_nameless_imu_that_is_stuck_is_found() -> None:
    values = np.tile((0.0, 0.0, 9.81, 0.0, 0.0, 0.0), (400, 1))
    spec = Stream.model_validate(
        {
            "name": "imu",
            "group": "observations",
            "shape": [6],
            "rate_hz": 100.0,
            "unit": "1",
            "dtype": "float64",
        }
    )
    stuck = ArraySignal(spec, np.arange(400) * 10_000_000, values)
    recording = replace(reaching(), signals={"observation.imu": stuck})
    (finding,) = CHECK.find(Subject(recording))
    assert (finding.stream, finding.frames) == ("observation.imu", ((0, 400),))
    trembling = ArraySignal(
        spec, stuck.time_ns, values + np.random.default_rng(0).normal(size=(400, 6))
    )
    assert not list(CHECK.find(Subject(replace(recording, signals={"observation.imu": trembling}))))


def _beside(name: str, values: np.ndarray) -> Subject:
    """The robot that reaches, and a stream beside it that stands for its first half."""
    recording = reaching()
    stamps = recording.signals[POSITION].time_ns
    spec = Stream(
        group="observations", name=name, dtype="float64", shape=values.shape[1:], rate_hz=100.0
    )
    signals = {**recording.signals, name: ArraySignal(spec, stamps[: len(values)], values)}
    return Subject(replace(recording, signals=signals))


def test_a_gripper_that_is_open_or_closed_passes() -> None:
    closed = np.where(np.arange(800) < 400, -1.0, 1.0)[:, None]
    assert list(CHECK.find(_beside("right_gripper", closed))) == []


def test_the_rotation_of_a_controller_at_rest_passes() -> None:
    turned = np.random.default_rng(0).normal(size=(800, 3, 3))
    turned[:400] = turned[0]
    assert list(CHECK.find(_beside("controller_rotation", turned))) == []


def test_a_map_that_repeats_itself_is_found() -> None:
    pressed = np.random.default_rng(0).normal(size=(800, 4, 8))
    pressed[:400] = pressed[0]
    (finding,) = CHECK.find(_beside("palm_map", pressed))
    assert finding.frames == ((0, 400),)
