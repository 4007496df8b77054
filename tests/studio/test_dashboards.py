"""Dashboards over HTTP: charts load one by one, are kept for a while, and fail in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.audit import Change, record
from corporeal.catalog.workspace import Workspace
from corporeal.operations.question import Chart, Drawing, charts


def test_every_chart_is_listed_and_answers(client: TestClient) -> None:
    listed = client.get("/api/dashboards").json()
    assert [each["id"] for each in listed] == list(charts())
    for each in listed:
        answer = client.get(f"/api/dashboards/{each['id']}")
        assert answer.status_code == 200, (each, answer.text)
        said = answer.json()
        assert said["title"].endswith("?")
        assert said["answer"].endswith(".")
        assert said["payload"] is not None or said["advice"]


def test_a_scope_narrows_a_chart(client: TestClient) -> None:
    everything = client.get("/api/dashboards/operator_share").json()
    assert {bar["label"] for bar in everything["payload"]["bars"]} == {"op0", "op1"}
    some = client.get("/api/dashboards/operator_share", params={"query": "operator = op1"}).json()
    assert [bar["label"] for bar in some["payload"]["bars"]] == ["op1"]
    assert some["payload"]["bars"][0]["query"] == "operator = op1"
    assert some["query"] == "operator = op1"


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("nothing", {}, 404),
        ("..%2f..%2fetc%2fpasswd", {}, 404),
        ("cost", {"query": "operator operator"}, 422),
        ("cost", {"query": "x" * 5000}, 422),
        ("cost", {"days": "0"}, 422),
        ("cost", {"days": "1e9"}, 422),
        ("cost", {"set": "reset_s"}, 422),
        ("cost", {"set": "reset_s:nan"}, 422),
        ("cost", {"set": "colour:red"}, 404),
        ("coverage_objects", {"set": "rows:'; drop table episode"}, 404),
    ],
)
def test_malformed_questions_get_one_sentence(
    client: TestClient, path: str, params: dict[str, str], status: int
) -> None:
    answer = client.get(f"/api/dashboards/{path}", params=params)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].endswith(".")
    assert "Traceback" not in answer.text


def test_an_answer_is_kept_until_something_happens(
    client: TestClient, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    real = Chart.answer

    def answer(chart: Chart, *given: Any) -> Drawing:
        drawn.append(chart)
        return real(chart, *given)

    monkeypatch.setattr(Chart, "answer", answer)
    first = client.get("/api/dashboards/cost").json()
    assert client.get("/api/dashboards/cost").json() == first
    assert len(drawn) == 1
    with workspace.database.write() as connection:
        record(connection, [Change("tester", "note", "episode:x")])
    client.get("/api/dashboards/cost")
    assert len(drawn) == 2


def test_a_chart_that_breaks_leaves_the_others_standing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Drawing:
        raise RuntimeError("secret detail")

    with monkeypatch.context() as patch:
        patch.setattr(Chart, "answer", broken)
        answer = client.get("/api/dashboards/cost")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert client.get("/api/dashboards/cost").status_code == 200


def test_prices_come_from_the_file_of_the_workspace_unless_asked_otherwise(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    path = small_workspace.root / "corporeal.toml"
    prices = '[dashboards.cost]\noperator_per_hour = 90\ncurrency = "USD"\n'
    path.write_text(path.read_text() + "\n" + prices)
    said = client.get("/api/dashboards/cost").json()
    assert "90 USD for an hour of an operator" in said["notes"][0]
    own = client.get("/api/dashboards/cost", params={"set": "operator_per_hour:0"}).json()
    assert "0 USD for an hour of an operator" in own["notes"][0]


def test_a_wrong_setting_in_the_file_is_named(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    path = small_workspace.root / "corporeal.toml"
    path.write_text(path.read_text() + "\n[dashboards.cost]\nprice = 3\n")
    answer = client.get("/api/dashboards/cost")
    assert answer.status_code == 404
    assert "price" in answer.json()["error"]
    assert client.get("/api/dashboards/waiting").status_code == 200
