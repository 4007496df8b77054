"""Files of labels: what is written comes back, and what means harm is refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.labelling.work import ANN, LEAD, said, taxonomy
from tests.labelling.work import STAMPS as WORK_STAMPS
from tests.labelling.written_labels import STAMPS, annotation, spoken

from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.ingestion import entry_of
from corporeal.catalog.permission import PermissionDeniedError
from corporeal.catalog.store import digest_of
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.errors import UnknownNameError, WriteError
from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Segment,
)
from corporeal.labelling.labels import (
    EpisodeLabels,
    accept_label_files,
    format_of,
    labels_of,
    write_label_file,
)
from corporeal.labelling.labels.label_file import label_formats, on_stamps, read_label_file
from corporeal.labelling.labels.versions import accept_labels
from corporeal.schema import open_schema


@pytest.mark.parametrize("name", ["csv", "elan", "json"])
def test_labels_come_back_from_every_format(name: str, tmp_path: Path) -> None:
    labels = EpisodeLabels("e-1", annotation(), STAMPS, movie="head.mp4")
    path = tmp_path / f"labels{label_formats()[name].suffix}"
    write_label_file(path, [labels])
    (got,) = read_label_file(path, stamps={"e-1": STAMPS})
    assert got.episode == "e-1"
    assert spoken(got.annotation) == spoken(labels.annotation)


def test_boundaries_go_to_the_nearest_frame_or_to_the_end_of_the_last() -> None:
    moved = Segment(id="s", lane="phase", label="rest", start_ns=int(STAMPS[3]) - 400_000,
                    end_ns=int(STAMPS[-1]) + 40_000_000)  # fmt: skip
    got = on_stamps(EpisodeLabels("e", Annotation(segments=(moved,))), STAMPS)
    (segment,) = got.annotation.segments
    assert segment.start_ns == STAMPS[3]
    assert segment.end_ns == STAMPS[-1] + np.median(np.diff(STAMPS)).astype(int)


HOSTILE = {
    "no_column.csv": ("episode,lane\ne,phase\n", "got no column 'label'"),
    "no_time.csv": ("episode,lane,label,start_s,end_s\ne,phase,rest,soon,2\n", "expected seconds"),
    "endless.csv": ("episode,lane,label,start_s,end_s\ne,phase,rest,1e999999,2\n",
                    "expected seconds"),
    "backwards.csv": ("episode,lane,label,start_s,end_s\ne,phase,rest,2,1\n", "ends before"),
    "lane.csv": ("episode,lane,label,start_s,end_s\ne,A B,rest,1,2\n", "lane: String should match"),
    "deep.csv": ('episode,lane,label,start_s,end_s,attributes\ne,phase,rest,1,2,"'
                 + "[" * 50_000 + '"\n', "expected a JSON object"),
    "quote.csv": ('episode,lane,label,start_s,end_s\ne,phase,"rest,1,2\n', "not CSV"),
    "entities.eaf": ('<!DOCTYPE a [<!ENTITY b "ccc">]><ANNOTATION_DOCUMENT>&b;'
                     "</ANNOTATION_DOCUMENT>", "got a <!DOCTYPE>"),
    "other.eaf": ("<robot/>", "expected a document of ELAN"),
    "cut.eaf": ("<ANNOTATION_DOCUMENT>", "not valid XML"),
    "time.eaf": ('<ANNOTATION_DOCUMENT><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="a" '
                 'TIME_VALUE="\uff19"/></TIME_ORDER></ANNOTATION_DOCUMENT>',
                 "expected a whole number"),
    "slot.eaf": ('<ANNOTATION_DOCUMENT><TIER TIER_ID="phase"><ANNOTATION><ALIGNABLE_ANNOTATION '
                 'ANNOTATION_ID="a1"/></ANNOTATION></TIER></ANNOTATION_DOCUMENT>',
                 "a1: a time slot without a time"),
    "deep.json": ("[" * 100_000, "not JSON"),
    "other.json": ('{"episodes": []}', "got no annotations"),
    "field.json": ('{"format": "corporeal-annotations", "episodes": {"e": {"outcome": "maybe"}}}',
                   "e: outcome: Input should be"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_make_no_sense_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, told = HOSTILE[name]
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(AnnotationError) as caught:
        read_label_file(tmp_path / name)
    assert told in str(caught.value)
    assert name in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.labelling.labels.label_file.MAX_BYTES", 1 << 20)
    (tmp_path / "big.csv").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(AnnotationError, match="larger than 1 MiB"):
        read_label_file(tmp_path / "big.csv")


def test_a_file_is_never_overwritten_and_elan_holds_one_episode(tmp_path: Path) -> None:
    labels = EpisodeLabels("e", annotation())
    write_label_file(tmp_path / "a.csv", [labels])
    with pytest.raises(WriteError, match="already exists"):
        write_label_file(tmp_path / "a.csv", [labels])
    with pytest.raises(AnnotationError, match="got 2 episodes; expected one"):
        write_label_file(tmp_path / "a.eaf", [labels, labels])
    with pytest.raises(AnnotationError, match=r"expected a file ending in \.csv"):
        format_of(tmp_path / "a.txt")
    with pytest.raises(UnknownNameError):
        format_of(tmp_path / "a.csv", "boris")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[Workspace, str]]:
    """A workspace with one real episode whose joints are stamped as `WORK_STAMPS`, labelled."""
    path = tmp_path / "e.h5"
    robot = open_robot("g1")
    with EpisodeWriter(path, schema=open_schema("teleop_humanoid"), embodiment=robot,
                       metadata={"task": "wave"}) as writer:  # fmt: skip
        position = np.zeros((len(WORK_STAMPS), len(robot.joint_names)))
        writer.extend("observations/joint_position", WORK_STAMPS, position)
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
    write_label_file(paths[0], [EpisodeLabels(only, said(), WORK_STAMPS)])
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
