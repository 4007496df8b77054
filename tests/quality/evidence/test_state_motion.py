"""The speed of the state follows the motion and not the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.scene import CAMERA, STATE, filmed, subject

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality.evidence.pictures import pictures_of
from corporeal.quality.evidence.state_motion import state_motion, state_steps
from corporeal.quality.subject import Subject


def test_the_steps_are_small_where_the_robot_slows_down() -> None:
    one = subject(150)
    steps = state_steps(one, pictures_of(one, CAMERA))
    assert steps is not None
    assert steps[0] == 0
    assert steps[1:].max() > 5 * steps[1:].min()
    assert len(state_motion(one).speed) == len(one.state) - 1


def test_steps_of_an_encoder_are_not_motion() -> None:
    recording = filmed(150)
    signal = recording.signals[STATE]
    assert isinstance(signal, ArraySignal)
    values = np.array(signal.values)
    count = len(values)
    # The first second stands but for the last digit of its encoder.
    values[:100] = values[100]
    values = np.round(values / 4e-4) * 4e-4
    values[:100] += 4e-4 * (np.random.default_rng(0).random((100, 2)) > 0.5)
    changed = {**recording.signals, STATE: replace(signal, values=values)}
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
