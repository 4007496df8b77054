"""A campaign hands out what is missing, to whoever is there, and counts what was accepted."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import select
from tests.catalog.entries import changed, entry

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.people import (
    add_operator,
    give_certificate,
    open_certification,
    place_episodes,
    require_certificates,
)
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.catalog.tables import CAMPAIGN_CARD
from corporeal.errors import UnknownNameError
from corporeal.operations.campaign import (
    CampaignError,
    CampaignProgress,
    close_campaign,
    create_campaign,
    find_campaign,
    hide_people,
    next_card,
    open_cards,
    read_progress,
    refuse_card,
    shown_levels,
    take_card,
    wilson,
)
from corporeal.protocol import Protocol, open_protocol
from corporeal.protocol.card import EpisodeCard
from corporeal.protocol.coverage import DesignRules, Factor
from corporeal.protocol.protocol import Operators

LEAD = Actor("lena", "lead")
PEOPLE = ("ann", "ben", "cleo", "dan")


def kitchen(**rules: Any) -> Protocol:
    """Three objects on two surfaces in two rooms; a room takes half an hour to change."""
    factors = (
        Factor(name="object", levels=("cup", "can", "box")),
        Factor(name="surface", levels=("wood", "steel"), field="variation.surface"),
        Factor(name="room", levels=("kitchen", "lab"), change_min=30),
    )
    return open_protocol("pick_place").model_copy(
        update={"factors": factors, "design": DesignRules(**rules)}
    )


def begin(database: Database, protocol: Protocol, episodes: int) -> None:
    with database.write() as connection:
        create_campaign(connection, LEAD, "autumn", protocol, episodes=episodes)


def record(database: Database, card: EpisodeCard, number: int, operator: str,
           verdict: str = "accepted", success: bool = True, **facts: Any) -> None:  # fmt: skip
    """The episode that follows a card, as the recorder and the gates leave it."""
    with database.write() as connection:
        campaign = find_campaign(connection, card.campaign)
        take_card(connection, card.id)
        made = changed(
            entry(number), metadata=card.facts(campaign.protocol), operator=operator,
            station="s1", verdict=verdict, success=success, **facts,
        )  # fmt: skip
        made = replace(made, findings=(), documents={})
        add_episodes(connection, [made], who="tester")


def progress(database: Database) -> CampaignProgress:
    with database.read() as connection:
        return read_progress(connection, find_campaign(connection, "autumn"))


def test_a_campaign_is_collected_evenly_through_failures_and_refusals(database: Database) -> None:
    begin(database, kitchen(), 24)
    chance, changes = random.Random(4), 0
    room: str | None = None
    for number in range(120):
        operator = PEOPLE[number % 4]
        try:
            card = next_card(database, "autumn", station="s1", operator=operator)
        except CampaignError as error:
            if "has all its 24 episodes" in str(error):
                break
            continue  # This one has made enough.
        if number == 7:
            with database.write() as connection:
                refuse_card(connection, card.id, "no clean one left", by=operator)
            continue
        changes += room is not None and card.levels["room"] != room
        room = card.levels["room"]
        record(database, card, number, operator,
               "failed" if chance.random() < 0.2 else "accepted")  # fmt: skip
    told = progress(database)
    assert told.accepted == 24
    assert told.rejected >= 2
    assert not told.told.missing
    off = told.told.worst_balance
    assert off is not None
    assert off.off <= 0.15
    assert not told.confounded
    assert max(told.operators.values()) <= 7
    assert changes <= 6, f"{changes} changes of the room"


def test_people_who_record_one_after_the_other_all_show_what_is_hard_to_change(
    database: Database,
) -> None:
    begin(database, kitchen(), 24)
    rooms: list[tuple[str, str]] = []
    for number in range(24):
        operator = PEOPLE[number // 6]
        card = next_card(database, "autumn", station="s1", operator=operator)
        record(database, card, number, operator)
        rooms.append((operator, card.levels["room"]))
    assert set(Counter(rooms).values()) == {3}, Counter(rooms)
    changes = sum(one[1] != other[1] for one, other in pairwise(rooms))
    assert changes <= 4, "a person changes the room once, and the next one begins where it stands"
    told = progress(database)
    assert not told.confounded
    assert not told.few_operators


def test_what_too_few_people_have_shown_is_kept_for_others(database: Database) -> None:
    rules = Operators(minimum_per_variant=3, greatest_share=0.5)
    begin(database, kitchen().model_copy(update={"operators": rules}), 12)
    recorded = 0
    for operator in ("ann", "ben"):
        with pytest.raises(CampaignError, match=r"nothing is left for|has made 6"):  # noqa: PT012
            for _ in range(7):
                card = next_card(database, "autumn", station="s1", operator=operator)
                record(database, card, recorded, operator)
                recorded += 1
    with pytest.raises(CampaignError, match="3 people are to show every level"):
        next_card(database, "autumn", station="s2", operator="ben")
    assert recorded < 12
    for number in range(recorded, 12):
        record(database, next_card(database, "autumn", operator="cleo"), number, "cleo")
    assert progress(database).few_operators == ()


def test_a_station_keeps_its_card_and_two_stations_are_not_asked_for_the_same(
    database: Database,
) -> None:
    begin(database, kitchen(), 12)
    first = next_card(database, "autumn", station="s1", operator="ann")
    assert next_card(database, "autumn", station="s1", operator="ann") == first
    cards = [first] + [next_card(database, "autumn", station=f"s{at}", operator="ben")
                       for at in range(2, 5)]  # fmt: skip
    assert len({tuple(card.levels.items()) for card in cards}) == 4
    with database.read() as connection:
        assert Counter(where for where, _ in open_cards(connection, "autumn")) == Counter(
            ["s1", "s2", "s3", "s4"]
        )


def test_a_refused_combination_is_not_asked_for_again_at_the_same_station(
    database: Database,
) -> None:
    begin(database, kitchen(), 12)
    refused = []
    for _ in range(4):
        card = next_card(database, "autumn", station="s1", operator="ann")
        assert card.levels not in refused
        refused.append(card.levels)
        with database.write() as connection:
            refuse_card(connection, card.id, "the lamp is broken", by="ann")
    other = next_card(database, "autumn", station="s2", operator="ann")
    assert other.levels in refused, "what is broken at one station is not broken at the other"


def test_a_failed_episode_is_asked_for_again(database: Database) -> None:
    begin(database, kitchen(), 6)
    with database.read() as connection:
        plan = find_campaign(connection, "autumn").plan
    shown = []
    for number in range(7):
        card = next_card(database, "autumn", operator=f"op{number}")
        record(database, card, number, f"op{number}", "failed" if number == 2 else "accepted")
        shown += [] if number == 2 else [card.levels]
    assert (card.number, card.planned) == (6, 6)
    assert sorted(map(sorted, (each.items() for each in shown))) == sorted(
        map(sorted, (each.items() for each in plan))
    )


def test_nobody_makes_more_than_the_share(database: Database) -> None:
    begin(database, kitchen(), 10)
    for number in range(3):
        record(database, next_card(database, "autumn", operator="ann"), number, "ann")
    with pytest.raises(CampaignError, match=r"ann has made 3 of 10 episodes.*Let somebody else"):
        next_card(database, "autumn", operator="ann")
    assert next_card(database, "autumn", operator="ben").number == 4


def test_planned_operators_get_what_is_planned_with_them(database: Database) -> None:
    rules = kitchen()
    people = Factor(name="operator", levels=PEOPLE)
    begin(database, rules.model_copy(update={"factors": (*rules.factors, people)}), 12)
    card = next_card(database, "autumn", operator="cleo")
    assert card.levels["operator"] == "cleo"
    with pytest.raises(UnknownNameError, match="operator of this campaign"):
        next_card(database, "autumn", station="s2", operator="zoe")


def test_an_episode_that_showed_something_else_is_counted_as_what_it_showed(
    database: Database,
) -> None:
    begin(database, kitchen(), 12)
    card = next_card(database, "autumn", operator="ann")
    shown = {**card.levels, "object": "box" if card.levels["object"] != "box" else "cup"}
    record(database, replace(card, levels=shown), 0, "ann")
    told = {each.level: each.accepted for each in progress(database).levels}
    assert told[shown["object"]] == 1
    for number in range(1, 12):
        operator = PEOPLE[number % 4]
        try:
            record(database, next_card(database, "autumn", operator=operator), number, operator)
        except CampaignError:
            record(database, next_card(database, "autumn", operator=f"op{number}"), number,
                   f"op{number}")  # fmt: skip
    assert [each.accepted for each in progress(database).levels][:3] == [4, 4, 4]


def test_success_by_level_comes_with_bounds(database: Database) -> None:
    begin(database, kitchen(), 12)
    for number in range(6):
        card = next_card(database, "autumn", operator=f"op{number}")
        record(database, card, number, f"op{number}", success=card.levels["surface"] == "wood")
    told = {each.level: each for each in progress(database).levels}
    wood, steel = told["wood"], told["steel"]
    assert wood.successes == wood.tried
    assert steel.successes == 0
    assert wood.high == 1.0
    assert steel.low == 0.0
    assert wood.low is not None
    assert steel.high is not None
    assert 0.3 < wood.low < 0.6


@pytest.mark.parametrize(
    ("successes", "tried", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (18, 20, 0.6990, 0.9721),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_wilson_bounds_are_those_of_the_tables(
    successes: int, tried: int, low: float, high: float
) -> None:
    assert wilson(successes, tried) == pytest.approx((low, high), abs=2e-4)


def test_an_operator_who_always_shows_the_same_is_said_to_be_confounded(
    database: Database,
) -> None:
    begin(database, kitchen(), 24)
    with database.write() as connection:
        protocol = find_campaign(connection, "autumn").protocol
        entries = []
        for number in range(20):
            wood = number % 2 == 0
            levels = {"object": ("cup", "can", "box")[number % 3],
                      "surface": "wood" if wood else "steel",
                      "room": "lab" if number % 4 < 2 else "kitchen"}  # fmt: skip
            card = EpisodeCard(f"k{number}", "autumn", number, 24, levels, "")
            made = changed(entry(number), metadata=card.facts(protocol), verdict="accepted",
                           operator="ann" if wood else "ben", station="s1")  # fmt: skip
            entries.append(replace(made, findings=(), documents={}))
        add_episodes(connection, entries, who="tester")
    told = progress(database)
    worst = told.confounded[0]
    assert worst[:2] == ("operator", "surface")
    assert ("surface", "wood", 1) in told.few_operators
    assert worst[2] > 0.9


def test_a_closed_campaign_hands_out_nothing_and_only_a_lead_makes_one(database: Database) -> None:
    begin(database, kitchen(), 12)
    with database.write() as connection:
        with pytest.raises(PermissionDeniedError):
            create_campaign(connection, Actor("ann", "operator"), "mine", kitchen())
        with pytest.raises(CampaignError, match="is there already"):
            create_campaign(connection, LEAD, "autumn", kitchen(), episodes=12)
        with pytest.raises(CampaignError, match="expected up to 64 small letters"):
            create_campaign(connection, LEAD, "Autumn 2", kitchen())
        close_campaign(connection, LEAD, "autumn")
    with pytest.raises(CampaignError, match="is closed"):
        next_card(database, "autumn", operator="ann")
    with pytest.raises(UnknownNameError):
        next_card(database, "spring", operator="ann")


def test_the_share_of_one_operator_follows_the_protocol(database: Database) -> None:
    rules = kitchen().model_copy(update={
        "operators": Operators(greatest_share=1.0, minimum_per_variant=1)
    })  # fmt: skip
    begin(database, rules, 6)
    for number in range(6):
        record(database, next_card(database, "autumn", operator="ann"), number, "ann")
    with pytest.raises(CampaignError, match="has all its 6 episodes"):
        next_card(database, "autumn", operator="ann")


def test_cards_go_by_the_time_they_are_told(database: Database) -> None:
    begin(database, kitchen(), 12)
    monday = datetime(2026, 11, 16, 8, tzinfo=UTC)
    first = next_card(database, "autumn", station="s1", operator="ann", now=monday)
    with database.write() as connection:
        refuse_card(connection, first.id, "the cup is broken", by="ann", now=monday)
    # In the same shift no card asks for what was refused; in the next it comes again.
    seen = []
    for hours in (1, 26):
        levels = []
        for minute in range(11):
            moment = monday + timedelta(hours=hours, minutes=minute)
            try:
                card = next_card(database, "autumn", station="s1", operator="ann", now=moment)
            except CampaignError:
                break
            levels.append(card.levels)
            with database.write() as connection:
                take_card(connection, card.id, now=moment)
        seen.append(first.levels in levels)
    assert seen == [False, True]
    with database.read() as connection:
        rows = [row.changed_at for row in connection.execute(select(CAMPAIGN_CARD))]
    assert all("2026-11-16" <= stamp < "2026-11-18" for stamp in rows)
    with pytest.raises(CatalogError, match="its time zone"):
        next_card(database, "autumn", station="s2", operator="ann", now=datetime(2026, 11, 16))


def test_practice_fills_nothing_and_only_the_certified_get_a_card(database: Database) -> None:
    begin(database, kitchen(), 12)
    card = next_card(database, "autumn", station="s1", operator="zoe")
    document = open_certification("standard")
    with database.write() as connection:
        task = find_campaign(connection, "autumn").protocol.task.name
        add_operator(connection, "ann", by=LEAD)
        require_certificates(connection, task, document, by=LEAD)
        give_certificate(connection, "ann", task, document, by=LEAD, evidence={}, why="a test")
    record(database, card, 0, "zoe", task=task, recorded_ns=time.time_ns())
    with database.write() as connection:
        assert place_episodes(connection, [entry(0).row.id], who="tester")
    told = progress(database)
    assert (told.accepted, told.practice, told.operators) == (0, 1, {})
    assert {(each.accepted, each.tried) for each in told.levels} == {(0, 0)}
    assert next_card(database, "autumn", station="s1", operator="ann").number == 1
    with pytest.raises(CampaignError, match=r"zoe: no certificate for .*would be practice"):
        next_card(database, "autumn", station="s2", operator="zoe")
    with pytest.raises(CampaignError, match="operator, got none"):
        next_card(database, "autumn", station="s2")


def test_whoever_may_not_see_people_sees_none_in_a_campaign(database: Database) -> None:
    rules = kitchen()
    people = Factor(name="who", levels=PEOPLE, field="variation.operator_id")
    begin(database, rules.model_copy(update={"factors": (*rules.factors, people)}), 12)
    card = next_card(database, "autumn", operator="ann")
    record(database, card, 0, "ann")
    told, everybody = progress(database), Actor("lena", "lead", privacy="managed")
    assert hide_people(told, everybody) == told
    assert told.operators == {"ann": 1}
    for actor in (LEAD, replace(LEAD, privacy="self"), Actor("vi", "viewer", privacy="managed")):
        shown = hide_people(told, actor)
        assert shown.operators == {}
        assert not any(f"'{name}'" in repr((shown.levels, shown.told, shown.few_operators))
                       for name in PEOPLE)  # fmt: skip
        assert set(shown_levels(told.campaign, card.levels, actor)) == {"object", "surface", "room"}
    own = Actor("ann-a", "operator", privacy="self", operator="ann")
    assert hide_people(told, own).operators == {"ann": 1}
    assert hide_people(told, replace(own, operator="ben")).operators == {}
