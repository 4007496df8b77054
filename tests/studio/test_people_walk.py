"""No route shows figures of single operators to whoever the workspace does not show them to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.catalog.entries import MANAGED
from tests.studio.people import ADMIN, open_client, token_of
from tests.studio.small_workspace import write_episode

from corporeal.catalog.audit import events_of
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.people import Privacy, add_operator, set_privacy
from corporeal.catalog.permission import ROLES, Actor
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.operations.campaign import create_campaign, next_card
from corporeal.operations.question import charts
from corporeal.protocol import open_protocol
from corporeal.protocol.coverage import Factor

PEOPLE = ("zsofia-q7", "xaver-q8")
# A single recording says whose it is: consent, erasure and splits of releases hang on that. The
# audit log is of what was done, for those who may verify it. Leads see who the operators are, with
# their certificates, and no figure of them.
OF_ONE = ("/api/episodes/{episode_id}", "/api/names", "/api/operators")
# What a path names, as the workspace of these tests has it; no task or pair of labels is in it.
NAMED = {"chart": tuple(charts()), "reference": ("reaches@1.0.0",), "name": ("autumn", "first")}
WITHOUT = {"task_id", "pair"}
LEAD = Actor("tester", "lead")
PROTOCOL = open_protocol("pick_place").model_copy(update={"factors": (
    Factor(name="operator", levels=(*PEOPLE, "yuri-q9", "wendel-q0")),
    Factor(name="surface", levels=("wood", "steel")),
)})  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("people")
    files = [
        write_episode(
            folder / f"{number}.h5", seed=number, duration_s=1.5,
            metadata={"operator": PEOPLE[number % 2], "task": "reach", "station": "st1",
                      "outcome": {"success": number > 0, "failure": None if number else "fall"},
                      "card": {"id": f"c{number}", "campaign": "autumn"}, "surface": "wood"},
        )
        for number in range(4)
    ]  # fmt: skip
    with make_workspace(folder / "workspace") as workspace:
        with workspace.database.write() as connection:
            create_campaign(connection, LEAD, "autumn", PROTOCOL, episodes=8)
        ingest(workspace, files, who="tester", on="serial")
        next_card(workspace.database, "autumn", station="st1", operator=PEOPLE[1])
        yield workspace


@pytest.fixture(scope="module")
def tokens(made: Workspace) -> dict[str, str]:
    """A token of every role; the operator's account is that of the first person."""
    tokens: dict[str, str] = {role: token_of(made, f"of-{role}", role) for role in reversed(ROLES)}
    with made.database.write() as connection:
        add_operator(connection, PEOPLE[0], by=LEAD, account_name="of-operator")
        add_operator(connection, PEOPLE[1], by=LEAD)
    with open_client(made) as client:
        headers = {"Authorization": f"Bearer {tokens['lead']}"}
        ids = [row["id"] for row in client.get("/api/episodes", headers=headers).json()["rows"]]
        for path, wish in (
            ("marks", {"episodes": ids[:3], "verdict": "accepted"}),
            ("reviews", {"name": "first", "share": 1.0}),
            ("releases", {"name": "reaches", "splits": {"train": 1.0}}),
        ):
            asked = client.post(f"/api/{path}", json=wish, headers=headers)
            assert asked.status_code == 201, asked.text
    return tokens


def _set(workspace: Workspace, privacy: Privacy) -> None:
    with workspace.database.write() as connection:
        set_privacy(connection, privacy, by=ADMIN)


def _asked(facts: dict[str, Any], query: str) -> dict[str, Any]:
    """What a route needs, and the query wherever it takes one."""
    asked: dict[str, Any] = {}
    for known in facts.get("parameters", ()):
        if known["in"] != "query":
            continue
        if known["name"] in ("query", "q"):
            asked[known["name"]] = query if known["name"] == "query" else PEOPLE[1]
        elif known["name"] == "order":
            asked["order"] = "operator"
        elif known["required"]:
            least = max(1, int(known["schema"].get("minimum", 1)))
            asked[known["name"]] = "reaches@1.0.0" if known["name"] == "since" else least
    return asked


