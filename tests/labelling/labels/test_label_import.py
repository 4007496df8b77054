"""Labels from files, made to count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.labelling.tasks.work import ANN, LEAD, STAMPS, said, taxonomy

from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.ingestion.episode_entry import entry_of
from corporeal.catalog.permission import PermissionDeniedError
from corporeal.catalog.store.store import digest_of
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.labelling.annotation import AnnotationError
from corporeal.labelling.labels import (
    EpisodeLabels,
    accept_label_files,
    labels_of,
    write_label_file,
)
from corporeal.labelling.labels.versions import accept_labels
from corporeal.schema import open_schema


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[Workspace, str]]:
    """A workspace with one real episode whose joints are stamped as `STAMPS`, labelled."""
    path = tmp_path / "e.h5"
    robot = open_robot("g1")
    with EpisodeWriter(path, schema=open_schema("teleop_humanoid"), embodiment=robot,
                       metadata={"task": "wave"}) as writer:  # fmt: skip
        position = np.zeros((len(STAMPS), len(robot.joint_names)))
        writer.extend("observations/joint_position", STAMPS, position)
    with make_workspace(tmp_path / "lab") as workspace:
        with Episode.open(path) as opened:
            made = entry_of(opened, digest=digest_of(path), size=path.stat().st_size)
        workspace.store.put(path)
        with workspace.database.write() as connection:
            judged = replace(made.row, state="accepted", verdict="accepted")
            entry = EpisodeEntry(judged, streams=made.streams, documents=made.documents)
            add_episodes(connection, [entry], who="tester")
            accept_labels(connection, made.id, said(), taxonomy(), task_id=None, by=LEAD)
        yield workspace, made.id


@pytest.mark.parametrize("name", ["labels.csv", "labels.json", "labels.eaf"])
def test_labels_of_every_format_count_with_their_boundaries_on_frames(
    name: str, lab: tuple[Workspace, str], tmp_path: Path
) -> None:
    workspace, only = lab
    paths = [tmp_path / name]
    write_label_file(paths[0], [EpisodeLabels(only, said(), STAMPS)])
    with pytest.raises(PermissionDeniedError):
        accept_label_files(workspace, paths, taxonomy(), by=ANN)
    (made,) = accept_label_files(workspace, paths, taxonomy(), by=LEAD)
    assert made.number == 2
    with workspace.database.read() as connection:
        held = labels_of(connection, only)
    assert held is not None
    wanted = [(each.lane, each.label, each.start_ns, each.end_ns, each.attributes)
              for each in said().in_lane("phase")]  # fmt: skip
    assert wanted == [(each.lane, each.label, each.start_ns, each.end_ns, each.attributes)
                      for each in held.annotation.in_lane("phase")]  # fmt: skip
    assert [each.text for each in held.annotation.instructions] == ["pick it up"]


def test_a_file_with_a_label_that_does_not_exist_changes_nothing(
    lab: tuple[Workspace, str], tmp_path: Path
) -> None:
    workspace, only = lab
    path = tmp_path / "labels.csv"
    path.write_text(f"episode,lane,label,start_s,end_s\n{only},phase,dance,0,9.9\n", "utf-8")
    with pytest.raises(AnnotationError, match="has no such label"):
        accept_label_files(workspace, [path], taxonomy(), by=LEAD)
    with workspace.database.read() as connection:
        held = labels_of(connection, only)
    assert held is not None
    assert held.number == 1
