"""Checks of stations' calibrations, halts of collection, and the episodes that these hold."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

revision = "0009"
down_revision = "0008"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add what the checks of stations leave behind."""
    op.create_table(
        "station_check",
        Column("number", BigInteger().with_variant(Integer(), "sqlite"), autoincrement=True),
        *(_name(name) for name in ("calibration", "at", "who")),
        Column("station", _TEXT),
        Column("source", _TEXT),
        Column("passed", Boolean, nullable=False),
        Column("shifts", _JSON, nullable=False),
        PrimaryKeyConstraint("number", name="pk_station_check"),
        UniqueConstraint("calibration", "at", name="uq_station_check_calibration_at"),
    )
    op.create_index("ix_station_check_at", "station_check", ["at"])
    op.create_table(
        "halt",
        *(_name(name) for name in ("key", "calibration", "at", "who", "why")),
        *(Column(name, _TEXT) for name in ("station", "since")),
        *(Column(name, _TEXT) for name in ("lifted_at", "lifted_by", "lifted_why")),
        PrimaryKeyConstraint("key", name="pk_halt"),
    )
    op.create_index("ix_halt_lifted_at", "halt", ["lifted_at"])
    op.create_table(
        "held",
        *(_name(name) for name in ("halt", "episode", "state")),
        Column("verdict", _TEXT),
        Column("decision", _JSON),
        PrimaryKeyConstraint("halt", "episode", name="pk_held"),
        ForeignKeyConstraint(["halt"], ["halt.key"], name="fk_held_halt"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_held_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_held_episode", "held", ["episode"])


def _name(name: str) -> Column[str]:
    return Column(name, _TEXT, nullable=False)
