"""`corporeal mark`: people accept, quarantine, reject and tag episodes, and take it back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sqlalchemy import Connection

from corporeal.catalog.episodes import EpisodeMark, mark_episodes, undo_mark
from corporeal.catalog.permission import Actor, require
from corporeal.cli.command import Command, argument, option
from corporeal.cli.label_proposals import find_episodes
from corporeal.cli.output import AsJson, print_result
from corporeal.cli.workspaces import WorkspaceOption, write_catalog
from corporeal.errors import CorporealError
from corporeal.labelling.review import note_episodes, take_back_notes
from corporeal.quality.check import Verdict
from corporeal.words import counted


def mark(
    episodes: Annotated[
        list[str] | None, argument("Episodes such as 4 or '#7', or one query in quotes.")
    ] = None,
    accept: Annotated[bool, option("They are good, whatever the checks say.", "--accept")] = False,
    quarantine: Annotated[
        bool, option("They may not be used until somebody looks.", "--quarantine")
    ] = False,
    reject: Annotated[bool, option("They have failed.", "--reject")] = False,
    reason: Annotated[str | None, option("Why, in your words.")] = None,
    tag: Annotated[list[str] | None, option("A tag to put on; may be repeated.")] = None,
    untag: Annotated[list[str] | None, option("A tag to take off; may be repeated.")] = None,
    note: Annotated[str | None, option("A note for everybody who opens them.")] = None,
    undo: Annotated[str | None, option("Take back the mark with this key.")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Accept, quarantine, reject, tag or note episodes of a workspace.

    A verdict of a person holds when the episodes are judged anew, and says who gave it and why.

    Example: [bold]corporeal mark 'task = reach' --quarantine --reason 'cable in view'[/bold]
    """
    if undo is not None:
        _undo(undo, root, as_json=as_json)
        return
    verdict = _verdict(accept=accept, quarantine=quarantine, reject=reject)
    wish = EpisodeMark(verdict, reason, tuple(tag or ()), tuple(untag or ()))
    if wish == EpisodeMark(reason=reason) and note is None:
        raise CorporealError(
            "mark, got nothing to put on; expected --accept, --quarantine, --reject, --tag, "
            "--untag or --note."
        )
    with write_catalog(root, "annotate") as (connection, actor):
        if verdict is not None:
            require(actor, "judge")
        ids = _wanted(connection, episodes, by=actor)
        done = mark_episodes(connection, ids, wish, who=actor.name)
        if note:
            note_episodes(connection, ids, note, by=actor, mark=done.key)
    lines = [f"marked {counted(done.count, 'episode')}"]
    if done.kept:
        states = sorted(set(done.kept.values()))
        lines.append(f"{len(done.kept)} stay {' or '.join(states)}: a release never changes, and "
                     "the next one goes by the verdict")  # fmt: skip
    print_result(as_json, done, *lines, f"take it back: corporeal mark --undo {done.key}")


def _wanted(connection: Connection, episodes: list[str] | None, *, by: Actor) -> list[str]:
    if not episodes:
        raise CorporealError("episodes, got none; expected numbers such as 4, or a query.")
    ids = [row.id for row in find_episodes(connection, episodes, by=by)]
    if not ids:
        raise CorporealError(f"episodes, got {episodes[0][:80]!r}, which finds none.")
    return ids


def _verdict(*, accept: bool, quarantine: bool, reject: bool) -> Verdict | None:
    given: list[Verdict] = []
    given += ["accepted"] * accept
    given += ["quarantined"] * quarantine
    given += ["failed"] * reject
    if len(given) > 1:
        raise CorporealError(
            "verdict, got several; expected one of --accept, --quarantine, --reject."
        )
    return given[0] if given else None


def _undo(key: str, root: Path | None, *, as_json: bool) -> None:
    with write_catalog(root, "annotate") as (connection, actor):
        done = undo_mark(connection, key, by=actor)
        take_back_notes(connection, key, by=actor)
    lines = [f"took it back for {counted(done.count, 'episode')}"]
    if done.kept:
        lines.append(f"{len(done.kept)} were changed since and stay as they are")
    print_result(as_json, done, *lines)


COMMAND = Command(mark, panel="Workspace")
