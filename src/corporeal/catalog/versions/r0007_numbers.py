"""The number that people call an episode by in a workspace."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, text

revision = "0007"
down_revision = "0006"

_NUMBERED = """
UPDATE episode SET number = counted.place FROM (
    SELECT id, row_number() OVER (ORDER BY ingested_at, recorded_ns, id) AS place FROM episode
) AS counted WHERE episode.id = counted.id
"""


def upgrade() -> None:
    """Count the episodes that are there in the order in which they came in."""
    op.add_column("episode", Column("number", BigInteger))
    op.execute(text(_NUMBERED))
    op.create_index("ix_episode_number", "episode", ["number"], unique=True)
