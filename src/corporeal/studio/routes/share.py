"""Links that show some episodes to others: made, listed, ended, followed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from corporeal.studio.access.share_link import (
    LONGEST_ADDRESS,
    LONGEST_LABEL,
    MOST_DAYS,
    MOST_EPISODES,
    make_share,
    open_shares,
    revoke_share,
    shares,
)
from corporeal.studio.authentication import SHARES_KEPT, Sharer, secrets_of
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["share"])
LINKS = APIRouter()
ENDED = "/login?why=share"


class NewShare(BaseModel):
    """What to share, where the link leads, and for how many days."""

    episodes: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        min_length=1, max_length=MOST_EPISODES
    )
    address: str = Field(min_length=1, max_length=LONGEST_ADDRESS)
    label: str = Field(default="", max_length=LONGEST_LABEL)
    days: int = Field(default=14, ge=1, le=MOST_DAYS)


class ShareFacts(BaseModel):
    """A link as it is listed, without its secret."""

    id: str
    label: str
    address: str
    episodes: list[str]
    created_by: str
    created_at: str
    expires_at: str | None


class MadeShare(ShareFacts):
    """A new link: `path` is told this once."""

    path: str


@ROUTER.post("/shares", status_code=201)
def share(wish: NewShare, studio: StudioDep, actor: Sharer) -> MadeShare:
    """Make a link that shows these episodes, and nothing else, to whoever has it."""
    with studio.workspace.database.write() as connection:
        secret, made = make_share(
            connection, wish.episodes, address=wish.address, label=wish.label, days=wish.days,
            by=actor,
        )  # fmt: skip
    return MadeShare(**vars(made), path=f"/s/{secret}")


@ROUTER.get("/shares")
def list_shares(
    studio: StudioDep,
    actor: Sharer,
    episode: Annotated[str | None, Query(max_length=200)] = None,
) -> list[ShareFacts]:
    """Links that are open: those of the visitor, or for leads everyone's."""
    with studio.workspace.database.read() as connection:
        return [ShareFacts(**vars(each)) for each in shares(connection, by=actor, episode=episode)]


@ROUTER.delete("/shares/{share_id}", status_code=204)
def end_share(share_id: str, studio: StudioDep, actor: Sharer) -> None:
    """End a link at once."""
    with studio.workspace.database.write() as connection:
        revoke_share(connection, share_id, by=actor)


@LINKS.get("/s/{secret}", include_in_schema=False)
def follow(secret: str, request: Request, studio: StudioDep) -> RedirectResponse:
    """Let the browser see what the link shows, and lead it there."""
    with studio.workspace.database.read() as connection:
        links = open_shares(connection, [secret], studio.workspace.grants)
    if not links:
        return RedirectResponse(ENDED, 303)
    kept = [secret, *(each for each in secrets_of(request, studio) if each != secret)]
    response = RedirectResponse(links[0].address, 303)
    response.set_cookie(
        studio.key.share_cookie,
        ".".join(kept[:SHARES_KEPT]),
        max_age=86400 * MOST_DAYS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response
