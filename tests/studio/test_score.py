"""A score is opened into parts, each before the distribution of the task."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import insert
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.tables import EPISODE, SCORE
from corporeal.catalog.workspace import Workspace
from corporeal.studio.routes import score
from corporeal.studio.routes.score import distribution


def test_the_middle_of_a_crowd_is_the_middle() -> None:
    found = distribution([0.5] * 10, 0.5)
    assert found.percentile == 50.0
    assert sum(found.counts) == found.episodes == 10
    assert found.median == 0.5


def test_the_best_and_the_worst_are_told_apart() -> None:
    values = [number / 100 for number in range(101)]
    best, worst = distribution(values, 1.0), distribution(values, 0.0)
    assert best.percentile is not None
    assert worst.percentile is not None
    assert best.percentile > 99
    assert worst.percentile < 1
    assert best.counts[-1] > 0


def test_what_is_alone_or_not_assessed_has_no_place() -> None:
    assert distribution([0.3], 0.3).percentile is None
    assert distribution([0.3, 0.4], None).percentile is None
    assert distribution([], None).median is None
    assert distribution([float("nan"), 0.4, 0.6], 0.6).episodes == 2


def test_each_part_has_the_task_behind_it(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[0]}/score").json()
    assert said["task"] == "reach"
    assert said["total"]["episodes"] == 3
    assert not said["sampled"]
    assert said["parts"]
    shares = [part["share"] for part in said["parts"] if part["share"] is not None]
    assert sum(shares) == pytest.approx(1.0)
    for part in said["parts"]:
        assert part["title"].endswith(".")
        assert part["distribution"]["episodes"] <= 3


def test_a_large_task_is_sampled_without_favour(
    client: TestClient, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "MOST", 200)
    rows = [
        {"id": f"01a00000-0000-7000-8000-{number * 7919 % 100_003:012d}", "task": "many",
         "hash": f"sha256:{number:064d}", "bytes": 1, "file": "f", "state": "accepted",
         "score": number / 1000, "ingested_at": "2026-01-01T00:00:00Z", "metadata": {}}
        for number in range(1000)
    ]  # fmt: skip
    with workspace.database.write() as connection:
        connection.execute(insert(EPISODE), rows)
        connection.execute(insert(SCORE), [
            {"episode": row["id"], "part": "path_length", "value": row["score"], "weight": 1.0}
            for row in rows
        ])  # fmt: skip
    said = client.get(f"/api/episodes/{rows[500]['id']}/score").json()
    assert said["sampled"]
    assert said["total"]["episodes"] == 200
    assert said["total"]["median"] == pytest.approx(0.5, abs=0.12)
    assert said["parts"][0]["distribution"]["episodes"] == 200
