"""What could not be assessed, every judgement of an episode, synopses, references of scores."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    JSON,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005"
down_revision = "0004"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add what judging again needs. Episodes that are there have none of it until then."""
    op.create_table(
        "not_assessed",
        *(_name(name) for name in ("episode", "check", "reason")),
        PrimaryKeyConstraint("episode", "check", name="pk_not_assessed"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_not_assessed_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_not_assessed_check_episode", "not_assessed", ["check", "episode"])
    op.create_table(
        "assessment",
        _name("episode"),
        Column("number", Integer, nullable=False),
        *(_name(name) for name in ("at", "who", "verdict")),
        Column("score", Float),
        *(_name(name) for name in ("policy", "basis")),
        Column("reason", _TEXT),
        Column("facts", _JSON, nullable=False),
        PrimaryKeyConstraint("episode", "number", name="pk_assessment"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_assessment_episode"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "synopsis",
        _name("episode"),
        Column("content", LargeBinary, nullable=False),
        Column("profile", LargeBinary),
        PrimaryKeyConstraint("episode", name="pk_synopsis"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_synopsis_episode"),
    )
    op.create_table(
        "reference",
        *(_name(name) for name in ("task", "robot")),
        Column("version", Integer, nullable=False),
        Column("episodes", _JSON, nullable=False),
        *(_name(name) for name in ("made_at", "made_by")),
        PrimaryKeyConstraint("task", "robot", "version", name="pk_reference"),
    )


def _name(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False)
