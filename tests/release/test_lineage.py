"""Lineage: up to the sensors, down to the releases, drawn without trusting any name."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import Connection, insert
from tests.catalog.entries import made_entry
from tests.exchange.small_sets import write_episodes

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import EpisodeEntry, HistoryEdge, add_episodes, move_episodes
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.tables import EDGE, MEMBER, RELEASE
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.episode import Episode
from corporeal.episode.recording import Dataset, Recording
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.release.lineage import (
    LineageGraph,
    as_mermaid,
    as_text,
    history_of,
    lineage_of,
    trace_frame,
    write_picture,
)
from corporeal.release.lineage.frame_trace import FrameTrace, sensor_of
from corporeal.release.lineage.lineage import GraphNode
from corporeal.release.lineage.picture import draw

SCHEMA = "sha256:" + "5" * 64


def _entry(number: int) -> EpisodeEntry:
    return made_entry(
        name=f"e{number:03d}",
        facts={"hash": f"sha256:{number:064d}", "bytes": 1, "file": "e.h5", "task": "pour"},
        documents={"schema": {"hash": SCHEMA, "name": "rig", "version": "1.0.0", "text": "{}"}},
        parents={"operator:op07": "made_by", f"session:s{number % 2}": "recorded_in"},
    )


def _release(connection: Connection, ids: list[str], name: str = "cups") -> None:
    connection.execute(insert(RELEASE).values(
        name=name, version="1.0.0", manifest=SCHEMA, condition="", episodes=len(ids),
        created_at="2026-11-15", created_by="anna", facts={},
    ))  # fmt: skip
    rows = [{"name": name, "version": "1.0.0", "episode": each, "split": "train"} for each in ids]
    connection.execute(insert(MEMBER), rows)


@pytest.fixture
def filled(database: Database) -> Database:
    with database.write() as connection:
        add_episodes(connection, [_entry(number) for number in range(30)], who="anna")
        _release(connection, [f"e{number:03d}" for number in range(20)])
        connection.execute(insert(EDGE).values(
            child="model:act-1", parent="release:cups@1.0.0", relation="trained_on"
        ))  # fmt: skip
    return database


def _edges(graph: LineageGraph) -> set[tuple[str, str, str]]:
    return {(each.child, each.parent, each.relation) for each in graph.edges}


def test_an_episode_leads_up_to_people_and_documents_and_down_to_a_model(filled: Database) -> None:
    with filled.read() as connection:
        graph = lineage_of(connection, "episode:e001")
    assert _edges(graph) == {
        ("episode:e001", "operator:op07", "made_by"),
        ("episode:e001", "session:s1", "recorded_in"),
        ("episode:e001", f"document:{SCHEMA}", "schema"),
        ("release:cups@1.0.0", "episode:e001", "train"),
        ("model:act-1", "release:cups@1.0.0", "trained_on"),
    }
    assert graph.node("release:cups@1.0.0").label == "release cups@1.0.0, 20 episodes"
    assert graph.node(f"document:{SCHEMA}").label == "schema rig@1.0.0"


def test_depth_bounds_the_way(filled: Database) -> None:
    with filled.read() as connection:
        graph = lineage_of(connection, "episode:e001", depth=1)
        assert "model:act-1" not in {node.id for node in graph.nodes}
        assert lineage_of(connection, "episode:e001", depth=0).edges == ()


def test_many_neighbours_are_counted_not_listed(filled: Database) -> None:
    with filled.read() as connection:
        above = lineage_of(connection, "release:cups@1.0.0", most=3)
        below = lineage_of(connection, f"document:{SCHEMA}", most=3, depth=1)
    assert sum(node.kind == "episode" for node in above.nodes) == 3
    assert "and 17 more episodes" in as_text(above)
    assert "and 27 more episodes" in as_text(below)


def test_an_operator_leads_down_to_every_release(filled: Database) -> None:
    with filled.read() as connection:
        graph = lineage_of(connection, "operator:op07", most=30)
    assert ("release:cups@1.0.0", "episode:e000", "train") in _edges(graph)
    assert sum(node.kind == "episode" for node in graph.nodes) == 30


@pytest.mark.parametrize("subject", [
    "episode:none", "release:cups@9.9.9", "release:cups", "document:x", "operator:nobody", "",
    "episode:' OR 1=1 --",
])  # fmt: skip
def test_what_is_not_there_is_said(filled: Database, subject: str) -> None:
    with filled.read() as connection, pytest.raises(CatalogError, match="nothing in the catalogue"):
        lineage_of(connection, subject)


def test_a_circle_ends(filled: Database) -> None:
    with filled.write() as connection:
        rows = [("episode:e001", "episode:e002"), ("episode:e002", "episode:e001")]
        connection.execute(insert(EDGE), [
            {"child": child, "parent": parent, "relation": "derived_from"} for child, parent in rows
        ])  # fmt: skip
        graph = lineage_of(connection, "episode:e001", depth=50)
    assert "(see above)" in as_text(graph)
    assert len(draw(graph).axes) == 1


HOSTILE = LineageGraph(
    "episode:a",
    (
        GraphNode("episode:a", '"]; click n0 "javascript:alert(1)" \x1b[2J'),
        GraphNode("operator:b", "<script>alert(1)</script> $x^{2}$ \u202e& 手"),
    ),
    (HistoryEdge("episode:a", "operator:b", "made_by"),),
)


def test_names_cannot_leave_their_box_in_mermaid() -> None:
    lines = as_mermaid(HOSTILE).splitlines()
    assert re.fullmatch(r'  n0\["[^"<>\[\]]*"\]', lines[1])
    assert re.fullmatch(r'  n1\["[^"<>\[\]]*"\]', lines[2])
    assert lines[3] == '  n1 -- "made by" --> n0'


def test_names_cannot_move_the_cursor() -> None:
    assert "\x1b" not in as_text(HOSTILE)
    assert "\u202e" not in as_text(HOSTILE)


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_any_name_can_be_drawn(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"lineage{suffix}"
    write_picture(HOSTILE, path)
    if suffix == ".svg":
        root = ElementTree.fromstring(path.read_text())
        assert not [each for each in root.iter() if each.tag.endswith("script")]
    else:
        with Image.open(path) as picture:
            assert np.asarray(picture.convert("L")).min() < 100


def test_a_picture_has_a_known_ending(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"\.svg"):
        write_picture(HOSTILE, tmp_path / "lineage.exe")


def test_a_tree_reads_from_the_subject() -> None:
    graph = LineageGraph(
        "episode:a",
        (GraphNode("episode:a", "episode a"), GraphNode("operator:b", "operator b"),
         GraphNode("release:c", "release c"), GraphNode("session:d", "session d")),
        (HistoryEdge("episode:a", "operator:b", "made_by"),
         HistoryEdge("episode:a", "session:d", "recorded_in"),
         HistoryEdge("release:c", "episode:a", "train")),
    )  # fmt: skip
    assert as_text(graph).splitlines() == [
        "episode a",
        "came from:",
        "  ├─ made by: operator b",
        "  └─ recorded in: session d",
        "became:",
        "  └─ train: release c",
    ]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, Path, Path]]:
    """A workspace with two episodes in a release, and the dataset exported from them."""
    root = tmp_path_factory.mktemp("trace")
    recordings = write_episodes(root / "eps", 2, seconds=0.5, size=(16, 32))
    export(partial(open_dataset, [recordings]), root / "set", "lerobot", ExportOptions())
    with make_workspace(root / "workspace") as workspace:
        told = ingest(workspace, [recordings], who="anna", check=False)
        with workspace.database.write() as connection:
            _release(connection, [str(each.id) for each in told.outcomes], "walks")
        yield workspace, recordings, root / "set"


def test_a_row_leads_back_to_the_samples_it_was_made_of(
    traced: tuple[Workspace, Path, Path],
) -> None:
    workspace, recordings, dataset = traced
    trace = trace_frame(workspace, dataset, 1, 5)
    rows = open_dataset(dataset, restore=False).open(1)
    with Episode.open(recordings / "e0001.h5") as episode:
        assert trace.episode == episode.id
        for sample in trace.samples:
            reader = episode[sample.stream]
            assert sample.stamps_ns == tuple(reader.time_ns[list(sample.samples)].tolist())
            if sample.kind != "array":
                continue
            value = np.asarray(rows.signals[sample.column][5]).reshape(-1)
            ends = np.stack([np.asarray(reader[each]).reshape(-1) for each in sample.samples])
            share = 0.0
            if len(sample.samples) == 2:
                near, far = sample.stamps_ns
                share = (trace.time_ns - near) / (far - near)
            made = ends[0] * (1 - share) + ends[-1] * share
            np.testing.assert_allclose(value, made, rtol=1e-4, atol=1e-5)
    shown = {each.column: each for each in trace.samples if each.kind == "video"}
    assert set(shown) == {"observation.images.head_left", "observation.images.head_right"}
    assert all(abs(each.age_ns or 0) < 34_000_000 for each in shown.values())


def test_a_row_knows_everything_behind_it(traced: tuple[Workspace, Path, Path]) -> None:
    workspace, _, dataset = traced
    trace = trace_frame(workspace, dataset, 0, 0)
    assert (trace.facts["operator"], trace.facts["session"]) == ("op00", "seed0")
    assert set(trace.documents) == {"schema", "embodiment"}
    assert workspace.store.has(trace.hash)
    assert "walks@1.0.0" in trace.releases
    told = as_text(history_of(trace))
    for said in ("release walks@1.0.0", "operator op00", "schema teleop_humanoid@1.0.0",
                 "session seed0", "head_left: head_left ", trace.hash[:23]):  # fmt: skip
        assert said in told
    assert json.loads(json.dumps(trace.to_json()))["episode"] == trace.episode
    assert len(draw(history_of(trace)).axes) == 1


def test_a_row_of_a_release_is_that_of_its_export(traced: tuple[Workspace, Path, Path]) -> None:
    workspace, _, dataset = traced
    exported = trace_frame(workspace, dataset, 1, 7)
    by_id = trace_frame(workspace, dataset, exported.episode, 7)
    released = trace_frame(workspace, "walks@1.0.0", exported.episode, 7)
    assert by_id == exported
    assert (released.time_ns, released.samples) == (exported.time_ns, exported.samples)


def _labelled(recordings: Path) -> Dataset:
    """The episodes as they come out of a release."""
    dataset = open_dataset([recordings])

    def opened(number: int) -> Recording:
        recording = dataset.open(number)
        said = {**recording.metadata, "release": "runs@1.0.0", "split": "train"}
        return replace(recording, metadata=said)

    return replace(dataset, open=opened)


def test_a_row_names_the_release_that_it_was_exported_from(
    traced: tuple[Workspace, Path, Path], tmp_path: Path
) -> None:
    workspace, recordings, dataset = traced
    name = trace_frame(workspace, dataset, 0, 0).episode
    with workspace.database.write() as connection:
        _release(connection, [name], "runs")
    assert trace_frame(workspace, dataset, 0, 0).releases == ("runs@1.0.0", "walks@1.0.0")
    export(
        partial(_labelled, recordings),
        tmp_path / "set",
        "lerobot",
        ExportOptions(episodes=(0,)),
    )
    trace = trace_frame(workspace, tmp_path / "set", 0, 0)
    assert trace.releases == ("runs@1.0.0",)
    assert "walks" not in as_text(history_of(trace))


def test_rows_and_episodes_that_are_not_there_are_said(
    traced: tuple[Workspace, Path, Path], tmp_path: Path
) -> None:
    workspace, recordings, dataset = traced
    wrong: list[tuple[Any, ...]] = [
        (dataset, 0, 10_000, r"expected 0 to"),
        (dataset, 0, -1, r"expected 0 to"),
        (dataset, 7, 0, r"expected 0 to 1"),
        (recordings, 0, 0, r"expected a dataset that corporeal export wrote"),
        ("other@1.0.0", trace_frame(workspace, dataset, 0, 0).episode, 0, r"walks@1\.0\.0"),
    ]
    for given, episode, row, message in wrong:
        with pytest.raises(CatalogError, match=message):
            trace_frame(workspace, given, episode, row)
    with (
        make_workspace(tmp_path / "empty") as empty,
        pytest.raises(CatalogError, match="Ingest the recordings"),
    ):
        trace_frame(empty, dataset, 0, 0)


def test_a_set_that_points_out_of_its_folder_is_refused(
    traced: tuple[Workspace, Path, Path], tmp_path: Path
) -> None:
    workspace, _, dataset = traced
    forged = Path(shutil.copytree(dataset, tmp_path / "forged"))
    listed = forged / "corporeal" / "episodes.jsonl"
    first, second = listed.read_text().splitlines()
    listed.write_text(f"{json.dumps(json.loads(first) | {'number': '../../secret'})}\n{second}\n")
    with pytest.raises(CatalogError, match="does not list episodes"):
        trace_frame(workspace, forged, "../../secret", 0)
    swapped = json.loads(second) | {"id": json.loads(first)["id"]}
    listed.write_text(f"{first}\n{json.dumps(swapped)}\n")
    with pytest.raises(CatalogError, match="is of episode"):
        trace_frame(workspace, forged, 1, 0)


def test_an_erased_episode_has_no_trace_left(tmp_path: Path) -> None:
    recordings = write_episodes(tmp_path / "eps", 1, seconds=0.2, size=(16, 32))
    with make_workspace(tmp_path / "workspace") as workspace:
        told = ingest(workspace, [recordings], who="anna", check=False)
        name = str(told.outcomes[0].id)
        with workspace.database.write() as connection:
            _release(connection, [name])
            move_episodes(connection, [name], "erased", who="anna", why="consent withdrawn")
        with pytest.raises(CatalogError, match="was erased"):
            trace_frame(workspace, "cups@1.0.0", name, 0)


def test_a_stream_finds_its_sensor_by_name() -> None:
    serials = {"sensor_serials": {"head_camera": "C1", "tactile_left": "T1", "robot": "R1"}}
    assert sensor_of("observations/head_left", "head_left_camera", serials) == ("head_camera", "C1")
    assert sensor_of("observations/left_tactile", None, serials) == ("tactile_left", "T1")
    assert sensor_of("observations/joint_position", None, serials) == (None, None)
    stated = serials | {"stream_sources": {"observations/joint_position": "robot"}}
    assert sensor_of("observations/joint_position", None, stated) == ("robot", "R1")


def test_a_sensor_is_drawn_behind_its_sample(traced: tuple[Workspace, Path, Path]) -> None:
    workspace, _, dataset = traced
    trace = trace_frame(workspace, dataset, 0, 3)
    seen = tuple(each if each.kind != "video" else _with_sensor(each) for each in trace.samples)
    graph = history_of(FrameTrace(**{**trace.__dict__, "samples": seen}))
    assert "sensed by: head_camera, serial C1" in as_text(graph)


def _with_sensor(sample: Any) -> Any:
    return type(sample)(**{**sample.__dict__, "sensor": "head_camera", "serial": "C1"})
