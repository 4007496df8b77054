"""How much of an episode was shown to the reviewer who decided on it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Float

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the share that was shown; of earlier decisions nobody knows it."""
    op.add_column("review_item", Column("shown", Float))
