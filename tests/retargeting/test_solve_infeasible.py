"""Frames out of reach are found, and clipped, bridged, cut out, or the clip is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.retargeting.made_results import result_of, standing
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.retargeting.motion import POINTS, HumanMotion
from corporeal.retargeting.result import FAR_M, Retargeted
from corporeal.retargeting.settings import POLICIES, InfeasiblePolicy, RetargetSettings
from corporeal.retargeting.solve import drop_confidence, retarget_motion, split_infeasible

RATE_HZ = 60.0
FIRST, STOP = 50, 70
_ARM = ("elbow", "wrist", "hand")


def _walk() -> HumanMotion:
    return walking_person(120, RATE_HZ)


def _long_armed() -> HumanMotion:
    """Somebody whose left arm is twice as long for a third of a second."""
    person = _walk()
    positions = person.positions.copy()
    shoulder = person.point("left_shoulder")[FIRST:STOP]
    for part in _ARM:
        arm = person.point(f"left_{part}")[FIRST:STOP] - shoulder
        positions[FIRST:STOP, POINTS.index(f"left_{part}")] = shoulder + 2 * arm
    return replace(person, positions=positions)


@cache
def _retargeted(policy: InfeasiblePolicy) -> Retargeted:
    # An arm that jumps is beyond any motor: what easing makes of that is not what is tried here.
    settings = RetargetSettings(policy=policy, cleaning=False, ease=False)
    return retarget_motion(_long_armed(), open_robot("h1"), settings)


def test_frames_out_of_reach_are_flagged_and_no_others() -> None:
    flagged = np.flatnonzero(_retargeted("clip").infeasible)
    assert len(flagged) >= STOP - FIRST - 4
    assert flagged.min() >= FIRST - 8
    assert flagged.max() < STOP + 8
    result = _retargeted("clip")
    np.testing.assert_array_equal(result.infeasible, (result.error_m > FAR_M).any(axis=1))
    assert result.error_m[FIRST:STOP, 0].mean() > FAR_M
    assert result.error_m[:, 1:].max() < FAR_M


def test_a_clean_walk_has_no_frames_out_of_reach() -> None:
    assert not retarget_motion(_walk(), open_robot("h1")).infeasible.any()


def test_clipped_frames_stay_and_stay_flagged() -> None:
    result = _retargeted("clip")
    (kept,) = split_infeasible(result, "clip")
    assert kept is result
    assert kept.infeasible.any()


def test_interpolated_frames_follow_what_is_around_them() -> None:
    bridged = _retargeted("interpolate")
    (kept,) = split_infeasible(bridged, "interpolate")
    assert kept is bridged
    assert any("frames out of reach were bridged" in note for note in bridged.notes)
    assert not bridged.infeasible.any()
    assert bridged.goals.confidence[FIRST + 5, 0] == 0
    assert bridged.goals.confidence[FIRST + 5, 1] == 1
    true = retarget_motion(_walk(), open_robot("h1"), RetargetSettings(cleaning=False))
    clipped = _retargeted("clip")
    astray = [np.abs(each.q - true.q)[FIRST:STOP].mean() for each in (bridged, clipped)]
    assert astray[0] < 0.4 * astray[1]


def test_split_parts_carry_their_frames_and_say_which() -> None:
    result = _retargeted("clip")
    before, after = split_infeasible(result, "split")
    flagged = np.flatnonzero(result.infeasible)
    assert len(before) == flagged[0]
    assert len(after) == len(result) - flagged[-1] - 1
    for part, first in ((before, 0), (after, int(flagged[-1]) + 1)):
        span = slice(first, first + len(part))
        assert not part.infeasible.any()
        np.testing.assert_array_equal(part.q, result.q[span])
        np.testing.assert_array_equal(part.base, result.base[span])
        np.testing.assert_array_equal(part.error_m, result.error_m[span])
        np.testing.assert_array_equal(part.human.positions, result.human.positions[span])
        np.testing.assert_array_equal(part.goals.contacts, result.goals.contacts[span])
        assert f"frames {first} to {first + len(part) - 1}" in part.notes[-1]


def test_a_rejected_clip_leaves_nothing() -> None:
    assert split_infeasible(_retargeted("clip"), "reject") == []


@pytest.mark.parametrize("policy", POLICIES)
def test_a_feasible_clip_is_kept_whole_whatever_the_policy(policy: InfeasiblePolicy) -> None:
    result = result_of(*standing(100))
    assert split_infeasible(result, policy) == [result]


def test_pieces_shorter_than_half_a_second_are_dropped() -> None:
    result = result_of(*standing(100))
    bad = np.zeros(100, bool)
    bad[[20, 60]] = True
    pieces = split_infeasible(replace(result, infeasible=bad), "split")
    assert [len(piece) for piece in pieces] == [39, 39]
    assert split_infeasible(replace(result, infeasible=np.arange(100) % 10 == 0), "split") == []


def test_only_the_limb_that_is_out_of_reach_is_doubted_and_a_little_around_it() -> None:
    result = result_of(*standing(100))
    error = np.zeros((100, 4))
    error[40:50, 1] = 0.2
    flagged = error.max(axis=1) > FAR_M
    person, note = drop_confidence(result.human, replace(result, error_m=error, infeasible=flagged))
    doubted = (person.confidence == 0) & (result.human.confidence > 0)
    columns = {POINTS[column] for column in np.flatnonzero(doubted.any(axis=0))}
    assert columns <= {f"right_{part}" for part in _ARM}
    assert "right_wrist" in columns
    frames = np.flatnonzero(doubted.any(axis=1))
    assert (frames[0], frames[-1]) == (38, 51)
    assert note == "10 frames out of reach were bridged"
