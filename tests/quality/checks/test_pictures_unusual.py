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
