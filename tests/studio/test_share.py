"""A share link shows its episodes to whoever has it, and nothing else, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import ADMIN, open_client, token_of

from corporeal.catalog.accounts import change_role, set_disabled
from corporeal.catalog.audit import Change, events_of, record, verify
from corporeal.catalog.tables import EPISODE, SHARE
from corporeal.catalog.workspace import Workspace
from corporeal.studio.access.guest_view import SHOWN_METADATA

# Who one is, and what a check is: nothing of these is about any episode.
PUBLIC = ("/api/session", "/api/login", "/api/logout", "/api/checks/{name}")


@contextmanager
def shared(workspace: Workspace, episodes: list[str]) -> Iterator[tuple[TestClient, str]]:
    """A Studio with accounts, a browser of nobody, and a link to the first episode."""
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        wish = {"episodes": episodes[:1], "address": f"/episodes/{episodes[0]}?t=1500000000",
                "label": "supplier", "days": 3}  # fmt: skip
        made = client.post("/api/shares", json=wish, headers={"Authorization": f"Bearer {token}"})
        assert made.status_code == 201, made.text
        client.headers["X-Token"] = token
        yield client, made.json()["path"]


def test_a_link_leads_to_the_moment_and_shows_its_episode_alone(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    mine, other, _ = small_workspace.episodes
    with shared(workspace, small_workspace.episodes) as (client, path):
        answer = client.get(path, follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/episodes/{mine}?t=1500000000"
        assert "httponly" in answer.headers["set-cookie"].lower()
        assert client.get(f"/api/episodes/{mine}").status_code == 200
        assert client.get("/api/session").json()["episodes"] == [mine]
        for refused in (f"/api/episodes/{other}", "/api/episodes", "/api/shares", "/api/views",
                        "/api/reviews"):  # fmt: skip
            assert client.get(refused).status_code in (403, 404), refused
        assert client.get(f"/api/episodes/{other}").status_code == 403
        assert client.get("/api/shares").status_code == 403


def answers_of_all_routes(client: TestClient, episode: str) -> Iterator[tuple[str, int, str]]:
    """Every route of the API, called for an episode: its name, its answer's status and text."""
    names = {"{episode_id}": episode, "{number}": "1", "{share_id}": "x", "{name}": "x"}
    for route, methods in client.get("/api/openapi.json").json()["paths"].items():
        if route in PUBLIC:
            continue
        place = route
        for name, value in names.items():
            place = place.replace(name, value)
        for method in methods:
            answer = client.request(method, place, json={})
            yield f"{method} {route}", answer.status_code, answer.text


