"""Operators as rows: the pseudonym that episodes state, an account, and what they have done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from sqlalchemy import Connection, func, insert, select, update

from corporeal.catalog.accounts import account
from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import parts_of
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import EPISODE, OPERATOR
from corporeal.errors import UnknownNameError
from corporeal.units import SECOND_NS

_NAME = re.compile(r"\S(.{0,126}\S)?")
_MOST_HOURS = 100_000
_HOUR_S = 3600.0


@dataclass(frozen=True)
class Operator:
    """Somebody who demonstrates; `name` is the pseudonym in the metadata of their episodes.

    `account` is theirs in this workspace, where they have one; `hours_before` is what they had
    done elsewhere, by their own words.
    """

    name: str
    account: str | None
    hours_before: float | None
    added_at: str
    added_by: str
    left_at: str | None = None


@dataclass(frozen=True)
class Experience:
    """What the catalogue has of an operator: episodes and hours recorded, first and last."""

    episodes: int = 0
    hours: float = 0.0
    first_ns: int | None = None
    last_ns: int | None = None


def list_operators(connection: Connection, *, left: bool = False) -> list[Operator]:
    """Every operator by name; those who have left only where they are asked for."""
    query = select(*_COLUMNS).order_by(OPERATOR.c.name)
    if not left:
        query = query.where(OPERATOR.c.left_at.is_(None))
    return [Operator(*row) for row in connection.execute(query)]


def find_operator(connection: Connection, name: str) -> Operator:
    """The operator of this pseudonym; raises UnknownNameError with the list of them."""
    row = connection.execute(select(*_COLUMNS).where(OPERATOR.c.name == name)).first()
    if row is None:
        known = [each.name for each in list_operators(connection, left=True)]
        raise UnknownNameError("operator", name[:80], known or ["none yet"])
    return Operator(*row)


def operator_of_account(connection: Connection, name: str) -> str | None:
    """The pseudonym of whoever has this account."""
    found: str | None = connection.execute(
        select(OPERATOR.c.name).where(OPERATOR.c.account == name)
    ).scalar()
    return found


def add_operator(
    connection: Connection, name: str, *, by: Actor, account_name: str | None = None,
    hours_before: float | None = None,
) -> Operator:  # fmt: skip
    """Add somebody, inside a transaction; a pseudonym is enough, and all that should be given."""
    require(by, "judge")
    if not _NAME.fullmatch(name) or not name.isprintable():
        raise CatalogError(
            f"operator, got {name[:80]!r}; expected up to 128 letters, as episodes state it."
        )
    known = select(OPERATOR.c.name).where(OPERATOR.c.name == name)
    if connection.execute(known).first() is not None:
        raise CatalogError(f"operator {name!r} is known already. Change them instead.")
    _check_account(connection, account_name, of=name)
    _check_hours(hours_before)
    made = Operator(name, account_name, hours_before, now(), by.name)
    connection.execute(insert(OPERATOR).values(**vars(made)))
    details = {"account": account_name, "hours_before": hours_before}
    record(connection, [Change(by.name, "operator added", f"operator:{name}", details=details)])
    return made


def change_operator(
    connection: Connection, name: str, *, by: Actor, account_name: str | None = None,
    hours_before: float | None = None, left: bool | None = None,
) -> Operator:  # fmt: skip
    """Change what is known of an operator, inside a transaction; what is None stays."""
    require(by, "judge")
    before = find_operator(connection, name)
    values: dict[str, str | float | None] = {}
    if account_name is not None and account_name != before.account:
        _check_account(connection, account_name, of=name)
        values["account"] = account_name
    if hours_before is not None:
        _check_hours(hours_before)
        values["hours_before"] = hours_before
    if left is not None and left != (before.left_at is not None):
        values["left_at"] = now() if left else None
    if values:
        connection.execute(update(OPERATOR).where(OPERATOR.c.name == name).values(**values))
        record(connection, [
            Change(by.name, "operator changed", f"operator:{name}", details=values)
        ])  # fmt: skip
    return find_operator(connection, name)


def experience_of(connection: Connection, names: Sequence[str]) -> Mapping[str, Experience]:
    """What each of these has recorded here, erased episodes left out."""
    experience = dict.fromkeys(names, Experience())
    recorded = EPISODE.c.recorded_ns
    figures = (func.count(), func.coalesce(func.sum(EPISODE.c.duration_s), 0.0),
               func.min(recorded), func.max(recorded))  # fmt: skip
    for part in parts_of(list(experience)):
        query = select(EPISODE.c.operator, *figures).where(
            EPISODE.c.operator.in_(part), EPISODE.c.state != "erased"
        )
        for name, count, seconds, first, last in connection.execute(
            query.group_by(EPISODE.c.operator)
        ):
            experience[name] = Experience(int(count), float(seconds) / _HOUR_S, first, last)
    return experience


def takes_of(connection: Connection, operator: str, *, since_s: float) -> list[tuple[float, float]]:
    """The takes of an operator at all stations, from when to when, in Unix seconds."""
    query = select(EPISODE.c.recorded_ns, EPISODE.c.duration_s).where(
        EPISODE.c.operator == operator, EPISODE.c.recorded_ns >= round(since_s * SECOND_NS)
    )
    return [(begin_ns / SECOND_NS, begin_ns / SECOND_NS + (length_s or 0.0))
            for begin_ns, length_s in connection.execute(query)]  # fmt: skip


def pseudonyms(connection: Connection) -> set[str]:
    """Every name of an operator, known or only stated by episodes."""
    stated = select(EPISODE.c.operator).where(EPISODE.c.operator.is_not(None)).distinct()
    return {*connection.execute(select(OPERATOR.c.name)).scalars(),
            *connection.execute(stated).scalars()}  # fmt: skip


def unknown_operators(connection: Connection) -> list[str]:
    """Pseudonyms that episodes state and that are no operators yet."""
    query = (
        select(EPISODE.c.operator)
        .where(EPISODE.c.operator.is_not(None), EPISODE.c.state != "erased")
        .where(EPISODE.c.operator.not_in(select(OPERATOR.c.name)))
        .distinct()
        .order_by(EPISODE.c.operator)
    )
    return list(connection.execute(query).scalars())


_COLUMNS = tuple(OPERATOR.c[field.name] for field in fields(Operator))


def _check_account(connection: Connection, name: str | None, *, of: str) -> None:
    """One account is one person's, and must be there."""
    if name is None:
        return
    account(connection, name)
    taken = operator_of_account(connection, name)
    if taken is not None and taken != of:
        raise CatalogError(f"account {name!r} is the one of operator {taken!r}; expected another.")


def _check_hours(hours: float | None) -> None:
    if hours is not None and not 0 <= hours <= _MOST_HOURS:
        raise CatalogError(f"hours before, got {hours}; expected 0 to {_MOST_HOURS}.")
