"""Every check that the policy needs of such an episode could run."""

from __future__ import annotations

from dataclasses import replace

from tests.quality.samples import joints

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.quality.checks.judgement_incomplete import find
from corporeal.quality.inspection import InspectionOptions, inspect_recording
from corporeal.quality.policy import Policy, default_policy
from corporeal.quality.subject import Judgement

HEAD = "document: policy\nname: ours\nversion: 1.0.0\n"


def test_passes_when_all_that_is_needed_could_run() -> None:
    assert not list(find(Judgement({"robot_fell"}, {"torque_mismatch": "no torque"})))


def test_finds_needed_checks_that_could_not_run_in_one_finding() -> None:
    missing = {"robot_fell": "no base", "joint_jumps": "too short", "action_late": "too short"}
    needed = ["action_late", "joint_jumps", "robot_fell"]
    messages = [finding.message for finding in find(Judgement(needed, missing))]
    assert messages == [
        "could not be judged: action_late and joint_jumps could not run (too short); "
        "robot_fell could not run (no base)",
    ]


def _judged(recording: Recording, policy: Policy) -> list[str]:
    report = inspect_recording(recording, InspectionOptions(policy))
    return [each.message for each in report.findings if each.check == "judgement_incomplete"]


def test_joints_that_nobody_could_hold_to_limits_quarantine_the_episode() -> None:
    recording = joints(open_robot("g1"))
    unnamed = replace(recording, signals={
        label: ArraySignal(signal.spec.model_copy(update={"components": None}), signal.time_ns,
                           signal[:])
        for label, signal in recording.signals.items()
    })  # fmt: skip
    assert _judged(recording, default_policy()) == []
    (message,) = _judged(unnamed, default_policy())
    assert message.startswith("could not be judged: joint_beyond_limit")


def test_a_policy_says_what_is_needed_by_what_a_source_has_and_how_it_was_made() -> None:
    needs = (
        HEAD + "needs:\n  - {has: [joints], modes: [teleoperation], checks: [torque_mismatch]}\n"
    )
    policy = Policy.parse(needs)
    plain, driven = joints(), joints(metadata={"mode": "teleoperation"})
    assert _judged(plain, policy) == []
    assert _judged(driven, policy)[0].startswith("could not be judged: torque_mismatch")
    assert _judged(driven, Policy.parse(HEAD + "needs: []\n")) == []


def test_a_check_that_was_left_out_on_purpose_is_not_missed() -> None:
    options = InspectionOptions(default_policy(), only=("values_not_finite",))
    assert inspect_recording(joints(open_robot("g1")), options).findings == ()
