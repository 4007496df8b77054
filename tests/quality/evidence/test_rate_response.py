"""Robots that are told velocities or torques: their commands are judged as positions are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import (
    POSITION,
    TARGET,
    TORQUE,
    VELOCITY,
    Array,
    Edit,
    changed,
    column,
    exchange,
    reaching,
)

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Check, Finding
from corporeal.quality.checks.action_equals_state import CHECK as COPIED
from corporeal.quality.checks.action_late import CHECK as LATE
from corporeal.quality.checks.angles_in_degrees import CHECK as DEGREES
from corporeal.quality.checks.joint_sign_flipped import CHECK as FLIPPED
from corporeal.quality.checks.joints_swapped import CHECK as SWAPPED
from corporeal.quality.evidence.joint_response import rate_response, response

QUANTITIES = {"joint_velocity": VELOCITY, "joint_torque": TORQUE}
ELBOW, ROLL = column("left_elbow"), column("left_shoulder_roll")


def told(quantity: str, *, lead_s: float = 0.04, seed: int = 0) -> Recording:
    """The reaching robot, whose command is what it does in this quantity a little later."""
    recording = reaching(seed=seed)
    measured, old = recording.signals[QUANTITIES[quantity]], recording.signals[TARGET]
    assert isinstance(old, ArraySignal)
    ahead = (np.asarray(old.time_ns) + round(lead_s * 1e9)) / 1e9
    # What was asked for has none of the noise of what is measured.
    smooth = Subject(recording).tracks[QUANTITIES[quantity]].smooth(0.05)
    values = np.stack([np.interp(ahead, smooth.seconds, each) for each in smooth.values.T], axis=1)
    spec = old.spec.model_copy(update={"name": f"{quantity}_target", "unit": measured.spec.unit})
    label = f"actions/{quantity}_target"
    signals = {key: each for key, each in recording.signals.items() if key != TARGET}
    return replace(recording, signals={**signals, label: ArraySignal(spec, old.time_ns, values)})


def found(check: Check, recording: Recording) -> list[Finding]:
    return list(check.find(Subject(recording)))


@pytest.mark.parametrize("quantity", sorted(QUANTITIES))
def test_a_right_command_passes(quantity: str) -> None:
    for seed in range(3):
        recording = told(quantity, seed=seed)
        for check in (SWAPPED, FLIPPED, DEGREES, LATE, COPIED):
            assert found(check, recording) == []


@pytest.mark.parametrize("quantity", sorted(QUANTITIES))
@pytest.mark.parametrize(
    ("check", "edit", "word"),
    [
        (SWAPPED, exchange(ELBOW, ROLL), "left_elbow_joint"),
        (FLIPPED, lambda values: np.negative(values[:, ELBOW], out=values[:, ELBOW]), "left_elbow"),
    ],
)
def test_order_and_sign_are_judged(check: Check, edit: Edit, word: str, quantity: str) -> None:
    findings = found(check, changed(told(quantity), **{f"{quantity}_target": edit}))
    assert f"actions/{quantity}_target" in {each.stream for each in findings}
    assert all(word in each.message for each in findings)


@pytest.mark.parametrize("quantity", sorted(QUANTITIES))
def test_a_command_that_comes_after_what_it_asks_for_is_late(quantity: str) -> None:
    (finding,) = found(LATE, told(quantity, lead_s=-0.15))
    assert finding.stream == f"actions/{quantity}_target"
    assert finding.value == pytest.approx(-0.15, abs=0.02)


def test_velocities_asked_for_in_degrees_are_told() -> None:
    def degrees(values: Array) -> None:
        values *= 180 / np.pi

    (finding,) = found(DEGREES, changed(told("joint_velocity"), joint_velocity_target=degrees))
    assert finding.stream == "actions/joint_velocity_target"


def test_a_copy_of_the_measured_velocity_is_no_command() -> None:
    recording = told("joint_velocity")
    label = "actions/joint_velocity_target"
    measured, old = recording.signals[VELOCITY], recording.signals[label]
    copy = ArraySignal(old.spec, np.asarray(measured.time_ns), np.asarray(measured[:]))
    copied = replace(recording, signals={**recording.signals, label: copy})
    (finding,) = found(COPIED, copied)
    assert finding.stream == label


def test_without_measured_velocities_those_of_the_positions_answer() -> None:
    recording = told("joint_velocity")
    signals = {key: each for key, each in recording.signals.items() if key != VELOCITY}
    bare = replace(recording, signals=signals)
    assert found(SWAPPED, bare) == []
    edit = exchange(ELBOW, ROLL)
    findings = found(SWAPPED, changed(bare, joint_velocity_target=edit))
    assert {each.stream for each in findings} <= {POSITION, "actions/joint_velocity_target"}
    assert findings


def test_torques_that_nobody_measured_cannot_be_judged() -> None:
    recording = told("joint_torque")
    signals = {key: each for key, each in recording.signals.items() if key != TORQUE}
    with pytest.raises(NotAssessed, match="joint_torque"):
        rate_response(Subject(replace(recording, signals=signals)))


def test_where_positions_were_asked_for_they_are_judged() -> None:
    with pytest.raises(NotAssessed, match="asks for positions"):
        rate_response(Subject(reaching()))
    with pytest.raises(NotAssessed, match="held against"):
        response(Subject(told("joint_velocity")))
