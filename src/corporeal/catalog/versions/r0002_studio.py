"""What findings are drawn from, saved views, shared links, reviews."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    """Add what Studio keeps."""
    op.add_column("finding", Column("evidence", _JSON))
    op.create_table(
        "view",
        Column("number", _NUMBER, autoincrement=True, nullable=False),
        *(_name(name) for name in ("owner", "name")),
        Column("shared", Boolean, nullable=False),
        _name("condition"),
        Column("settings", _JSON, nullable=False),
        _name("created_at"),
        PrimaryKeyConstraint("number", name="pk_view"),
        UniqueConstraint("owner", "name", name="uq_view_owner_name"),
    )
    op.create_table(
        "share",
        *(_name(name) for name in ("hash", "label", "address")),
        Column("episodes", _JSON, nullable=False),
        *(_name(name) for name in ("created_by", "created_at")),
        *(_text(name) for name in ("expires_at", "revoked_at")),
        PrimaryKeyConstraint("hash", name="pk_share"),
    )
    _make_reviews()


def _make_reviews() -> None:
    op.create_table(
        "review",
        *(_name(name) for name in ("name", "condition")),
        Column("settings", _JSON, nullable=False),
        *(_name(name) for name in ("created_by", "created_at")),
        _text("closed_at"),
        PrimaryKeyConstraint("name", name="pk_review"),
    )
    op.create_table(
        "review_item",
        *(_name(name) for name in ("review", "episode")),
        Column("place", Integer, nullable=False),
        *(_name(name) for name in ("stratum", "because")),
        *(_text(name) for name in ("taken_by", "taken_at", "decision", "why")),
        *(_text(name) for name in ("decided_by", "decided_at")),
        Column("seconds", Float),
        Column("version", Integer, nullable=False),
        PrimaryKeyConstraint("review", "episode", name="pk_review_item"),
        ForeignKeyConstraint(["review"], ["review.name"], name="fk_review_item_review"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_review_item_episode"),
    )
    op.create_index("ix_review_item_episode", "review_item", ["episode"])
    op.create_index("ix_review_item_review_place", "review_item", ["review", "place"])


def _name(name: str) -> Column[str]:
    """Text that must be there."""
    return Column(name, _TEXT, nullable=False)


def _text(name: str) -> Column[str]:
    """Text that may be missing."""
    return Column(name, _TEXT)
