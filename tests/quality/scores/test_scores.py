from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.quality.strokes import Array, spec, strokes

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.scores.log_dimensionless_jerk import smoothness
from corporeal.quality.scores.spectral_arc_length import arc_length
from corporeal.quality.scoring import scores
from corporeal.quality.scoring.motion import motion_of, profile_of
from corporeal.quality.scoring.score import Measure, to_unit

# What the part may differ by when only the rate or the length does, in units of good to bad.
TOLERANCE = 0.05
DIMENSIONLESS = (
    "log_dimensionless_jerk",
    "spectral_arc_length",
    "path_length",
    "corrective_motion",
)
OF_MOTION = (*DIMENSIONLESS, "rms_jerk", "position_instability", "hesitation")


def value(part: str, recording: Recording) -> float:
    found = scores()[part].measure(Subject(recording))
    assert isinstance(found, Measure)
    return found.value


def unit(part: str, recording: Recording) -> float:
    """The part before it is clipped, so that a change beyond good or bad is seen too."""
    found = scores()[part].measure(Subject(recording))
    good, bad = scores()[part].scale(found.unit)
    if scores()[part].logarithmic:
        return float(np.log(max(found.value, 1e-6) / bad) / np.log(good / bad))
    return float((found.value - bad) / (good - bad))


HUMAN: dict[str, Any] = {"overshoot": 0.1, "shake": 0.005}


@pytest.mark.parametrize("part", OF_MOTION)
@pytest.mark.parametrize("rate_hz", [30.0, 50.0, 200.0])
def test_the_rate_of_the_recording_does_not_change_a_part(part: str, rate_hz: float) -> None:
    at_100 = unit(part, strokes(rate_hz=100.0, **HUMAN))
    assert unit(part, strokes(rate_hz=rate_hz, **HUMAN)) == pytest.approx(at_100, abs=TOLERANCE)


@pytest.mark.parametrize("part", OF_MOTION)
def test_twice_the_same_motion_scores_like_once(part: str) -> None:
    once, twice = strokes(**HUMAN), strokes(rounds=2, **HUMAN)
    # Four strokes have three pauses between them, eight have seven.
    tolerance = 0.08 if part == "hesitation" else TOLERANCE
    assert unit(part, twice) == pytest.approx(unit(part, once), abs=tolerance)


@pytest.mark.parametrize("part", OF_MOTION)
def test_stillness_before_and_after_does_not_count(part: str) -> None:
    short, long = strokes(**HUMAN), strokes(still_s=5.0, **HUMAN)
    assert unit(part, long) == pytest.approx(unit(part, short), abs=TOLERANCE)


@pytest.mark.parametrize("part", DIMENSIONLESS)
def test_half_the_pace_does_not_change_a_part_without_unit(part: str) -> None:
    brisk, slow = strokes(overshoot=0.1), strokes(overshoot=0.1, pace=0.5)
    assert unit(part, slow) == pytest.approx(unit(part, brisk), abs=TOLERANCE)


@pytest.mark.parametrize(
    ("part", "worse"),
    [
        ("rms_jerk", {"shake": 0.02}),
        ("rms_jerk", {"pace": 2.0}),
        ("log_dimensionless_jerk", {"shake": 0.02}),
        ("spectral_arc_length", {"overshoot": 0.3}),
        ("path_length", {"overshoot": 0.2}),
        ("position_instability", {"shake": 0.01}),
        ("corrective_motion", {"overshoot": 0.3}),
        ("hesitation", {"pause_s": 2.0}),
    ],
)
def test_a_worse_motion_has_a_worse_part(part: str, worse: dict[str, Any]) -> None:
    assert unit(part, strokes()) > unit(part, strokes(**worse)) + 0.03


def test_the_parts_of_a_clean_stroke_are_those_of_the_literature() -> None:
    share = np.linspace(0, 1, 101)
    reach = 30 * share**2 * (1 - share) ** 2
    # By hand: 720 / 1.875^2 is the dimensionless jerk of a minimum-jerk reach.
    assert smoothness(reach) == pytest.approx(-np.log(720 / 1.875**2), abs=0.1)
    assert arc_length(reach) == pytest.approx(-1.41, abs=0.1)
    clean = strokes()
    assert value("spectral_arc_length", clean) == pytest.approx(-1.45, abs=0.15)
    assert value("path_length", clean) == pytest.approx(1.0, abs=0.02)
    assert value("corrective_motion", clean) == 0


