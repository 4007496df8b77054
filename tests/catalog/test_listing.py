"""Listings: what SQL finds is what the words say, in order, page by page, in both databases."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest
from sqlalchemy import insert
from tests.catalog.entries import made_entry

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.query import (
    And,
    Comparison,
    Condition,
    Date,
    HasFinding,
    Known,
    Mentions,
    OneOf,
    Or,
    count_episodes,
    episode_page,
    every_episode,
    iso,
    parse,
    search,
)
from corporeal.catalog.query.listing import select_episodes
from corporeal.catalog.query.tree import Between, HasStream, InRelease, Not
from corporeal.catalog.tables import MEMBER
from corporeal.errors import UnknownNameError

NAMES = (
    None,
    "a",
    "A",
    "a_b",
    "a%b",
    "a[b]",
    "a*b?",
    "ä'\"<b>",
    "op07",
    "pick@1.0.0",
    "pick@2.0.0",
)
DAY_NS = 86_400 * 10**9


def _entries(chance: random.Random, total: int) -> list[EpisodeEntry]:
    made = []
    for number in range(total):
        facts = {
            "hash": f"sha256:{number:064x}",
            "bytes": chance.randrange(5),
            "file": "x.h5",
            "task": chance.choice(NAMES),
            "operator": chance.choice(NAMES),
            "protocol": chance.choice(NAMES),
            "score": chance.choice((None, 0.0, 0.25, 0.5, 1.0)),
            "success": chance.choice((None, True, False)),
            "recorded_ns": chance.choice((None, *range(0, 4 * DAY_NS, DAY_NS // 2))),
            "metadata": {"x": chance.choice((None, "a", "3", 3, 3.5, True, False, [1], {"y": 3}))},
        }
        findings: list[dict[str, Any]] = [
            {"check": check, "severity": chance.choice(("fail", "note")), "message": "m",
             "frames": []} for check in ("one", "two") if chance.random() < 0.5
        ]  # fmt: skip
        scores = [{"part": "smooth", "value": chance.choice((None, 0.1, 0.9)), "weight": 1.0}]
        streams = [{"path": "o/imu", "kind": "array", "rate_hz": chance.choice((None, 100.0)),
                    "samples": chance.randrange(3)}]  # fmt: skip
        document = {"hash": f"h{number % 3}", "name": "ego", "version": f"1.{number % 3}.0",
                    "text": "t"}  # fmt: skip
        made.append(
            made_entry(f"e{chance.randrange(10**6):06d}{number:04d}", facts, findings=findings,
                  scores=scores if chance.random() < 0.7 else (),
                  streams=streams if chance.random() < 0.7 else (),
                  documents={"schema": document} if chance.random() < 0.7 else {})
        )  # fmt: skip
    return made


def _fill(database: Database, entries: list[EpisodeEntry]) -> set[str]:
    released = {entry.id for entry in entries[::3]}
    with database.write() as connection:
        add_episodes(connection, entries, who="test")
        rows = [{"name": "walks", "version": "1.0.0", "episode": name, "split": "train"}
                for name in released]  # fmt: skip
        connection.execute(insert(MEMBER), rows)
    return released


def _value(entry: EpisodeEntry, field: str) -> Any:
    group, _, part = field.partition(".")
    if not part:
        return getattr(entry.row, {"recorded": "recorded_ns"}.get(group, group), None)
    if group == "metadata":
        found: Any = entry.row.metadata
        for key in part.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found
    if group == "document":
        held = entry.documents.get(part)
        return None if held is None else f"{held['name']}@{held['version']}"
    rows, column = {"score": (entry.scores, "value"), "rate": (entry.streams, "rate_hz"),
                    "samples": (entry.streams, "samples")}[group]  # fmt: skip
    return next((row[column] for row in rows), None)


def _equal(field: str, held: Any, value: Any) -> bool:
    if isinstance(value, Date):
        return held is not None and bool(value.start_ns <= held < value.end_ns)
    if isinstance(value, bool) or isinstance(held, bool):
        return isinstance(value, bool) and isinstance(held, bool) and value == held
    is_reference = field.partition(".")[0] in ("protocol", "document")
    if is_reference and "@" not in value and held is not None:
        return bool(held == value or held.startswith(f"{value}@"))
    return bool(held == value)


def _compare(field: str, held: Any, operator: str, value: Any) -> bool:
    if operator in ("=", "!="):
        return _equal(field, held, value) == (operator == "=")
    if operator == "~":
        pattern = value if "*" in value else f"*{value}*"
        literal = "".join(f"[{letter}]" if letter in "?[" else letter for letter in pattern)
        return isinstance(held, str) and fnmatchcase(held, literal)
    if isinstance(held, bool) or not isinstance(held, int | float):
        return False
    low, high = (value.start_ns, value.end_ns) if isinstance(value, Date) else (value, value)
    if operator == "<":
        return bool(held < low)
    if operator == ">=":
        return bool(held >= low)
    is_date = isinstance(value, Date)
    if operator == ">":
        return bool(held >= high if is_date else held > high)
    return bool(held < high if is_date else held <= high)


def _mentions(entry: EpisodeEntry, text: str) -> bool:
    names = [entry.id, entry.row.file, entry.row.task, entry.row.operator, entry.row.robot]
    names += [row["check"] for row in entry.findings]
    return any(name is not None and text.lower() in name.lower() for name in names)


def _holds(condition: Condition, entry: EpisodeEntry, released: set[str]) -> bool:
    match condition:
        case And(parts):
            return all(_holds(part, entry, released) for part in parts)
        case Or(parts):
            return any(_holds(part, entry, released) for part in parts)
        case Not(part):
            return not _holds(part, entry, released)
        case Comparison(field, operator, value):
            return _compare(field, _value(entry, field), operator, value)
        case OneOf(field, values):
            return any(_equal(field, _value(entry, field), value) for value in values)
        case Between(field, low, high):
            held = _value(entry, field)
            return _compare(field, held, ">=", low) and _compare(field, held, "<=", high)
        case Known(field, known):
            return (_value(entry, field) is not None) == known
        case HasFinding(check, severity):
            return any(
                check in (None, row["check"]) and severity in (None, row["severity"])
                for row in entry.findings
            )
        case HasStream(path):
            return any(row["path"] == path for row in entry.streams)
        case InRelease(name, version, split):
            there = name == "walks" and version in (None, "1.0.0") and split in (None, "train")
            return there and entry.id in released
        case Mentions(text):
            return _mentions(entry, text)
    raise AssertionError(condition)


def _clause(chance: random.Random) -> str:
    text = json.dumps(chance.choice(NAMES[1:]), ensure_ascii=False)
    field = chance.choice(("task", "operator", "protocol", "document.schema", "metadata.x"))
    number = chance.choice(("0", "0.25", "0.5", "3", "3.5", "1", "100"))
    numeric = chance.choice(
        ("score", "bytes", "score.smooth", "rate.o/imu", "samples.o/imu", "metadata.x")
    )
    asked = chance.choice((field, numeric, "recorded", "success"))
    sign = chance.choice(("=", "!=", "<", "<=", ">", ">="))
    return chance.choice((
        f"{field} {chance.choice(('=', '!='))} {text}",
        f"{field} ~ {text}", "document.schema = ego@1.1.0", "document.schema = ego", 'task ~ "a*b"',
        "protocol = pick", f"{numeric} {sign} {number}",
        f"{numeric} between {number} and 3", f"task not in (a, {text})",
        "metadata.x in (3, '3', true)",
        f"metadata.x = {chance.choice(('true', 'false'))}", f"metadata.x.y {sign} 3",
        f"success = {chance.choice(('true', 'false'))}",
        f"recorded {sign} 1970-01-0{chance.randrange(1, 5)}",
        "recorded between 1970-01-02 and 1970-01-03",
        f"{asked} is {chance.choice(('known', 'unknown'))}",
        f"has finding {chance.choice(('one', 'three', 'severity fail', 'two severity note'))}",
        "has stream o/imu", "in release walks", "in release walks@1.0.0 split train",
        "in release walks@2.0.0", text, chance.choice(("A_B", "op", "TWO", "x.h5 op07")),
    ))  # fmt: skip


def _query(chance: random.Random, depth: int = 2) -> str:
    if depth == 0 or chance.random() < 0.3:
        return _clause(chance)
    if chance.random() < 0.25:
        return f"not ({_query(chance, depth - 1)})"
    joined = chance.choice((" and ", " or "))
    return f"({joined.join(_query(chance, depth - 1) for _ in range(2))})"


@pytest.mark.slow
def test_sql_finds_what_the_words_say(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(6)
    entries = _entries(chance, 120)
    released = _fill(database, entries)
    with database.read() as connection:
        for turn in range(250):
            monkeypatch.setattr(search, "WALKS", ((5, 20), (1000,), ())[turn % 3])
            text = _query(chance)
            condition = parse(text)
            expected = {entry.id for entry in entries if _holds(condition, entry, released)}
            order = chance.choice(("id", "-id", "score", "-score", "-recorded", "task", "bytes"))
            got = [row.id for row in every_episode(connection, condition, order=order, block=37)]
            plain = [row.id for row in connection.execute(select_episodes(text, order=order))]
            assert set(got) == expected, text
            assert got == plain, f"{text} by {order}"
            assert count_episodes(connection, condition) == len(got), text


def test_an_operator_that_is_unknown_is_not_op07(database: Database) -> None:
    facts = {"bytes": 1, "file": "x.h5"}
    with database.write() as connection:
        add_episodes(connection, [made_entry("a", {**facts, "hash": "1", "operator": "op07"}),
                         made_entry("b", {**facts, "hash": "2"})], who="test")  # fmt: skip
    with database.read() as connection:
        assert [row.id for row in every_episode(connection, "operator != op07")] == ["b"]
        assert [row.id for row in every_episode(connection, "not operator = op07")] == ["b"]
        known = every_episode(connection, "operator != op07 and operator is known")
        assert [row.id for row in known] == []


@pytest.mark.parametrize(
    "order", ["id", "-id", "score", "-score", "-recorded", "bytes", "ingested"]
)
def test_pages_in_any_order_hold_every_episode_once(database: Database, order: str) -> None:
    entries = _entries(random.Random(1), 60)
    _fill(database, entries)
    with database.read() as connection:
        whole = [row.id for row in connection.execute(select_episodes(None, order=order))]
        assert sorted(whole) == sorted(entry.id for entry in entries)
        paged, after = [], None
        while True:
            part = episode_page(connection, order=order, limit=7, after=after)
            one = connection.execute(select_episodes(order=order, limit=7, after=after))
            assert [row.id for row in one] == [row.id for row in part.rows]
            paged += [row.id for row in part.rows]
            if part.after is None:
                break
            after = part.after
        assert paged == whole


def test_the_unknown_comes_last_in_both_directions(database: Database) -> None:
    _fill(database, _entries(random.Random(2), 40))
    with database.read() as connection:
        for order in ("score", "-score"):
            scores = [row.score for row in every_episode(connection, order=order)]
            known = [score for score in scores if score is not None]
            assert scores == known + [None] * (len(scores) - len(known))
            assert known == sorted(known, reverse=order == "-score")


def test_hostile_names_find_nothing_and_harm_nothing(database: Database) -> None:
    entries = _entries(random.Random(3), 10)
    _fill(database, entries)
    hostile = ("' or 1=1 --", "'; drop table episode; --", "%", "_", "<script>alert(1)</script>")
    with database.read() as connection:
        for text in hostile:
            said = json.dumps(text)
            for clause in (f"task = {said}", f"station ~ {said}", f"has finding {said}",
                           f"metadata.x = {said}", f"in release {said}"):  # fmt: skip
                assert count_episodes(connection, parse(clause)) == 0, clause
            with pytest.raises(CatalogError, match="no episode has the task"):
                count_episodes(connection, f"task = {said}")
        with pytest.raises(CatalogError, match="after"):
            episode_page(connection, after=hostile[0])
        with pytest.raises(UnknownNameError, match="field to order by"):
            episode_page(connection, order="id; drop table episode")
        assert count_episodes(connection) == 10


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("task = op7", "no episode has the task 'op7'. Did you mean op07?"),
        ("score > 2 and operator != opp7", "no episode has the operator 'opp7'. Did you mean op07"),
        ("not (task in (a, zzz))", "no episode has the task 'zzz'. There are: A, a, a%b"),
        ("has finding joint_swaped", "no check is called 'joint_swaped'. Did you mean joints_"),
        ("not_assessed = robot_fel", "no check is called 'robot_fel'. Did you mean robot_fell?"),
        ("has finding stays_uprigt", "called 'stays_uprigt'. Did you mean robot_fell?"),
        ("has stream o/imo", "no episode has the stream 'o/imo'. Did you mean o/imu?"),
        ("score.smoth > 0.5", "part of the score 'smoth'. Did you mean smooth?"),
        ("protocol = pik", "no episode has the protocol 'pik'. Did you mean pick?"),
        ("file = y.h5", "no episode has the file 'y.h5'. Did you mean x.h5?"),
        ("roboot fell", "no episode mentions 'roboot'. Did you mean robot?"),
        ("#999", "no episode has the number #999. The highest is #60."),
    ],
)
def test_a_name_that_no_episode_has_is_an_error(
    database: Database, query: str, answer: str
) -> None:
    _fill(database, _entries(random.Random(5), 60))
    with database.read() as connection:
        for ask in (count_episodes, episode_page):
            with pytest.raises(CatalogError) as raised:
                ask(connection, query)
            assert answer in str(raised.value)


def test_a_name_that_could_be_there_finds_nothing(database: Database) -> None:
    _fill(database, _entries(random.Random(5), 20))
    with database.read() as connection:
        # Nobody has failed yet, no check of that name found anything, no batch was stated.
        for query in ("failure = drop", "has finding robot_fell", "batch = monday",
                      "task ~ zebra", "protocol = pick and score > 2"):  # fmt: skip
            assert count_episodes(connection, query) == 0, query


def test_within_counts_back_from_now(database: Database) -> None:
    with database.write() as connection:
        add_episodes(
            connection, [made_entry("a", {"hash": "1", "bytes": 1, "file": "x"})], who="test"
        )
    with database.read() as connection:
        assert count_episodes(connection, "ingested within 1 hour") == 1
        assert count_episodes(connection, f'ingested > "{iso(4 * 10**18)}"') == 0
        assert count_episodes(connection, up_to=5) == 1
        with pytest.raises(CatalogError, match="limit, got 0"):
            episode_page(connection, limit=0)
