"""What people put on episodes: a verdict of their own, and tags."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, PrimaryKeyConstraint, Text

revision = "0008"
down_revision = "0007"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add what people decide. Decisions of reviews from before stay in the audit log."""
    op.create_table(
        "decision",
        *(_name(name) for name in ("episode", "verdict", "who", "at")),
        Column("why", _TEXT),
        PrimaryKeyConstraint("episode", name="pk_decision"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_decision_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_decision_who_episode", "decision", ["who", "episode"])
    op.create_table(
        "tag",
        *(_name(name) for name in ("episode", "tag", "who", "at")),
        PrimaryKeyConstraint("episode", "tag", name="pk_tag"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_tag_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_tag_tag_episode", "tag", ["tag", "episode"])


def _name(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False)
