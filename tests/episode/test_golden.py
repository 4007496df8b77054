"""Files of every released format version are read for ever: never change one, add the next.

`tests/golden/episode_v1.h5` was written by version 0.1.0 of Corporeal, `episode_v2.h5` by the first
that rounds depth; the numbers below were computed from the samples that went in.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.episode import Episode
from corporeal.episode.overview import verify

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "episode_v1.h5"


def test_version_1_is_whole() -> None:
    assert verify(GOLDEN) == ()


def test_version_1_says_what_it_is() -> None:
    with Episode.open(GOLDEN) as episode:
        assert episode.version == 1
        assert episode.id == "01a1dea8-7152-7111-9d01-5fb15b2a8a74"
        assert episode.epoch_ns == 1_794_736_943_442_875_644
        assert episode.robot == "two_joints"
        assert episode.metadata == {"task": "wave", "operator": "op07"}
        assert episode.missing_metadata == ("station",)
        assert episode.missing_streams == ("observations/never",)
        assert episode.embodiment.joint_names == ("hip", "knee")
        assert episode.schema.reference == "golden@1.0.0"


def test_version_1_gives_every_kind_of_sample_back() -> None:
    with Episode.open(GOLDEN) as episode:
        position = episode["observations/position"]
        np.testing.assert_array_equal(position.time_ns, np.arange(20) * 10_000_000 - 50_000_000)
        np.testing.assert_array_equal(position[:], np.arange(40, dtype=np.float32).reshape(20, 2))
        assert position.spec.components == ("hip", "knee")
        depth = episode["observations/depth"][:]
        assert depth.shape == (5, 6, 8)
        expected = (1000 + 7 * np.arange(48)).reshape(6, 8)
        expected[2, 3] = 0
        for number in range(5):
            np.testing.assert_array_equal(depth[number], np.where(expected, expected + number, 0))
        clouds = episode["observations/points"][:]
        assert [len(cloud) for cloud in clouds] == [0, 3, 1]
        np.testing.assert_array_equal(clouds[1], np.arange(9, dtype=np.float32).reshape(3, 3))
        assert episode["observations/words"][:] == ["wave", "", "grüße 👋"]


def test_version_1_shows_its_pictures() -> None:
    with Episode.open(GOLDEN) as episode:
        pictures = episode["observations/camera"][[3, 0]]
    assert pictures.shape == (2, 32, 48, 3)
    # Four flat quarters; H.264 keeps them within a few grey levels.
    assert pictures[1][8, 12].tolist() == pytest.approx([200, 40, 40], abs=6)
    assert pictures[1][24, 36].tolist() == pytest.approx([40, 40, 200], abs=6)
    assert pictures[0][8, 12].tolist() == pytest.approx([200, 130, 40], abs=6)


def test_version_2_rounds_depth_within_the_error_that_it_states() -> None:
    path = GOLDEN.with_name("episode_v2.h5")
    assert verify(path) == ()
    measured = (600 + 97 * np.arange(48)).reshape(6, 8)
    measured[2, 3], measured[5, 7] = 0, 65535
    with Episode.open(path) as episode:
        assert episode.version == 2
        shown, exact = episode["observations/depth"][:], episode["observations/exact"][:]
        np.testing.assert_array_equal(episode["observations/position"][-1], [6, 7])
    for number in range(3):
        frame = np.where((measured > 0) & (measured < 65535), measured + number, measured)
        np.testing.assert_array_equal(exact[number], frame)
        error = np.abs(shown[number].astype(int) - frame)
        assert (error <= 1.5 + 4e-6 * frame.astype(float) ** 2).all()
        assert shown[number][2, 3] == 0
    # The very numbers that were stored, so that no later reader gives others.
    assert shown[0][0].tolist() == [598, 697, 797, 887, 987, 1090, 1183, 1273]