def test_every_route_refuses_a_visitor_by_a_link_but_those_below_its_episode(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    other = small_workspace.episodes[1]
    with shared(workspace, small_workspace.episodes) as (client, path):
        client.get(path, follow_redirects=False)
        # Arguments are looked at before the visitor: 422 is no answer either.
        open_ones = [each for each in answers_of_all_routes(client, other)
                     if each[1] not in (403, 422)]  # fmt: skip
    assert not open_ones


def test_every_route_refuses_whoever_has_not_logged_in(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        asked = list(answers_of_all_routes(client, small_workspace.episodes[0]))
    assert len(asked) > 5
    assert not [each for each in asked if each[1] not in (401, 422)]


def test_two_links_add_up_and_the_second_does_not_end_the_first(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    first, second, _ = small_workspace.episodes
    with shared(workspace, small_workspace.episodes) as (client, path):
        bearer = {"Authorization": f"Bearer {client.headers['X-Token']}"}
        wish = {"episodes": [second], "address": f"/episodes/{second}"}
        again = client.post("/api/shares", json=wish, headers=bearer).json()["path"]
        client.get(path, follow_redirects=False)
        client.get(again, follow_redirects=False)
        assert client.get("/api/session").json()["episodes"] == sorted([first, second])


def test_a_link_that_is_revoked_or_over_shows_nothing_from_then_on(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    mine = small_workspace.episodes[0]
    with shared(workspace, small_workspace.episodes) as (client, path):
        bearer = {"Authorization": f"Bearer {client.headers['X-Token']}"}
        client.get(path, follow_redirects=False)
        listed = client.get("/api/shares", params={"episode": mine}, headers=bearer).json()
        assert [each["label"] for each in listed] == ["supplier"]
        assert path.removeprefix("/s/") not in str(listed)
        ended = client.delete(f"/api/shares/{listed[0]['id']}", headers=bearer)
        assert ended.status_code == 204
        assert client.get(f"/api/episodes/{mine}").status_code == 401
        again = client.get(path, follow_redirects=False)
        assert again.headers["location"].startswith("/login?why=share")
        with workspace.database.write() as connection:
            past = {"revoked_at": None, "expires_at": "2020-01-01T00:00:00.000000Z"}
            connection.execute(update(SHARE).values(**past))
        assert client.get(f"/api/episodes/{mine}").status_code == 401
        assert client.get("/api/shares", headers=bearer).json() == []


def test_only_the_hash_of_a_link_is_kept_and_the_audit_log_tells_of_it(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    with shared(workspace, small_workspace.episodes) as (client, path):
        secret = path.removeprefix("/s/")
        bearer = {"Authorization": f"Bearer {client.headers['X-Token']}"}
        (listed,) = client.get("/api/shares", headers=bearer).json()
        client.delete(f"/api/shares/{listed['id']}", headers=bearer)
    with workspace.database.read() as connection:
        rows = str(connection.execute(select(SHARE)).all())
        told = [event["what"] for event in events_of(connection, f"share:{listed['id']}")]
        assert not list(verify(connection))
    assert secret not in rows
    assert told == ["share made", "share revoked"]


@pytest.mark.parametrize(
    "address",
    ["https://evil.org/", "//evil.org", "/\\evil.org", "\\\\evil.org", "javascript:alert(1)",
     "episodes/x", "/api/login", "/s/abc", "/a\r\nSet-Cookie: x=1", "/ü"],
)  # fmt: skip
def test_a_link_cannot_lead_out_of_studio(
    client: TestClient, small_workspace: SmallWorkspace, address: str
) -> None:
    wish = {"episodes": small_workspace.episodes[:1], "address": address}
    answer = client.post("/api/shares", json=wish)
    assert answer.status_code == 422, answer.text
    assert "path of Studio" in answer.json()["error"]


def test_what_cannot_be_shared_is_refused_in_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    mine = small_workspace.episodes[:1]
    for wish, status in (
        ({"episodes": ["nothing"], "address": "/"}, 404),
        ({"episodes": [], "address": "/"}, 422),
        ({"episodes": mine * 51, "address": "/"}, 422),
        ({"episodes": mine, "address": "/", "days": 0}, 422),
        ({"episodes": mine, "address": "/", "days": 1e9}, 422),
    ):
        answer = client.post("/api/shares", json=wish)
        assert answer.status_code == status, wish
        assert answer.json()["error"].endswith(".")
    assert client.delete("/api/shares/%25").status_code == 404


def test_operators_end_their_own_links_and_leads_everyones(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    token_of(workspace, "ada", "admin")
    roles = {"bob": "operator", "eve": "operator", "lea": "lead"}
    people = {
        name: {"Authorization": f"Bearer {token_of(workspace, name, role)}"}
        for name, role in roles.items()
    }
    wish = {"episodes": small_workspace.episodes[:1], "address": "/"}
    with open_client(workspace) as client:
        made = client.post("/api/shares", json=wish, headers=people["bob"]).json()
        assert client.get("/api/shares", headers=people["eve"]).json() == []
        path = f"/api/shares/{made['id']}"
        assert client.delete(path, headers=people["eve"]).status_code == 404
        assert client.delete(path, headers=people["lea"]).status_code == 204


def test_a_link_shows_nothing_while_its_maker_is_disabled_or_may_not_share(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    mine = small_workspace.episodes[0]
    token_of(workspace, "ada", "admin")
    bearer = {"Authorization": f"Bearer {token_of(workspace, 'bob', 'operator')}"}
    with open_client(workspace) as client:
        wish = {"episodes": [mine], "address": "/"}
        path = client.post("/api/shares", json=wish, headers=bearer).json()["path"]
        client.get(path, follow_redirects=False)
        asked = f"/api/episodes/{mine}"
        assert client.get(asked).status_code == 200
        with workspace.database.write() as connection:
            set_disabled(connection, "bob", True, by=ADMIN)
        assert client.get(asked).status_code == 401
        with workspace.database.write() as connection:
            set_disabled(connection, "bob", False, by=ADMIN)
            change_role(connection, "bob", "annotator", by=ADMIN)
        assert client.get(asked).status_code == 401
        with workspace.database.write() as connection:
            change_role(connection, "bob", "lead", by=ADMIN)
        assert client.get(asked).status_code == 200


def test_a_link_tells_nothing_of_the_people_places_and_devices(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    mine = small_workspace.episodes[0]
    told = [Change("eve-of-staff", "state", f"episode:{mine}", "her own reason")]
    with workspace.database.write() as connection:
        record(connection, told)
        named = {"operator": "olga-of-staff", "station": "bench-of-staff", "session": "s-of-staff"}
        connection.execute(update(EPISODE).where(EPISODE.c.id == mine).values(named))
    bearer = {"Authorization": f"Bearer {token_of(workspace, 'ada', 'admin')}"}
    below = ("", "/history", "/lineage", "/reviews", "/score")
    with open_client(workspace) as client:
        wish = {"episodes": [mine], "address": "/"}
        seen = "".join(
            client.get(f"/api/episodes/{mine}{path}", headers=bearer).text for path in below
        )
        assert seen.count("-of-staff") >= 4
        assert "her own reason" in seen
        path = client.post("/api/shares", json=wish, headers=bearer).json()["path"]
        client.get(path, follow_redirects=False)
        answers = [client.get(f"/api/episodes/{mine}{path}") for path in below]
        assert [answer.status_code for answer in answers] == [200] * len(below)
        shown = "".join(answer.text for answer in answers)
        assert "-of-staff" not in shown
        assert "her own reason" not in shown
        facts = answers[0].json()
        assert set(facts["metadata"]) <= set(SHOWN_METADATA)
        assert facts["row"]["file"] == mine
        assert facts["streams"]
        assert all(stream["description"] is None for stream in facts["streams"])
        assert client.get("/api/session").json()["workspace"] == ""
