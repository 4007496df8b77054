"""Stillness: state, gripper and action stand together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import (
    GRIPPER,
    STATE,
    demonstration,
    edited,
    rows,
    with_pause,
    without,
)
from tests.quality.scene import CAMERA, filmed, subject
from tests.quality.scene import STATE as FILMED_STATE

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.evidence.motion import state_motion, state_steps, stillness
from corporeal.quality.evidence.pictures import pictures_of


def test_the_rest_before_and_after_a_motion_is_found() -> None:
    found = stillness(Subject(demonstration(before_s=2.0, motion_s=6.0, after_s=3.0)))
    first, last = found.rests[0], found.rests[-1]
    assert first.seconds == pytest.approx(2.0, abs=0.7)
    assert last.seconds == pytest.approx(3.0, abs=0.7)
    assert not found.dead


def test_a_gripper_that_moves_is_motion() -> None:
    held = with_pause(demonstration(), 200, 5.0)
    assert max(rest.seconds for rest in stillness(Subject(held)).rests) > 4.5
    count = len(held.signals[GRIPPER])
    chatter = 0.05 + 0.02 * np.sin(np.arange(count) / 5)[:, None]
    assert not stillness(Subject(edited(held, GRIPPER, chatter))).still[210:400].any()


def test_a_rest_under_the_noise_of_the_sensor_is_found() -> None:
    recording = demonstration(before_s=2.0, motion_s=6.0, after_s=6.0)
    values = np.array(recording.signals[STATE][:])
    noisy = values + np.random.default_rng(0).normal(0, 0.006, values.shape)
    found = stillness(Subject(edited(recording, STATE, noisy)))
    assert found.rests[-1].seconds == pytest.approx(6.0, abs=1.0)


def test_a_slow_motion_is_no_rest() -> None:
    recording = demonstration(before_s=2.0, motion_s=6.0, after_s=6.0)
    values = np.array(recording.signals[STATE][:])
    slow = values + 0.04 * np.linspace(0, 14.0, len(values))[:, None]
    assert not stillness(Subject(edited(recording, STATE, slow))).still[-60:-30].any()


def test_values_that_never_change_are_dead() -> None:
    recording = rows(demonstration(), np.full(200, 30))
    found = stillness(Subject(recording))
    assert found.dead
    assert found.share == 1.0


def test_without_a_state_nothing_can_be_said() -> None:
    with pytest.raises(NotAssessed, match="no joint_position"):
        stillness(Subject(without(demonstration(), STATE)))
    with pytest.raises(NotAssessed, match="1 samples"):
        stillness(Subject(rows(demonstration(), np.array([0]))))


def test_missing_values_are_no_motion() -> None:
    values = np.array(demonstration().signals[STATE][:])
    values[20:24] = np.nan
    assert stillness(Subject(edited(demonstration(), STATE, values))).still[22]


def test_the_steps_are_small_where_the_robot_slows_down() -> None:
    one = subject(150)
    steps = state_steps(one, pictures_of(one, CAMERA))
    assert steps is not None
    assert steps[0] == 0
    assert steps[1:].max() > 5 * steps[1:].min()
    assert len(state_motion(one).speed) == len(one.state) - 1


def test_steps_of_an_encoder_are_not_motion() -> None:
    recording = filmed(150)
    signal = recording.signals[FILMED_STATE]
    assert isinstance(signal, ArraySignal)
    values = np.array(signal.values)
    count = len(values)
    # The first second stands but for the last digit of its encoder.
    values[:100] = values[100]
    values = np.round(values / 4e-4) * 4e-4
    values[:100] += 4e-4 * (np.random.default_rng(0).random((100, 2)) > 0.5)
    changed = {**recording.signals, FILMED_STATE: replace(signal, values=values)}
    motion = state_motion(Subject(replace(recording, signals=changed)))
    assert len(motion.speed) == count - 1
    assert motion.speed[10:90].max() < 0.1 * np.median(motion.speed[110:])


def test_a_state_that_never_moves_takes_no_steps() -> None:
    one = subject(30, moving=False)
    steps = state_steps(one, pictures_of(one, CAMERA))
    assert steps is not None
    assert steps.max() == 0
    with pytest.raises(NotAssessed, match="does not move"):
        state_motion(one)
