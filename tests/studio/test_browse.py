"""The list of episodes answers with pages, landmarks, facets, or a sentence about the query."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.catalog.entries import entry
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.query import parse
from corporeal.catalog.query.fields import WHOLE
from corporeal.catalog.workspace import Workspace
from corporeal.quality.scoring import scores


def _get(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"/api{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_newest_episode_comes_first_with_its_gravest_finding(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    rows = _get(client, "/episodes")["rows"]
    assert [row["id"] for row in rows] == small_workspace.episodes[::-1]
    assert "metadata" not in rows[0]
    fallen = rows[1]
    assert fallen["failure"] == "fall"
    assert fallen["finding"]["severity"] == "fail"
    assert fallen["finding"]["of"] >= 1


def test_pages_follow_each_other_and_landmarks_lead_into_the_middle(
    client: TestClient, workspace: Workspace
) -> None:
    with workspace.database.write() as connection:
        add_episodes(connection, [entry(number) for number in range(450)], who="tester")
    marks = _get(client, "/listing/landmarks", query="robot = g1", order="score")
    assert marks["step"] == 100
    assert len(marks["ids"]) == marks["total"] // 100
    seen, after = [], None
    while True:
        page = _get(client, "/episodes", query="robot = g1", order="score", limit=100,
                    **({"after": after} if after else {}))  # fmt: skip
        seen += [row["id"] for row in page["rows"]]
        if (after := page["after"]) is None:
            break
    assert len(seen) == len(set(seen)) == marks["total"]
    assert seen[99::100] == marks["ids"]
    assert _get(client, "/listing/count", query="robot = g1", up_to=100) == {
        "count": 100, "more": True,
    }  # fmt: skip


def test_facets_tell_where_the_fall_is(client: TestClient) -> None:
    said = _get(client, "/listing/facets")
    facets = {facet["name"]: facet["values"] for facet in said["facets"]}
    assert {"value": "fall", "count": 1, "chosen": False} in facets["failure"]
    assert {each["value"]: each["count"] for each in facets["operator"]} == {"op0": 2, "op1": 1}
    assert said["total"] == 3
    assert sum(bar["count"] for bar in said["days"]) == 3
    query = _get(client, "/listing/refined", facet="failure", value="fall")["query"]
    assert query == "failure = fall"
    assert len(_get(client, "/episodes", query=query)["rows"]) == 1
    cleared = _get(client, "/listing/refined", query=query, facet="failure", clear=True)
    assert cleared == {"query": ""}


def test_a_query_without_a_match_tells_what_to_leave_out(client: TestClient) -> None:
    parts = _get(client, "/listing/relaxed", query="failure = fall and operator = zoe")
    assert parts[0] == {"part": "operator = zoe", "query": "failure = fall", "count": 1}


def test_completion_offers_values_that_are_there(client: TestClient) -> None:
    said = _get(client, "/listing/suggestions", query="operator = ")
    assert [item["text"] for item in said["items"]] == ["op0", "op1"]
    assert said["start"] == said["end"] == len("operator = ")


_PATHS = (
    "/episodes", "/listing/count", "/listing/landmarks", "/listing/facets", "/listing/relaxed",
)  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        "taks = walk", "score > high", "task = walk or", "'", "\0", "task = 'a\0b'",
        "task = x union select * from token", "(" * 500, "not " * 200,
        "task = a and " * 400 + "task = a", "a" * 30_000, "metadata.$ = 1",
        "recorded > 99999-01-01",
    ],
)  # fmt: skip
def test_a_wrong_query_is_refused_with_the_parsers_own_sentence(
    client: TestClient, query: str
) -> None:
    for path in _PATHS:
        answer = client.get(f"/api{path}", params={"query": query})
        assert answer.status_code == 422, (path, answer.text[:200])
        said = answer.json()
        assert list(said) == ["error"]
        assert "Traceback" not in said["error"]
        if len(query) < 20_000:
            assert "at character" in said["error"]


@pytest.mark.parametrize(
    "query",
    [
        "instruction ~ '%_*[?]'", "score > -1e308",
        "task ~ '****************'",
    ],
)  # fmt: skip
def test_a_strange_query_is_answered(client: TestClient, query: str) -> None:
    for path in _PATHS:
        assert client.get(f"/api{path}", params={"query": query}).status_code == 200, path
    assert _get(client, "/listing/count")["count"] == 3


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ('task = "\'; drop table episode; --"', "no episode has the task"),
        ("id = '../../etc/passwd'", "no episode has the id"),
        ('has finding "🙂"', "no check is called"),
        ("1; drop table episode", "no episode mentions"),
        ("'; drop table episode; --'", "no episode mentions"),
        ("../../etc/passwd", "no episode mentions"),
        ("metadata.a.b.c = true", "no episode has metadata.a.b.c"),
    ],
)
def test_a_name_that_nothing_has_is_refused(client: TestClient, query: str, answer: str) -> None:
    for path in ("/episodes", "/listing/count"):
        response = client.get(f"/api{path}", params={"query": query})
        assert response.status_code == 422, path
        assert answer in response.json()["error"]


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0}, {"limit": 10**9}, {"limit": "many"}, {"order": "metadata"},
        {"order": "id; drop table episode"}, {"after": "nobody"}, {"after": "x" * 1000},
    ],
)  # fmt: skip
def test_numbers_and_names_out_of_bounds_are_refused(
    client: TestClient, params: dict[str, Any]
) -> None:
    answer = client.get("/api/episodes", params=params)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"].endswith(".")


def test_numbers_that_json_has_not_become_unknown(client: TestClient, workspace: Workspace) -> None:
    with workspace.database.write() as connection:
        add_episodes(
            connection, [entry(1, score=float("inf"), duration_s=float("nan"))], who="tester"
        )
    answer = client.get("/api/episodes", params={"query": "task = task_1"})
    row = json.loads(answer.text)["rows"][0]
    assert row["score"] is None
    assert row["duration_s"] is None
    assert client.get("/api/listing/facets").status_code == 200


def test_numbers_lead_to_episodes_and_ids_to_their_numbers(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    first, second, third = small_workspace.episodes
    for name in ("2", "#2", second, second[-12:]):
        assert _get(client, f"/names/{name.replace('#', '%23')}") == {"id": second, "number": 2}
    named = _get(client, "/names", id=[third, first, "nobody"])
    assert {each["id"]: each["number"] for each in named} == {first: 1, third: 3}
    answer = client.get("/api/names/7")
    assert (answer.status_code, answer.json()["error"][:24]) == (404, "episode '7' is not in th")
    assert [row["number"] for row in _get(client, "/episodes")["rows"]] == [3, 2, 1]


def test_the_help_on_queries_has_every_field_and_examples_that_are_right() -> None:
    page = Path(__file__).parents[2] / "web/src/pages/browse/query_help.tsx"
    text = page.read_text("utf-8")
    examples = re.findall(r'^  \["([^"]+)", "', text.partition("const fields")[0], re.MULTILINE)
    assert len(examples) > 10
    assert all(parse(each) for each in examples)
    assert set(re.findall(r"score\.(\w+)", " ".join(examples))) <= set(scores())
    named = set(re.findall(r"[a-z_]+", text.partition("const fields")[2].partition("];")[0]))
    assert not set(WHOLE) - named
