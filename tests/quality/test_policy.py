"""The policy document: which checks run, with which limits."""

from __future__ import annotations

import pytest

from corporeal.errors import DocumentError
from corporeal.quality.policy import Policy, default_policy, open_policy

HEAD = "document: policy\nname: ours\nversion: 1.0.0\n"


def test_robot_overrides_task_overrides_checks() -> None:
    policy = Policy.parse(
        HEAD
        + """
checks:
  joint_limits: {severity: quarantine, limits: {margin: 0.1}}
tasks:
  walk:
    joint_limits: {limits: {margin: 0.2}}
robots:
  h1:
    joint_limits: {enabled: false}
"""
    )
    plain = policy.settings()["joint_limits"]
    walking = policy.settings(task="walk")["joint_limits"]
    assert (plain.severity, plain.limits, plain.enabled) == ("quarantine", {"margin": 0.1}, True)
    assert (walking.severity, walking.limits) == ("quarantine", {"margin": 0.2})
    assert not policy.settings(task="walk", robot="h1")["joint_limits"].enabled


def test_an_unknown_check_is_named_with_what_was_meant() -> None:
    with pytest.raises(DocumentError, match=r"joint_limit.*joint_limits"):
        Policy.parse(HEAD + "checks:\n  joint_limit: {severity: fail}\n")


def test_an_unknown_limit_is_named() -> None:
    with pytest.raises(DocumentError, match=r"limit of joint_limits.*margins"):
        Policy.parse(HEAD + "checks:\n  joint_limits: {limits: {margins: 0.1}}\n")


def test_a_limit_of_another_type_is_refused() -> None:
    with pytest.raises(DocumentError, match="margin of joint_limits"):
        Policy.parse(HEAD + "checks:\n  joint_limits: {limits: {margin: wide}}\n")


def test_without_a_path_the_default_holds() -> None:
    assert open_policy(None) is default_policy()
    assert default_policy().name == "default"
