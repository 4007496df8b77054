"""What somebody names on the command line, as the catalogue calls it: episodes and releases."""

from __future__ import annotations

from corporeal.catalog.episodes import find_named
from corporeal.catalog.workspace import Workspace
from corporeal.release.reading import list_releases


def full_name(workspace: Workspace, subject: str) -> str:
    """`episode:ID` of a number or `episode:4`; `release:NAME@VERSION` of that or a name alone.

    A name alone means the newest release of it; whatever has a kind before a colon stays.
    """
    if subject.startswith("episode:") or subject.removeprefix("#").isdigit():
        with workspace.database.read() as connection:
            return f"episode:{find_named(connection, subject.removeprefix('episode:')).id}"
    name = subject.removeprefix("release:")
    if ":" in name:
        return subject
    if "@" in name:
        return f"release:{name}"
    releases = list_releases(workspace, name)
    return f"release:{releases[-1].reference}" if releases else subject
