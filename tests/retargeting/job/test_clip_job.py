"""A clip's job: written whole or not at all, kept when it is there, finished when it is not."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.retargeting.clips import walk, write_clip

from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.file.journal import JournalWriter, journal_path
from corporeal.errors import CorporealError, WriteError
from corporeal.retargeting.job.clip_files import check_target, find_clips, piece_path, write_whole
from corporeal.retargeting.job.clip_job import ClipJob, retarget, run_job
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.settings import RetargetSettings


@pytest.fixture
def job(tmp_path: Path) -> ClipJob:
    clip = write_clip(tmp_path / "clips" / "walk.json", walk())
    return ClipJob(clip, tmp_path / "out" / "walk.h5", open_robot("g1"))


@pytest.fixture
def jumpy(tmp_path: Path) -> ClipJob:
    """Somebody who is suddenly elsewhere, between two good parts."""
    points = walk(90)
    points[45:] += [5.0, 0.0, 0.0]
    clip = write_clip(tmp_path / "clips" / "jumpy.json", points)
    settings = RetargetSettings(policy="split", cutoff_hz=None)
    return ClipJob(clip, tmp_path / "out" / "jumpy.h5", open_robot("g1"), settings=settings)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def test_the_stages_are_told_in_their_order(job: ClipJob) -> None:
    told: list[str] = []
    run_job(job, lambda stage, _: told.append(stage))
    assert list(dict.fromkeys(told)) == [
        "reading", "following the person", "settling the feet", "easing the motors", "measuring",
        "writing",
    ]  # fmt: skip


def test_a_finished_clip_is_kept_and_told_as_before(job: ClipJob) -> None:
    first = run_job(job)
    made = job.episode.stat().st_mtime_ns
    again = run_job(job)
    assert again.was_there
    assert not first.was_there
    assert job.episode.stat().st_mtime_ns == made
    assert (again.frames, again.infeasible, again.notes) == (24, first.infeasible, first.notes)
    assert again.metrics == json.loads(json.dumps(first.metrics))


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": RetargetSettings(cutoff_hz=3.0)},
        {"facts": {"operator": "somebody else"}},
        {"robot": open_robot("h1")},
    ],
    ids=["settings", "facts", "robot"],
)
def test_an_episode_made_in_another_way_is_not_touched(
    job: ClipJob, changed: dict[str, Any]
) -> None:
    run_job(job)
    made = job.episode.read_bytes()
    with pytest.raises(WriteError, match="is not this clip with these settings"):
        run_job(replace(job, **changed))
    assert job.episode.read_bytes() == made


def test_any_other_file_in_the_place_is_not_touched(job: ClipJob) -> None:
    job.episode.parent.mkdir()
    job.episode.write_text("my notes")
    with pytest.raises(WriteError, match="Name another --out, or move it away"):
        run_job(job)
    assert job.episode.read_text() == "my notes"


def test_a_report_asked_for_later_is_made_beside_the_episode(job: ClipJob) -> None:
    run_job(job)
    later = replace(job, report=job.episode.with_suffix(".svg"))
    assert run_job(later).was_there
    drawn = job.episode.with_suffix(".svg").stat().st_mtime_ns
    run_job(later)
    assert job.episode.with_suffix(".svg").stat().st_mtime_ns == drawn


def test_a_full_disk_leaves_nothing(job: ClipJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(JournalWriter, "extend", full)
        with pytest.raises(WriteError, match=r"No space left on device\. Make room") as caught:
            run_job(job)
    assert "\n" not in str(caught.value)
    assert names(job.episode.parent) == []
    assert run_job(job).good


def test_what_a_killed_run_left_is_cleared_away(job: ClipJob) -> None:
    left = journal_path(job.episode)
    left.parent.mkdir(parents=True)
    JournalWriter(left, {"metadata": {"mode": RETARGETED_MOCAP}}, []).close()
    assert run_job(job).good
    assert names(job.episode.parent) == ["walk.h5"]


def test_what_a_killed_recording_left_stays(job: ClipJob) -> None:
    left = journal_path(job.episode)
    left.parent.mkdir(parents=True)
    JournalWriter(left, {"metadata": {"mode": "teleoperation"}}, []).close()
    with pytest.raises(WriteError, match="corporeal recover"):
        run_job(job)
    assert left.exists()


def test_pieces_are_numbered_and_a_lost_one_is_made_again(jumpy: ClipJob) -> None:
    first = run_job(jumpy)
    folder = jumpy.episode.parent
    assert names(folder) == ["jumpy_1.h5", "jumpy_2.h5"]
    with Episode.open(first.episodes[1]) as episode:
        settings = episode.metadata["retargeting"]["settings"]
    assert (settings["piece"], settings["pieces"]) == (2, 2)
    assert run_job(jumpy).was_there
    kept = first.episodes[0].stat().st_mtime_ns
    first.episodes[1].unlink()
    assert not run_job(jumpy).was_there
    assert names(folder) == ["jumpy_1.h5", "jumpy_2.h5"]
    assert first.episodes[0].stat().st_mtime_ns == kept


def test_a_refused_clip_gives_no_episode_and_is_not_good(jumpy: ClipJob) -> None:
    settings = replace(jumpy.settings, policy="reject")
    outcome = run_job(replace(jumpy, settings=settings))
    assert outcome.episodes == ()
    assert not outcome.good
    assert outcome.infeasible > 0
    assert names(jumpy.episode.parent) == []


def test_a_solve_that_breaks_down_is_one_sentence(
    job: ClipJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("corporeal.retargeting.job.clip_job.retarget_motion", breaks)
    with pytest.raises(MotionError, match=r"the solve broke down \(Singular matrix\)"):
        run_job(job)


def test_a_file_that_cannot_be_filled_does_not_appear(tmp_path: Path) -> None:
    def half(path: Path) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(WriteError, match="No space left on device"):
        write_whole(tmp_path / "page.png", half)
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="file is a file; expected a folder for the episode"):
        check_target(tmp_path / "file" / "deep" / "walk.h5", "the episode")
    with pytest.raises(WriteError, match="is a folder; expected the name of the episode"):
        check_target(tmp_path, "the episode")
    check_target(tmp_path / "new" / "deep" / "walk.h5", "the episode")


def test_a_read_only_folder_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WriteError, match=r"cannot be written to\. Name another place"):
        check_target(tmp_path / "walk.h5", "the episode")


def test_clips_in_a_folder_keep_its_layout_and_their_suffix_where_it_matters(
    tmp_path: Path,
) -> None:
    for name in ("a.json", "deep/b.json"):
        write_clip(tmp_path / name, walk(2))
    np.save(tmp_path / "a.npy", np.zeros((2, 24, 3)))
    (tmp_path / "notes.txt").write_text("no clip")
    found = {clip.path.name: str(clip.name) for clip in find_clips([tmp_path])}
    assert found == {"a.json": "a_json", "a.npy": "a_npy", "b.json": "deep/b"}
    assert [clip.path.name for clip in find_clips([tmp_path, tmp_path / "a.json"])] == [
        "a.json", "a.npy", "b.json"
    ]  # fmt: skip


def test_two_clips_that_would_be_one_episode_are_refused(tmp_path: Path) -> None:
    both = [write_clip(tmp_path / folder / "a.json", walk(2)) for folder in ("one", "two")]
    with pytest.raises(CorporealError, match="would both become a"):
        find_clips(both)


def test_one_piece_has_the_name_of_the_episode() -> None:
    assert piece_path(Path("walk.h5"), 1, 1) == Path("walk.h5")
    assert piece_path(Path("walk.h5"), 2, 3) == Path("walk_2.h5")


def test_one_call_gives_the_motion_and_the_episode_that_a_job_writes(job: ClipJob) -> None:
    run_job(job)
    with Episode.open(job.episode) as episode:
        written = episode["observations/joint_position"][:]
    result = retarget(job.clip, "g1", job.episode.with_name("called.h5"))
    np.testing.assert_array_equal(result.q.astype(np.float32), written)
    with Episode.open(job.episode.with_name("called.h5")) as episode:
        np.testing.assert_array_equal(episode["observations/joint_position"][:], written)


def test_one_call_writes_nothing_unless_asked_and_replaces_nothing(job: ClipJob) -> None:
    job.episode.parent.mkdir()
    settings = RetargetSettings(cutoff_hz=None, ease=False)
    assert len(retarget(job.clip, job.robot, settings=settings)) == 24
    assert names(job.episode.parent) == []
    job.episode.write_text("somebody's notes")
    with pytest.raises(WriteError, match="is there already"):
        retarget(job.clip, job.robot, job.episode, settings=settings)
    with pytest.raises(MotionError, match="no such file"):
        retarget(job.clip.with_name("absent.bvh"), "g1")
