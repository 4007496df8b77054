"""Who looks, at which workspace, and what they may do; logging in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from corporeal import __version__
from corporeal.catalog.accounts import (
    actor_of_token,
    begin_session,
    end_session,
    has_accounts,
)
from corporeal.catalog.people import admit
from corporeal.catalog.permission import (
    ACTIONS,
    Actor,
    PermissionDeniedError,
    may,
    sees_everybody,
)
from corporeal.studio.access.login_session import DAYS
from corporeal.studio.authentication import Visitor, address_of, refuse_token, visitor
from corporeal.studio.context import Studio, StudioDep

ROUTER = APIRouter(tags=["session"])


class Session(BaseModel):
    """The first thing that the page asks for.

    `episodes` is all that a visitor by a link may see, and null for everyone else; `sees_people`
    says whether lists tell them whose episode is whose.
    """

    workspace: str
    version: str
    name: str
    role: str
    guest: bool
    read_only: bool
    may: list[str]
    accounts: bool
    sees_people: bool
    episodes: list[str] | None


class Login(BaseModel):
    """A token of an account."""

    token: str = Field(min_length=1, max_length=200)


@ROUTER.get("/session")
def session(studio: StudioDep, found: Annotated[Visitor, Depends(visitor)]) -> Session:
    """Who is asking, and what they may do."""
    return _session(studio, found.actor, found.episodes)


@ROUTER.post("/login")
def login(given: Login, request: Request, response: Response, studio: StudioDep) -> Session:
    """Make a session of a token: the browser keeps it in a cookie that no script can read."""
    token = given.token.strip()
    try:
        with studio.workspace.database.read() as connection:
            actor = actor_of_token(connection, token)
    except PermissionDeniedError as error:
        refuse_token(request, studio, error)
    with studio.workspace.database.write() as connection:
        secret = begin_session(connection, token, address=address_of(request))
    response.set_cookie(
        studio.key.cookie,
        studio.key.sign(secret),
        max_age=DAYS * 86400,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    with studio.workspace.database.read() as connection:
        known = admit(connection, actor, studio.workspace.grants)
    return _session(studio, known, None)


@ROUTER.post("/logout", status_code=204)
def logout(studio: StudioDep, request: Request, response: Response) -> None:
    """End the session, so that a copy of the cookie is worth nothing; forget followed links."""
    cookie = request.cookies.get(studio.key.cookie)
    secret = studio.key.read(cookie) if cookie else None
    if secret is not None:
        with studio.workspace.database.write() as connection:
            end_session(connection, secret)
    for name in (studio.key.cookie, studio.key.share_cookie):
        response.delete_cookie(name, httponly=True, samesite="strict")


def _session(studio: Studio, actor: Actor, episodes: frozenset[str] | None) -> Session:
    with studio.workspace.database.read() as connection:
        accounts = has_accounts(connection)
    return Session(
        workspace=studio.workspace.name if episodes is None else "",
        version=__version__,
        name=actor.name,
        role=actor.role,
        guest=actor.guest,
        read_only=studio.settings.read_only,
        accounts=accounts,
        sees_people=sees_everybody(actor),
        may=[action for action in ACTIONS if may(actor, action)],
        episodes=None if episodes is None else sorted(episodes),
    )
