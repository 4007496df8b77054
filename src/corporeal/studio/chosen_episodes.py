"""The episodes that somebody chose in the list: some, or all that a query finds."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import MOST_MARKED
from corporeal.catalog.people import require_query
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import count_episodes, every_episode


def find_chosen(
    connection: Connection,
    episodes: Sequence[str] | None,
    query: str | None,
    expected: int | None,
    *,
    by: Actor,
) -> list[str]:
    """Their ids; refused where the query finds another number than when somebody decided.

    A query for single people is for those alone who may see their figures.
    """
    if (episodes is None) == (query is None):
        raise CatalogError("episodes, got both or neither; expected some, or a query.")
    if episodes is not None:
        return list(dict.fromkeys(episodes))
    require_query(connection, by, query)
    count = count_episodes(connection, query)
    if expected is not None and count != expected:
        raise CatalogError(
            f"query, got {count:,} episodes now, {expected:,} when it was asked; expected "
            "the same. Look at the list again."
        )
    if count > MOST_MARKED:
        raise CatalogError(
            f"query, got {count:,} episodes; expected {MOST_MARKED:,} at most. Narrow it."
        )
    return [row.id for row in every_episode(connection, query) if row.state != "erased"]
