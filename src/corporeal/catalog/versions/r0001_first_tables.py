"""Episodes and what was found in them, documents, lineage, releases, audit, accounts, metrics."""

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

revision = "0001"
down_revision = None

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    """Make every table of an empty catalogue."""
    _make_episode()
    _make_results()
    _make_documents()
    _make_releases()
    _make_audit()
    _make_accounts()
    _make_metrics()


def _make_episode() -> None:
    op.create_table(
        "episode",
        _name("id"),
        _name("hash"),
        Column("bytes", BigInteger, nullable=False),
        _name("file"),
        _name("state"),
        *(_text(name) for name in ("task", "instruction", "robot", "operator", "station")),
        *(_text(name) for name in ("session", "batch", "protocol", "calibration")),
        *(_text(name) for name in ("environment", "mode", "software")),
        Column("recorded_ns", BigInteger),
        Column("duration_s", Float),
        Column("success", Boolean),
        _text("failure"),
        _text("verdict"),
        Column("score", Float),
        _text("policy"),
        _name("ingested_at"),
        Column("metadata", _JSON, nullable=False),
        PrimaryKeyConstraint("id", name="pk_episode"),
        UniqueConstraint("hash", name="uq_episode_hash"),
    )
    for name in ("robot", "operator", "station", "session", "batch", "verdict"):
        op.create_index(f"ix_episode_{name}", "episode", [name])
    op.create_index("ix_episode_recorded_ns_id", "episode", ["recorded_ns", "id"])
    op.create_index("ix_episode_score_id", "episode", ["score", "id"])
    op.create_index(
        "ix_episode_task_score_operator_id", "episode", ["task", "score", "operator", "id"]
    )
    op.create_index("ix_episode_state_task", "episode", ["state", "task"])


def _make_results() -> None:
    op.create_table(
        "stream",
        _name("episode"),
        _name("path"),
        _name("kind"),
        Column("rate_hz", Float),
        Column("samples", BigInteger, nullable=False),
        PrimaryKeyConstraint("episode", "path", name="pk_stream"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_stream_episode"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "finding",
        Column("number", _NUMBER, autoincrement=True, nullable=False),
        _name("episode"),
        _name("check"),
        _name("severity"),
        _text("stream"),
        Column("value", Float),
        Column("limit", Float),
        _name("message"),
        Column("frames", _JSON, nullable=False),
        PrimaryKeyConstraint("number", name="pk_finding"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_finding_episode"),
    )
    op.create_index("ix_finding_episode", "finding", ["episode"])
    op.create_index(
        "ix_finding_check_episode_severity", "finding", ["check", "episode", "severity"]
    )
    op.create_table(
        "score",
        _name("episode"),
        _name("part"),
        Column("value", Float),
        Column("weight", Float),
        PrimaryKeyConstraint("episode", "part", name="pk_score"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_score_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_score_part_value_episode", "score", ["part", "value", "episode"])


def _make_documents() -> None:
    op.create_table(
        "document",
        *(_name(name) for name in ("hash", "kind", "name", "version", "text")),
        PrimaryKeyConstraint("hash", name="pk_document"),
    )
    op.create_index("ix_document_kind", "document", ["kind"])
    op.create_table(
        "governs",
        *(_name(name) for name in ("episode", "kind", "document")),
        PrimaryKeyConstraint("episode", "kind", name="pk_governs"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_governs_episode"),
        ForeignKeyConstraint(["document"], ["document.hash"], name="fk_governs_document"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_governs_document", "governs", ["document"])
    op.create_index("ix_governs_kind_document_episode", "governs", ["kind", "document", "episode"])
    op.create_table(
        "edge",
        *(_name(name) for name in ("child", "parent", "relation")),
        PrimaryKeyConstraint("child", "parent", "relation", name="pk_edge"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_edge_parent", "edge", ["parent"])


def _make_releases() -> None:
    op.create_table(
        "release",
        *(_name(name) for name in ("name", "version", "manifest", "condition")),
        Column("episodes", Integer, nullable=False),
        *(_name(name) for name in ("created_at", "created_by")),
        Column("facts", _JSON, nullable=False),
        PrimaryKeyConstraint("name", "version", name="pk_release"),
    )
    op.create_table(
        "member",
        *(_name(name) for name in ("name", "version", "episode", "split")),
        PrimaryKeyConstraint("name", "version", "episode", name="pk_member"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_member_episode"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_member_episode", "member", ["episode"])


def _make_audit() -> None:
    op.create_table(
        "event",
        Column("number", _NUMBER, autoincrement=False, nullable=False),
        *(_name(name) for name in ("at", "who", "what", "subject")),
        _text("why"),
        Column("details", JSON, nullable=False),
        *(_name(name) for name in ("previous", "hash")),
        PrimaryKeyConstraint("number", name="pk_event"),
    )
    op.create_index("ix_event_subject", "event", ["subject"])
    op.create_table(
        "head",
        Column("id", Integer, autoincrement=False, nullable=False),
        Column("number", _NUMBER, nullable=False),
        _name("hash"),
        PrimaryKeyConstraint("id", name="pk_head"),
    )


def _make_accounts() -> None:
    op.create_table(
        "account",
        *(_name(name) for name in ("name", "role", "created_at")),
        Column("disabled", Boolean, nullable=False),
        PrimaryKeyConstraint("name", name="pk_account"),
    )
    op.create_table(
        "token",
        *(_name(name) for name in ("hash", "account", "label", "created_at")),
        *(_text(name) for name in ("expires_at", "revoked_at")),
        PrimaryKeyConstraint("hash", name="pk_token"),
        ForeignKeyConstraint(["account"], ["account.name"], name="fk_token_account"),
    )
    op.create_index("ix_token_account", "token", ["account"])


def _make_metrics() -> None:
    op.create_table(
        "metric",
        Column("number", _NUMBER, autoincrement=True, nullable=False),
        *(_name(name) for name in ("scope", "subject", "name", "at")),
        Column("value", Float, nullable=False),
        PrimaryKeyConstraint("number", name="pk_metric"),
        UniqueConstraint("scope", "subject", "name", name="uq_metric_scope_subject_name"),
    )
    op.create_index("ix_metric_name_at", "metric", ["name", "at"])


def _name(name: str) -> Column[str]:
    """Text that must be there."""
    return Column(name, _TEXT, nullable=False)


def _text(name: str) -> Column[str]:
    """Text that may be missing."""
    return Column(name, _TEXT)
