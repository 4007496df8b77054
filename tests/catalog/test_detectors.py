"""What is usual is learnt in a workspace, and what comes in afterwards is held against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.catalog.demonstration_files import write_demonstration, write_demonstrations

from corporeal.catalog.audit import events_of
from corporeal.catalog.episodes import (
    assessments_of,
    documents_of,
    findings_of,
    move_episodes,
    not_assessed_of,
)
from corporeal.catalog.ingestion import (
    LearnOptions,
    LearntTask,
    RejudgeOptions,
    count_unlearnt,
    ingest,
    learn_detectors,
    rejudge,
)
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import Workspace, make_workspace

pytestmark = pytest.mark.slow
CHECK = "segment_unusual"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demonstrations(tmp_path_factory.mktemp("learn") / "eps", range(6))


@pytest.fixture
def workspace(tmp_path: Path, recordings: Path) -> Iterator[Workspace]:
    with make_workspace(tmp_path / "workspace") as made:
        ingest(made, [recordings], who="anna", on="serial")
        yield made


def _learn(workspace: Workspace) -> list[LearntTask]:
    return learn_detectors(workspace, None, LearnOptions(on="serial"), who="lena")


def _good(workspace: Workspace) -> int:
    with workspace.database.read() as connection:
        return len(list(every_episode(connection, "state = accepted")))


def _silent(workspace: Workspace) -> int:
    """How many episodes nothing was said of by the check."""
    with workspace.database.read() as connection:
        rows = list(every_episode(connection))
        missing = not_assessed_of(connection, [row.id for row in rows])
    return sum(CHECK in [each.check for each in told] for told in missing.values())


def test_a_detector_is_learnt_once_and_reaches_what_is_there(workspace: Workspace) -> None:
    with workspace.database.read() as connection:
        ((task, robot, count),) = count_unlearnt(connection)
    assert count == _good(workspace) >= 5
    assert _silent(workspace) == 6
    (learnt,) = _learn(workspace)
    assert (learnt.status, learnt.episodes, learnt.alarms) == ("learnt", count, 0)
    assert learnt.detector == f"{task}/{robot}@1"
    assert "joint_speed" in learnt.sees
    assert [each.status for each in _learn(workspace)] == ["current"]
    done = rejudge(workspace, None, RejudgeOptions(on="serial"), who="lena")
    assert len(done.episodes) == 6
    assert _silent(workspace) == 0
    with workspace.database.read() as connection:
        row = next(every_episode(connection))
        assert "detector" in [each.kind for each in documents_of(connection, row.id)]
        assert assessments_of(connection, row.id)[-1].facts["detector"] == learnt.detector
        events = events_of(connection, f"detector:{learnt.detector}")
        assert [event["what"] for event in events] == ["learn"]
        assert count_unlearnt(connection) == []
    assert rejudge(workspace, None, RejudgeOptions(on="serial"), who="lena").current == 6


def test_an_arm_that_stops_is_found_as_it_comes_in(workspace: Workspace, tmp_path: Path) -> None:
    _learn(workspace)

    def stop(values: np.ndarray) -> None:
        values[200:320] = values[200]

    edits = {"joint_position": stop, "joint_position_target": stop}
    spoilt = write_demonstration(tmp_path / "spoilt.h5", 20, edits=edits)
    ingest(workspace, [spoilt], who="anna", on="serial")
    with workspace.database.read() as connection:
        (row,) = every_episode(connection, "file = spoilt.h5")
        said = {each.check: each.severity for each in findings_of(connection, row.id)}
    assert said[CHECK] == "note", "six good episodes are few"


def test_other_good_episodes_make_the_next_version_and_too_few_are_said(
    workspace: Workspace,
) -> None:
    _learn(workspace)
    with workspace.database.write() as connection:
        names = [row.id for row in every_episode(connection, "state = accepted")]
        move_episodes(connection, names[:1], "quarantined", who="lena", why="not like this")
    (anew,) = _learn(workspace)
    assert (anew.status, anew.episodes) == ("learnt", len(names) - 1)
    assert str(anew.detector).endswith("@2")
    with workspace.database.write() as connection:
        move_episodes(connection, names[1:-3], "quarantined", who="lena", why="not like this")
    (few,) = _learn(workspace)
    assert few.status == "not learnt"
    assert few.reason == "3 good episodes; 4 are needed to know what is usual"
