"""Makes tasks: who is asked twice, who works without a proposal, what is left out."""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError, json_value
from corporeal.catalog.episodes import parts_of, states_of, unknown_episode
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames
from corporeal.labelling.labels.versions import Labels, labels_in_force
from corporeal.labelling.tasks.label_task import (
    LabelTask,
    TaskKind,
    TaskState,
    frames_about,
    from_row,
)
from corporeal.labelling.taxonomy import Taxonomy, keep_taxonomy

_QUEUE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class TaskOptions:
    """What is the same for all tasks that are made at once; CatalogError for what cannot be.

    At least `double_share` of the episodes are asked of two people, and `blind_share` of the tasks
    begin empty though there is a proposal; the same `seed` chooses the same ones. Unless `again`,
    episodes with good labels under the taxonomy are left out. With `needs_qualification` only
    people who passed get the tasks; without `review` what is submitted counts at once.
    """

    queue: str
    kind: TaskKind = "annotate"
    double_share: float = 0.1
    blind_share: float = 0.1
    seed: int = 0
    priority: int = 0
    again: bool = False
    needs_qualification: bool = False
    review: bool = True

    def __post_init__(self) -> None:
        check_queue_name(self.queue)
        for name, share in (("double", self.double_share), ("blind", self.blind_share)):
            if not 0 <= share <= 1:
                raise CatalogError(f"{name} share, got {share}; expected 0 to 1.")


