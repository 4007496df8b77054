"""Exchanged, turned and moved cameras are found against the other episodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.checks.camera_misplaced import CHECK

LEFT, RIGHT, SIDE = "observations/head_left", "observations/head_right", "debug/side"


def scene(seed: int) -> np.ndarray:
    dice = np.random.default_rng(seed)
    rough = gaussian_filter(dice.normal(0, 1, (60, 120)), 1.5)
    return np.asarray(np.clip(128 + 120 * rough / np.abs(rough).max() * 2, 0, 255))


def episode(number: int) -> Synopsis:
    dice = np.random.default_rng(100 + number)
    light = dice.uniform(0.7, 1.0)

    def seen(view: np.ndarray) -> np.ndarray:
        return np.clip(light * view + dice.normal(0, 2, view.shape), 0, 255).astype(np.uint8)

    table, room = scene(0), scene(1)
    views = {LEFT: seen(table[:, 10:90]), RIGHT: seen(table[:, 14:94]), SIDE: seen(room[:, :80])}
    return Synopsis(
        number, f"e{number}", Path("set"), "reach", {}, 5.0, 150, b"", None, {}, views=views
    )


EPISODES = tuple(episode(number) for number in range(6))


def spoilt(**views: np.ndarray) -> Batch:
    names = {"left": LEFT, "right": RIGHT, "side": SIDE}
    changed = {names[name]: view for name, view in views.items()}
    fourth = replace(EPISODES[4], views={**EPISODES[4].views, **changed})
    return Batch((*EPISODES[:4], fourth, EPISODES[5]))


def test_cameras_that_show_the_same_in_all_episodes_pass() -> None:
    assert list(CHECK.find(Batch(EPISODES))) == []


@pytest.mark.parametrize(("one", "two"), [("left", "side"), ("left", "right")])
def test_exchanged_cameras_are_found(one: str, two: str) -> None:
    names = {"left": LEFT, "right": RIGHT, "side": SIDE}
    views = EPISODES[4].views
    batch = spoilt(**{one: views[names[two]], two: views[names[one]]})
    findings = list(CHECK.find(batch))
    assert {finding.stream for finding in findings} == {names[one], names[two]}
    assert all(finding.episodes == (4,) for finding in findings)
    assert all("exchanged" in finding.message for finding in findings)


@pytest.mark.parametrize(
    ("turn", "what"),
    [
        (lambda view: view[::-1, ::-1], "upside down"),
        (lambda view: np.roll(view, 4, axis=1), "shifted by 5.0 %"),
        (lambda _: scene(5)[:, :80].astype(np.uint8), "another view"),
    ],
)
def test_a_moved_camera_is_found(turn, what: str) -> None:  # type: ignore[no-untyped-def]
    (finding,) = CHECK.find(spoilt(side=turn(EPISODES[4].views[SIDE])))
    assert finding.stream == SIDE
    assert finding.episodes == (4,)
    assert what in finding.message


def test_scenes_that_all_differ_are_no_reason_to_complain() -> None:
    views = [{SIDE: scene(10 + number)[:, :80].astype(np.uint8)} for number in range(6)]
    batch = Batch(
        tuple(replace(each, views=view) for each, view in zip(EPISODES, views, strict=True))
    )
    assert list(CHECK.find(batch)) == []


def test_three_episodes_are_too_few() -> None:
    with pytest.raises(NotAssessed, match="fewer than 4"):
        list(CHECK.find(Batch(EPISODES[:3])))
