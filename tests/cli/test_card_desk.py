"""The desk hands a source card after card, and says when nothing is left for who records here."""

from __future__ import annotations

from pathlib import Path

from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import make_workspace
from corporeal.cli.card_desk import CardDesk
from corporeal.operations.campaign import create_campaign
from corporeal.protocol import open_protocol


def test_a_source_waits_for_the_card_after_the_one_that_was_taken(tmp_path: Path) -> None:
    with make_workspace(tmp_path / "lab") as workspace, workspace.database.write() as connection:
        create_campaign(connection, Actor("lena", "lead"), "autumn", open_protocol("pick_place"),
                        episodes=8)  # fmt: skip
    with CardDesk("autumn", tmp_path / "lab", station="s1", operator="ann") as desk:
        cards = []
        for _ in range(2):
            facts = desk.wait_for_next()
            assert facts is not None
            assert facts["hand"] in ("left", "right")
            taken = desk.take()
            assert taken is not None
            assert facts["card"]["id"] == taken.id
            cards.append(taken.id)
        assert len(set(cards)) == 2
        # One operator makes 30 % of 8 at most.
        assert desk.wait_for_next() is None
        assert "ann has made 2 of 8" in desk.ending
