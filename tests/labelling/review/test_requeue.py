"""A changed taxonomy asks again for what it touches, and for nothing else."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection
from tests.labelling.good_annotation import READY, good_annotation
from tests.labelling.work import ANN, LEAD, asked, episodes, finish, said, taxonomy

from corporeal.catalog.database import Database
from corporeal.catalog.query import every_episode
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.labels import LabelCoverage, coverage_of, labels_of
from corporeal.labelling.labels.versions import label_history
from corporeal.labelling.queues import take, take_next
from corporeal.labelling.review import accept, accept_confident, find_impact, requeue_labels, submit
from corporeal.labelling.review.requeue import reasons, unsure_labels
from corporeal.labelling.review.submission import MACHINE
from corporeal.labelling.tasks import find_task
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomies


def _coverage(connection: Connection, query: str | None = None, **options: Any) -> LabelCoverage:
    return coverage_of(connection, list(every_episode(connection, query)), **options)


def _without_grasp() -> Annotation:
    whole = said()
    reach, grasp, retreat = whole.segments
    longer = reach.model_copy(update={"end_ns": grasp.end_ns})
    return whole.model_copy(update={"segments": (longer, retreat)})


def _labelled(connection: Connection) -> list[str]:
    """Three episodes: two labelled, one of them without a grasp; one only asked for."""
    names = episodes(connection, 3)
    for made, work in zip(asked(connection, names[:2]), (said(), _without_grasp()), strict=True):
        finish(connection, made.id, work, ANN)
        accept(connection, made.id, by=LEAD)
    asked(connection, names[2:])
    return names


def test_only_touched_labels_are_asked_again(database: Database) -> None:
    after = taxonomy("1.1.0", rule="First frame in which the fingers bear load.")
    with database.write() as connection:
        names = _labelled(connection)
        done = requeue_labels(connection, taxonomy(), after, by=LEAD, double_share=0.0)
        assert [name for name, _ in done.touched] == [names[0]]
        assert "grasp has another boundary rule" in done.touched[0][1]
        assert done.carried == (names[1],)
        assert (done.moved, done.under_way) == (1, 0)
        stale, good = labels_of(connection, names[0]), labels_of(connection, names[1])
        assert stale is not None
        assert good is not None
        assert stale.stale is not None
        assert (good.stale, good.number, good.taxonomy, good.who) == (None, 2, after.hash, "ann")
        assert label_history(connection, names[1])[1].hash == good.hash


def test_a_new_task_begins_with_the_old_labels_and_the_touched_to_be_confirmed(
    database: Database,
) -> None:
    after = taxonomy("1.1.0", rule="Otherwise.")
    with database.write() as connection:
        _labelled(connection)
        done = requeue_labels(connection, taxonomy(), after, by=LEAD, double_share=0.0)
        (made,) = done.tasks
        assert made.taxonomy == after.hash
        assert {each.label: each.confirmed for each in made.annotation.segments} == {
            "reach": True, "grasp": False, "retreat": True,
        }  # fmt: skip
        assert find_task(connection, made.id).frames is not None
        got = take_next(connection, made.queue, by=ANN)
        assert got is not None
        finish(connection, got.id, said(grasp=104), ANN)
        accept(connection, got.id, by=LEAD)
        again = labels_of(connection, made.episode)
        assert again is not None
        assert (again.number, again.stale) == (2, None)
        assert [each.version for each in kept_taxonomies(connection)] == ["1.0.0", "1.1.0"]


def test_a_change_of_words_touches_nothing(database: Database) -> None:
    after = taxonomy("1.0.1").model_copy(update={"guidelines": "Look twice."})
    with database.write() as connection:
        names = _labelled(connection)
        done = requeue_labels(connection, taxonomy(), after, by=LEAD)
        assert done.touched == ()
        assert set(done.carried) == set(names[:2])
        assert done.tasks == ()


def test_coverage_says_what_each_episode_lacks(database: Database) -> None:
    after = taxonomy("1.1.0", rule="Otherwise.")
    with database.write() as connection:
        names = _labelled(connection)
        before = _coverage(connection)
        assert set(before.annotated) == set(names[:2])
        assert before.missing == ((names[2], "nobody has annotated it."),)
        assert before.share == 2 / 3
        requeue_labels(connection, taxonomy(), after, by=LEAD)
        why = dict(_coverage(connection, f"id = {names[0]}").missing)
        assert why[names[0]].startswith("its labels do not hold any more: grasping@1.1.0")
        old = dict(_coverage(connection, taxonomy=taxonomy()).missing)
        assert old[names[1]] == "it is labelled under grasping@1.1.0; expected grasping@1.0.0."
        assert _coverage(connection, "task = none").share == 1.0


def test_sure_proposals_may_count_unseen_and_can_be_told_apart(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 4)
        starts = {name: said(confirmed=False) for name in names[:3]}
        made = asked(connection, names, starts=starts)
        take(connection, made[1].id, by=ANN)
        unsure = accept_confident(connection, "work", 0.99, by=LEAD)
        assert unsure.accepted == ()
        assert "a segment has a confidence of 0.97" in dict(unsure.left).values()
        done = accept_confident(connection, "work", 0.95, by=LEAD)
        assert {each.episode for each in done.accepted} == {names[0], names[2]}
        assert all(each.who == MACHINE and each.is_machine for each in done.accepted)
        assert find_task(connection, made[0].id).state == "dropped"
        found = _coverage(connection)
        assert set(found.annotated) == set(found.machine) == {names[0], names[2]}
        people = dict(_coverage(connection, people_only=True).missing)
        assert "nobody has confirmed it" in people[names[0]]


def test_a_person_may_confirm_what_a_machine_said(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 1)
        asked(connection, names, starts={names[0]: said(confirmed=False)})
        accept_confident(connection, "work", 0.9, by=LEAD)
        (again,) = asked(connection, names, again=True, starts={names[0]: said(confirmed=False)})
        finish(connection, again.id, said(), ANN)
        assert submit(connection, again.id, by=ANN).state == "submitted"
        accept(connection, again.id, by=LEAD)
        assert _coverage(connection).machine == ()


def _changed(**changes: Any) -> Taxonomy:
    return Taxonomy.model_validate({**READY.model_dump(), "version": "1.1.0", **changes})


def _relabelled(lane: str, label: str, **changes: Any) -> Taxonomy:
    lanes = READY.model_dump()["lanes"]
    for each in lanes:
        for one in each["labels"]:
            if (each["name"], one["name"]) == (lane, label):
                one.update(changes)
    return _changed(lanes=lanes)


def test_another_example_touches_nothing() -> None:
    after = _relabelled("phase", "grasp", examples=["Another one."])
    assert find_impact(READY, after).is_empty


def test_another_rule_touches_the_label_and_only_annotations_that_use_it() -> None:
    after = _relabelled("phase", "grasp", starts={"event": "gripper_stops", "text": "Other."})
    found = find_impact(READY, after)
    assert set(found.labels) == {("phase", "grasp")}
    assert reasons(good_annotation(), found, task="pick_place") == (
        "grasp has another boundary rule",
    )
    without = good_annotation().model_copy(update={"segments": good_annotation().segments[:2]})
    assert reasons(without, found, task="pick_place") == ()


def test_a_grasp_type_that_is_gone_touches_those_who_use_it() -> None:
    kept = [each for each in READY.model_dump()["grasp_types"] if each["name"] != "power"]
    found = find_impact(READY, _changed(grasp_types=kept))
    assert reasons(good_annotation(), found, task="pick_place") == (
        "grasp_type power does not exist any more",
    )


def test_a_new_phase_touches_its_lane_and_a_new_need_its_task() -> None:
    lanes = READY.model_dump()["lanes"]
    lanes[0]["labels"] = [
        *lanes[0]["labels"],
        {"name": "stack", "definition": "It is put on another."},
    ]
    assert ("phase", "transport") in find_impact(READY, _changed(lanes=lanes)).labels
    needs = [{"task": "pick_place", "lanes": ["phase", "quality"]}]
    found = find_impact(READY, _changed(requirements=needs))
    assert reasons(good_annotation(), found, task="pick_place") == ("pick_place now needs quality",)
    assert reasons(good_annotation(), found, task="reach") == ()


def test_a_label_that_was_renamed_keeps_its_place_and_is_asked_again() -> None:
    lanes = READY.model_dump()["lanes"]
    names = {"approach": "reach", "retract": "retreat"}
    lanes[0]["labels"] = [{**label, "name": names.get(label["name"], label["name"]), "was": ()}
                          for label in lanes[0]["labels"]]  # fmt: skip
    orders = [
        {**need, "order": [names.get(name, name) for name in need["order"]]}
        for need in READY.model_dump()["requirements"]
    ]  # fmt: skip
    flat = [lane for lane in lanes if lane["level"] in (None, "primitive")]
    before = _changed(lanes=flat, requirements=orders)
    found = find_impact(before, READY)
    assert found.labels["phase", "reach"] == "is called approach now"
    old = good_annotation().model_copy(update={"segments": tuple(
        each.model_copy(update={"label": "reach" if each.label == "approach" else each.label})
        for each in good_annotation().segments
    )})  # fmt: skip
    renewed = unsure_labels(old, found, READY)
    assert [each.label for each in renewed.segments][:2] == ["rest", "approach"]
    assert [each.confirmed for each in renewed.segments][:2] == [True, False]
