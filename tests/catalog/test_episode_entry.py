"""An entry says what the file says, in a form that both databases take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from tests.catalog.entries import made_entry

from corporeal.catalog.audit import verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import EpisodeEntry, add_episodes, find_episode
from corporeal.catalog.ingestion.episode_entry import (
    LEFT_OUT,
    MAX_CURVES,
    MAX_METADATA,
    MAX_NAME,
    bounded,
    entry_of,
    evidence_of,
    judged,
    reason_for,
    text,
)
from corporeal.catalog.tables import FINDING
from corporeal.episode import Episode, EpisodeWriter, new_id
from corporeal.protocol import open_protocol
from corporeal.quality.assessment import Assessment
from corporeal.quality.check import MAX_EVIDENCE, Finding
from corporeal.quality.inspection import EpisodeReport
from corporeal.quality.policy import default_policy
from corporeal.schema import Schema, Stream

HASH = "sha256:" + "a" * 64
SCHEMA = Schema(
    document="schema",
    name="tiny",
    version="2.1.0",
    streams=(
        Stream(name="joint_position", group="observations", shape=(2,), rate_hz=100),
        Stream(name="instruction", group="observations", kind="text"),
    ),
    metadata=(),
    file_name="e{index:04d}.h5",
)


def _entry(path: Path, metadata: dict[str, Any], **options: Any) -> EpisodeEntry:
    documents = options.pop("documents", [])
    batch = options.pop("batch", None)
    with EpisodeWriter(path, schema=SCHEMA, metadata=metadata, documents=documents,
                       **{"epoch_ns": 0, **options}) as writer:  # fmt: skip
        for number in range(11):
            writer.append("observations/joint_position", number * 10_000_000, np.zeros(2))
        writer.append("observations/instruction", 0, "take the cup")
    with Episode.open(path) as opened:
        return entry_of(opened, digest=HASH, size=path.stat().st_size, batch=batch)


def test_facts_are_those_of_the_file(tmp_path: Path) -> None:
    entry = _entry(
        tmp_path / "e.h5",
        {"task": "pour", "operator": "op07", "session": "s3", "outcome": {"success": False,
         "failure": "spilt"}, "calibration": {"start": {"id": "cal-9"}, "end": {"id": "cal-9"}}},
        epoch_ns=1_700_000_000_000_000_000,
    )  # fmt: skip
    facts = vars(entry.row)
    assert (facts["task"], facts["operator"], facts["calibration"]) == ("pour", "op07", "cal-9")
    assert (facts["success"], facts["failure"]) == (False, "spilt")
    assert facts["instruction"] == "take the cup"
    assert facts["recorded_ns"] == 1_700_000_000_000_000_000
    assert facts["duration_s"] == pytest.approx(0.1)
    assert facts["batch"] == "s3"
    assert {row["path"]: row["samples"] for row in entry.streams} == {
        "observations/joint_position": 11,
        "observations/instruction": 1,
    }
    assert entry.documents["schema"]["name"] == "tiny"
    assert entry.documents["schema"]["version"] == "2.1.0"


def test_a_clock_that_counts_from_nowhere_gives_no_date(tmp_path: Path) -> None:
    assert _entry(tmp_path / "e.h5", {}).row.recorded_ns is None


def test_what_it_came_from_is_named(tmp_path: Path) -> None:
    source = new_id()
    entry = _entry(
        tmp_path / "e.h5",
        {"operator": "op07", "session": "s3", "station": "none", "protocol": "none",
         "calibration": "cal-9", "sensor_serials": {"head_camera": "SN1", "lidar": ""},
         "source_id": source},
        batch="tuesday",
    )  # fmt: skip
    assert entry.parents == {
        "session:s3": "recorded_in",
        "operator:op07": "made_by",
        "calibration:cal-9": "calibrated_with",
        "batch:tuesday": "part_of",
        "sensor:SN1": "sensed_by",
        f"episode:{source}": "derived_from",
    }


def test_an_embedded_protocol_is_named_by_its_version(tmp_path: Path) -> None:
    protocol = open_protocol("reach")
    entry = _entry(tmp_path / "e.h5", {"protocol": "reach"}, documents=[protocol])
    assert entry.row.protocol == protocol.reference
    assert entry.documents["protocol"]["hash"] == protocol.hash
    assert not [parent for parent in entry.parents if parent.startswith("protocol")]


def test_an_id_that_anyone_could_have_is_refused(tmp_path: Path) -> None:
    class Named:
        id = "../../etc/passwd"
        path = tmp_path / "e.h5"

    with pytest.raises(CatalogError, match="expected a UUID"):
        entry_of(Named(), digest=HASH, size=1)  # type: ignore[arg-type]


def test_metadata_is_bounded_and_says_what_is_missing() -> None:
    kept = bounded({"operator": "op07", "marks": ["x" * 100] * 2000, "log": "y" * 40_000})
    assert kept == {"operator": "op07", "log": "y" * 40_000, LEFT_OUT: ["marks"]}


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
))  # fmt: skip
def test_any_metadata_becomes_plain_json(value: Any) -> None:
    said = json.dumps(bounded({"field": value}), allow_nan=False, ensure_ascii=False)
    assert "\0" not in said
    assert len(said.encode()) <= MAX_METADATA + 1000


def test_text_is_bounded_and_whole() -> None:
    assert text("a\0b\ud800", MAX_NAME) == "a\ufffdb?"
    assert text("x" * 500, MAX_NAME) == "x" * (MAX_NAME - 3) + "..."
    assert text({"a": 1}, MAX_NAME) is None
    assert text(7, MAX_NAME) == "7"


def test_hostile_metadata_goes_through_both_databases(tmp_path: Path, database: Database) -> None:
    nasty = "x'; DROP TABLE episode; -- \u202e<script>" + "é" * 300
    entry = _entry(
        tmp_path / "e.h5",
        {"task": nasty, "operator": {"name": "nested"}, "station": 3, "number": 10**40,
         "sensor_serials": {f"s{number}": nasty + str(number) for number in range(200)},
         "source_id": "s" * 5000, "nul": "a\0b", "deep": [[[[["x"]]]]]},
    )  # fmt: skip
    with database.write() as connection:
        assert add_episodes(connection, [entry], who="anna") == 1
    with database.read() as connection:
        row = find_episode(connection, entry.id)
        assert list(verify(connection)) == []
    assert row.task is not None
    assert row.task.startswith("x'; DROP TABLE")
    assert len(row.task) <= MAX_NAME
    assert (row.operator, row.station) == (None, "3")
    assert row.metadata["nul"] == "a\ufffdb"


def test_the_reason_is_the_finding_that_weighs_most() -> None:
    findings = (
        Finding("a little late", check="sync", severity="quarantine"),
        Finding("fell over", check="robot_stands", severity="fail"),
    )
    report = EpisodeReport(0, "x", Path("x"), Assessment(findings, {}))
    assert reason_for(report) == "robot_stands: fell over"
    assert reason_for(EpisodeReport(0, "x", Path("x"), Assessment((), {}))) is None


def test_evidence_is_kept_in_bounds_and_finite() -> None:
    long = np.linspace(0.0, 1.0, 5000)
    bad = np.array([1.0, np.nan, np.inf, 0.123456789])
    many = {f"curve_{number}": bad for number in range(30)}
    kept = evidence_of(Finding("m", evidence={"time_s": long, "height": long, "bad": bad, **many}))
    assert kept is not None
    assert len(kept) == MAX_CURVES
    assert len(kept["time_s"]) == len(kept["height"]) <= MAX_EVIDENCE
    assert kept["bad"] == [1.0, None, None, 0.123457]
    json.dumps(kept, allow_nan=False)
    assert evidence_of(Finding("m")) is None
    assert evidence_of(Finding("m", evidence={"none": np.array([])})) is None


def test_evidence_reaches_the_catalogue_with_the_finding(database: Database) -> None:
    findings = (
        Finding("fell", check="robot_fell", severity="fail",
                evidence={"time_s": np.arange(3.0), "tilt_deg": np.array([0.0, 45.0, 90.0])}),
        Finding("late", check="sync", severity="note"),
    )  # fmt: skip
    report = EpisodeReport(0, "x", Path("x"), Assessment(findings, {}))
    bare = made_entry("e1", {"hash": f"sha256:{1:064x}", "bytes": 1, "file": "x.h5"})
    entry = judged(bare, report, None, default_policy())
    with database.write() as connection:
        add_episodes(connection, [entry], who="anna")
    with database.read() as connection:
        kept = connection.execute(select(FINDING.c.evidence).order_by(FINDING.c.number)).scalars()
        assert list(kept) == [{"time_s": [0.0, 1.0, 2.0], "tilt_deg": [0.0, 45.0, 90.0]}, None]
