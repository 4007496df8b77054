"""Campaigns through the API: coverage of accepted episodes, and the cards of the stations."""

from __future__ import annotations

from tests.studio.people import open_client

from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.operations.campaign import create_campaign, next_card
from corporeal.protocol import open_protocol


def test_a_campaign_is_listed_with_its_coverage_and_its_cards(workspace: Workspace) -> None:
    with workspace.database.write() as connection:
        create_campaign(
            connection, Actor("lena", "lead"), "autumn", open_protocol("pick_place"), episodes=8
        )
    card = next_card(workspace.database, "autumn", station="s1", operator="ann")
    with open_client(workspace) as client:
        (line,) = client.get("/api/campaigns").json()
        facts = client.get("/api/campaigns/autumn").json()
        unknown = client.get("/api/campaigns/spring")
    assert (line["name"], line["episodes"], line["accepted"]) == ("autumn", 8, 0)
    assert facts["line"] == line
    assert [factor["name"] for factor in facts["factors"]] == ["hand", "approach"]
    assert {level["level"]: level["planned"] for level in facts["factors"][0]["levels"]} == {
        "left": 4.0, "right": 4.0
    }  # fmt: skip
    assert facts["pairs_missing"] == len(facts["missing"]) == 4
    assert facts["confounded"] == []
    assert facts["cards"] == [{"station": "s1", "levels": dict(card.levels)}]
    assert unknown.status_code == 404
    assert "autumn" in unknown.text
