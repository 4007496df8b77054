"""Finds what the commands of annotation work on: taxonomies, episodes, and their proposals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from corporeal.catalog.episodes import EpisodeRow, find_episode, find_named
from corporeal.catalog.people import require_query
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import every_episode
from corporeal.catalog.store import open_remote
from corporeal.catalog.workspace import Workspace
from corporeal.cli.output import stderr
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames, frames_in
from corporeal.labelling.labels import labelled_under, labels_in_force
from corporeal.labelling.proposal import Example, propose
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomies, open_taxonomy

_NAME = re.compile(r"#?[0-9]+|[0-9a-f]{4,8}(-[0-9a-f-]*)?")
_MOST = 100_000


@dataclass
class Proposed:
    """What was proposed of episodes; `silent` are those of which nothing was, with the reason."""

    starts: dict[str, Annotation] = field(default_factory=dict)
    frames: dict[str, Frames] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)


def find_taxonomy(connection: Connection | None, name: str) -> Taxonomy:
    """A taxonomy by file, as name@version of one that was used here, or a built-in one by name."""
    if connection is not None and "@" in name:
        kept = kept_taxonomies(connection)
        held = {each.reference: each for each in kept}
        if sum(each.reference == name for each in kept) > 1:
            raise CorporealError(
                f"taxonomy, got {name}, of which several were used here with other content; "
                "expected one. Give the file, and a new version to every change."
            )
        if name in held:
            return held[name]
        # The ready one of this version may simply not have been used yet.
        ready = name.partition("@")[0]
        try:
            found = open_taxonomy(ready)
        except UnknownNameError:
            raise UnknownNameError("taxonomy", name, held) from None
        if found.reference == name:
            return found
        raise UnknownNameError("taxonomy", name, {*held, found.reference})
    return open_taxonomy(Path(name) if name.endswith((".yaml", ".yml", ".toml", ".json")) else name)


def used_taxonomy(connection: Connection, name: str | None) -> Taxonomy:
    """The taxonomy of this name, or without one the newest that was used here."""
    if name is not None:
        return find_taxonomy(connection, name)
    held = kept_taxonomies(connection)
    if not held:
        raise CorporealError(
            "nothing is annotated in this workspace yet. Begin with: corporeal annotate propose."
        )
    return held[-1]


def find_episodes(connection: Connection, wanted: Sequence[str], *, by: Actor) -> list[EpisodeRow]:
    """Rows of episodes: by number or a part of their ids, or all that one query finds.

    A query for single people is for those alone who may see their figures.
    """
    if wanted and all(_NAME.fullmatch(each) for each in wanted):
        return [find_named(connection, each) for each in wanted]
    if len(wanted) > 1:
        raise CorporealError(
            f"episodes, got {len(wanted)} words that are no episodes; expected numbers such as "
            "#4, ids, or one query in quotes."
        )
    require_query(connection, by, wanted[0] if wanted else None)
    found = list(every_episode(connection, wanted[0] if wanted else None))
    if len(found) > _MOST:
        raise CorporealError(f"episodes, got {len(found)}; expected {_MOST} at most at once.")
    return [row for row in found if row.state != "erased"]


def labelled_examples(
    connection: Connection, taxonomy: Taxonomy, rows: Sequence[EpisodeRow], *, most: int
) -> dict[str, Annotation]:
    """Labels that hold of other episodes of the same tasks, by the hash of their episodes."""
    if not most:
        return {}
    asked, tasks = {row.id for row in rows}, {row.task for row in rows}
    names = [name for name in labelled_under(connection, taxonomy.hash) if name not in asked]
    found: dict[str, Annotation] = {}
    for name, labels in labels_in_force(connection, names).items():
        row = find_episode(connection, name)
        if labels.stale is None and not labels.is_machine and row.task in tasks:
            found[row.hash] = labels.annotation
        if len(found) == most:
            break
    return found


def propose_all(
    workspace: Workspace,
    rows: Sequence[EpisodeRow],
    taxonomy: Taxonomy,
    *,
    using: Sequence[str] = ("events",),
    examples: Mapping[str, Annotation] | None = None,
) -> Proposed:
    """Proposals for episodes, opened one after the other where they lie.

    An episode that cannot be read or of which nothing can be said gets none, and the reason.
    `examples` are annotations to learn from, by the hash of their episodes.
    """
    made = Proposed()
    with ExitStack() as stack:
        shown = list(_examples(workspace, stack, examples or {}))
        for number, row in enumerate(rows, 1):
            stderr().print(f"{number} of {len(rows)}: {row.id}")
            try:
                _propose(workspace, row, taxonomy, using, shown, made)
            except CorporealError as error:
                made.silent[row.id] = str(error)
    return made


def _propose(
    workspace: Workspace, row: EpisodeRow, taxonomy: Taxonomy, using: Sequence[str],
    examples: Sequence[Example], made: Proposed,
) -> None:  # fmt: skip

    name = row.id
    with open_remote(workspace.store, row.hash) as episode:
        recording = recording_of(episode)
        frames = frames_in(recording)
        if frames is None:
            made.silent[name] = "no stream has frames to count by."
            return
        made.frames[name] = frames
        said = propose(recording, taxonomy, task=row.task, examples=examples, using=using)
    if said is None:
        made.silent[name] = "the signals say nothing."
    else:
        made.starts[name] = said


def _examples(
    workspace: Workspace, stack: ExitStack, given: Mapping[str, Annotation]
) -> Iterator[Example]:
    for digest, annotation in given.items():
        episode = stack.enter_context(open_remote(workspace.store, digest))
        yield Example(recording_of(episode), annotation)
