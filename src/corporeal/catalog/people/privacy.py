"""Figures of single people: the mode of a workspace, who asks, and what a query would show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, delete, func, insert, or_, select

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError, check_text
from corporeal.catalog.people.operators import operator_of_account
from corporeal.catalog.permission import (
    PRIVACY_MODES,
    Actor,
    Grants,
    PersonHiddenError,
    PrivacyMode,
    grant,
    require,
    sees_everybody,
    why_hidden,
)
from corporeal.catalog.query import (
    Clause,
    Comparison,
    Condition,
    Known,
    Mentions,
    OneOf,
    map_clauses,
    read_query,
)
from corporeal.catalog.tables import EPISODE, OPERATOR, SETTING
from corporeal.errors import UnknownNameError

_SETTING = "privacy"
_LONGEST = 1000
PERSON_KEYS = frozenset((
    "operator", "operators", "operator_id", "operator_name", "demonstrator", "demonstrator_id",
    "person", "subject",
))  # fmt: skip
"""Fields, and keys of the metadata, that name whoever demonstrated."""
_LEAST_LETTERS = 2


@dataclass(frozen=True)
class Privacy:
    """The mode, and what `managed` must state: why, who was told, who looks, where to object."""

    mode: PrivacyMode = "data-only"
    purpose: str = ""
    notice: str = ""
    human_review: str = ""
    objection: str = ""


def read_privacy(connection: Connection) -> Privacy:
    """What the workspace says; data-only where it has said nothing."""
    value = connection.execute(select(SETTING.c.value).where(SETTING.c.name == _SETTING)).scalar()
    return Privacy() if value is None else Privacy(**value)


def set_privacy(connection: Connection, privacy: Privacy, *, by: Actor) -> None:
    """Change the mode, inside a transaction; managed takes all four statements."""
    require(by, "account")
    if privacy.mode not in PRIVACY_MODES:
        raise UnknownNameError("privacy mode", str(privacy.mode)[:80], PRIVACY_MODES)
    stated = asdict(privacy)
    for name, text in stated.items():
        if len(check_text(text, name)) > _LONGEST:
            raise CatalogError(f"{name}, got {len(text)} letters; expected up to {_LONGEST}.")
    missing = [name for name, text in stated.items() if not text.strip()]
    if privacy.mode == "managed" and missing:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise CatalogError(
            f"mode managed, got nothing for {named}; expected the purpose, the notice that "
            "operators were given, who reviews a decision, and how to object. State them all."
        )
    connection.execute(delete(SETTING).where(SETTING.c.name == _SETTING))
    values = {"name": _SETTING, "value": stated, "who": by.name, "at": now()}
    connection.execute(insert(SETTING).values(**values))
    record(connection, [Change(by.name, "privacy mode", "workspace:people", details=stated)])


def admit(connection: Connection, actor: Actor, grants: Grants) -> Actor:
    """The actor as this workspace knows them: what is granted, what they see, who they are."""
    known = grant(actor, grants)
    if known.guest:
        return known
    own = operator_of_account(connection, known.name)
    return replace(known, privacy=read_privacy(connection).mode, operator=own)


def note_view(connection: Connection, actor: Actor, *, what: str, operator: str | None) -> None:
    """Log, inside a transaction, that somebody looked at figures of one person, or of everybody."""
    subject = "workspace:people" if operator is None else f"operator:{operator}"
    purpose = read_privacy(connection).purpose or None
    details = {"view": what[:200], "mode": actor.privacy}
    record(connection, [Change(actor.name, "figures of people seen", subject, purpose, details)])


def require_query(connection: Connection, actor: Actor, query: str | Condition | None) -> None:
    """Raise PersonHiddenError where a query would bring one person's episodes together."""
    if sees_everybody(actor):
        return
    condition = read_query(query)
    if condition is None:
        return
    for names, text in _people_in(condition):
        is_own = actor.privacy == "self" and names is not None and names == {actor.operator}
        is_name = text is None or _is_somebody(connection, text)
        if is_name and not is_own:
            raise PersonHiddenError(f"a query for single operators: {why_hidden(actor)}")


def require_order(actor: Actor, order: str) -> None:
    """Raise PersonHiddenError where a list would be sorted by person."""
    if _names_people(order.lstrip("-")) and not sees_everybody(actor):
        raise PersonHiddenError(f"a list in the order of operators: {why_hidden(actor)}")


def hides(actor: Actor, field: str) -> bool:
    """Whether a field of many episodes side by side would show people that are not shown."""
    return _names_people(field) and not sees_everybody(actor)


def _people_in(condition: Condition) -> Iterator[tuple[set[str | None] | None, str | None]]:
    """For each clause that may name people: the names, None for others than some; or a word."""
    clauses: list[Clause] = []

    def note(clause: Clause) -> Condition:
        clauses.append(clause)
        return clause

    map_clauses(condition, note)
    for clause in clauses:
        if isinstance(clause, Mentions):
            yield None, clause.text
        elif isinstance(clause, Known) or not _names_people(getattr(clause, "field", "")):
            continue
        elif isinstance(clause, Comparison) and clause.operator == "=":
            yield {str(clause.value)}, None
        elif isinstance(clause, OneOf):
            yield {str(value) for value in clause.values}, None
        else:
            yield None, None


def _names_people(field: str) -> bool:
    group, _, part = field.partition(".")
    if group == "metadata":
        return bool(PERSON_KEYS & set(part.split(".")))
    return group in PERSON_KEYS


def _is_somebody(connection: Connection, word: str) -> bool:
    """Whether a word is part of a pseudonym: it would find the episodes of that person."""
    if len(word) < _LEAST_LETTERS:
        return False
    part = word.lower()
    for column in (OPERATOR.c.name, EPISODE.c.operator):
        like = func.lower(column).contains(part, autoescape=True)
        if connection.execute(select(column).where(or_(like)).limit(1)).first() is not None:
            return True
    return False
