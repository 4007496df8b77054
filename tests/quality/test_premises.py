"""Findings that rest on what nobody stated say so, and fail nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.quality.standing import altered, column, standing

from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.quality.check import checks

LABEL = "observations/joint_position"


def _beyond(values: np.ndarray) -> None:
    values[300:400, column("left_elbow_joint")] = 4.0


def test_a_finding_that_rests_on_an_assumption_says_so_and_fails_nothing() -> None:
    stated = altered(LABEL, _beyond).recording
    assumed = replace(stated, metadata={"assumed": {"robot": "g1: it has 29 joints"}})
    for recording, verdict in ((stated, "failed"), (assumed, "quarantined")):
        judged = assess(Subject(recording), pictures=False, only=("joint_beyond_limit",))
        assert judged.verdict == verdict
        said = "this rests on what is assumed: robot, g1" in judged.findings[0].message
        assert said is (recording is assumed)


def test_every_check_that_needs_the_robot_says_that_it_rests_on_it() -> None:
    unknown = replace(standing(), embodiment=None)
    reasons = assess(Subject(unknown), pictures=False).not_assessed
    needy = {name for name, reason in reasons.items() if "--robot" in reason}
    assert needy
    assert {name for name in needy if "robot" not in checks()[name].rests_on} == set()
