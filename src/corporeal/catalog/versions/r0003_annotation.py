"""Label tasks and every edit in them, labels that count, comments, qualification."""

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

revision = "0003"
down_revision = "0002"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_JSON = JSON().with_variant(JSONB(), "postgresql")
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    """Add what annotation keeps."""
    _make_tasks()
    _make_labels()


def _make_tasks() -> None:
    op.create_table(
        "label_task",
        *(_name(name) for name in ("id", "episode", "kind", "queue", "taxonomy", "state")),
        *(_text(name) for name in ("assigned_to", "pair")),
        Column("priority", Integer, nullable=False),
        *(Column(name, _JSON, nullable=False) for name in ("start", "content")),
        Column("version", Integer, nullable=False),
        Column("seconds", Float, nullable=False),
        Column("settings", _JSON, nullable=False),
        *(_name(name) for name in ("created_by", "created_at", "changed_at")),
        PrimaryKeyConstraint("id", name="pk_label_task"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_label_task_episode"),
        ForeignKeyConstraint(["taxonomy"], ["document.hash"], name="fk_label_task_taxonomy"),
    )
    for name in ("episode", "taxonomy", "assigned_to", "pair"):
        op.create_index(f"ix_label_task_{name}", "label_task", [name])
    op.create_index(
        "ix_label_task_queue_state_priority", "label_task", ["queue", "state", "priority"]
    )
    op.create_table(
        "label_edit",
        _name("task"),
        Column("number", Integer, nullable=False),
        *(_name(name) for name in ("edit", "who", "at", "action")),
        Column("steps", _JSON, nullable=False),
        PrimaryKeyConstraint("task", "number", name="pk_label_edit"),
        ForeignKeyConstraint(["task"], ["label_task.id"], name="fk_label_edit_task"),
        UniqueConstraint("task", "edit", name="uq_label_edit_task_edit"),
        sqlite_with_rowid=False,
    )


def _make_labels() -> None:
    op.create_table(
        "labels",
        _name("episode"),
        Column("number", Integer, nullable=False),
        _name("taxonomy"),
        _text("task"),
        Column("content", _JSON, nullable=False),
        *(_name(name) for name in ("hash", "who", "at")),
        _text("stale"),
        PrimaryKeyConstraint("episode", "number", name="pk_labels"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_labels_episode"),
        ForeignKeyConstraint(["taxonomy"], ["document.hash"], name="fk_labels_taxonomy"),
        ForeignKeyConstraint(["task"], ["label_task.id"], name="fk_labels_task"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_labels_taxonomy", "labels", ["taxonomy"])
    op.create_table(
        "label_comment",
        Column("number", _NUMBER, autoincrement=True, nullable=False),
        *(_name(name) for name in ("episode",)),
        _text("task"),
        Column("time_ns", BigInteger),
        *(_name(name) for name in ("who", "at", "text")),
        _text("resolved_at"),
        PrimaryKeyConstraint("number", name="pk_label_comment"),
        ForeignKeyConstraint(["episode"], ["episode.id"], name="fk_label_comment_episode"),
        ForeignKeyConstraint(["task"], ["label_task.id"], name="fk_label_comment_task"),
    )
    op.create_index("ix_label_comment_episode", "label_comment", ["episode"])
    op.create_table(
        "qualification",
        Column("number", _NUMBER, autoincrement=True, nullable=False),
        *(_name(name) for name in ("account", "taxonomy")),
        Column("passed", Boolean, nullable=False),
        _name("at"),
        Column("figures", _JSON, nullable=False),
        PrimaryKeyConstraint("number", name="pk_qualification"),
        ForeignKeyConstraint(["taxonomy"], ["document.hash"], name="fk_qualification_taxonomy"),
    )
    op.create_index("ix_qualification_account", "qualification", ["account"])


def _name(name: str) -> Column[str]:
    """Text that must be there."""
    return Column(name, _TEXT, nullable=False)


def _text(name: str) -> Column[str]:
    """Text that may be missing."""
    return Column(name, _TEXT)
