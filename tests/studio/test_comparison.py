"""Two episodes are aligned by time, phase or motion, and their differences told."""

from __future__ import annotations

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace

from corporeal.studio.divergence import Course
from corporeal.studio.routes.comparison import (
    NoAlignmentError,
    by_motion,
    by_phase,
    shifted,
)

SECOND = 1_000_000_000


def test_a_shift_keeps_both_clocks_alike() -> None:
    way = shifted(100, 400)
    assert [way.at(time) for time in (0, 100, 5000)] == [300, 400, 5300]


def test_phases_are_straight_between_labels_that_both_have() -> None:
    a = {"outcome": [("start", 0), ("grasp", 100), ("lift", 150), ("end", 300)]}
    b = {"outcome": [("start", 0), ("grasp", 400), ("end", 500)]}
    way = by_phase(a, b)
    assert [way.at(time) for time in (0, 50, 100, 200, 300, 310)] == [0, 200, 400, 450, 500, 510]


def test_the_second_of_a_label_belongs_to_the_second() -> None:
    a = {"e": [("contact", 10), ("contact", 20), ("end", 30)]}
    b = {"e": [("contact", 100), ("contact", 300), ("end", 400)]}
    assert by_phase(a, b).at(20) == 300


def test_what_was_done_in_another_order_drops_out() -> None:
    a = {"e": [("one", 0), ("two", 10), ("three", 20), ("four", 30)]}
    b = {"e": [("one", 0), ("three", 10), ("two", 20), ("four", 30)]}
    way = by_phase(a, b)
    assert (np.diff(way.time_a) > 0).all()
    assert (np.diff(way.time_b) > 0).all()
    assert way.at(30) == 30


def test_without_shared_labels_there_are_no_phases() -> None:
    with pytest.raises(NoAlignmentError, match="no two labels"):
        by_phase({"e": [("one", 0)]}, {"e": [("one", 0), ("two", 1)]})


def _wave(seconds: float, *, wait_s: float, rate: int = 50) -> Course:
    """A joint that rests, then swings once, then rests."""
    time = np.arange(0, seconds, 1 / rate)
    swing = np.sin(np.clip((time - wait_s) * np.pi / 2, 0, 2 * np.pi))
    positions = np.stack([swing, np.zeros_like(time)], axis=1)
    return Course((time * SECOND).astype(np.int64), positions, ("elbow", "still"))


def test_motion_finds_the_same_swing_wherever_it_is() -> None:
    way = by_motion(_wave(8, wait_s=1), _wave(8, wait_s=2.5))
    # The top of the swing is one second after its beginning.
    assert way.at(2 * SECOND) / SECOND == pytest.approx(3.5, abs=0.1)
    assert (np.diff(way.time_a) > 0).all()
    assert (np.diff(way.time_b) >= 0).all()
    assert len(way.time_a) <= 400


def test_what_does_not_move_is_not_aligned() -> None:
    still = Course(np.arange(10) * SECOND, np.zeros((10, 1)), ("elbow",))
    with pytest.raises(NoAlignmentError, match="nothing moves"):
        by_motion(still, still)
    other = Course(still.time_ns, still.positions, ("knee",))
    with pytest.raises(NoAlignmentError, match="no joint in common"):
        by_motion(still, other)


@pytest.mark.parametrize("align", ["time", "start", "phase", "motion"])
def test_two_episodes_are_compared(
    client: TestClient, small_workspace: SmallWorkspace, align: str
) -> None:
    a, b = small_workspace.episodes[:2]
    said = client.get("/api/comparison", params={"a": a, "b": b, "align": align}).json()
    assert said["align"] == align
    assert all(way["possible"] for way in said["ways"])
    assert len(said["time_a"]) == len(said["time_b"]) >= 1
    facts = {each["name"]: each for each in said["facts"]}
    assert (facts["success"]["a"], facts["success"]["b"]) == (True, False)
    assert facts["task"]["same"]
    checks = {each["check"]: each for each in said["findings"]}
    assert (checks["task_failed"]["a"], checks["task_failed"]["b"]) == (0, 1)


def test_malformed_comparisons_are_refused_in_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    a = small_workspace.episodes[0]
    for params in ({"a": a}, {"a": a, "b": "nothing"}, {"a": a, "b": "x" * 500},
                   {"a": a, "b": a, "align": "magic"}):  # fmt: skip
        answer = client.get("/api/comparison", params=params)
        assert 400 <= answer.status_code < 500
        assert answer.json()["error"]


def test_others_of_the_task_are_offered_and_found_by_name(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    a, *others = small_workspace.episodes
    offered = client.get(f"/api/episodes/{a}/peers").json()
    assert [each["id"] for each in offered] == others
    named = client.get(f"/api/episodes/{a}/peers", params={"q": "op1"}).json()
    assert [each["operator"] for each in named] == ["op1"]
    assert client.get(f"/api/episodes/{a}/peers", params={"q": "%"}).json() == []
