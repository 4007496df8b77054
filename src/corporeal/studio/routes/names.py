"""What people call episodes: from a number or a part of an id to the episode, and back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from corporeal.catalog.episodes import find_named, numbers_of
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["names"])
_MOST = 500


class NamedEpisode(BaseModel):
    """An episode by its id, and the number that people call it by."""

    id: str
    number: int | None


@ROUTER.get("/names/{name}")
def find_by_name(name: str, studio: StudioDep, _: Reader) -> NamedEpisode:
    """The episode that a number such as 4, an id, or an unambiguous part of one means."""
    with studio.workspace.database.read() as connection:
        row = find_named(connection, name)
    return NamedEpisode(id=row.id, number=row.number)


@ROUTER.get("/names")
def list_numbers(
    studio: StudioDep,
    _: Reader,
    wanted: Annotated[list[str], Query(alias="id", max_length=_MOST)],
) -> list[NamedEpisode]:
    """The numbers of these episodes; those that are not there are left out."""
    with studio.workspace.database.read() as connection:
        numbers = numbers_of(connection, list(dict.fromkeys(wanted)))
    return [NamedEpisode(id=name, number=number) for name, number in numbers.items()]
