"""Phases, contacts and the outcome are proposed from events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.labelling.picking import (
    PICK,
    READY,
    SECOND,
    events,
    head_camera,
    phase_labels,
    picking,
    recorded,
    signal,
)

from corporeal.episode.recording import ArraySignal
from corporeal.labelling.proposal import propose
from corporeal.labelling.proposers.events import ending


@pytest.mark.parametrize(
    ("said", "labels", "wanted"),
    [
        (PICK, "rest approach grasp lift retract rest", ("success", None)),
        (PICK[:1] + PICK[4:], "rest approach rest", (None, None)),
        (PICK[:2] + PICK[3:], "rest approach grasp retract rest", (None, None)),
        ((*PICK, ("hand_bumps", 5.0)), "rest approach grasp lift retract rest",
         ("failure", "collision")),
        ((*PICK[:2], ("base_falls", 3.5)), "rest approach grasp fall", ("failure", "fall")),
    ],
)  # fmt: skip
def test_signals_tell_how_an_attempt_ended(
    said: Sequence[tuple[str, float]], labels: str, wanted: tuple[str, str | None]
) -> None:
    need = READY.requirement("pick_place")
    assert need is not None
    assert (
        ending(recorded(), events(*said), labels.split(), need.order, may_lack=need.may_lack)
        == wanted
    )


def test_a_grasp_is_missed_only_where_one_would_have_been_felt() -> None:
    need = READY.requirement("pick_place")
    assert need is not None
    said, labels = events(*PICK[:1], *PICK[4:]), ["rest", "approach", "rest"]
    pads = recorded(signal("right_tactile", np.zeros((1000, 4))))
    assert ending(pads, said, labels, need.order, may_lack=need.may_lack) == (
        "failure",
        "missed_grasp",
    )
    assert ending(recorded(), said, labels, need.order, may_lack=need.may_lack) == (None, None)


def test_a_hand_that_only_closed_proves_neither_success_nor_failure() -> None:
    need = READY.requirement("pick_place")
    assert need is not None
    said = (("motion_begins", 1.0), ("hand_holds", 3.0), ("hand_lifts", 4.0),
            ("hand_releases", 6.0), ("motion_ends", 8.0))  # fmt: skip
    labels = ["rest", "approach", "grasp", "lift", "retract", "rest"]
    assert ending(recorded(), events(*said), labels, need.order, may_lack=need.may_lack) == (
        None,
        None,
    )


@pytest.mark.parametrize(("opens", "mode"), [(True, "drop"), (False, "slip")])
def test_what_is_let_go_of_in_the_air_was_dropped_or_slipped(opens: bool, mode: str) -> None:
    need = READY.requirement("pick_place")
    assert need is not None
    height = np.interp(np.arange(0, 10, 0.01), (3.5, 5.0), (0.0, 0.2))
    pose = signal("object_pose", np.stack([0 * height, 0 * height, height], axis=1))
    said = (*PICK, *((("gripper_opens", 6.95),) if opens else ()))
    labels = ("rest", "approach", "grasp", "lift", "retract", "rest")
    assert ending(recorded(pose), events(*said), labels, need.order, may_lack=need.may_lack) == (
        "failure",
        mode,
    )


def test_nothing_is_said_of_an_episode_in_which_nothing_is_seen() -> None:
    assert propose(recorded(), READY, task="pick_place") is None


def test_an_instruction_in_words_is_the_task_that_its_longest_phrase_names() -> None:
    for text, task in (
        ("Pick up the yellow bottle on the table.", "pick_place"),
        ("put carrot on plate", "pick_place"),
        ("give it from the left hand to the right hand", "handover"),
        ("Carry the box to the shelf", "walk_carry"),
        ("turn lever vertical to front", "*"),
        ("the takeover of the placement", "*"),
    ):
        need = READY.requirement(text)
        assert need is not None
        assert need.task == task, text


@pytest.mark.parametrize(
    "stamps",
    [np.arange(300)[::-1] * SECOND // 30, np.full(300, 5), np.array([7]), np.arange(300) % 50],
    ids=["backwards", "standing", "one", "again and again"],
)
def test_a_camera_with_a_bad_clock_makes_no_phases_overlap(stamps: np.ndarray) -> None:
    camera, rest = head_camera(), picking()
    odd = ArraySignal(camera.spec, stamps.astype(np.int64), camera.values[: len(stamps)])
    found = propose(replace(rest, signals={**rest.signals, camera.spec.path: odd}), READY,
                    task="pick_place")  # fmt: skip
    assert found is not None
    phases = found.in_lane("phase")
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(phases))
    assert all(each.start_ns < each.end_ns for each in phases)


def test_a_robot_that_only_stands_shows_no_event_and_nothing_is_proposed() -> None:
    still = np.tile([0.0, 0.0, 0.75, 1.0, 0.0, 0.0, 0.0], (1000, 1))
    noise = np.random.default_rng(3).normal(0.0, 1e-5, (1000, 2))
    standing = recorded(signal("base_pose", still), signal("joint_position", noise))
    assert propose(standing, READY, task="stand") is None
    # The same eyes do see a base that goes down.
    still[600:, 2] -= np.minimum(np.arange(400) * 0.02, 0.5)
    falling = recorded(signal("base_pose", still), signal("joint_position", noise))
    assert "fall" in phase_labels(propose(falling, READY, task="stand"))
