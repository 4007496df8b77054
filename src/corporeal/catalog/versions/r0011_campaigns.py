"""Campaigns: protocols with their plan of episodes, and the cards that stations were handed."""

from __future__ import annotations

from alembic import op
from sqlalchemy import JSON, Column, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text
from sqlalchemy.dialects.postgresql import JSONB

revision = "0011"
down_revision = "0010"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add campaigns and their cards."""
    op.create_table(
        "campaign",
        *(_name(name) for name in ("name", "protocol")),
        *(Column(name, Integer, nullable=False) for name in ("episodes", "seed")),
        Column("plan", _JSON, nullable=False),
        *(_name(name) for name in ("created_by", "created_at")),
        Column("closed_at", _TEXT),
        PrimaryKeyConstraint("name", name="pk_campaign"),
        ForeignKeyConstraint(["protocol"], ["document.hash"], name="fk_campaign_protocol"),
    )
    op.create_table(
        "campaign_card",
        *(_name(name) for name in ("id", "campaign")),
        *(Column(name, _TEXT) for name in ("station", "operator")),
        _name("state"),
        Column("content", _JSON, nullable=False),
        Column("why", _TEXT),
        *(_name(name) for name in ("offered_at", "changed_at")),
        PrimaryKeyConstraint("id", name="pk_campaign_card"),
        ForeignKeyConstraint(["campaign"], ["campaign.name"], name="fk_campaign_card_campaign"),
    )
    op.create_index("ix_campaign_card_campaign_state", "campaign_card", ["campaign", "state"])
    op.create_index("ix_campaign_card_campaign_station", "campaign_card", ["campaign", "station"])


def _name(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False)
