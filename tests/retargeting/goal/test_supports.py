"""What rests on the ground besides the feet is told in the person, and rests there on the robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.retargeting.goal.footholds import ground_of
from corporeal.retargeting.goal.goals import body_of, on_the_floor
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.goal.supports import supports_of
from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.motion import POINTS, HumanMotion
from corporeal.retargeting.result import SUPPORTS
from corporeal.retargeting.settings import RetargetSettings
from corporeal.retargeting.solve import retarget_motion

G1 = robot_map(open_robot("g1"))


def lying_person(frames: int = 60, rate_hz: float = 30.0) -> HumanMotion:
    """Somebody flat on their back, arms beside them: a person who stands, tipped over backwards."""
    standing = walking_person(2, rate_hz, speed_m_s=0.0)
    upright = np.repeat(standing.positions[:1], frames, axis=0)
    pelvis = upright[:, POINTS.index("pelvis")][:, None]
    away = upright - pelvis
    lying = np.stack([-away[..., 2], away[..., 1], away[..., 0]], axis=2)
    for part in ("hip", "knee", "ankle", "heel"):
        for side in ("left", "right"):
            lying[:, POINTS.index(f"{side}_{part}"), 2] = 0.0
    lying[..., 2] += 0.1
    confidence = np.repeat(standing.confidence[:1], frames, axis=0)
    return replace(standing, positions=lying, confidence=confidence, rotations={}, contacts=None)


def kneeling_person(frames: int = 60, rate_hz: float = 30.0) -> HumanMotion:
    """Somebody upright on both knees, with the shanks flat behind."""
    standing = walking_person(2, rate_hz, speed_m_s=0.0)
    points = np.repeat(standing.positions[:1], frames, axis=0)
    down = points[:, POINTS.index("left_knee"), 2].mean() - 0.06
    for side in ("left", "right"):
        knee = points[:, POINTS.index(f"{side}_hip")] - [0, 0, 0.43]
        points[:, POINTS.index(f"{side}_knee")] = knee
        for part, away in (("ankle", (-0.43, 0, 0.04)), ("heel", (-0.46, 0, 0.10)),
                           ("toe", (-0.55, 0, -0.05))):  # fmt: skip
            points[:, POINTS.index(f"{side}_{part}")] = knee + away
    points[..., 2] -= down
    confidence = np.repeat(standing.confidence[:1], frames, axis=0)
    return replace(standing, positions=points, confidence=confidence, rotations={}, contacts=None)


def resting(person: HumanMotion) -> set[str]:
    """The names of what rests on the ground most of the time."""
    found = supports_of(person, G1, body_of(person))
    if found is None:
        return set()
    return {name for name, on in zip(SUPPORTS, found.touches.T, strict=True) if on.mean() > 0.5}


def test_somebody_who_walks_rests_on_the_feet_alone() -> None:
    assert supports_of(walking_person(120, 60.0), G1, body_of(walking_person(120, 60.0))) is None


def test_somebody_who_kneels_rests_on_the_knees() -> None:
    assert resting(kneeling_person()) == {"left_knee", "right_knee"}


def test_somebody_who_lies_rests_on_pelvis_chest_and_more() -> None:
    assert {"pelvis", "chest", "left_knee", "right_knee"} <= resting(lying_person())


def test_somebody_whose_feet_are_held_up_behind_is_on_the_floor_under_the_knees() -> None:
    person = kneeling_person()
    points = person.positions.copy()
    for side in ("left", "right"):
        for part in ("ankle", "heel", "toe"):
            points[:, POINTS.index(f"{side}_{part}"), 2] += 0.2
    crawling = replace(person, positions=points)
    knee = crawling.point("left_knee")[0, 2]
    ground = ground_of(crawling)
    assert ground.toe == pytest.approx(knee - 0.05, abs=0.01)
    assert not ground.touches.any()
    assert {"left_knee", "right_knee"} <= resting(on_the_floor(crawling, ground))
    # Feet on the floor say themselves where it is.
    assert ground_of(person).touches.any()


def test_a_hand_that_reaches_down_carries_nobody() -> None:
    person = walking_person(60, 30.0, speed_m_s=0.0)
    for part in ("wrist", "hand"):
        person.positions[:, POINTS.index(f"left_{part}"), 2] = 0.03
    assert resting(person) == set()


@pytest.mark.slow
def test_a_robot_that_follows_somebody_who_kneels_has_its_knees_on_the_ground() -> None:
    result = retarget_motion(kneeling_person(), G1, RetargetSettings(cleaning=False))
    found = measure_result(result)
    assert found.grounding.supported_frames > 30
    assert found.grounding.rest_hover_max_m < 0.01
    assert found.grounding.body_depth_max_m < 0.01
    assert found.effort is not None
    assert found.effort.frames == 0


@pytest.mark.slow
def test_a_robot_that_follows_somebody_who_lies_lies_and_makes_no_bridge() -> None:
    result = retarget_motion(lying_person(), G1, RetargetSettings(cleaning=False))
    found = measure_result(result)
    assert result.goals.supports is not None
    assert result.base[:, 2].max() < 0.25
    lowest = result.goals.supports.located(G1.kinematics.transforms(result.q, result.base))
    for name in ("pelvis", "chest"):
        assert np.abs(lowest[:, SUPPORTS.index(name), :, 2].min(axis=1)).max() < 0.02
    assert found.effort is not None
    assert found.effort.frames == 0