def _walk(client: TestClient, token: str) -> Iterator[tuple[str, str]]:
    """Every page that shows more than one recording, asked for a person in every way there is."""
    headers = {"Authorization": f"Bearer {token}"}
    paths = client.get("/api/openapi.json").json()["paths"]
    queries = ("", f"operator = {PEOPLE[1]}", f"not operator = {PEOPLE[0]}",
               f"metadata.operator ~ {PEOPLE[1][:4]}*", PEOPLE[1], "operator is known")  # fmt: skip
    for path, methods in paths.items():
        wanted = re.findall(r"{(\w+)}", path)
        if "get" not in methods or path.startswith(OF_ONE) or WITHOUT & set(wanted):
            continue
        for names in product(*(NAMED[each] for each in wanted)):
            route = path.format(**dict(zip(wanted, names, strict=True)))
            for query in queries:
                asked = _asked(methods["get"], query)
                if query and "query" not in asked and "q" not in asked:
                    continue
                for more in (
                    ({}, {"set": ["by:operator", "rows:operator"]}) if query == "" else ({},)
                ):
                    answer = client.get(route, params={**asked, **more}, headers=headers)
                    yield f"{route} {query!r} {more}", answer.text.replace(query, "")


@pytest.mark.parametrize("mode", ["data-only", "self"])
def test_no_route_brings_the_episodes_of_a_person_together(
    made: Workspace, tokens: dict[str, str], mode: Any
) -> None:
    _set(made, Privacy(mode))
    with open_client(made) as client:
        for role in ("viewer", "annotator", "lead", "admin"):
            walked = list(_walk(client, tokens[role]))
            assert len(walked) > 60
            shown = [route for route, text in walked if any(name in text for name in PEOPLE)]
            assert not shown, (role, shown)
            assert any(route.startswith("/api/campaigns/autumn ") for route, _ in walked)


@pytest.mark.parametrize("mode", ["data-only", "self"])
def test_leads_see_who_is_certified_and_nobodys_figures(
    made: Workspace, tokens: dict[str, str], mode: Any
) -> None:
    _set(made, Privacy(mode))
    with open_client(made) as client:
        headers = {"Authorization": f"Bearer {tokens['lead']}"}
        page = client.get("/api/operators", headers=headers).json()
        assert [each["name"] for each in page["operators"]] == sorted(PEOPLE)
        assert {each["episodes"] for each in page["operators"]} == {None}
        assert mode in page["hidden"]
        training = client.get(f"/api/operators/{PEOPLE[0]}/training", headers=headers)
        assert training.status_code == 403
        assert client.get("/api/fatigue", headers=headers).json()["people"] is None
        own = {"Authorization": f"Bearer {tokens['operator']}"}
        mine = client.get(f"/api/operators/{PEOPLE[0]}/training", headers=own)
        assert mine.status_code == (200 if mode == "self" else 403)
        listed = client.get("/api/operators", headers=own).json()["operators"]
        assert [each["name"] for each in listed] == [PEOPLE[0]]
        headers = {"Authorization": f"Bearer {tokens['viewer']}"}
        assert client.get("/api/operators", headers=headers).json()["operators"] == []


def test_operators_see_their_own_in_mode_self_and_nobody_elses(
    made: Workspace, tokens: dict[str, str]
) -> None:
    _set(made, Privacy("self"))
    with open_client(made) as client:
        walked = list(_walk(client, tokens["operator"]))
        assert not [route for route, text in walked if PEOPLE[1] in text]
        headers = {"Authorization": f"Bearer {tokens['operator']}"}
        own = client.get("/api/episodes", params={"query": f"operator = {PEOPLE[0]}"},
                         headers=headers).json()  # fmt: skip
        assert {row["operator"] for row in own["rows"]} == {PEOPLE[0]}
        other = client.get("/api/episodes", params={"query": f"operator = {PEOPLE[1]}"},
                           headers=headers)  # fmt: skip
        assert other.status_code == 403
        assert "privacy mode of this workspace is self" in other.json()["error"]
        trend = client.get("/api/dashboards/operator_change", headers=headers).json()
        assert "not shown" not in trend["answer"]


def test_leads_see_people_in_mode_managed_and_every_look_is_logged(
    made: Workspace, tokens: dict[str, str]
) -> None:
    _set(made, MANAGED)
    with open_client(made) as client:
        headers = {"Authorization": f"Bearer {tokens['lead']}"}
        bars = client.get("/api/dashboards/operator_share", headers=headers).json()
        assert {bar["label"] for bar in bars["payload"]["bars"]} == set(PEOPLE)
        for role in ("viewer", "operator", "annotator"):
            walked = list(_walk(client, tokens[role]))
            others = PEOPLE[1:] if role == "operator" else PEOPLE
            assert not [route for route, text in walked if any(name in text for name in others)]
    with made.database.read() as connection:
        looks = [each for each in events_of(connection, "workspace:people")
                 if each["what"] == "figures of people seen"]  # fmt: skip
    assert [each["who"] for each in looks if "dominates" in each["details"]["view"]] == ["of-lead"]
    assert looks[0]["why"] == MANAGED.purpose
