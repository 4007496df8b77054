"""Operators, their training and certificates, the practice partition, and settings of people."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

revision = "0012"
down_revision = "0011"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add what is known of the people who demonstrate."""
    op.create_table(
        "setting",
        _needed("name"),
        Column("value", _JSON, nullable=False),
        *map(_needed, ("who", "at")),
        PrimaryKeyConstraint("name", name="pk_setting"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "operator",
        _needed("name"),
        Column("account", _TEXT),
        Column("hours_before", Float),
        *map(_needed, ("added_at", "added_by")),
        Column("left_at", _TEXT),
        PrimaryKeyConstraint("name", name="pk_operator"),
        UniqueConstraint("account", name="uq_operator_account"),
    )
    op.create_table(
        "training",
        _number(),
        *map(_needed, ("operator", "task", "phase", "document", "begun_at", "begun_by")),
        Column("why", _TEXT),
        PrimaryKeyConstraint("number", name="pk_training"),
        *_of_operator("training"),
    )
    op.create_index("ix_training_operator_task", "training", ["operator", "task"])
    op.create_table(
        "certificate",
        _number(),
        *map(_needed, ("operator", "task", "document")),
        *map(_needed, ("valid_from", "valid_until", "given_at", "given_by")),
        Column("why", _TEXT),
        Column("evidence", _JSON, nullable=False),
        *(Column(f"revoked_{name}", _TEXT) for name in ("from", "at", "by", "why")),
        PrimaryKeyConstraint("number", name="pk_certificate"),
        *_of_operator("certificate"),
    )
    op.create_index("ix_certificate_task_operator", "certificate", ["task", "operator"])
    op.create_table(
        "certified_task",
        *map(_needed, ("task", "document", "since", "who", "at")),
        PrimaryKeyConstraint("task", name="pk_certified_task"),
        _of_document("certified_task"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "practice",
        *map(_needed, ("episode", "why", "at")),
        PrimaryKeyConstraint("episode", name="pk_practice"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_practice_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_practice_why_episode", "practice", ["why", "episode"])


def _needed(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False)


def _number() -> Column[int]:
    return Column("number", BigInteger().with_variant(Integer(), "sqlite"), autoincrement=True)


def _of_operator(table: str) -> tuple[ForeignKeyConstraint, ForeignKeyConstraint]:
    operator = ForeignKeyConstraint(["operator"], ["operator.name"], name=f"fk_{table}_operator")
    return operator, _of_document(table)


def _of_document(table: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["document"], ["document.hash"], name=f"fk_{table}_document")
