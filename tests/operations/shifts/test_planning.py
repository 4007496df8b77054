"""A plan keeps to every rule, has as many hours as can be, and changes little when made anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corporeal.errors import DocumentError
from corporeal.operations.shifts import (
    Fixture,
    Roster,
    ShiftPlan,
    explain_missing,
    find_breaches,
    find_remedies,
    measure_balance,
    plan_shifts,
)
from corporeal.operations.shifts.plan import Duty

MONDAY = date(2026, 11, 23)
TASKS = ("pick_place", "handover")


def a_roster(**changes: Any) -> Roster:
    """Five people, two stations, two days of six hours."""
    values: dict[str, Any] = {
        "document": "roster", "name": "week", "version": "1.0.0", "first_day": MONDAY, "days": 2,
        "opens": "09:00", "closes": "15:00",
        "stations": [{"name": "s1", "tasks": ["pick_place"]},
                     {"name": "s2", "tasks": ["pick_place", "handover"]}],
        "people": [{"name": name, "certified": dict.fromkeys(TASKS)}
                   for name in ("anna", "ben", "chloe", "dai", "eva")],
        "wanted": [{"task": "pick_place", "hours": 10}, {"task": "handover", "hours": 4}],
    }  # fmt: skip
    return Roster.model_validate(values | changes)


@pytest.fixture(scope="module")
def plan() -> ShiftPlan:
    return plan_shifts(a_roster(), seconds=3)


@pytest.mark.slow
def test_all_hours_are_planned_and_no_rule_is_broken(plan: ShiftPlan) -> None:
    roster = a_roster()
    assert plan.missing == {}
    assert plan.hours(roster, task="pick_place") == 10
    assert plan.hours(roster, task="handover") == 4
    assert list(find_breaches(roster, plan)) == []
    assert {stretch.breaks[0][-2:] for stretch in plan.stretches(roster)} == {"45"}


@pytest.mark.slow
def test_who_is_ill_is_planned_no_more_and_the_past_stays(plan: ShiftPlan) -> None:
    roster = a_roster()
    tuesday = roster.dates[1]
    first = next(duty.person for duty in plan.duties if duty.day == tuesday)
    keep = Fixture(plan, tuesday, 0, frozenset({(first, tuesday)}))
    made = plan_shifts(roster, seconds=3, keep=keep)
    assert not [duty for duty in made.duties if duty.person == first and duty.day == tuesday]
    assert [duty for duty in made.duties if duty.day == MONDAY] == [
        duty for duty in plan.duties if duty.day == MONDAY
    ]
    assert list(find_breaches(roster, made, shares=False)) == []
    kept = {(duty.person, duty.day, duty.slot) for duty in plan.duties} & {
        (duty.person, duty.day, duty.slot) for duty in made.duties
    }
    gone = sum(duty.person == first and duty.day == tuesday for duty in plan.duties)
    assert len(kept) >= len(plan.duties) - 2 * gone


@pytest.mark.slow
def test_hours_that_cannot_be_had_are_named_with_the_reason_and_what_would_help() -> None:
    people = [{"name": name, "certified": dict.fromkeys(TASKS)} for name in ("anna", "ben", "dai")]
    people += [{"name": name, "certified": {"pick_place": None}} for name in ("eva", "finn")]
    roster = a_roster(people=people)
    made = plan_shifts(roster, seconds=3)
    assert made.missing == {"handover": 4}
    assert list(explain_missing(roster, made)) == [
        "handover: 4 of 4 h: it takes 4 people, since none may have more than 30%; certified: "
        "anna, ben, dai"
    ]
    changes = {remedy.change: remedy.missing_h for remedy in find_remedies(roster, made, seconds=2)}
    assert changes["a share of 50% for one person"] == 0
    assert changes["eva certified for handover"] < 4


@pytest.mark.slow
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_plan_breaks_a_rule_of_its_roster(data: st.DataObject) -> None:
    names = ("anna", "ben", "chloe", "dai", "eva", "finn")
    people = [
        {
            "name": name,
            "certified": {task: data.draw(st.sampled_from([None, MONDAY]), label=task)
                          for task in data.draw(st.lists(st.sampled_from(TASKS), unique=True))},
            "begins": data.draw(st.sampled_from([None, "11:00"])),
            "ends": data.draw(st.sampled_from([None, "16:00"])),
            "week_h": data.draw(st.sampled_from([None, 4, 9])),
        }
        for name in names
    ]  # fmt: skip
    roster = a_roster(
        people=people,
        opens="06:00", closes=data.draw(st.sampled_from(["14:30", "22:00"])),
        rules={"longest_h": data.draw(st.sampled_from([3, 4])), "work_min": 50, "break_min": 10,
               "greatest_share": data.draw(st.sampled_from([0.34, 0.6])), "rest_h": 14},
        stations=[{"name": "s1", "tasks": ["pick_place"],
                   "closed": [{"begins": "09:00", "ends": "10:30", "day": MONDAY}]},
                  {"name": "s2", "tasks": list(TASKS)}, {"name": "s3", "tasks": ["handover"]}],
        wanted=[{"task": "pick_place", "hours": data.draw(st.integers(0, 20))},
                {"task": "handover", "episodes": 120, "per_hour": 30}],
    )  # fmt: skip
    made = plan_shifts(roster, seconds=3)
    assert list(find_breaches(roster, made)) == []
    balance = measure_balance(roster, made)
    assert 0 <= balance.least_h <= balance.most_h <= 20


def breaches(*duties: Duty, roster: Roster | None = None) -> str:
    plan = ShiftPlan("week@1.0.0", duties, {}, proved=False)
    return "; ".join(find_breaches(roster or a_roster(), plan))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"station": "s1", "task": "handover"}, "s1 has no handover"),
        ({"person": "nobody"}, "nobody at s1 is not of this roster"),
        ({"day": date(2026, 11, 28)}, "is not of this roster"),
        ({"slot": 99}, "is not of this roster"),
    ],
)
def test_a_duty_out_of_place_is_found(change: dict[str, Any], words: str) -> None:
    duty = replace(Duty(MONDAY, 0, "anna", "s1", "pick_place"), **change)
    assert words in breaches(duty)


def test_rules_that_protect_people_are_counted_from_the_duties_alone() -> None:
    day = [Duty(MONDAY, slot, "anna", "s1", "pick_place") for slot in range(6)]
    assert "anna works 5 h; expected 4 at most" in breaches(*day[:5])
    assert "anna comes twice; expected one shift a day" in breaches(day[0], day[1], day[4])
    assert "anna comes for 1 h; expected 2" in breaches(day[0])
    assert "anna has 100% of the hours" in breaches(*day[:3])
    assert "1 people; expected 3 or more" in breaches(*day[:3])
    other = replace(day[1], station="s2")
    assert "anna is planned twice" in breaches(day[0], day[1], other)
    neighbour = Duty(MONDAY, 0, "ben", "s2", "pick_place")
    assert "anna stays 3 h at s1" in breaches(*day[:3], neighbour)
    assert "anna stays" not in breaches(*day[:3])


def test_certificates_closed_stations_and_absences_are_counted() -> None:
    people = [{"name": "anna", "certified": {"pick_place": MONDAY}, "days": ["2026-11-24"]}]
    stations = [{"name": "s1", "tasks": ["pick_place", "handover"],
                 "closed": [{"begins": "09:30", "ends": "10:00"}]}]  # fmt: skip
    roster = a_roster(people=people, stations=stations)
    tuesday = Duty(roster.dates[1], 0, "anna", "s1", "pick_place")
    said = breaches(tuesday, replace(tuesday, day=MONDAY), roster=roster)
    assert "2026-11-24 09:00: anna has no certificate for pick_place" in said
    assert "2026-11-24 09:00: s1 is closed" in said
    assert "2026-11-23 09:00: anna is not there" in said


def test_rest_between_days_is_counted_from_the_end_of_the_last_slot() -> None:
    roster = a_roster(opens="06:00", closes="23:00")
    late = [Duty(MONDAY, slot, "anna", "s1", "pick_place") for slot in (15, 16)]
    early = [Duty(roster.dates[1], slot, "anna", "s1", "pick_place") for slot in (0, 1)]
    assert "anna has rested 7 h" in breaches(*late, *early, roster=roster)
    assert "rested" not in breaches(*late, *[replace(duty, slot=duty.slot + 4) for duty in early],
                                    roster=roster)  # fmt: skip


def test_a_roster_that_cannot_be_is_refused_with_the_field() -> None:
    for text, words in (
        ("wanted: [{task: dance, hours: 1}]", "no station has it"),
        ("wanted: [{task: pick_place}]", "hours or episodes"),
        ("closes: '08:30'", "expected room for 60 min"),
        ("people: [{name: anna, certified: {}}, {name: anna, certified: {}}]", "listed twice"),
        ("rules: {shortest_h: 5}", "expected at most longest_h"),
    ):
        known = {
            "stations": "stations: [{name: s1, tasks: [pick_place]}]",
            "people": "people: [{name: anna, certified: {pick_place: }}]",
            "wanted": "wanted: [{task: pick_place, hours: 1}]",
            "head": "document: roster\nname: week\nversion: 1.0.0\nfirst_day: 2026-11-23",
        }
        known[text.partition(":")[0]] = text
        with pytest.raises(DocumentError, match=words):
            Roster.parse("\n".join(known.values()))


def test_a_plan_comes_back_from_its_file_as_it_was(tmp_path: Any) -> None:
    roster = a_roster()
    duties = tuple(Duty(MONDAY, slot, "anna", "s1", "pick_place") for slot in (0, 1))
    plan = ShiftPlan(roster.reference, duties, {"handover": 4.0}, proved=True)
    plan.save(tmp_path / "week.json", roster)
    assert ShiftPlan.read(tmp_path / "week.json") == plan
