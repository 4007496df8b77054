"""Clips that are broken, odd or hostile: one clear sentence or a flagged result, never silence."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.clips import spot, walk, write_clip

from corporeal.embodiment import open_robot
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.retargeting.job.clip_files import ClipOutcome
from corporeal.retargeting.job.clip_job import ClipJob, run_job
from corporeal.retargeting.motion import POINTS, MotionError
from corporeal.retargeting.reader import ClipHints


@pytest.fixture
def bvh(shared_data: Path) -> str:
    """The text of a real BVH of 75 frames."""
    return (shared_data / "mocap" / "bvh_pybvh" / "bvh_test1.bvh").read_text()


def tried(clip: Path, hints: ClipHints | None = None) -> ClipOutcome:
    job = ClipJob(clip, clip.with_suffix(".h5"), open_robot("g1"), hints=hints or ClipHints())
    return run_job(job)


def made(tmp_path: Path, points: Array, hints: ClipHints | None = None) -> ClipOutcome:
    return tried(write_clip(tmp_path / "clip.json", points), hints)


def complaint(clip: Path, hints: ClipHints | None = None) -> str:
    """The one sentence, with nothing left behind."""
    with pytest.raises(MotionError) as caught:
        tried(clip, hints)
    assert [each.name for each in clip.parent.iterdir()] == [clip.name]
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(str(clip))
    return sentence


def noted(outcome: ClipOutcome, words: str) -> bool:
    return any(words in note for note in outcome.notes)


def test_missing_markers_are_named(tmp_path: Path) -> None:
    gone = ("left_elbow", "left_wrist", "left_hand")
    kept = [name for name in POINTS if name not in gone]
    points = np.delete(walk(), [spot(name) for name in gone], axis=1)
    clip = write_clip(tmp_path / "clip.json", points, kept)
    assert "never shows left_elbow, left_wrist" in complaint(clip)


def test_feet_and_hands_that_no_marker_shows_are_done_without(tmp_path: Path) -> None:
    kept = [name for name in POINTS if not name.endswith(("heel", "toe", "_hand"))]
    points = walk()[:, [spot(name) for name in kept]]
    outcome = tried(write_clip(tmp_path / "clip.json", points, kept))
    assert outcome.good
    assert not outcome.infeasible


def test_half_of_the_samples_missing_still_gives_the_walk_and_says_so(tmp_path: Path) -> None:
    points = walk(60)
    points[np.random.default_rng(0).random(points.shape[:2]) < 0.5] = np.nan
    outcome = made(tmp_path, points)
    assert outcome.good
    assert outcome.infeasible <= 3
    assert noted(outcome, "gaps filled, 4") or noted(outcome, "gaps filled, 5")


def test_a_mirrored_person_is_refused(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.json", walk() * [1.0, -1.0, 1.0])
    assert "left and right are mirrored" in complaint(clip)


def test_centimetres_said_to_be_metres_are_refused(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.json", walk() * 100)
    assert "with unit m the person is 175 m tall" in complaint(clip, ClipHints(unit="m"))


def test_axes_said_wrong_are_flagged_in_every_frame(tmp_path: Path) -> None:
    outcome = made(tmp_path, walk()[..., [1, 2, 0]], ClipHints(up="z"))
    assert outcome.infeasible == outcome.frames


def test_somebody_who_crawls_along_x_is_not_stood_on_end(tmp_path: Path) -> None:
    lying = matrix_from_rpy(np.array([0.0, np.pi / 2, 0.0]))
    points = walk(60)
    points = (points - points[:, :1]) @ lying.T + [0.0, 0.0, 0.4]
    points[..., 0] += np.linspace(0.0, 0.8, len(points))[:, None]
    clip = write_clip(tmp_path / "clip.json", points)
    assert "Give --up, such as z for somebody who lies" in complaint(clip)


def test_somebody_who_lies_still_along_x_is_told_of(tmp_path: Path) -> None:
    points = np.repeat(walk(2)[:1], 24, axis=0) @ matrix_from_rpy(np.array([0, -np.pi / 2, 0])).T
    assert noted(made(tmp_path, points), "x is seldom up: give --up")


def test_somebody_who_faces_backwards_is_followed_as_well_as_forwards(tmp_path: Path) -> None:
    ahead = made(tmp_path / "ahead", walk())
    turned = walk() @ matrix_from_rpy(np.array([0.0, 0.0, np.pi])).T
    back = made(tmp_path / "back", turned)
    assert back.good
    assert not back.infeasible
    assert ahead.metrics is not None
    assert back.metrics is not None
    off = [each["hand_error"]["mean_m"] for each in (ahead.metrics, back.metrics)]
    assert off[1] == pytest.approx(off[0], abs=1e-3)


def test_somebody_who_stands_still_gives_a_robot_that_does(tmp_path: Path) -> None:
    outcome = made(tmp_path, np.repeat(walk()[12:13], 24, axis=0))
    assert outcome.good
    assert not outcome.infeasible


def test_one_frame_is_no_motion(tmp_path: Path) -> None:
    assert "has 1 frame" in complaint(write_clip(tmp_path / "clip.json", walk(1)))


@pytest.mark.parametrize("frames", [2, 3, 4])
def test_very_few_frames_are_said_to_be_hardly_a_motion(frames: int, tmp_path: Path) -> None:
    outcome = made(tmp_path, walk(frames))
    assert outcome.frames == frames
    assert noted(outcome, "hardly a motion")


def test_all_points_in_one_spot_are_nobody(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.json", np.ones((24, len(POINTS), 3)))
    assert "the person is 0 units tall" in complaint(clip)


def test_points_that_are_never_known_are_nobody(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.json", np.full((24, len(POINTS), 3), np.nan))
    assert "no point is known in any frame" in complaint(clip)


def test_wild_numbers_are_thrown_out(tmp_path: Path) -> None:
    points = walk(60)
    wild = np.random.default_rng(0).random(points.shape) < 0.01
    outcome = made(tmp_path, np.where(wild, 1e30, points))
    assert outcome.good
    assert not outcome.infeasible


def test_somebody_who_is_suddenly_elsewhere_is_flagged(tmp_path: Path) -> None:
    points = walk(60)
    points[30:] += [5.0, 0.0, 0.0]
    assert made(tmp_path, points).infeasible > 0


@pytest.mark.parametrize("suffix", ["bvh", "amc", "c3d", "csv", "json", "npy", "npz"])
def test_an_empty_file_says_so(suffix: str, tmp_path: Path) -> None:
    clip = tmp_path / f"clip.{suffix}"
    clip.touch()
    assert "is empty" in complaint(clip)


@pytest.mark.parametrize("suffix", ["bvh", "amc", "c3d", "csv", "json", "npy", "npz"])
@pytest.mark.parametrize("content", [b"hello world\n" * 300, bytes(range(256)) * 20])
def test_garbage_is_not_known_here(suffix: str, content: bytes, tmp_path: Path) -> None:
    clip = tmp_path / f"clip.{suffix}"
    clip.write_bytes(content)
    assert "expected one of asf_amc, bvh, c3d" in complaint(clip)


def test_a_bvh_that_was_cut_off_gives_what_is_there_and_says_so(bvh: str, tmp_path: Path) -> None:
    clip = tmp_path / "clip.bvh"
    clip.write_text(bvh[: len(bvh) // 2])
    outcome = tried(clip)
    assert noted(outcome, f"cut off: {outcome.frames} of 75 declared frames are there")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Frames:", "Frames: 9999999", "expected at most"),
        ("Frame Time:", "Frame Time: 0 #", "frame time of 0"),
        ("MOTION", "NOTION", "has no line MOTION"),
    ],
)
def test_a_bvh_that_lies_about_itself_is_refused(
    old: str, new: str, words: str, bvh: str, tmp_path: Path
) -> None:
    clip = tmp_path / "clip.bvh"
    clip.write_text(bvh.replace(old, new))
    assert words in complaint(clip)


@pytest.mark.parametrize(("length", "words"), [(600, "parameters"), (600_000, "ends after")])
def test_a_c3d_that_was_cut_off_is_refused(
    length: int, words: str, shared_data: Path, tmp_path: Path
) -> None:
    clip = tmp_path / "clip.c3d"
    whole = shared_data / "mocap" / "c3d_ezc3d" / "Qualisys.c3d"
    clip.write_bytes(whole.read_bytes()[:length])
    assert words in complaint(clip)


def test_an_array_that_claims_to_be_huge_takes_no_memory(tmp_path: Path) -> None:
    clip = tmp_path / "clip.npy"
    with clip.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 24, 3)}
        )
    started = time.process_time()
    assert "576000000000000 bytes" in complaint(clip)
    assert time.process_time() - started < 2


def test_a_clip_of_many_hours_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.retargeting.job.clip_job.MAX_FRAMES", 20)
    clip = write_clip(tmp_path / "clip.json", walk())
    assert "24 frames; expected at most 20. Cut it into parts." in complaint(clip)
