"""An order for a queue: which episodes, under which taxonomy; the audit log remembers it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, select

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import count_episodes, every_episode
from corporeal.catalog.tables import EVENT, LABEL_TASK, LABELS
from corporeal.errors import UnknownNameError
from corporeal.labelling.tasks.task import TaskKind
from corporeal.labelling.taxonomy.document import Taxonomy, open_taxonomy, taxonomy_names
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomies

LEAST_DOUBLE = 0.1
MOST_EPISODES = 50_000
_SUBJECT = "label_queue:"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Order:
    """What a lead asked for; `taxonomy` is name@version."""

    name: str
    query: str
    taxonomy: str
    double_share: float
    blind_share: float
    needs_qualification: bool
    skip_labelled: bool
    kind: TaskKind
    by: str
    at: str = ""


@dataclass(frozen=True)
class Plan:
    """What an order comes to: episodes that are found, labelled already, in work, and left."""

    found: int
    labelled: int
    busy: int
    episodes: tuple[str, ...]
    doubles: int
    blind: int
    hours: float | None

    @property
    def tasks(self) -> int:
        """How many tasks it makes."""
        return len(self.episodes) + self.doubles


def taxonomies(connection: Connection) -> list[Taxonomy]:
    """Every taxonomy that can be used, the newest version of each name first."""
    found = {each.reference: each for each in map(open_taxonomy, taxonomy_names())}
    # What the catalogue keeps counts: labels refer to exactly that text.
    found |= {each.reference: each for each in kept_taxonomies(connection)}
    numbers = {
        name: [int(part) for part in each.version.split(".")] for name, each in found.items()
    }
    newest = sorted(found, key=lambda name: numbers[name], reverse=True)
    return [found[name] for name in sorted(newest, key=lambda name: found[name].name)]


def taxonomy_of(connection: Connection, reference: str) -> Taxonomy:
    """The taxonomy of name@version; raises UnknownNameError with the list of them."""
    known = {each.reference: each for each in taxonomies(connection)}
    if reference not in known:
        raise UnknownNameError("taxonomy", reference[:120], list(known))
    return known[reference]


def plan(connection: Connection, order: Order) -> Plan:
    """What an order comes to, as things stand."""
    found = count_episodes(connection, order.query or None)
    if found > MOST_EPISODES:
        raise CatalogError(
            f"query, got {found:,} episodes; expected up to {MOST_EPISODES:,}. Ask for fewer."
        )
    rows = {str(row["id"]): row for row in every_episode(connection, order.query or None)
            if row["state"] != "erased"}  # fmt: skip
    digest = taxonomy_of(connection, order.taxonomy).hash
    labelled = _labelled(connection, digest) & set(rows)
    busy = _busy(connection, digest, order.kind) & set(rows)
    made = _in_queue(connection, order.name)
    if order.kind == "qualify":
        left = tuple(name for name in rows if name in labelled and name not in made)
        return Plan(len(rows), len(labelled), 0, left, 0, 0, None)
    out = made | busy | (labelled if order.skip_labelled else set())
    left = tuple(name for name in rows if name not in out)
    doubles = math.ceil(order.double_share * len(left) - 1e-9)
    blind = math.ceil(order.blind_share * (len(left) + doubles) - 1e-9)
    return Plan(len(rows), len(labelled), len(busy - labelled), left, doubles, blind,
                _hours(connection, len(left) + doubles))  # fmt: skip


def remember(connection: Connection, order: Order, *, by: Actor) -> None:
    """Write an order down, inside a transaction; raises CatalogError for a name that is taken."""
    if not _NAME.fullmatch(order.name):
        raise CatalogError(
            f"name, got {order.name[:80]!r}; expected up to 64 small letters, digits, points, "
            "dashes and underscores."
        )
    taken = select(LABEL_TASK.c.id).where(LABEL_TASK.c.queue == order.name).limit(1)
    if order.name in orders(connection) or connection.execute(taken).first() is not None:
        raise CatalogError(f"queue {order.name!r} exists already. Choose another name.")
    details = {name: value for name, value in asdict(order).items() if name not in ("by", "at")}
    record(connection, [Change(by.name, "label queue", _SUBJECT + order.name, details=details)])


def orders(connection: Connection) -> dict[str, Order]:
    """Every order by its queue's name, the newest first."""
    rows = connection.execute(
        select(EVENT.c.who, EVENT.c.at, EVENT.c.details)
        .where(EVENT.c.subject >= _SUBJECT, EVENT.c.subject < "label_queue;")
        .where(EVENT.c.what == "label queue")
        .order_by(EVENT.c.number.desc())
    ).all()
    return {each.name: each for each in _orders(rows)}


def _orders(rows: Any) -> Iterator[Order]:
    known = {each.name for each in fields(Order)}
    for who, at, details in rows:
        values = {name: value for name, value in details.items() if name in known}
        yield Order(**values | {"by": who, "at": at})


def _labelled(connection: Connection, digest: str) -> set[str]:
    query = select(LABELS.c.episode).where(LABELS.c.taxonomy == digest, LABELS.c.stale.is_(None))
    return set(connection.execute(query).scalars())


def _busy(connection: Connection, digest: str, kind: str) -> set[str]:
    query = select(LABEL_TASK.c.episode).where(
        LABEL_TASK.c.taxonomy == digest,
        LABEL_TASK.c.kind == kind,
        LABEL_TASK.c.state.not_in(("done", "dropped")),
    )
    return set(connection.execute(query).scalars())


def _in_queue(connection: Connection, name: str) -> set[str]:
    query = select(LABEL_TASK.c.episode).where(LABEL_TASK.c.queue == name)
    return set(connection.execute(query).scalars())


def _hours(connection: Connection, tasks: int) -> float | None:
    """How long it will take people, from what tasks have taken them so far."""
    query = select(LABEL_TASK.c.seconds).where(
        LABEL_TASK.c.kind == "annotate", LABEL_TASK.c.state.in_(("submitted", "done")),
        LABEL_TASK.c.seconds > 0,
    )  # fmt: skip
    spent = list(connection.execute(query.limit(2000)).scalars())
    return None if not spent else sum(spent) / len(spent) * tasks / 3600
