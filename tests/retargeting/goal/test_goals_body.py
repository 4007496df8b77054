"""The size of a person is found, whatever noise and gaps the clip has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.retargeting import people
from tests.retargeting.people import walking_person

from corporeal.retargeting.goal.goals import HAND_SHARE, body_of, knuckles
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError


def without(motion: HumanMotion, *points: str) -> HumanMotion:
    """The motion with points that are never seen."""
    positions, confidence = motion.positions.copy(), motion.confidence.copy()
    columns = [POINTS.index(point) for point in points]
    positions[:, columns] = np.nan
    confidence[:, columns] = 0.0
    return replace(motion, positions=positions, confidence=confidence)


def test_the_lengths_of_a_made_up_person_are_those_it_was_made_with() -> None:
    lengths = body_of(walking_person()).lengths
    expected = {
        "thigh": people.THIGH,
        "shank": people.SHANK,
        "upper_arm": people.UPPER_ARM,
        "forearm": people.FOREARM + people.HAND,
        "hip_width": 2 * people.HIP_HALF,
        "shoulder_width": 2 * people.SHOULDER_HALF,
    }
    for name, length in expected.items():
        assert lengths[name] == pytest.approx(length, abs=1e-9), name
    assert 0.45 < lengths["trunk"] < 0.5


def test_every_measure_grows_with_the_person() -> None:
    small, tall = body_of(walking_person(stature_m=1.2)), body_of(walking_person(stature_m=2.4))
    for name, length in small.lengths.items():
        assert tall.lengths[name] == pytest.approx(2 * length), name
    assert (tall.leg, tall.arm) == pytest.approx((2 * small.leg, 2 * small.arm))
    assert tall.hand_room == pytest.approx(2 * small.hand_room)


def test_noise_and_gaps_hardly_change_the_lengths() -> None:
    true = walking_person()
    rng = np.random.default_rng(5)
    positions = true.positions + rng.normal(0, 0.02, true.positions.shape)
    gone = rng.random(true.confidence.shape) < 0.3
    positions[gone] = np.nan
    noisy = replace(true, positions=positions, confidence=np.where(gone, 0.0, 1.0))
    found = body_of(noisy).lengths
    # Noise across a short bone makes it longer: two centimetres of it show at the hand.
    for name, length in body_of(true).lengths.items():
        assert found[name] == pytest.approx(length, abs=0.02 if name == "forearm" else 0.006), name


def test_a_forearm_without_a_hand_gets_a_usual_one() -> None:
    handless = without(walking_person(), "left_hand", "right_hand")
    forearm = people.FOREARM * (1 + HAND_SHARE)
    assert body_of(handless).lengths["forearm"] == pytest.approx(forearm)
    beyond = np.linalg.norm(knuckles(handless, "left") - handless.point("left_elbow"), axis=1)
    np.testing.assert_allclose(beyond, forearm)


def test_knuckles_are_guessed_only_where_they_are_not_seen() -> None:
    person = walking_person(frames=10)
    partly = without(person, "left_hand")
    partly.positions[:5, POINTS.index("left_hand")] = person.point("left_hand")[:5]
    partly.confidence[:5, POINTS.index("left_hand")] = 1.0
    found = knuckles(partly, "left")
    np.testing.assert_array_equal(found[:5], person.point("left_hand")[:5])
    assert np.isfinite(found).all()
    assert np.linalg.norm(found[5:] - person.point("left_hand")[5:], axis=1).max() < 0.02


def test_centimetres_taken_for_metres_are_refused_by_name() -> None:
    person = walking_person()
    with pytest.raises(MotionError, match=r"the thigh is 43 m long; expected .*Check --unit"):
        body_of(replace(person, positions=person.positions * 100))


def test_joints_that_are_never_seen_together_are_named() -> None:
    with pytest.raises(MotionError, match="left_hip and left_knee are never seen together"):
        body_of(without(walking_person(), "left_knee"))
