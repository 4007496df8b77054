"""Who is asking, and whether they may.

Without accounts, and on this machine alone, everyone is its admin: a laptop needs no log-in.
Otherwise a token says who asks (`Authorization: Bearer crp_...`, or the session that a log-in
made of it). Whoever came by a share link may read its episodes: `/api/episodes/{episode_id}` and
all below it, for the ids of the link, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from sqlalchemy import Connection
from starlette.requests import HTTPConnection

from corporeal.catalog.accounts import actor_of_digest, actor_of_token, has_accounts, system_user
from corporeal.catalog.permission import Action, Actor, PermissionDeniedError, require
from corporeal.studio.access.share_link import open_shares
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.errors import NotLoggedInError

WHO = "Studio has to know who you are. Log in with a token: corporeal account token NAME."
_BELOW = "/api/episodes/"
SHARES_KEPT = 8
"""Links that a browser has followed and is still let in by."""


@dataclass(frozen=True)
class Visitor:
    """Who asks; `episodes` is all that may be seen, for those who came by a link."""

    actor: Actor
    episodes: frozenset[str] | None = None


def visitor(connection: HTTPConnection, studio: StudioDep) -> Visitor:
    """Whoever asks; raises NotLoggedInError when that is not known."""
    with studio.workspace.database.read() as reading:
        if not has_accounts(reading) and studio.settings.is_loopback:
            return Visitor(Actor(system_user(), "admin"))
        actor = _actor(connection, studio, reading)
        if actor is not None:
            return Visitor(actor)
        found = open_shares(reading, secrets_of(connection, studio))
    if found:
        episodes = frozenset(name for share in found for name in share.episodes)
        return Visitor(Actor("share", "viewer", guest=True), episodes)
    raise NotLoggedInError(WHO)


def _actor(connection: HTTPConnection, studio: Studio, reading: Connection) -> Actor | None:
    """The owner of the token or of the session; None where there is neither."""
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    try:
        if kind.lower() == "bearer":
            return actor_of_token(reading, token.strip())
        cookie = connection.cookies.get(studio.key.cookie)
        digest = studio.key.read(cookie) if cookie else None
        return None if digest is None else actor_of_digest(reading, digest)
    except PermissionDeniedError as error:
        raise NotLoggedInError(str(error)) from None


def secrets_of(connection: HTTPConnection, studio: Studio) -> list[str]:
    """The secrets of the links that a browser has followed, the latest first."""
    held = connection.cookies.get(studio.key.share_cookie, "")
    return [each for each in held.split(".") if each][:SHARES_KEPT]


def allowed(action: Action) -> Callable[[HTTPConnection, Visitor], Actor]:
    """A dependency: the visitor, who may do this; anyone else is refused."""

    def check(
        connection: HTTPConnection, found: Annotated[Visitor, Depends(visitor)]
    ) -> Actor:  # fmt: skip
        require(found.actor, action)
        if found.episodes is not None and not _is_shared(connection, found.episodes):
            raise PermissionDeniedError(
                "The link that you followed shows other episodes, and nothing besides them. "
                "Log in to see more."
            )
        return found.actor

    return check


def _is_shared(connection: HTTPConnection, episodes: frozenset[str]) -> bool:
    """Whether a request only reads something of these episodes."""
    is_reading = connection.scope.get("method") in ("GET", "HEAD")
    is_below = connection.scope["path"].startswith(_BELOW)
    return is_reading and is_below and connection.path_params.get("episode_id") in episodes


def _anyone(found: Annotated[Visitor, Depends(visitor)]) -> Actor:
    return found.actor


Anyone = Annotated[Actor, Depends(_anyone)]
"""Also those who came by a link: for what says nothing of any episode, such as a robot's shape."""
Reader = Annotated[Actor, Depends(allowed("read"))]
Exporter = Annotated[Actor, Depends(allowed("export"))]
Judge = Annotated[Actor, Depends(allowed("judge"))]