def create_tasks(
    connection: Connection,
    episodes: Sequence[str],
    taxonomy: Taxonomy,
    options: TaskOptions,
    *,
    by: Actor,
    starts: Mapping[str, Annotation] | None = None,
    frames: Mapping[str, Frames] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[LabelTask]:
    """Make tasks for episodes, inside a transaction; `settings` are what they bring along.

    They begin with the proposals in `starts`. Episodes with a task that is not over are left out.
    Tasks of kind `qualify` are made of labels in force: the gold.
    """
    require(by, "judge")
    common = {"taxonomy": keep_taxonomy(connection, taxonomy), "created_by": by.name,
              "created_at": now()}  # fmt: skip
    wanted = list(dict.fromkeys(episodes))
    _check_there(connection, wanted)
    given = dict(frames or {})
    noted = frames_about(connection, [each for each in wanted if each not in given]) | given
    if options.kind == "qualify":
        labels = labels_in_force(connection, wanted)
        rows = [_gold(options, common, each, labels.get(each), noted.get(each)) for each in wanted]
    else:
        rest = wanting(connection, wanted, taxonomy, kind=options.kind, again=options.again)
        doubled = _chosen(rest, options.double_share, f"{options.seed}/double")
        rows = []
        for each in rest:
            pair = uuid.uuid4().hex if each in doubled else None
            rows += [
                _row(options, common, each, (starts or {}).get(each), noted.get(each), pair=pair,
                     place=place)
                for place in ((1,) if pair is None else (1, 2))
            ]  # fmt: skip
        _blind(rows, options.blind_share, options.seed)
    for row in rows:
        row["settings"] |= (settings or {}).get(row["episode"], {})
    return insert_tasks(connection, rows, by)


def wanting(
    connection: Connection,
    episodes: Sequence[str],
    taxonomy: Taxonomy,
    *,
    kind: TaskKind = "annotate",
    again: bool = False,
) -> list[str]:
    """Those of some episodes for which a task would be made."""
    busy = busy_episodes(connection, taxonomy.hash, kind)
    held = {} if again else labels_in_force(connection, episodes)
    good = {name for name, labels in held.items() if _is_good(labels, taxonomy.hash)}
    return [each for each in episodes if each not in busy | good]


def new_row(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A whole row of a task from what is said of it; it begins with nothing done."""
    start = plan.get("start") or Annotation().model_dump(mode="json")
    row = {
        "id": uuid.uuid4().hex, "kind": "annotate", "state": "open", "assigned_to": None,
        "pair": None, "priority": 0, "content": start, "version": 0, "seconds": 0.0,
        "settings": {}, "created_at": now(), **plan, "start": start,
    }  # fmt: skip
    return {**row, "changed_at": row["created_at"]}


def insert_tasks(
    connection: Connection, rows: Sequence[Mapping[str, Any]], by: Actor
) -> list[LabelTask]:
    """Put rows of tasks in, inside a transaction, and say so in the log."""
    kept = [json_value(row, f"task of episode {row['episode']}") for row in rows]
    for part in parts_of(kept):
        connection.execute(insert(LABEL_TASK), list(part))
    record(connection, [
        Change(by.name, "label task", f"task:{row['id']}",
               details={"episode": row["episode"], "to": row["state"], "kind": row["kind"],
                        "queue": row["queue"], "taxonomy": row["taxonomy"]})
        for row in kept
    ])  # fmt: skip
    return [from_row(row) for row in kept]


def _row(
    options: TaskOptions, common: Mapping[str, Any], episode: str, start: Annotation | None,
    frames: Frames | None, *, pair: str | None = None, place: int = 1, state: TaskState = "open",
) -> dict[str, Any]:  # fmt: skip
    said = start or Annotation()
    settings: dict[str, Any] = {"review": options.review}
    if options.needs_qualification:
        settings["needs_qualification"] = True
    if not said.reference and frames is not None:
        said = said.model_copy(update={"reference": frames.stream})
    noted = {"frames": frames.to_json()} if frames is not None else {}
    return new_row({
        **common, "episode": episode, "kind": options.kind, "queue": options.queue, "state": state,
        "pair": pair, "priority": options.priority,
        "start": said.model_dump(mode="json"),
        "settings": {**settings, "place": place, "proposed": start is not None, **noted},
    })  # fmt: skip


def _gold(
    options: TaskOptions, common: Mapping[str, Any], episode: str, held: Labels | None,
    frames: Frames | None,
) -> dict[str, Any]:  # fmt: skip
    if held is None or not _is_good(held, common["taxonomy"]):
        raise CatalogError(
            f"episode {episode} has no labels in force under this taxonomy; expected some that a "
            "lead has accepted. Annotate it first."
        )
    row = _row(options, common, episode, held.annotation, frames, state="done")
    gold = {"number": held.number, "content": row["content"]}
    empty = Annotation(reference=held.annotation.reference).model_dump(mode="json")
    settings = {**row["settings"], "proposed": False, "is_gold": True, "gold": gold}
    return row | {"start": empty, "content": empty, "settings": settings}


def _blind(rows: Sequence[dict[str, Any]], share: float, seed: int) -> None:
    """Let a share of the tasks that have a proposal begin empty; it is kept to compare with."""
    able = {f"{row['episode']}/{row['settings']['place']}": row for row in rows
            if row["settings"]["proposed"]}  # fmt: skip
    for key in _chosen(list(able), share, f"{seed}/blind"):
        row = able[key]
        empty = Annotation(reference=row["start"]["reference"]).model_dump(mode="json")
        row["settings"] |= {"blind": True, "proposal": row["start"]}
        row["start"] = row["content"] = empty


def _chosen(names: Sequence[str], share: float, salt: str) -> set[str]:
    """At least this share of the names, always the same for the same names and salt."""
    count = min(len(names), math.ceil(share * len(names) - 1e-9))

    def rank(name: str) -> str:
        return hashlib.sha256(f"{salt}/{name}".encode()).hexdigest()

    return set(sorted(names, key=rank)[:count])


def _is_good(held: Labels, taxonomy: str) -> bool:
    return held.stale is None and held.taxonomy == taxonomy


def busy_episodes(connection: Connection, taxonomy: str, kind: TaskKind) -> set[str]:
    """Episodes of which somebody is asked already, in the same way, under a taxonomy's hash."""
    query = select(LABEL_TASK.c.episode).where(
        LABEL_TASK.c.taxonomy == taxonomy,
        LABEL_TASK.c.kind == kind,
        LABEL_TASK.c.state.not_in(("done", "dropped")),
    )
    return set(connection.execute(query).scalars())


def check_queue_name(name: str) -> None:
    """Raise CatalogError for what cannot name a queue."""
    if not _QUEUE.fullmatch(name):
        raise CatalogError(
            f"queue, got {name[:80]!r}; expected up to 64 small letters, digits, points, dashes "
            "and underscores."
        )


def _check_there(connection: Connection, episodes: Sequence[str]) -> None:
    states = states_of(connection, episodes)
    for name in episodes:
        if states.get(name, "erased") == "erased":
            raise unknown_episode(name)
