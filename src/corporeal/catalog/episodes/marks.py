"""What people put on episodes: a verdict that holds against the checks, and tags; and undo."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, or_, select, update

from corporeal.catalog.audit import Change, latest_events, now, record, take_turn
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes.reading import parts_of, unknown_episode
from corporeal.catalog.episodes.rows import NEXT, State
from corporeal.catalog.episodes.writing import move_episodes
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import ASSESSMENT, DECISION, EPISODE, FINDING, TAG
from corporeal.quality.check import Verdict

MOST_MARKED = 20_000
"""Episodes that are marked at once."""
_LONGEST_TAG, _LONGEST_REASON, _MOST_TAGS = 40, 500, 20
_TAG = re.compile(r"[^\s,\"'()=<>!~#][^,\"'()=<>!~]*")
_GOOD: tuple[State, ...] = ("accepted", "annotated", "released")


@dataclass(frozen=True)
class EpisodeDecision:
    """The verdict that a person gave an episode."""

    episode: str
    verdict: Verdict
    who: str
    at: str
    why: str | None


@dataclass(frozen=True)
class EpisodeMark:
    """What to put on episodes; a verdict other than accepted has a reason."""

    verdict: Verdict | None = None
    reason: str | None = None
    tags: tuple[str, ...] = ()
    untags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in (None, "accepted") and not (self.reason or "").strip():
            raise CatalogError(
                f"verdict {self.verdict}, got no reason; expected some words on what is bad."
            )
        if len(self.reason or "") > _LONGEST_REASON:
            raise CatalogError(
                f"reason, got {len(self.reason or '')} letters; expected {_LONGEST_REASON} at most."
            )
        for tag in (*self.tags, *self.untags):
            if not _TAG.fullmatch(tag) or len(tag) > _LONGEST_TAG or tag != tag.strip():
                raise CatalogError(
                    f"tag, got {tag[:60]!r}; expected up to {_LONGEST_TAG} letters without commas, "
                    "quotes, brackets and signs."
                )
        if len(self.tags) > _MOST_TAGS:
            raise CatalogError(f"tags, got {len(self.tags)}; expected {_MOST_TAGS} at most.")


@dataclass(frozen=True)
class MarkedEpisodes:
    """What a mark did: `key` takes it back; `kept` are episodes whose state could not change."""

    key: str
    count: int
    kept: Mapping[str, State] = field(default_factory=dict)


def mark_episodes(
    connection: Connection, ids: Sequence[str], mark: EpisodeMark, *, who: str
) -> MarkedEpisodes:
    """Put a verdict and tags on episodes, inside a transaction; all of it, or nothing.

    One that is in a release, or annotated and accepted, keeps its state; the verdict holds for the
    next release and whenever it is judged anew.
    """
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > MOST_MARKED:
        raise CatalogError(
            f"episodes, got {len(wanted):,}; expected {MOST_MARKED:,} at most. Narrow the query."
        )
    take_turn(connection)
    before = _standing(connection, wanted)
    for name in wanted:
        if name not in before or before[name]["state"] == "erased":
            raise unknown_episode(name)
    key, stamp = secrets.token_hex(8), now()
    kept: dict[str, State] = {}
    if mark.verdict is not None:
        why = (mark.reason or "").strip() or None
        kept = decide_episodes(connection, before, mark.verdict, who=who, why=why, at=stamp)
    _put_tags(connection, wanted, mark.tags, who=who, at=stamp)
    _drop_tags(connection, wanted, mark.untags)
    record(connection, _tag_changes(before, mark, who), at=stamp)
    after = _standing(connection, wanted)
    details = {"mark": {**asdict(mark), "tags": list(mark.tags), "untags": list(mark.untags)},
               "before": before, "after": after}  # fmt: skip
    record(connection, [Change(who, "mark", f"mark:{key}", mark.reason, details)], at=stamp)
    return MarkedEpisodes(key, len(wanted), kept)


def undo_mark(connection: Connection, key: str, *, by: Actor) -> MarkedEpisodes:
    """Put episodes back to what they were before a mark, inside a transaction.

    One that was changed since stays as it is, and is told. A mark of somebody else, or a verdict,
    takes a judge.
    """
    take_turn(connection)
    events = latest_events(connection, f"mark:{key}", ("mark", "mark undone"))
    if not events:
        raise CatalogError(f"mark, got {key[:40]!r}; expected the key of one that was made.")
    if events[0]["what"] == "mark undone":
        return MarkedEpisodes(key, 0)
    details = events[0]["details"]
    if details["mark"]["verdict"] is not None or events[0]["who"] != by.name:
        require(by, "judge")
    present = _standing(connection, list(details["before"]))
    kept: dict[str, State] = {}
    stamp = now()
    count = 0
    for name, before in details["before"].items():
        if present.get(name) != details["after"][name]:
            kept[name] = present[name]["state"]
            continue
        count += 1
        _put_back(connection, name, before, present[name], who=by.name, at=stamp)
    record(
        connection,
        [Change(by.name, "mark undone", f"mark:{key}", details={"kept": kept})],
        at=stamp,
    )
    return MarkedEpisodes(key, count, kept)


def decide_episodes(
    connection: Connection,
    ids: Iterable[str],
    verdict: Verdict,
    *,
    who: str,
    why: str | None,
    at: str | None = None,
) -> dict[str, State]:
    """Let a person's verdict hold, inside a transaction; those whose state cannot follow."""
    standing = _standing(connection, list(ids))
    stamp = at or now()
    kept: dict[str, State] = {}
    moving: list[str] = []
    for name, facts in standing.items():
        state: State = facts["state"]
        target = state if verdict == "accepted" and state in _GOOD else verdict
        if target != state and target not in NEXT[state]:
            kept[name] = state
        elif target != state:
            moving.append(name)
    names = list(standing)
    for part in parts_of(names):
        connection.execute(delete(DECISION).where(DECISION.c.episode.in_(part)))
        connection.execute(insert(DECISION), [
            {"episode": name, "verdict": verdict, "who": who, "at": stamp, "why": why}
            for name in part
        ])  # fmt: skip
        connection.execute(update(EPISODE).where(EPISODE.c.id.in_(part)).values(verdict=verdict))
    record(connection, [
        Change(who, "decision", f"episode:{name}", why,
               {"verdict": verdict, "before": standing[name]["verdict"]})
        for name in names
    ], at=stamp)  # fmt: skip
    move_episodes(connection, moving, verdict, who=who, why=why)
    return kept


