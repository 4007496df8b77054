"""Every route is open to the roles that the table of permissions names, and to no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fastapi.testclient import TestClient
from tests.studio.people import open_client, token_of

from corporeal.catalog.permission import ACTIONS, PERMISSIONS, ROLES, Action, Role
from corporeal.catalog.workspace import Workspace

OF_EVERYBODY = {"post /api/login", "post /api/logout", "post /api/views",
                "delete /api/views/{number}"}  # fmt: skip
"""Changes that anybody may make: who they are, and what they keep for themselves."""
# What a route takes, where it is not only looked at; written out by hand, to be read with care.
TAKES: tuple[tuple[Action, str], ...] = (
    ("account", r".* /api/accounts.*"),
    ("export", r".* /api/episodes/\{episode_id\}/(file|rrd|mcap|conversion)"),
    ("share", r".* /api/shares.*"),
    ("annotate", r".* /api/label-tasks/.*"),
    ("annotate", r"get /api/episodes/\{episode_id\}/filmstrip"),
    ("annotate", r"(get /api/labels/mine|post /api/labels/queues/\{queue\}/take)"),
    ("annotate", r"post /api/reviews/\{name\}/(next|items/.*)"),
    ("annotate", r"post /api/(marks|episodes/\{episode_id\}/notes).*"),
    ("ingest", r"post /api/guide"),
    ("judge", r"post /api/halts/\{key\}/lift"),
    ("ingest", r"post /api/live/marks"),
    ("release", r"post /api/releases(/preview)?"),
    ("export", r"post /api/exports"),
    ("export", r"post /api/releases/\{reference\}/exports"),
    ("verify", r"post /api/releases/\{reference\}/verification"),
    ("judge", r"post /api/reviews(/\{name\}/close)?"),
    ("judge", r".* /api/labels/(?!mine|queues/\{queue\}/take).*"),
)


def ask_all(client: TestClient, token: str) -> Iterator[tuple[str, int]]:
    """Every route, asked for what is not there: only whoever may do it learns that."""
    headers = {"Authorization": f"Bearer {token}"}
    for path, methods in client.get("/api/openapi.json").json()["paths"].items():
        for method, facts in methods.items():
            needed = [known for known in facts.get("parameters", ()) if known["required"]]
            of_path = {known["name"]: "missing" for known in needed if known["in"] == "path"}
            query = {known["name"]: _value(known) for known in needed if known["in"] == "query"}
            answer = client.request(
                method, path.format(**of_path), params=query, headers=headers,
                json={} if method in ("post", "put", "patch") else None,
            )  # fmt: skip
            yield f"{method} {path}", answer.status_code


def _value(parameter: dict[str, Any]) -> int:
    return max(1, int(parameter["schema"].get("minimum", 1)))


def may(role: Role, action: Action) -> bool:
    return action in PERMISSIONS[role]


def test_every_route_goes_by_the_table_of_permissions(workspace: Workspace) -> None:
    tokens = {role: token_of(workspace, f"of-{role}", role) for role in reversed(ROLES)}
    with open_client(workspace) as client:
        statuses = {role: dict(ask_all(client, token)) for role, token in tokens.items()}
    routes = list(statuses["admin"])
    assert len(routes) > 80
    assert not [route for route in routes if statuses["admin"][route] in (401, 403, 500)]
    wrong, seen = [], set[Action]()
    for route in routes:
        let_in = {role for role in ROLES if statuses[role][route] != 403}
        taken = [action for action, pattern in TAKES if re.fullmatch(pattern, route)]
        # A route that is not named above is looked at, or takes what some role has not.
        is_open = route.startswith("get ") or route in OF_EVERYBODY
        allowed = taken or [each for each in ACTIONS if each != "read" or is_open]
        if let_in not in [{role for role in ROLES if may(role, each)} for each in allowed]:
            wrong.append((route, sorted(let_in)))
        seen.update(taken)
    assert not wrong
    assert seen == {
        "account", "export", "share", "annotate", "ingest", "judge", "release", "verify",
    }  # fmt: skip
