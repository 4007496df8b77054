"""The policy document: which checks run, with which limits."""

from __future__ import annotations

import pytest

from corporeal.errors import DocumentError
from corporeal.quality.policy import Policy, default_policy, open_policy
from corporeal.quality.subject import Trait

HEAD = "document: policy\nname: ours\nversion: 1.0.0\n"


def test_robot_overrides_task_overrides_checks() -> None:
    policy = Policy.parse(
        HEAD
        + """
checks:
  joint_beyond_limit: {severity: quarantine, limits: {margin: 0.1}}
tasks:
  walk:
    joint_beyond_limit: {limits: {margin: 0.2}}
robots:
  h1:
    joint_beyond_limit: {enabled: false}
"""
    )
    plain = policy.rules()["joint_beyond_limit"]
    walking = policy.rules(task="walk")["joint_beyond_limit"]
    assert (plain.severity, plain.limits, plain.enabled) == ("quarantine", {"margin": 0.1}, True)
    assert (walking.severity, walking.limits) == ("quarantine", {"margin": 0.2})
    assert not policy.rules(task="walk", robot="h1")["joint_beyond_limit"].enabled


def test_an_unknown_check_is_named_with_what_was_meant() -> None:
    with pytest.raises(DocumentError, match=r"joint_beyond_limits.*joint_beyond_limit"):
        Policy.parse(HEAD + "checks:\n  joint_beyond_limits: {severity: fail}\n")


def test_an_unknown_limit_is_named() -> None:
    with pytest.raises(DocumentError, match=r"limit of joint_beyond_limit.*margins"):
        Policy.parse(HEAD + "checks:\n  joint_beyond_limit: {limits: {margins: 0.1}}\n")


def test_a_limit_of_another_type_is_refused() -> None:
    with pytest.raises(DocumentError, match="margin of joint_beyond_limit"):
        Policy.parse(HEAD + "checks:\n  joint_beyond_limit: {limits: {margin: wide}}\n")


def test_without_a_path_the_default_holds() -> None:
    assert open_policy(None) is default_policy()
    assert default_policy().name == "default"


def test_a_policy_with_former_names_of_checks_rules_the_checks_and_keeps_its_hash() -> None:
    policy = Policy.parse(
        HEAD
        + """
checks:
  stays_upright: {severity: note}
tasks:
  walk:
    robot_fell: {enabled: false}
"""
    )
    assert policy.rules()["robot_fell"].severity == "note"
    assert "stays_upright" not in policy.rules()
    walking = policy.rules(task="walk")["robot_fell"]
    assert (walking.severity, walking.enabled) == ("note", False)
    assert '"stays_upright":{' in policy.canonical()


def test_a_check_under_both_of_its_names_is_refused() -> None:
    text = HEAD + "checks:\n  robot_fell: {severity: note}\n  stays_upright: {severity: fail}\n"
    with pytest.raises(DocumentError, match="stays_upright and robot_fell"):
        Policy.parse(text)


def test_needs_name_checks_of_episodes_that_exist() -> None:
    with pytest.raises(DocumentError, match=r"needs.*robot_fel"):
        Policy.parse(HEAD + "needs:\n  - {checks: [robot_fel]}\n")
    with pytest.raises(DocumentError, match=r"episode_duplicated looks at a batch"):
        Policy.parse(HEAD + "needs:\n  - {checks: [episode_duplicated]}\n")
    with pytest.raises(DocumentError, match="wheels"):
        Policy.parse(HEAD + "needs:\n  - {has: [wheels], checks: [robot_fell]}\n")


def test_a_policy_without_needs_has_those_of_the_default_one() -> None:
    has: tuple[Trait, ...] = ("cameras",)
    ours, theirs = (
        policy.needed(has=has, mode=None, task=None, robot=None)
        for policy in (Policy.parse(HEAD), default_policy())
    )
    assert list(ours) == list(theirs)
    assert "camera_frozen" in ours
    assert "joint_beyond_limit" not in ours
