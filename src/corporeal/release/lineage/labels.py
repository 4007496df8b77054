"""Where the labels of an episode came from: the task, who worked on it, and the taxonomy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, select

from corporeal.catalog.tables import LABEL_EDIT, LABEL_TASK, LABELS
from corporeal.release.lineage.graph import Edge, Node

LABEL_KINDS = ("labels", "label_task")
_MOST_PEOPLE = 12


def labels_behind(connection: Connection, episode: str) -> Iterator[Edge]:
    """The labels of an episode that are in force."""
    query = select(LABELS.c.number).where(LABELS.c.episode == episode)
    number = connection.execute(query.order_by(LABELS.c.number.desc()).limit(1)).scalar()
    if number is not None:
        yield Edge(f"episode:{episode}", f"labels:{episode}/{number}", "labelled")


def label_parents(connection: Connection, kind: str, own: str) -> Iterator[Edge]:
    """What labels, or a task that made some, came from."""
    if kind == "labels":
        yield from _of_labels(connection, own)
        return
    query = select(LABEL_EDIT.c.who).where(LABEL_EDIT.c.task == own).distinct()
    people = connection.execute(query.order_by(LABEL_EDIT.c.who).limit(_MOST_PEOPLE)).scalars()
    for who in people:
        yield Edge(f"label_task:{own}", f"annotator:{who}", "edited_by")


def _of_labels(connection: Connection, own: str) -> Iterator[Edge]:
    episode, number = _parts(own)
    columns = (LABELS.c.task, LABELS.c.taxonomy, LABELS.c.who)
    query = select(*columns).where(LABELS.c.episode == episode, LABELS.c.number == number)
    row = connection.execute(query).first()
    if row is None:
        return
    name = f"labels:{own}"
    yield Edge(name, f"document:{row.taxonomy}", "taxonomy")
    yield Edge(name, f"annotator:{row.who}", "annotated_by")
    if row.task is not None:
        yield Edge(name, f"label_task:{row.task}", "made_in")


def label_nodes(connection: Connection, names: Sequence[str]) -> Iterable[Node]:
    """Labels with what the catalogue says of each version."""
    columns = [LABELS.c[name] for name in ("number", "hash", "taxonomy", "task", "who", "at",
                                           "stale")]  # fmt: skip
    for own in names:
        episode, number = _parts(own)
        query = select(*columns).where(LABELS.c.episode == episode, LABELS.c.number == number)
        row = connection.execute(query).mappings().first()
        if row is not None:
            stale = ", no longer in force" if row["stale"] is not None else ""
            yield Node(f"labels:{own}", f"labels, version {number}{stale}", dict(row))


def label_task_nodes(connection: Connection, names: Sequence[str]) -> Iterable[Node]:
    """Tasks with their kind, queue and state."""
    columns = [LABEL_TASK.c[name] for name in ("id", "kind", "queue", "state", "version",
                                               "seconds", "created_by", "created_at")]  # fmt: skip
    query = select(*columns).where(LABEL_TASK.c.id.in_(names))
    for row in connection.execute(query).mappings() if names else ():
        label = f"task to {row['kind']}, queue {row['queue']}"
        yield Node(f"label_task:{row['id']}", label, dict(row))


def _parts(own: str) -> tuple[str, int]:
    """The episode and the version in `EPISODE/NUMBER`; a version of -1 is never there."""
    episode, _, number = own.rpartition("/")
    return episode, int(number) if number.isdecimal() and len(number) < 10 else -1
