"""Who is asking, and whether they may.

Without accounts, and on this machine alone, its user is the admin: a laptop needs no log-in.
Otherwise a token says who asks (`Authorization: Bearer crp_...`, or the session that a log-in
made of it). Whoever came by a share link may read its episodes: `/api/episodes/{episode_id}` and
all below it, for the ids of the link, and nothing else.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NoReturn

from fastapi import Depends
from sqlalchemy import Connection
from starlette.requests import HTTPConnection

from corporeal.catalog.accounts import actor_of_session, actor_of_token, has_accounts, system_user
from corporeal.catalog.database import CatalogError
from corporeal.catalog.people import admit, require_query
from corporeal.catalog.permission import Action, Actor, PermissionDeniedError, require
from corporeal.catalog.query import read_query
from corporeal.studio.access.local_peer import OTHER_USER, is_other_user
from corporeal.studio.access.share_link import open_shares
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.errors import NotLoggedInError, TooManyFailuresError

WHO = "Studio has to know who you are. Log in with a token: corporeal account token NAME."
NO_ACCOUNT = (
    "This workspace has no accounts, so that Studio serves its own machine alone. "
    "Make one: corporeal account add NAME --role admin."
)
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
            if is_other_user(connection):
                raise NotLoggedInError(OTHER_USER)
            if _is_elsewhere(address_of(connection)):
                raise NotLoggedInError(NO_ACCOUNT)
            return Visitor(admit(reading, Actor(system_user(), "admin"), {}))
        actor = _actor(connection, studio, reading)
        if actor is not None:
            return Visitor(admit(reading, actor, studio.workspace.grants))
        grants = studio.workspace.grants
        links = open_shares(reading, secrets_of(connection, studio), grants)
    if links:
        episodes = frozenset(name for share in links for name in share.episodes)
        return Visitor(Actor("share", "viewer", guest=True), episodes)
    raise NotLoggedInError(WHO)


def _actor(connection: HTTPConnection, studio: Studio, reading: Connection) -> Actor | None:
    """The owner of the token or of the session; None where there is neither."""
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    try:
        if kind.lower() == "bearer":
            return actor_of_token(reading, token.strip())
        cookie = connection.cookies.get(studio.key.cookie)
        secret = studio.key.read(cookie) if cookie else None
        return None if secret is None else actor_of_session(reading, secret)
    except PermissionDeniedError as error:
        if kind.lower() == "bearer":
            refuse_token(connection, studio, error)
        raise NotLoggedInError(str(error)) from None


def refuse_token(
    connection: HTTPConnection, studio: Studio, error: PermissionDeniedError
) -> NoReturn:
    """Count a wrong token, and say what is wrong with it, or that there were too many."""
    if studio.throttle.fail(address_of(connection)):
        raise TooManyFailuresError(
            "Too many wrong tokens from this address. Wait a minute; a right one gets in at once."
        )
    raise NotLoggedInError(str(error)) from None


def address_of(connection: HTTPConnection) -> str:
    """Where a request comes from, as the audit log may have it."""
    return "unknown" if connection.client is None else connection.client.host[:64]


def _is_elsewhere(address: str) -> bool:
    """Whether a proxy says that it speaks for somebody on another machine."""
    try:
        return not ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def secrets_of(connection: HTTPConnection, studio: Studio) -> list[str]:
    """The secrets of the links that a browser has followed, the latest first."""
    cookie = connection.cookies.get(studio.key.share_cookie, "")
    return [secret for secret in cookie.split(".") if secret][:SHARES_KEPT]


@dataclass(frozen=True)
class Allowed:
    """A dependency: the visitor, who may do this; anyone else is refused."""

    action: Action

    def __call__(
        self,
        connection: HTTPConnection,
        studio: StudioDep,
        who: Annotated[Visitor, Depends(visitor)],
    ) -> Actor:
        """Whoever asks; raises PermissionDeniedError, also where a query is for single people."""
        require(who.actor, self.action)
        if query := connection.query_params.get("query"):
            _require_shown(studio, who.actor, query)
        if who.episodes is not None and not _is_shared(connection, who.episodes):
            raise PermissionDeniedError(
                "The link that you followed shows other episodes, and nothing besides them. "
                "Log in to see more."
            )
        return who.actor


def _require_shown(studio: Studio, actor: Actor, query: str) -> None:
    """Refuse a query for single people; what is wrong with one that cannot be read, others say."""
    try:
        condition = read_query(query)
    except CatalogError:
        return
    with studio.workspace.database.read() as reading:
        require_query(reading, actor, condition)


def allowed(action: Action) -> Callable[[HTTPConnection, Studio, Visitor], Actor]:
    """Whoever may do this."""
    return Allowed(action)


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
Sharer = Annotated[Actor, Depends(allowed("share"))]
Judge = Annotated[Actor, Depends(allowed("judge"))]
AccountAdmin = Annotated[Actor, Depends(allowed("account"))]
