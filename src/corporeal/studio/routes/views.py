"""Saved views: a query with its order and look, under a name, for oneself or for all."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, field_validator
from sqlalchemy import Connection, and_, delete, func, insert, or_, select, update

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError, check_text
from corporeal.catalog.permission import Actor, PermissionDeniedError, may
from corporeal.catalog.query import LONGEST_QUERY, read_ordering, read_query
from corporeal.catalog.tables import VIEW
from corporeal.errors import UnknownNameError
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["views"])
MOST_VIEWS = 100
"""Of one person."""
_LARGEST = (1 << 63) - 1


Page = Literal["episodes", "episode"]


class ViewLook(BaseModel):
    """How a view is shown: of the list, or where the panels of an episode's page lie.

    `panels` is in the page's own words; the server only keeps it.
    """

    page: Page = "episodes"

    order: str = Field("-recorded", max_length=40)
    layout: Literal["table", "grid"] = "table"
    columns: list[Annotated[str, Field(max_length=40)]] | None = Field(None, max_length=40)
    panels: str | None = Field(None, max_length=2000)


class NewView(BaseModel):
    """A view under a name of yours; one that is there already is replaced."""

    name: str = Field(min_length=1, max_length=80)
    query: str = Field("", max_length=LONGEST_QUERY)
    shared: bool = False
    look: ViewLook = ViewLook()

    @field_validator("name")
    @classmethod
    def _is_plain(cls, name: str) -> str:
        if not name.strip() or not name.isprintable():
            raise ValueError("expected plain text")
        return name.strip()


class SavedView(BaseModel):
    """A saved view; `mine` ones can be changed."""

    number: int
    name: str
    owner: str
    mine: bool
    shared: bool
    query: str
    look: ViewLook


@ROUTER.get("/views")
def list_views(studio: StudioDep, actor: Reader, page: Page = "episodes") -> list[SavedView]:
    """Your views of a page and those that are shared, by name."""
    seen = or_(VIEW.c.owner == actor.name, VIEW.c.shared.is_(True))
    with studio.workspace.database.read() as connection:
        rows = connection.execute(select(VIEW).where(seen).order_by(VIEW.c.name, VIEW.c.number))
        views = [_view(dict(row), actor) for row in rows.mappings()]
    return [view for view in views if view.look.page == page]


@ROUTER.post("/views")
def save_view(view: NewView, studio: StudioDep, actor: Reader) -> SavedView:
    """Save a view; a query that is wrong is refused with the place."""
    _check_change(actor)
    if view.shared and not (may(actor, "ingest") or may(actor, "annotate")):
        raise PermissionDeniedError(
            f"to share a view, got {actor.name!r} with role {actor.role}; expected operator, "
            "annotator, lead or admin. Save it for yourself."
        )
    read_query(view.query)
    read_ordering(view.look.order)
    for text in (view.name, view.query, view.look.panels or ""):
        check_text(text, "view")
    with studio.workspace.database.write() as connection:
        return _view(_put(connection, view, actor), actor)


@ROUTER.delete("/views/{number}", status_code=204)
def delete_view(
    number: Annotated[int, Path(ge=0, le=_LARGEST)], studio: StudioDep, actor: Reader
) -> None:
    """Delete a view of yours; an admin may delete any that is shared."""
    _check_change(actor)
    with studio.workspace.database.write() as connection:
        seen = or_(VIEW.c.owner == actor.name, VIEW.c.shared.is_(True))
        row = connection.execute(select(VIEW).where(VIEW.c.number == number, seen)).first()
        if row is None:
            raise UnknownNameError("view", str(number), _own_numbers(connection, actor))
        if row.owner != actor.name and not may(actor, "account"):
            raise PermissionDeniedError(
                f"to delete the view {row.name!r}, got {actor.name!r}; expected {row.owner!r}, "
                "whose view it is, or an admin."
            )
        connection.execute(delete(VIEW).where(VIEW.c.number == number))


def _check_change(actor: Actor) -> None:
    if actor.guest:
        raise PermissionDeniedError("to save views, got a guest; expected an account. Log in.")


def _put(connection: Connection, view: NewView, actor: Actor) -> dict[str, Any]:
    own = and_(VIEW.c.owner == actor.name, VIEW.c.name == view.name)
    known = connection.execute(select(VIEW.c.settings).where(own)).scalar()
    if known is not None and ViewLook.model_validate(known).page != view.look.page:
        raise CatalogError(
            f"view, got the name {view.name!r}, which a view of another page of yours has. "
            "Take another name."
        )
    values = {
        "shared": view.shared, "condition": view.query, "settings": view.look.model_dump(),
    }  # fmt: skip
    changed = connection.execute(update(VIEW).where(own).values(**values))
    if not changed.rowcount:
        mine = select(func.count()).where(VIEW.c.owner == actor.name)
        if connection.execute(mine).scalar_one() >= MOST_VIEWS:
            raise CatalogError(
                f"views, got more than {MOST_VIEWS} of {actor.name!r}. Delete one first."
            )
        fresh = {"owner": actor.name, "name": view.name, "created_at": now(), **values}
        connection.execute(insert(VIEW), [fresh])
    return dict(connection.execute(select(VIEW).where(own)).mappings().one())


def _own_numbers(connection: Connection, actor: Actor) -> list[str]:
    own = select(VIEW.c.number).where(VIEW.c.owner == actor.name).limit(20)
    return [str(number) for number in connection.execute(own).scalars()]


def _view(row: dict[str, Any], actor: Actor) -> SavedView:
    mine = row["owner"] == actor.name
    return SavedView(**row, mine=mine, query=row["condition"], look=row["settings"])
