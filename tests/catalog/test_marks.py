"""People overrule checks, with a reason and for good; tags are asked for; all of it goes back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select
from tests.catalog.entries import changed, entry, made_entry

from corporeal.catalog.audit import events_of, verify
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import (
    EpisodeMark,
    add_episodes,
    count_tags,
    count_unchecked,
    decisions_of,
    find_episode,
    mark_episodes,
    move_episodes,
    tags_of,
    unchecked_among,
    undo_mark,
)
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import count_episodes, count_facets, parse, query_text, toggle_value
from corporeal.catalog.tables import EPISODE

IDS = [entry(number).id for number in range(3)]
ANNA = Actor("anna", "lead")
BAD = EpisodeMark("quarantined", "cable in view", tags=("cable", "left hand"))


@pytest.fixture
def judged(database: Database) -> Database:
    with database.write() as connection:
        entries = [changed(entry(number), verdict="accepted") for number in range(3)]
        add_episodes(connection, entries, who="ingest")
        move_episodes(connection, IDS, "accepted", who="ingest", why=None)
    return database


def test_a_verdict_of_a_person_says_who_and_why_and_moves_the_state(judged: Database) -> None:
    with judged.write() as connection:
        done = mark_episodes(connection, IDS[:2], BAD, who="anna")
        assert (done.count, done.kept) == (2, {})
        row = find_episode(connection, IDS[0])
        assert (row.state, row.verdict) == ("quarantined", "quarantined")
        decided = decisions_of(connection, IDS)
        assert {name: (each.who, each.why) for name, each in decided.items()} == dict.fromkeys(
            IDS[:2], ("anna", "cable in view")
        )
        happened = [event["what"] for event in events_of(connection, f"episode:{IDS[0]}")]
        assert happened == ["ingest", "state", "decision", "state", "tags"]
        assert list(verify(connection)) == []


def test_undo_brings_back_state_verdict_and_tags_but_not_over_what_came_since(
    judged: Database,
) -> None:
    with judged.write() as connection:
        mark_episodes(connection, IDS[:1], EpisodeMark(tags=("cable",)), who="ben")
        done = mark_episodes(connection, IDS[:2], BAD, who="anna")
        mark_episodes(connection, IDS[1:2], EpisodeMark(tags=("later",)), who="ben")
        undone = undo_mark(connection, done.key, by=ANNA)
        assert (undone.count, undone.kept) == (1, {IDS[1]: "quarantined"})
        first = find_episode(connection, IDS[0])
        assert (first.state, first.verdict) == ("accepted", "accepted")
        assert tags_of(connection, IDS) == {IDS[0]: ["cable"],
                                            IDS[1]: ["cable", "later", "left hand"]}  # fmt: skip
        assert set(decisions_of(connection, IDS)) == {IDS[1]}
        assert undo_mark(connection, done.key, by=ANNA).count == 0
        with pytest.raises(CatalogError, match="got 'nothing'"):
            undo_mark(connection, "nothing", by=ANNA)
        assert list(verify(connection)) == []


def test_what_is_released_keeps_its_state_and_the_verdict_holds(judged: Database) -> None:
    with judged.write() as connection:
        move_episodes(connection, IDS[:1], "released", who="anna", why=None)
        done = mark_episodes(connection, IDS[:1], BAD, who="anna")
        assert done.kept == {IDS[0]: "released"}
        row = find_episode(connection, IDS[0])
        assert (row.state, row.verdict) == ("released", "quarantined")


def test_tags_and_deciders_are_asked_for_counted_and_taken_off(judged: Database) -> None:
    with judged.write() as connection:
        mark_episodes(connection, IDS[:2], BAD, who="anna")
        mark_episodes(connection, IDS[1:], EpisodeMark(tags=("cable",)), who="ben")
    with judged.read() as connection:
        for query, number in (
            ("tag = cable", 3), ("tag = cable and tag = 'left hand'", 2), ("tag != 'left hand'", 1),
            ("tag in (cable, 'left hand')", 3), ("tag ~ left", 2), ("tag is unknown", 0),
            ("decided_by = anna", 2), ("decided_by is unknown", 1), ("cable", 3),
        ):  # fmt: skip
            assert count_episodes(connection, query) == number, query
        with pytest.raises(CatalogError, match=r"has the tag 'cabel'\. Did you mean cable\?"):
            count_episodes(connection, "tag = cabel")
        assert count_tags(connection) == [("cable", 3), ("left hand", 2)]
        facets = {each.name: each for each in count_facets(connection, None).facets}
        assert [(each.value, each.count) for each in facets["tag"].values] == [
            ("cable", 3), ("left hand", 2)
        ]  # fmt: skip
        narrowed = toggle_value(parse("score > 0"), "tag", "cable")
        assert narrowed is not None
        assert query_text(narrowed) == "score > 0 and tag = cable"
    with judged.write() as connection:
        mark_episodes(connection, IDS, EpisodeMark(untags=("cable",)), who="ben")
        assert count_tags(connection) == [("left hand", 2)]


@pytest.mark.parametrize(
    ("mark", "complaint"),
    [
        ({"verdict": "failed"}, "got no reason"),
        ({"verdict": "quarantined", "reason": " "}, "got no reason"),
        ({"tags": ("a,b",)}, "without commas"),
        ({"tags": ("",)}, "without commas"),
        ({"tags": ("x" * 41,)}, "up to 40 letters"),
        ({"verdict": "accepted", "reason": "x" * 501}, "500 at most"),
    ],
)
def test_a_mark_that_says_too_little_or_too_much_is_refused(
    mark: dict[str, object], complaint: str
) -> None:
    with pytest.raises(CatalogError, match=complaint):
        EpisodeMark(**mark)  # type: ignore[arg-type]


def test_one_unknown_episode_and_nothing_is_marked(judged: Database) -> None:
    with pytest.raises(CatalogError, match="not in the catalogue"), judged.write() as connection:
        mark_episodes(connection, [*IDS, "nobody"], BAD, who="anna")
    with judged.read() as connection:
        assert tags_of(connection, IDS) == {}


def test_a_verdict_that_a_person_alone_gave_is_no_check(database: Database) -> None:
    bare = [made_entry(name, {"hash": f"sha256:{name}", "bytes": 1, "file": f"{name}.h5"})
            for name in ("accepted", "checked", "earlier")]  # fmt: skip
    judgement = {"verdict": "accepted", "policy": "p@1", "basis": "it", "facts": {}}
    entries = [bare[0], replace(bare[1], assessment=judgement),
               changed(bare[2], verdict="accepted")]  # fmt: skip
    with database.write() as connection:
        add_episodes(connection, entries, who="ingest")
        mark_episodes(connection, ["accepted", "checked"], EpisodeMark("accepted"), who="anna")
        names = [each.id for each in entries]
        assert unchecked_among(connection, names) == {"accepted"}
        assert count_unchecked(connection, select(EPISODE.c.id)) == 1