def restore_decision(
    connection: Connection,
    name: str,
    decision: Mapping[str, Any] | None,
    *,
    verdict: Verdict | None,
) -> None:
    """Put an earlier decision, or none, in place of the present one; the log is the caller's."""
    connection.execute(delete(DECISION).where(DECISION.c.episode == name))
    if decision is not None:
        connection.execute(insert(DECISION).values(**decision))
    connection.execute(update(EPISODE).where(EPISODE.c.id == name).values(verdict=verdict))


def decisions_of(connection: Connection, ids: Sequence[str]) -> dict[str, EpisodeDecision]:
    """What people decided of these episodes, by id."""
    decisions: dict[str, EpisodeDecision] = {}
    for part in parts_of(ids):
        query = select(DECISION).where(DECISION.c.episode.in_(part))
        decisions |= {
            row["episode"]: EpisodeDecision(**row) for row in connection.execute(query).mappings()
        }
    return decisions


def tags_of(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """The tags of these episodes in their order, by id; those without are left out."""
    tags: dict[str, list[str]] = {}
    for part in parts_of(ids):
        query = select(TAG.c.episode, TAG.c.tag).where(TAG.c.episode.in_(part))
        for name, tag in connection.execute(query.order_by(TAG.c.episode, TAG.c.tag)):
            tags.setdefault(name, []).append(tag)
    return tags


def count_tags(connection: Connection, *, most: int = 100) -> list[tuple[str, int]]:
    """Every tag and how many episodes have it, the frequent ones first."""
    number = func.count()
    query = select(TAG.c.tag, number).group_by(TAG.c.tag).order_by(number.desc(), TAG.c.tag)
    return [(tag, int(count)) for tag, count in connection.execute(query.limit(most))]


def unchecked_among(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of these episodes that no check has looked at, whatever a person decided of them."""
    unchecked: set[str] = set()
    for part in parts_of(ids):
        query = select(EPISODE.c.id).where(EPISODE.c.id.in_(part), _is_unchecked())
        unchecked |= set(connection.execute(query).scalars())
    return unchecked


def count_unchecked(connection: Connection, episodes: Select[Any]) -> int:
    """How many of the episodes whose ids a search finds no check has looked at."""
    query = select(func.count()).select_from(EPISODE)
    query = query.where(EPISODE.c.id.in_(episodes), EPISODE.c.state != "erased", _is_unchecked())
    return int(connection.execute(query).scalar_one())


def _is_unchecked() -> ColumnElement[bool]:
    """One judged before judgements were kept has a score, a finding, or a verdict of its own."""
    assessed, found, decided = (
        select(table.c.episode).where(table.c.episode == EPISODE.c.id).correlate(EPISODE).exists()
        for table in (ASSESSMENT, FINDING, DECISION)
    )
    no_verdict = or_(EPISODE.c.verdict.is_(None), decided)
    return ~assessed & ~found & EPISODE.c.score.is_(None) & no_verdict


def _standing(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """State, verdict, decision and tags of episodes, as plain values."""
    decisions, tags = decisions_of(connection, ids), tags_of(connection, ids)
    standing: dict[str, dict[str, Any]] = {}
    for part in parts_of(ids):
        query = select(EPISODE.c.id, EPISODE.c.state, EPISODE.c.verdict)
        for name, state, verdict in connection.execute(query.where(EPISODE.c.id.in_(part))):
            decision = decisions.get(name)
            standing[name] = {
                "state": state,
                "verdict": verdict,
                "decision": None if decision is None else asdict(decision),
                "tags": tags.get(name, []),
            }
    return standing


def _put_back(
    connection: Connection,
    name: str,
    before: Mapping[str, Any],
    present: Mapping[str, Any],
    *,
    who: str,
    at: str,
) -> None:
    """One episode as it was. The way back of a state is not asked of the table of next states."""
    restore_decision(connection, name, before["decision"], verdict=before["verdict"])
    own = EPISODE.c.id == name
    connection.execute(update(EPISODE).where(own).values(state=before["state"]))
    _drop_tags(connection, [name], [tag for tag in present["tags"] if tag not in before["tags"]])
    _put_tags(connection, [name], before["tags"], who=who, at=at)
    changes = [Change(who, "decision undone", f"episode:{name}", None,
                      {"from": present["state"], "to": before["state"],
                       "verdict": before["verdict"], "tags": before["tags"]})]  # fmt: skip
    if present["state"] != before["state"]:
        details = {"from": present["state"], "to": before["state"]}
        changes.append(Change(who, "state", f"episode:{name}", "taken back", details))
    record(connection, changes, at=at)


def _put_tags(
    connection: Connection, ids: Sequence[str], tags: Sequence[str], *, who: str, at: str
) -> None:
    there = tags_of(connection, ids) if tags else {}
    rows = [
        {"episode": name, "tag": tag, "who": who, "at": at}
        for name in ids for tag in dict.fromkeys(tags) if tag not in there.get(name, ())
    ]  # fmt: skip
    for part in parts_of(rows):
        connection.execute(insert(TAG), list(part))


def _drop_tags(connection: Connection, ids: Sequence[str], tags: Sequence[str]) -> None:
    for part in parts_of(ids if tags else ()):
        query = delete(TAG).where(TAG.c.episode.in_(part), TAG.c.tag.in_(tags))
        connection.execute(query)


def _tag_changes(
    before: Mapping[str, Mapping[str, Any]], mark: EpisodeMark, who: str
) -> list[Change]:
    changes = []
    for name, facts in before.items():
        added = [tag for tag in dict.fromkeys(mark.tags) if tag not in facts["tags"]]
        removed = [tag for tag in mark.untags if tag in facts["tags"]]
        if added or removed:
            details = {"added": added, "removed": removed}
            changes.append(Change(who, "tags", f"episode:{name}", details=details))
    return changes
