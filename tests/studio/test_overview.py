"""The overview: totals by verdict, one week against the other, and what waits for whom."""

from __future__ import annotations

import shlex
import time
from datetime import UTC, datetime, timedelta

from tests.catalog.entries import entry
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import open_client, token_of

from corporeal.catalog.episodes import StationCheck, add_episodes, take_check
from corporeal.catalog.people import add_operator, give_certificate, open_certification
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.units import SECOND_NS

DAY_NS = 86_400 * SECOND_NS


def fill(workspace: Workspace) -> None:
    now = time.time_ns()
    ages = {1: "accepted", 2: "accepted", 3: "failed", 9: "accepted", 10: "quarantined",
            30: "accepted"}  # fmt: skip
    with workspace.database.write() as connection:
        add_episodes(
            connection,
            [
                entry(days, verdict=state, recorded_ns=now - days * DAY_NS,
                      duration_s=60.0)
                for days, state in ages.items()
            ],
            who="ada",
        )  # fmt: skip


def test_totals_are_those_of_all_and_of_two_weeks(workspace: Workspace) -> None:
    fill(workspace)
    with open_client(workspace) as client:
        said = client.get("/api/overview").json()
    before = {"episodes": 2, "seconds": 120.0, "accepted": 1, "waiting": 1, "failed": 0}
    assert said["last_week"] == before
    assert said["this_week"]["episodes"] == 3
    assert said["this_week"]["failed"] == 1
    total = said["total"]
    assert total["accepted"] + total["waiting"] + total["failed"] == total["episodes"]


def test_a_lead_is_told_of_certificates_that_end_soon(workspace: Workspace) -> None:
    lead, document = Actor("lena", "lead"), open_certification("standard")
    days = timedelta(days=document.valid_days)
    now = datetime.now(UTC)
    with workspace.database.write() as connection:
        for name, left in (("ann", 5), ("ben", 90), ("cleo", 5), ("dan", -3)):
            add_operator(connection, name, by=lead)
            give_certificate(connection, name, "reach", document, by=lead, evidence={}, why="x",
                             valid_from=now - days + timedelta(days=left))  # fmt: skip
        # Cleo has renewed it, Dan has none any more.
        give_certificate(connection, "cleo", "reach", document, by=lead, evidence={}, why="a test")
    with open_client(workspace) as client:
        waiting = client.get("/api/overview").json()["waiting"]
    (told,) = [each for each in waiting if each["kind"] == "certificates"]
    assert told["words"] == "1 certificate to renew within 14 days"
    assert told["address"] == "/operators"


def test_what_waits_goes_by_the_role(workspace: Workspace) -> None:
    fill(workspace)
    check = StationCheck("bench@1.0.0", "2026-11-18T10:00:00Z", False, [], station="s1")
    with workspace.database.write() as connection:
        take_check(connection, check, who="ada", why="head_left moved by 6 mm")
    tokens = {role: token_of(workspace, role, role) for role in ("admin", "viewer")}
    with open_client(workspace) as client:
        kinds, folders = {}, {}
        for role, token in tokens.items():
            answer = client.get("/api/overview", headers={"Authorization": f"Bearer {token}"})
            kinds[role] = {each["kind"] for each in answer.json()["waiting"]}
            words = answer.json()["waiting"][0]["words"]
            assert words == "station s1 is halted: head_left moved by 6 mm (0 episodes held)"
            folders[role] = answer.json()["folder"]
    assert folders == {"admin": shlex.quote(str(workspace.root.resolve())), "viewer": None}
    assert kinds["viewer"] == {"halt"}
    assert kinds["admin"] == {"halt", "episodes"}


def test_every_address_that_waits_is_a_query_that_can_be_read(
    small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    fill(workspace)
    with open_client(workspace) as client:
        for each in client.get("/api/overview").json()["waiting"]:
            path, _, query = each["address"].partition("?")
            assert path == "/episodes"
            found = client.get(f"/api/listing/count?{query}")
            assert found.status_code == 200
            assert found.json()["count"] == each["count"]
