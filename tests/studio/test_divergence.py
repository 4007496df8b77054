"""The first difference of two motions: neither noise nor clocks count as one, a push does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from tests.studio.test_robot import joints, take_in

from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.geometry import Array
from corporeal.studio.divergence import Course, find_divergence

NAMES = ("hip", "knee", "elbow")


def course(*, seed: int, noise: float, late_s: float = 0.0, bump_s: float | None = None) -> Course:
    """Four seconds of three joints at 100 Hz; with a bump the knee leaves its way there."""
    time_s = np.arange(400) / 100
    when = time_s[:, None] - late_s
    rates = np.array([1.0, 2.0, 3.0])
    values: Array = np.sin(when * rates) + np.array([0.0, 0.05, 0.0]) * seed
    values += np.random.default_rng(seed).normal(0, noise, values.shape)
    if bump_s is not None:
        values[:, 1] += np.clip(time_s - bump_s, 0, None) * 0.5
    return Course((time_s * 1e9).astype(np.int64), values, NAMES)


def same(time_ns: int) -> int:
    return time_ns


def test_noise_and_an_offset_at_the_start_and_half_a_sample_are_no_difference() -> None:
    found = find_divergence(
        course(seed=0, noise=0.003), course(seed=1, noise=0.003, late_s=0.005), same
    )
    assert found is not None
    assert found.first is None, found
    assert found.joints == 3
    assert 0.03 < found.start < 0.07
    assert found.start_joint == "knee"


def test_a_bump_is_found_soon_after_it_begins_on_its_joint_and_noise_makes_it_later() -> None:
    moments = []
    for noise in (0.0005, 0.01):
        found = find_divergence(
            course(seed=0, noise=noise), course(seed=1, noise=noise, bump_s=2.0), same
        )
        assert found is not None
        assert found.first is not None
        assert found.first.joint == "knee"
        assert found.first.difference > found.first.limit
        assert np.isclose(found.first.noise, np.sqrt(2) * noise, rtol=0.3)
        moments.append(found.first.time_a_ns / 1e9)
    assert 2.0 < moments[0] < 2.2
    assert moments[0] < moments[1] < 2.6


def test_one_wild_sample_is_no_difference_and_no_overlap_is_nothing() -> None:
    quiet, other = course(seed=0, noise=0.001), course(seed=0, noise=0.001)
    other.positions[200, 0] += 1.0
    found = find_divergence(quiet, other, same)
    assert found is not None
    assert found.first is None
    assert find_divergence(quiet, other, lambda time: time + 10**11) is None


def _taken(workspace: Workspace, folder: Path, values: NDArray[np.float32]) -> str:
    folder.mkdir()
    robot = open_robot("g1")
    stream = joints("joint_position", "observations", robot.joint_names)
    return take_in(workspace, folder, {stream: values}, robot)


def test_studio_says_the_moment_the_joint_and_the_numbers(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    count = len(open_robot("g1").joint_names)
    still = np.zeros((300, count), "f4")
    moved = still.copy()
    moved[150:, 3] = 0.2
    a, b = _taken(workspace, tmp_path / "a", still), _taken(workspace, tmp_path / "b", moved)
    said = client.get("/api/comparison/first-difference", params={"a": a, "b": b}).json()
    assert said["time_a_ns"] == 1_500_000_000
    assert said["joint"] == open_robot("g1").joint_names[3]
    assert "first differ at 1.500 s of A: left knee by 0.2 rad" in said["sentence"]
    alike = client.get("/api/comparison/first-difference", params={"a": a, "b": a}).json()
    assert alike["time_a_ns"] is None
    assert "never differ by more than noise" in alike["sentence"]
    unknown = client.get(
        "/api/comparison/first-difference", params={"a": a, "b": b, "align": "phase"}
    ).json()
    assert unknown["time_a_ns"] is None
    assert "no two labels in common" in unknown["sentence"]
