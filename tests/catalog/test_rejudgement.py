"""A new check, policy or reference reaches what is in the catalogue, and nothing is lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import select
from tests.catalog.demonstration_files import write_demonstration, write_demonstrations
from tests.quality.scene import filmed, within

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    EpisodeMark,
    EpisodeRow,
    assessments_of,
    findings_of,
    mark_episodes,
    move_episodes,
    not_assessed_of,
    scores_of,
)
from corporeal.catalog.ingestion import Rejudgement, RejudgeOptions, ingest, rejudge
from corporeal.catalog.ingestion import rejudgement as rejudgement_module
from corporeal.catalog.query import every_episode
from corporeal.catalog.tables import SYNOPSIS
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.exchange.episode_file import write_recording
from corporeal.quality.policy import Policy
from corporeal.quality.synopsis import unpack_synopsis

STRICT = """
document: policy
name: strict
version: 1.0.0
needs:
  - {has: [joints], checks: [torque_mismatch]}
"""
SEEING = """
document: policy
name: seeing
version: 1.0.0
checks:
  picture_black: {severity: quarantine}
needs:
  - {has: [cameras], checks: [video_damaged]}
"""
take = partial(ingest, who="anna", on="serial")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demonstrations(tmp_path_factory.mktemp("rejudge") / "eps", range(9))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with make_workspace(tmp_path / "workspace") as made:
        yield made


def _again(workspace: Workspace, **options: Any) -> Rejudgement:
    return rejudge(workspace, None, RejudgeOptions(on="serial", **options), who="lena")


def _rows(workspace: Workspace) -> list[EpisodeRow]:
    with workspace.database.read() as connection:
        return list(every_episode(connection))


def test_a_stricter_policy_reaches_what_is_there_and_the_verdict_before_is_kept(
    workspace: Workspace, recordings: Path
) -> None:
    take(workspace, [recordings / "d00.h5", recordings / "d01.h5"])
    assert {row.state for row in _rows(workspace)} == {"accepted"}
    tried = _again(workspace, policy=Policy.parse(STRICT), dry_run=True)
    assert len(tried.having("changed")) == 2
    assert {row.state for row in _rows(workspace)} == {"accepted"}
    done = _again(workspace, policy=Policy.parse(STRICT))
    assert len(done.having("changed")) == 2
    rows = _rows(workspace)
    assert {(row.state, row.verdict, row.policy) for row in rows} == {
        ("quarantined", "quarantined", "strict@1.0.0")
    }
    with workspace.database.read() as connection:
        history = assessments_of(connection, rows[0].id)
        told = [each["what"] for each in events_of(connection, f"episode:{rows[0].id}")]
        assert list(verify(connection)) == []
    assert [(each.verdict, each.policy) for each in history] == [
        ("accepted", "default@1.1.0"),
        ("quarantined", "strict@1.0.0"),
    ]
    assert "could not be judged: torque_mismatch" in str(history[1].reason)
    assert told[-2:] == ["rejudge", "state"]


def test_what_is_up_to_date_is_passed_over_and_an_interrupted_run_goes_on(
    workspace: Workspace, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(workspace, [recordings / f"d0{number}.h5" for number in range(3)])
    assert _again(workspace).current == 3
    monkeypatch.setattr(rejudgement_module, "GROUP", 1)
    groups = []

    def stop_at_the_second(*given: Any, **named: Any) -> Any:
        groups.append(1)
        if len(groups) == 2:
            raise KeyboardInterrupt
        return record(*given, **named)

    record = rejudgement_module._record
    monkeypatch.setattr(rejudgement_module, "_record", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        _again(workspace, policy=Policy.parse(STRICT))
    done = _again(workspace, policy=Policy.parse(STRICT))
    assert (len(done.having("changed")), done.current) == (2, 1)
    assert _again(workspace).current == 3, "each stays under the policy it was judged by"


def test_what_a_person_decided_stays_and_a_release_keeps_its_episodes(
    workspace: Workspace, recordings: Path
) -> None:
    take(workspace, [recordings / f"d0{number}.h5" for number in range(3)])
    first, second, third = (row.id for row in _rows(workspace))
    with workspace.database.write() as connection:
        move_episodes(connection, [first], "failed", who="lena", why="the cup broke")
        move_episodes(connection, [second], "released", who="lena", why="release")
    done = _again(workspace, policy=Policy.parse(STRICT))
    assert {each.id for each in done.having("kept")} == {first, second}
    states = {row.id: (row.state, row.verdict) for row in _rows(workspace)}
    assert states == {
        first: ("failed", "quarantined"),
        second: ("released", "quarantined"),
        third: ("quarantined", "quarantined"),
    }


def test_a_verdict_of_a_person_survives_even_where_the_checks_agreed_with_it_before(
    workspace: Workspace, recordings: Path
) -> None:
    take(workspace, [recordings / "d00.h5"])
    (row,) = _rows(workspace)
    with workspace.database.write() as connection:
        mark_episodes(connection, [row.id], EpisodeMark("accepted", "I saw it"), who="lena")
    (kept,) = _again(workspace, policy=Policy.parse(STRICT)).having("kept")
    assert kept.reason is not None
    assert kept.reason.startswith("stays accepted, since lena decided accepted (I saw it); ")
    (row,) = _rows(workspace)
    assert (row.state, row.verdict, row.policy) == ("accepted", "accepted", "strict@1.0.0")
    with workspace.database.read() as connection:
        assert assessments_of(connection, row.id)[-1].verdict == "quarantined"


def test_an_episode_whose_object_is_gone_is_named_and_stays_as_it_was(
    workspace: Workspace, recordings: Path
) -> None:
    take(workspace, [recordings / "d00.h5"])
    (row,) = _rows(workspace)
    workspace.store.erase(row.hash)
    (lost,) = _again(workspace, policy=Policy.parse(STRICT)).having("lost")
    assert lost.id == row.id
    assert _rows(workspace) == [row]


def test_a_version_with_other_content_is_refused(workspace: Workspace, recordings: Path) -> None:
    take(workspace, [recordings / "d00.h5"], policy=Policy.parse(STRICT))
    other = Policy.parse(STRICT.replace("torque_mismatch", "robot_fell"))
    with pytest.raises(CatalogError, match="raise the version"):
        _again(workspace, policy=other)


@pytest.mark.slow
def test_a_score_depends_on_the_episode_and_the_reference_alone(
    recordings: Path, tmp_path: Path
) -> None:
    files = sorted(recordings.iterdir())
    orders = {"one": [files], "two": [files[6:], files[:2], files[2:6]]}
    scores: dict[str, dict[str, float | None]] = {}
    for name, calls in orders.items():
        with make_workspace(tmp_path / name) as workspace:
            for call in calls:
                take(workspace, call)
            alone = {row.id: row.score for row in _rows(workspace)}
            done = _again(workspace)
            assert done.references == ("pick_place/g1@1",)
            assert len(done.episodes) == len(files)
            scores[name] = {row.id: row.score for row in _rows(workspace)}
            assert scores[name] != alone
            with workspace.database.read() as connection:
                parts = {part.part for part in scores_of(connection, min(alone))}
            assert {"completion_time", "action_consistency"} <= parts
            assert _again(workspace).current == len(files)
    assert scores["one"] == scores["two"]


def test_a_copy_of_an_episode_of_an_earlier_ingest_is_found(
    workspace: Workspace, recordings: Path, tmp_path: Path
) -> None:
    take(workspace, [recordings / "d00.h5"])
    copied = write_demonstration(tmp_path / "copied.h5", 0, number=7)
    (outcome,) = take(workspace, [copied]).outcomes
    assert outcome.state == "quarantined"
    assert outcome.reason is not None
    assert "exact cop" in outcome.reason
    assert "of the catalogue" in outcome.reason
    with workspace.database.read() as connection:
        (found,) = [each for each in findings_of(connection, str(outcome.id))
                    if each.check == "episode_duplicated"]  # fmt: skip
    assert "copied.h5" in found.message
    # The original is no copy, also when it is judged anew beside the stored one.
    done = rejudge(workspace, "file = d00.h5", RejudgeOptions(again=True, on="serial"), who="lena")
    assert [each.verdict for each in done.episodes] == ["accepted"]
    done = rejudge(workspace, "file = copied.h5", RejudgeOptions(again=True, on="serial"),
                   who="lena")  # fmt: skip
    assert [each.verdict for each in done.episodes] == ["quarantined"]


def test_the_first_that_came_in_is_the_original_whatever_its_id(
    workspace: Workspace, recordings: Path, tmp_path: Path
) -> None:
    take(workspace, [write_demonstration(tmp_path / "first.h5", 0, number=7)])
    (late,) = take(workspace, [recordings / "d00.h5"]).outcomes
    assert late.state == "quarantined"
    done = rejudge(workspace, None, RejudgeOptions(again=True, on="serial"), who="lena")
    assert {each.file: each.verdict for each in done.episodes} == {
        "first.h5": "accepted", "d00.h5": "quarantined",
    }  # fmt: skip


def test_judged_anew_without_pictures_what_was_said_of_them_stays(
    workspace: Workspace, tmp_path: Path
) -> None:
    scene = filmed(60, change=within(20, 21, np.zeros_like))
    write_recording(replace(scene, id=str(UUID(int=1))), tmp_path / "black.h5")
    take(workspace, [tmp_path / "black.h5"], policy=Policy.parse(SEEING))
    before, views = _said(workspace), _views(workspace)
    assert before == {"black.h5": ("quarantined", {"picture_black"}, before["black.h5"][2])}
    assert views
    assert len(_again(workspace, pictures=False).having("same")) == 1
    assert (_said(workspace), _views(workspace)) == (before, views)
    assert _again(workspace, pictures=False).current == 1
    unlike = SEEING.replace("seeing", "unlike").replace("quarantine", "note")
    _again(workspace, pictures=False, policy=Policy.parse(unlike))
    assert _said(workspace)["black.h5"][:2] == ("accepted", {"picture_black"})


def test_pictures_that_nobody_has_looked_at_stay_unseen(
    workspace: Workspace, tmp_path: Path
) -> None:
    write_recording(replace(filmed(60), id=str(UUID(int=1))), tmp_path / "a.h5")
    take(workspace, [tmp_path / "a.h5"], pictures=False, policy=Policy.parse(SEEING))
    for again in (False, True):
        assert "judgement_incomplete" in _said(workspace)["a.h5"][1], again
        _again(workspace, pictures=False, again=True)


def _said(workspace: Workspace) -> dict[str, tuple[str | None, set[str], set[str]]]:
    """Verdict, checks that found something, and those that could not judge, by file."""
    rows = _rows(workspace)
    with workspace.database.read() as connection:
        missing = not_assessed_of(connection, [row.id for row in rows])
        return {
            row.file: (
                row.verdict,
                {finding.check for finding in findings_of(connection, row.id)},
                {each.check for each in missing[row.id]},
            )
            for row in rows
        }


def _views(workspace: Workspace) -> dict[str, tuple[set[str], set[str]]]:
    """The cameras and the measures that the synopses have, by episode."""
    with workspace.database.read() as connection:
        packed = connection.execute(select(SYNOPSIS.c.episode, SYNOPSIS.c.content)).all()
    brief = {name: unpack_synopsis(content, {}, index=0) for name, content in packed}
    return {name: (set(each.views), set(each.measures)) for name, each in brief.items()}
