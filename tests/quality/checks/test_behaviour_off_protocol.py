"""Nothing happens that is prohibited."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import (
    ACTION,
    BASE,
    GRIPPER,
    OBJECT,
    STATE,
    demonstration,
    edited,
    with_pause,
    without,
)
from tests.quality.ruled import judge, ramp

from corporeal.errors import NotAssessed

NAME = "behaviour_off_protocol"


def test_passes_when_all_goes_well() -> None:
    assert not list(judge(NAME, demonstration()))


def test_finds_a_fall() -> None:
    good = demonstration()
    base = np.array(good.signals[BASE][:])
    base[250:, 2] = 0.15
    (found,) = judge(NAME, edited(good, BASE, base))
    assert found.message.startswith("fall:")
    assert found.frames == ((250, 470),)


def test_finds_a_drop() -> None:
    good = demonstration()
    pose = np.array(good.signals[OBJECT][:])
    pose[230:, 2] = np.maximum(pose[230, 2] - 4.905 * (np.arange(240) / 50) ** 2, 0.75)
    (found,) = judge(NAME, edited(good, OBJECT, pose))
    assert found.message.startswith("drop: the object falls at 4.6")


def test_finds_steps() -> None:
    good = demonstration()
    base = np.array(good.signals[BASE][:])
    base[:, 0] += ramp(len(base), first=200, per_s=0.2)
    (found,) = judge(NAME, edited(good, BASE, base))
    assert found.message.startswith("walking:")


def test_finds_a_gripper_that_tries_again_and_again() -> None:
    good = demonstration()
    opening = 0.05 + 0.03 * np.sign(np.sin(np.arange(470) / 15))[:, None]
    (found,) = judge(NAME, edited(good, GRIPPER, opening))
    assert found.message.startswith(f"regrasp: {GRIPPER} closes")


def test_finds_a_long_pause() -> None:
    (found,) = judge(NAME, with_pause(demonstration(), 200, 8.0))
    assert found.message.startswith("pausing: nothing moves for 8")


def test_without_anything_to_see_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="fall: no base_pose"):
        list(judge(NAME, without(demonstration(), STATE, ACTION, GRIPPER, OBJECT, BASE)))
