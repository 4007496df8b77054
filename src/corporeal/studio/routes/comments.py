"""Notes on an episode: on all of it, or pinned to a moment."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from corporeal.catalog.permission import Actor
from corporeal.labelling.review import LabelComment, add_comment, comments_about, resolve_comment
from corporeal.studio.authentication import Reader, allowed
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["comments"])
Annotator = Annotated[Actor, Depends(allowed("annotate"))]
_LONGEST = 4000


class EpisodeNote(BaseModel):
    """A note; `time_ns` is the moment that it is pinned to. Guests are not told who wrote it."""

    number: int
    time_ns: int | None
    who: str
    at: str
    text: str
    resolved: bool


class NewNote(BaseModel):
    """What somebody writes, and of which moment since the epoch of the episode."""

    text: str = Field(min_length=1, max_length=_LONGEST)
    time_ns: int | None = None


@ROUTER.get("/episodes/{episode_id}/notes")
def list_notes(episode_id: str, studio: StudioDep, actor: Reader) -> list[EpisodeNote]:
    """The notes on an episode, the oldest first; guests see those of moments, without names."""
    studio.shelf.row(episode_id)
    with studio.workspace.database.read() as connection:
        comments = comments_about(connection, episode_id, by=actor)
    notes = [_shown(each) for each in comments if each.task is None]
    if not actor.guest:
        return notes
    pinned = [note for note in notes if note.time_ns is not None and not note.resolved]
    return [note.model_copy(update={"who": "", "at": ""}) for note in pinned]


@ROUTER.post("/episodes/{episode_id}/notes", status_code=201)
def write_note(episode_id: str, studio: StudioDep, actor: Annotator, new: NewNote) -> EpisodeNote:
    """Put a note on an episode, or pin it to a moment of it."""
    with studio.workspace.database.write() as connection:
        made = add_comment(connection, episode_id, new.text, by=actor, time_ns=new.time_ns)
    return _shown(made)


@ROUTER.post("/episodes/{episode_id}/notes/{number}/resolve")
def settle_note(episode_id: str, number: int, studio: StudioDep, actor: Annotator) -> EpisodeNote:
    """Mark a note as settled: whoever wrote it, or a lead."""
    studio.shelf.row(episode_id)
    with studio.workspace.database.write() as connection:
        return _shown(resolve_comment(connection, number, by=actor))


def _shown(comment: LabelComment) -> EpisodeNote:
    return EpisodeNote(
        number=comment.number, time_ns=comment.time_ns, who=comment.who, at=comment.at,
        text=comment.text, resolved=comment.resolved_at is not None,
    )  # fmt: skip
