"""Which releases there are, and which episodes are in them."""

from __future__ import annotations

from sqlalchemy import Connection, select

from corporeal.catalog.tables import MEMBER, RELEASE


def releases_of(connection: Connection, episode: str) -> list[str]:
    """The releases that an episode is in, as name@version."""
    query = (
        select(MEMBER.c.name, MEMBER.c.version)
        .where(MEMBER.c.episode == episode)
        .order_by(MEMBER.c.name, MEMBER.c.version)
    )
    return [f"{name}@{version}" for name, version in connection.execute(query)]


def release_made_at(connection: Connection, name: str, version: str) -> str | None:
    """When a release was made; None where there is none of this name and version."""
    query = select(RELEASE.c.created_at).where(RELEASE.c.name == name, RELEASE.c.version == version)
    made: str | None = connection.execute(query).scalar()
    return made