def test_the_hands_are_looked_at_where_the_robot_is_known() -> None:
    known = strokes(robot=open_robot("g1"))
    assert [trail.name for trail in motion_of(Subject(known)).trails] == ["right_hand"]
    assert scores()["rms_jerk"].measure(Subject(known)).unit == "m/s3"
    assert scores()["rms_jerk"].measure(Subject(strokes())).unit == "rad/s3"
    assert scores()["rms_jerk"].measure(Subject(strokes(unit="1"))).unit == "1/s3"


def test_units_that_are_not_known_do_not_change_shares_of_the_range() -> None:
    small, large = strokes(unit="1", reach=0.5, **HUMAN), strokes(unit="1", reach=50.0, **HUMAN)
    assert value("rms_jerk", large) == pytest.approx(value("rms_jerk", small), rel=0.01)


def _still() -> Recording:
    stamps = np.arange(200) * 20_000_000
    signal = ArraySignal(spec("state", ("a",)), stamps, np.ones((200, 1)))
    return Recording("still", Path("still"), 0, {"state": signal})


@pytest.mark.parametrize("part", OF_MOTION)
def test_where_nothing_moves_there_is_nothing_to_assess(part: str) -> None:
    with pytest.raises(NotAssessed, match="nothing moves"):
        scores()[part].measure(Subject(_still()))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_stub_of_an_episode_is_not_assessed(count: int) -> None:
    stamps = np.arange(count) * 20_000_000
    signal = ArraySignal(spec("state", ("a",)), stamps, np.arange(float(count))[:, None])
    stub = Recording("stub", Path("stub"), 0, {"state": signal})
    for part in OF_MOTION:
        with pytest.raises(NotAssessed):
            scores()[part].measure(Subject(stub))


def test_missing_numbers_and_repeated_stamps_are_passed_over() -> None:
    whole = strokes(**HUMAN)
    signal = whole.signals["state"]
    values, stamps = np.array(signal[:]), np.array(signal.time_ns)
    values[300:303] = np.nan
    stamps[500] = stamps[499]
    holed = replace(whole, signals={"state": ArraySignal(signal.spec, stamps, values)})
    for part in OF_MOTION:
        assert unit(part, holed) == pytest.approx(unit(part, whole), abs=TOLERANCE)


# Balance.


def test_leaning_aside_costs_balance_and_needs_legs() -> None:
    robot = open_robot("g1")
    upright = strokes(robot=robot)
    names = robot.joint_names
    leaning = np.array(upright.signals["state"][:])
    for name in ("left_hip_roll_joint", "right_hip_roll_joint"):
        leaning[:, names.index(name)] = 0.15
    signal = ArraySignal(upright.signals["state"].spec, upright.signals["state"].time_ns, leaning)
    aside = replace(upright, signals={"state": signal})
    assert value("balance", aside) > value("balance", upright) + 0.01
    with pytest.raises(NotAssessed, match="robot is not known"):
        value("balance", strokes())


# Grasps.


def _grasp(touched: bool, *, lost_s: float | None = None, skin: bool = True) -> Recording:
    """A gripper that closes at 2 s and opens at 5 s, around something or not."""
    time_s = np.arange(0, 8, 0.02)
    stamps = np.round(time_s * 1e9).astype(np.int64)
    told = np.where((time_s > 2) & (time_s < 5), 0.02, 0.09)
    held = touched & (time_s > 2.1) & (time_s < (lost_s or 5.0))
    opening = np.where(held, np.maximum(told, 0.05), told)
    dice = np.random.default_rng(0)
    pressure = np.where(held, 100.0, 0.0)[:, None] + dice.normal(1.0, 0.1, (len(time_s), 4))
    extra: dict[str, Any] = {
        "gripper": ArraySignal(spec("right_gripper", ("opening",)), stamps, opening[:, None]),
        "target": ArraySignal(
            spec("right_gripper_target", ("opening",), group="actions"), stamps, told[:, None]
        ),
    }
    if skin:
        extra["skin"] = ArraySignal(spec("right_tactile", tuple("abcd")), stamps, pressure)
    return strokes(extra=extra)


