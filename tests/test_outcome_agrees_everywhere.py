"""A failure is a failure however its source wrote it, and to everybody who is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.exchange.lerobot_sets import (
    Recipe,
    arrow,
    read_json,
    table_of,
    write_json,
    write_lines,
    write_v2,
)
from tests.quality.demonstrations import demonstration

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.tables import EPISODE
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.cli.commands.learn import _successes
from corporeal.episode.facts import read_outcome
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.exchange.conversion import export
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.format import formats
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.quality import Subject
from corporeal.quality.checks.task_failed import CHECK
from corporeal.quality.evidence.protocol_rules import not_failed
from corporeal.quality.scores.grasp_success import SCORE
from corporeal.schema import Stream
from corporeal.studio.context import open_studio
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

Answers = Mapping[str, bool | None]

# What sources write into the metadata of an episode.
STATED: Mapping[str, tuple[dict[str, Any], bool | None]] = {
    "fields_failed": ({"outcome": {"success": False, "failure": "drop"}}, False),
    "flag_failed": ({"success": False}, False),
    "number_failed": ({"success": 0}, False),
    "word_failed": ({"outcome": "failed"}, False),
    "loud_failed": ({"outcome": " FAILURE "}, False),
    "bool_failed": ({"outcome": False}, False),
    "text_in_fields_failed": ({"outcome": {"success": "false"}}, False),
    "named_failed": ({"outcome": "slip"}, False),
    "fields_good": ({"outcome": {"success": True}}, True),
    "flag_good": ({"success": True}, True),
    "number_good": ({"success": 1}, True),
    "word_good": ({"outcome": "succeeded"}, True),
    "nothing": ({}, None),
    "typing_error": ({"outcome": "sucess??"}, None),
    "other_number": ({"success": 7}, None),
    "empty_fields": ({"outcome": {}}, None),
}
# Lines of a stream of events, the last of which says how it ended.
STREAMED: Mapping[str, tuple[list[str], bool | None]] = {
    "events_failed": (['{"event": "grasp"}', '{"success": false, "failure": "drop"}'], False),
    "event_failed": (['{"event": "outcome", "success": false}', '{"event": "release"}'], False),
    "events_good": (['{"event": "grasp"}', '{"success": true}'], True),
    "events_open": (['{"event": "grasp"}'], None),
}
WANTED: Answers = {name: wanted for name, (_, wanted) in (*STATED.items(), *STREAMED.items())}
# A Rerun file says it in words for people; nothing reads it back.
WRITERS = sorted(
    name for name, known in formats().items() if known.writer is not None and name != "rrd"
)


@dataclass(frozen=True)
class Sources:
    """A folder of episode files, one for each spelling, and the spelling of each by its file."""

    folder: Path
    names: tuple[str, ...]


def _plain(number: int, **metadata: Any) -> Recording:
    short = demonstration(number, before_s=0.3, motion_s=1.0, after_s=0.3)
    said = {name: value for name, value in short.metadata.items() if name != "outcome"}
    return replace(short, metadata={**said, **metadata})


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("spellings")
    names = sorted(WANTED)
    for number, name in enumerate(names):
        recording = _plain(number, **STATED[name][0] if name in STATED else {})
        if name in STREAMED:
            lines = STREAMED[name][0]
            spec = Stream(name="outcome", group="debug", kind="text")
            stamps = np.arange(len(lines), dtype=np.int64) * 10**8
            events = ArraySignal(spec, stamps, lines)
            recording = replace(recording, signals={**recording.signals, "debug/outcome": events})
        write_recording(recording, folder / f"{name}.h5")
    return Sources(folder, tuple(names))


@pytest.fixture(scope="module")
def recordings(sources: Sources) -> Mapping[str, Recording]:
    dataset = open_dataset(sources.folder)
    return dict(zip(sources.names, map(dataset.open, dataset.episodes), strict=True))


def _as_checked(recording: Recording) -> bool | None:
    """What the check makes of it: a failure is found, an unknown outcome is not assessed."""
    try:
        messages = [finding.message for finding in CHECK.find(Subject(recording))]
    except NotAssessed as reason:
        return None if str(reason).startswith("the outcome is") else True
    return not any(message.startswith("the demonstration failed") for message in messages)


def _is_ruled(recording: Recording) -> bool:
    """Whether the rules of a protocol go for how it ends."""
    try:
        not_failed(Subject(recording))
    except NotAssessed:
        return False
    return True


def test_the_check_says_what_was_written(recordings: Mapping[str, Recording]) -> None:
    assert {name: _as_checked(each) for name, each in recordings.items()} == WANTED


def test_no_failure_is_learnt_from(sources: Sources) -> None:
    dataset = open_dataset(sources.folder)
    good = {Path(each.source).stem for each in _successes(dataset)}
    assert good == {name for name, wanted in WANTED.items() if wanted is not False}


def test_the_rules_of_a_protocol_leave_failures_alone(
    recordings: Mapping[str, Recording],
) -> None:
    ruled = {name: _is_ruled(each) for name, each in recordings.items()}
    assert ruled == {name: wanted is not False for name, wanted in WANTED.items()}


def test_the_score_knows_the_failed_grasp(recordings: Mapping[str, Recording]) -> None:
    named = {name for name, each in recordings.items() if each.facts.outcome.failure}
    assert named == {"fields_failed", "named_failed", "events_failed"}
    for name in named:
        assert SCORE.measure(Subject(recordings[name])).value == 0.0


def test_an_unknown_spelling_is_told(recordings: Mapping[str, Recording]) -> None:
    assert str(recordings["typing_error"].facts.outcome) == "unclear: 'sucess??'"
    assert str(recordings["other_number"].facts.outcome) == "unclear: '7'"
    assert str(recordings["nothing"].facts.outcome) == "not stated"
    with pytest.raises(NotAssessed, match="unclear"):
        list(CHECK.find(Subject(recordings["typing_error"])))


@pytest.fixture(scope="module")
def workspace(
    sources: Sources, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workspace]:  # fmt: skip
    with make_workspace(tmp_path_factory.mktemp("kept") / "workspace") as made:
        ingest(made, [sources.folder], who="anna", pictures=False, check=False)
        yield made


def _rows(workspace: Workspace) -> dict[str, tuple[str, bool | None]]:
    """Id and outcome of every row of the catalogue, by the name of its file."""
    columns = (EPISODE.c.id, EPISODE.c.file, EPISODE.c.success)
    with workspace.database.read() as connection:
        rows = connection.execute(select(*columns)).all()
    return {Path(row.file).stem: (row.id, row.success) for row in rows}


def test_the_catalogue_has_what_was_written(workspace: Workspace) -> None:
    assert {name: success for name, (_, success) in _rows(workspace).items()} == WANTED


def test_studio_shows_what_was_written(workspace: Workspace) -> None:
    rows = _rows(workspace)
    with open_studio(workspace, StudioSettings()) as studio:
        app = create_application(studio)
        with TestClient(app, "http://127.0.0.1:8700", headers={"X-Studio": "1"}) as client:
            shown = {
                name: client.get(f"/api/episodes/{episode}").json()["row"]["success"]
                for name, (episode, _) in rows.items()
            }
    assert shown == WANTED


@pytest.mark.parametrize("name", WRITERS)
def test_an_export_says_what_was_written(name: str, sources: Sources, tmp_path: Path) -> None:
    export(sources.folder, tmp_path / "out", name, ExportOptions(on="serial"))
    dataset = open_dataset(tmp_path / "out")
    found = [dataset.open(number).facts.outcome.success for number in dataset.episodes]
    assert dict(zip(sources.names, found, strict=True)) == WANTED


@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("where", ["episodes", "frames"])
def test_a_lerobot_set_says_it_in_a_column(tmp_path: Path, where: str, success: bool) -> None:
    root = write_v2(tmp_path / "set", Recipe(lengths=(30,)))
    if where == "episodes":
        lines = (root / "meta" / "episodes.jsonl").read_text().splitlines()
        write_lines(root / "meta" / "episodes.jsonl",
                    [json.loads(line) | {"success": success} for line in lines])  # fmt: skip
    else:
        info = read_json(root / "meta" / "info.json")
        info["features"]["next.success"] = {"dtype": "bool", "shape": [1], "names": None}
        write_json(root / "meta" / "info.json", info)
        columns = table_of(Recipe(lengths=(30,)), 0)
        columns["next.success"] = np.arange(30) == (29 if success else 99)
        (path,) = (root / "data").rglob("*.parquet")
        pq.write_table(arrow(columns), path)
    dataset = open_dataset(root)
    recording = dataset.open(0)
    assert recording.facts.outcome.success is success
    assert _as_checked(recording) is success
    assert _is_ruled(recording) is success
    assert len(_successes(dataset)) == success
    write_recording(recording, tmp_path / "files" / "set.h5", source_format="lerobot")
    with make_workspace(tmp_path / "workspace") as made:
        ingest(made, [tmp_path / "files"], who="anna", pictures=False, check=False)
        ((_, kept),) = _rows(made).values()
    assert kept is success


@pytest.mark.parametrize("value", [np.bool_(False), np.array([0.0]), "0", 0.0, "Failed"])
def test_flags_of_every_kind_are_read(value: Any) -> None:
    assert read_outcome({"success": value}).success is False
    assert read_outcome({"outcome": {"success": value}}).success is False
