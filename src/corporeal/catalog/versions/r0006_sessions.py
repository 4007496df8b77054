"""Sessions of browsers, which the server can end."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    Column,
    ForeignKeyConstraint,
    PrimaryKeyConstraint,
    Text,
)

revision = "0006"
down_revision = "0005"

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Whoever is logged in logs in once more."""
    op.create_table(
        "login",
        *(Column(name, _TEXT, nullable=False)
          for name in ("hash", "token", "address", "created_at", "expires_at")),
        Column("ended_at", _TEXT),
        PrimaryKeyConstraint("hash", name="pk_login"),
        ForeignKeyConstraint(["token"], ["token.hash"], name="fk_login_token"),
    )  # fmt: skip
    op.create_index("ix_login_token", "login", ["token"])
