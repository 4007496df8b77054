"""Episodes are acted on through the API by those who may, one by one or all that match."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from typer.testing import CliRunner

from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.permission import Actor, PersonHiddenError
from corporeal.catalog.workspace import Workspace
from corporeal.cli.program import program


def test_all_that_match_are_quarantined_tagged_and_noted_and_it_goes_back(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    wish = {"query": "task = reach", "expected": 3, "verdict": "quarantined",
            "reason": "cable in view", "tags": ["cable"], "note": "see the hand"}  # fmt: skip
    answer = client.post("/api/marks", json=wish)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["count"] == 3
    rows = client.get("/api/episodes", params={"query": "tag = cable"}).json()["rows"]
    assert {row["verdict"] for row in rows} == {"quarantined"}
    assert {row["decision"]["why"] for row in rows} == {"cable in view"}
    assert {(*row["tags"], row["comments"]) for row in rows} == {("cable", 1)}
    assert client.get("/api/tags").json() == [{"tag": "cable", "count": 3}]
    page = client.get(f"/api/episodes/{small_workspace.episodes[0]}").json()
    assert (page["tags"], page["decision"]["verdict"]) == (["cable"], "quarantined")
    assert client.post(f"/api/marks/{made['key']}/undo").json()["count"] == 3
    rows = client.get("/api/episodes").json()["rows"]
    assert {row["decision"] is None and not row["tags"] for row in rows} == {True}
    assert {row["comments"] for row in rows} == {0}, "a note that was taken back is gone"
    assert client.post(f"/api/marks/{made['key']}/undo").json()["count"] == 0


def test_a_query_that_finds_another_number_by_now_changes_nothing(client: TestClient) -> None:
    wish = {"query": "task = reach", "expected": 40, "verdict": "accepted"}
    answer = client.post("/api/marks", json=wish)
    assert answer.status_code >= 400
    assert "got 3 episodes now, 40 when it was asked" in answer.json()["error"]
    assert client.post("/api/marks", json={"verdict": "accepted"}).status_code >= 400


def test_the_terminal_marks_by_number_or_query_and_takes_it_back(
    small_workspace: SmallWorkspace,
) -> None:
    def run(*arguments: str | Path, code: int = 0) -> str:
        done = CliRunner().invoke(
            program(), [*map(str, arguments), "-w", str(small_workspace.root)]
        )
        assert done.exit_code == code, done.output
        return done.output

    said = run("mark", "1", "#3", "--accept", "--reason", "only the checks fail", "--tag", "ok")
    assert "marked 2 episodes" in said
    listed = run("ls", "tag = ok and decided_by is known and state = accepted")
    assert "2 of 2 episodes" in listed
    key = said.rsplit("--undo ", 1)[1].strip()
    assert "took it back for 2 episodes" in run("mark", "--undo", key)
    assert "0 of 0 episodes" in run("ls", "decided_by is known or tag is known")


def test_marking_by_a_query_for_single_operators_is_refused_where_nobody_is_shown(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    with workspace.database.write() as connection:
        set_privacy(connection, Privacy(), by=Actor("root", "admin"))
    words = ["mark", "operator = op1", "--accept", "-w", str(small_workspace.root)]
    done = CliRunner().invoke(program(), words)
    assert isinstance(done.exception, PersonHiddenError)
