"""An episode whose pictures are unlike the others throughout is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.quality.scene import CAMERA, subject, within

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.checks.pictures_unusual import CHECK
from corporeal.quality.evidence.pictures import median_view, picture_measures, pictures_of
from corporeal.quality.evidence.repeats import repeat_measures


def episode(number: int, spoil=None) -> Synopsis:  # type: ignore[no-untyped-def]
    change = None if spoil is None else within(0, 20, spoil)
    one = subject(20, seed=0, change=change)
    return Synopsis(
        number, f"e{number}", Path("set"), "reach", {}, 1.0, 20, b"", None, {},
        views={CAMERA: median_view(pictures_of(one, CAMERA))}, measures=picture_measures(one),
    )  # fmt: skip


EPISODES = tuple(episode(number) for number in range(5))


def half(picture: np.ndarray) -> np.ndarray:
    covered = picture.copy()
    covered[:, : picture.shape[1] // 2] = (38, 24, 20)
    return covered


def test_episodes_alike_pass() -> None:
    assert list(CHECK.find(Batch(EPISODES))) == []


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda picture: (picture * 0.3).astype(np.uint8), "times as bright"),
        (lambda picture: picture[:, :, ::-1], "red and blue"),
        (half, "shows nothing in"),
    ],
)
def test_an_episode_unlike_the_others_is_found(spoil, what: str) -> None:  # type: ignore[no-untyped-def]
    batch = Batch((*EPISODES, episode(9, spoil)))
    findings = list(CHECK.find(batch))
    assert any(what in finding.message for finding in findings)
    assert all(finding.episodes == (9,) and finding.stream == CAMERA for finding in findings)


def test_a_blurred_episode_is_found() -> None:
    soft = replace(EPISODES[0], index=9, measures={f"picture/{CAMERA}/sharpness": 0.02})
    (finding,) = CHECK.find(Batch((*EPISODES, soft)))
    assert "as sharp" in finding.message
    assert finding.episodes == (9,)


def test_episodes_without_pictures_are_not_assessed() -> None:
    bare = tuple(replace(each, views={}) for each in EPISODES)
    with pytest.raises(NotAssessed, match="fewer than 4"):
        list(CHECK.find(Batch(bare)))


def test_a_camera_of_half_its_usual_rate_is_found() -> None:
    shares = f"picture/{CAMERA}/repeated"
    usual = tuple(replace(each, measures={shares: 0.02}) for each in EPISODES)
    slow = replace(EPISODES[0], index=9, measures={shares: 0.98})
    (finding,) = CHECK.find(Batch((*usual, slow)))
    assert "every picture twice" in finding.message
    assert finding.episodes == (9,)
    # Where most run so, that is the camera's rate; and where nobody knows, nothing is said.
    assert list(CHECK.find(Batch((*(replace(slow, index=n) for n in range(6)), usual[0])))) == []
    assert list(CHECK.find(Batch((*EPISODES, slow)))) == []
    # One that another camera of the same episode shows up is told by camera_frozen, once.
    views = {**slow.views, "other": slow.views[CAMERA]}
    shown_up = replace(slow, views=views, measures={**slow.measures, "picture/other/repeated": 0.0})
    assert list(CHECK.find(Batch((*usual, shown_up)))) == []


def test_whether_pictures_repeat_is_measured() -> None:
    def halve(shown: list) -> list:  # type: ignore[type-arg]
        return [shown[number // 2 * 2] for number in range(len(shown))]

    assert repeat_measures(subject(120))[f"picture/{CAMERA}/repeated"] < 0.1
    assert repeat_measures(subject(120, change=halve))[f"picture/{CAMERA}/repeated"] > 0.9
