"""Events lead through the phases of a task."""

from __future__ import annotations

import time

from tests.labelling.picking import PICK, READY, SECOND, events

from corporeal.labelling.automaton import Opening, free_labels, passages, shown_order

PHASES = READY.lanes[0]


def _way(task: str, *said: tuple[str, float]) -> list[tuple[str, float]]:
    need = READY.requirement(task)
    assert need is not None
    free = free_labels(READY, PHASES)
    order = shown_order(need, PHASES, events(*said))
    found = passages(events(*said), PHASES, order, start_ns=0, free=free)
    return [(each.label, each.time_ns / SECOND) for each in found]


def test_events_lead_through_the_phases_of_a_task() -> None:
    assert _way("pick_place", *PICK) == [
        ("rest", 0.0), ("approach", 1.0), ("grasp", 3.0), ("lift", 4.0), ("retract", 7.0),
        ("rest", 9.0),
    ]  # fmt: skip


def test_of_several_beginnings_the_first_counts_and_of_several_ends_the_last() -> None:
    pauses = (("motion_ends", 1.6), ("motion_begins", 2.6), ("motion_ends", 7.8),
              ("motion_begins", 8.5))  # fmt: skip
    said = sorted((*PICK, *pauses), key=lambda each: each[1])
    assert _way("pick_place", *said) == _way("pick_place", *PICK)


def test_a_task_without_events_is_all_rest() -> None:
    assert _way("pick_place") == [("rest", 0.0)]


def test_a_missed_grasp_leads_from_reach_to_rest() -> None:
    said = (("motion_begins", 1.0), ("motion_ends", 5.0))
    assert _way("pick_place", *said) == [("rest", 0.0), ("approach", 1.0), ("rest", 5.0)]
    assert _way("handover", *said) == [("rest", 0.0), ("approach", 1.0), ("rest", 5.0)]


def test_a_fall_ends_every_task_whatever_comes_after() -> None:
    said = (*PICK[:2], ("base_falls", 3.5), ("motion_ends", 5.0))
    assert _way("pick_place", *said)[-1] == ("fall", 3.5)
    assert _way("reach", ("motion_begins", 1.0), ("base_falls", 2.0), ("motion_ends", 2.5),
                ("motion_ends", 4.0))[-1] == ("fall", 2.0)  # fmt: skip


def test_reaching_holds_and_comes_back() -> None:
    said = (("motion_begins", 1.0), ("motion_ends", 3.0), ("motion_begins", 5.0),
            ("motion_ends", 6.0))  # fmt: skip
    assert [label for label, _ in _way("reach", *said)] == [
        "rest", "approach", "hold", "retract", "rest",
    ]  # fmt: skip


def test_a_thing_goes_from_hand_to_hand() -> None:
    said = (*PICK[:3], ("second_hand_takes", 5.0), ("contact_ends", 5.6),
            ("first_hand_leaves", 5.6), *PICK[3:])  # fmt: skip
    assert [label for label, _ in _way("handover", *said)] == [
        "rest", "approach", "grasp", "lift", "exchange", "transport", "retract", "rest",
    ]  # fmt: skip


def test_a_task_that_nobody_ordered_follows_its_events() -> None:
    said = (("motion_begins", 1.0), ("contact_begins", 2.0), ("base_moves", 3.0))
    assert [label for label, _ in _way("juggle", *said)] == ["rest", "approach", "grasp", "walk"]


def test_forty_thousand_events_take_seconds() -> None:
    names = ["motion_begins", "contact_begins", "contact_ends", "motion_ends"] * 10_000
    said = [(name, 0.5 * number) for number, name in enumerate(names)]
    begin = time.process_time()
    assert len(_way("juggle", *said)) > 1000
    assert time.process_time() - begin < 20


def test_a_recording_that_begins_under_way_does_not_begin_with_rest() -> None:
    need, lane = READY.requirement("pick_place"), READY.lane("phase")
    assert need is not None
    assert lane is not None
    under_way = Opening(is_still=False, confidence=0.4)
    way = passages(events(*PICK[1:]), lane, need.order, start_ns=0, opening=under_way)
    assert [passage.label for passage in way] == ["approach", "grasp", "lift", "retract", "rest"]
    assert way[0].confidence == 0.4


def test_without_an_order_a_recording_under_way_begins_with_what_follows_rest() -> None:
    lane = READY.lane("phase")
    assert lane is not None
    way = passages(events(("motion_ends", 2.0)), lane, (), start_ns=0, opening=Opening(False, 0.5))
    assert way[0].label == "approach"
