"""The supervisor's board: stations, alarms and prices of a day, and names only for who may see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.catalog.entries import MANAGED, made_entry
from tests.studio.people import ADMIN, open_client, token_of

from corporeal.catalog.audit import Change, record
from corporeal.catalog.episodes import StationCheck, add_episodes, take_check
from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.operations.campaign import create_campaign, next_card
from corporeal.protocol import open_protocol
from corporeal.studio.settings import StudioSettings

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


def collect(workspace: Workspace) -> None:
    """Two stations: s1 made 13 takes this morning, s2 one yesterday; an arm of s1 was moved."""
    entries = []
    for number in range(14):
        is_old = number == 13
        at = NOON - (timedelta(days=1) if is_old else timedelta(minutes=5 * (13 - number)))
        is_good = number % 4 != 3
        entries.append(made_entry(
            f"00000000-0000-4000-8000-{number:012}",
            {"hash": f"sha256:{number:064}", "bytes": 1000, "file": f"{number}.h5",
             "task": "pick_place", "operator": "ann", "station": "s2" if is_old else "s1",
             "batch": "b1", "robot": "g1", "calibration": "cell@1.0.0",
             "recorded_ns": round(at.timestamp() * 1e9), "duration_s": 60.0, "success": is_good,
             "verdict": "accepted" if is_good else "failed"},
            state="accepted" if is_good else "failed",
        ))  # fmt: skip
    with workspace.database.write() as connection:
        add_episodes(connection, entries, who="tester")
        create_campaign(connection, Actor("lena", "lead"), "autumn", open_protocol("pick_place"),
                        episodes=8)  # fmt: skip
        earlier = (NOON - timedelta(hours=2)).isoformat()
        take_check(connection, StationCheck("arm@1.0.0", earlier, False, [], station="s1"),
                   who="watch", why="head_left was moved by 4 mm")  # fmt: skip
        details = {"since": "b1", "seen": earlier, "at": earlier}
        record(connection, [Change("tester", "alarm", "metric:batch/acceptance_rate",
                                   "acceptance rate fell to 75 %", details)])  # fmt: skip
    next_card(workspace.database, "autumn", station="s1", operator="ann", now=NOON)


def board(workspace: Workspace, role: str | None = None) -> dict[str, Any]:
    headers = {}
    if role is not None:
        headers = {"Authorization": f"Bearer {token_of(workspace, role, role)}"}
    with open_client(workspace, StudioSettings(clock=lambda: NOON)) as client:
        answer = client.get("/api/board", headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_board_has_stations_alarms_and_the_day(workspace: Workspace) -> None:
    collect(workspace)
    facts = board(workspace)
    first, second = facts["stations"]
    assert (first["name"], first["today"], first["accepted"]) == ("s1", 13, 10)
    # 13 takes between 10:55 and the end of the last at 11:56.
    assert first["per_hour"] == pytest.approx(13 / (61 / 60))
    verdicts = [take["outcome"] for take in first["latest"]]
    assert verdicts == ["failed", *(["accepted"] * 3 + ["failed"]) * 2, "accepted"]
    assert (first["campaign"], first["left"]) == ("autumn", 8)
    assert set(first["next_levels"]) == {"hand", "approach"}
    assert (second["name"], second["today"], second["per_hour"]) == ("s2", 0, None)
    assert [(alarm["kind"], alarm["link"]) for alarm in facts["alarms"]] == [
        ("halt", "/calibrations"), ("figure", "/dashboards")
    ]  # fmt: skip
    assert facts["alarms"][0]["station"] == "s1"
    assert facts["alarms"][1]["query"] == "batch = b1"
    assert (facts["episodes"], facts["accepted"], facts["rejected"]) == (13, 10, 3)
    # 13 minutes recorded and 30 s around each take, at 40 an hour, over ten kept.
    assert facts["cost_per_kept"] == pytest.approx(40 * (13 + 6.5) / 60 / 10)
    assert facts["target_per_hour"] is None
    assert facts["campaigns"] == [{"name": "autumn", "episodes": 8, "accepted": 0, "today": 0}]


def test_names_of_people_are_shown_to_leads_of_a_managed_workspace_alone(
    workspace: Workspace,
) -> None:
    collect(workspace)
    with workspace.database.write() as connection:
        set_privacy(connection, Privacy(), by=ADMIN)
    hidden = board(workspace)
    assert hidden["stations"][0]["operator"] is None
    assert not hidden["people"]
    assert "data-only" in hidden["hidden"]
    with workspace.database.write() as connection:
        set_privacy(connection, MANAGED, by=ADMIN)
    token_of(workspace, "root", "admin")
    assert board(workspace, "lead")["stations"][0]["operator"] == "ann"
    for role in ("viewer", "annotator"):
        seen = board(workspace, role)
        assert seen["stations"][0]["operator"] is None, role
        assert not seen["people"], role


def test_a_workspace_says_what_a_station_should_make_in_an_hour(workspace: Workspace) -> None:
    path = Path(workspace.root) / "corporeal.toml"
    text = path.read_text()
    path.write_text(f"{text}\n[board]\nper_hour = 12\n")
    assert board(workspace)["target_per_hour"] == 12.0
    path.write_text(f"{text}\n[board]\nper_hour = 'many'\n")
    with open_client(workspace) as client:
        answer = client.get("/api/board")
    assert answer.status_code >= 400
    assert "board.per_hour" in answer.text
