"""What somebody names on the command line, as the catalogue calls it: episodes and releases."""

from __future__ import annotations

from sqlalchemy import Connection, select

from corporeal.catalog.episodes import find_named
from corporeal.catalog.tables import RELEASE


def full_name(connection: Connection, subject: str) -> str:
    """`episode:ID` of a number or `episode:4`; `release:NAME@VERSION` of that or a name alone.

    A name alone means the newest release of it; whatever has a kind before a colon stays.
    """
    if subject.startswith("episode:") or subject.removeprefix("#").isdigit():
        return f"episode:{find_named(connection, subject.removeprefix('episode:')).id}"
    name = subject.removeprefix("release:")
    if ":" in name:
        return subject
    if "@" in name:
        return f"release:{name}"
    newest = select(RELEASE.c.version).where(RELEASE.c.name == name)
    version = connection.execute(newest.order_by(RELEASE.c.created_at.desc()).limit(1)).scalar()
    return subject if version is None else f"release:{name}@{version}"