@pytest.mark.parametrize("skin", [True, False])
def test_a_grasp_that_holds_succeeds_and_one_that_misses_does_not(skin: bool) -> None:
    assert value("grasp_success", _grasp(True, skin=skin)) == 1.0
    assert value("grasp_success", _grasp(False, skin=skin)) == 0.0
    assert value("grasp_success", _grasp(True, lost_s=3.5, skin=skin)) == 0.0


def test_the_recorded_outcome_is_believed() -> None:
    dropped = replace(_grasp(True), metadata={"outcome": {"success": False, "failure": "drop"}})
    assert value("grasp_success", dropped) == 0.0
    with pytest.raises(NotAssessed, match="no hand closes"):
        value("grasp_success", strokes())


# Parts that compare episodes.


def _batch(part: str, recordings: list[Recording]) -> list[Any]:
    profiles = [profile_of(Subject(recording)) for recording in recordings]
    return list(scores()[part].measure(profiles, len(profiles)))


def _good(count: int, **motion: Any) -> list[Recording]:
    return [strokes(index=n, reach=0.8 + 0.01 * n, **motion) for n in range(count)]


def test_an_episode_twice_as_long_stands_out_in_time() -> None:
    found = _batch("completion_time", [*_good(5), strokes(pace=0.5)])
    assert found[0].value == pytest.approx(0, abs=0.02)
    assert found[-1].value == pytest.approx(np.log(2), abs=0.05)


def test_another_motion_stands_out_in_consistency() -> None:
    other = strokes(overshoot=0.5, reach=-0.8)
    found = _batch("action_consistency", [*_good(6), other])
    assert found[-1].value > 5 * max(each.value for each in found[:-1])


def test_a_slower_one_of_the_same_is_consistent() -> None:
    found = _batch("action_consistency", [*_good(6), strokes(pace=0.6)])
    assert found[-1].value < 0.1


def _pushed(newtons: float, index: int = 0) -> Recording:
    plain = strokes(index=index)
    stamps = plain.signals["state"].time_ns
    middle = np.exp(-(((np.arange(len(stamps)) / len(stamps)) - 0.5) ** 2) / 0.01)
    force: Array = np.zeros((len(stamps), 6))
    force[:, 2] = newtons * middle
    names = ("fx", "fy", "fz", "tx", "ty", "tz")
    wrench = ArraySignal(spec("right_wrist_wrench", names, unit="N"), stamps, force)
    return replace(plain, signals={**plain.signals, "wrench": wrench})


def test_a_harder_push_leaves_the_envelope() -> None:
    found = _batch(
        "force_profile", [*(_pushed(10.0 + 0.1 * n, n) for n in range(9)), _pushed(40.0)]
    )
    assert all(each.value == 0 for each in found[:-1])
    assert found[-1].value > 0.1


@pytest.mark.parametrize("part", ["completion_time", "action_consistency", "force_profile"])
def test_too_few_to_compare_with_is_said(part: str) -> None:
    assert all(isinstance(each, str) for each in _batch(part, _good(2)))


def test_the_scale_runs_from_bad_to_good_and_no_further() -> None:
    assert to_unit(3.0, good=1.0, bad=5.0) == pytest.approx(0.5)
    assert to_unit(10.0, good=1.0, bad=100.0, logarithmic=True) == pytest.approx(0.5)
    assert to_unit(9.0, good=1.0, bad=5.0) == 0.0
    assert to_unit(-9.0, good=1.0, bad=5.0) == 1.0


@pytest.mark.parametrize("part", sorted(scores()))
def test_every_part_says_what_it_is(part: str) -> None:
    score = scores()[part]
    text = score.measure.__doc__ or ""
    assert "Formula:" in text
    assert f"{score.better.capitalize()}" in text
    assert (score.good < score.bad) == (score.better == "lower")
    assert score.reference
