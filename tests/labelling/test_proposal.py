"""Events become phases; neighbours and programs are asked; nothing they say is simply believed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.errors import UnknownNameError
from corporeal.labelling.annotation import Annotation, AnnotationError, Segment
from corporeal.labelling.automaton import Passage, free_labels, passages
from corporeal.labelling.event import PhysicalEvent
from corporeal.labelling.frames import end_ns
from corporeal.labelling.outcome import ending
from corporeal.labelling.proposal import Example, ProposalRequest, propose, proposers
from corporeal.labelling.proposers import program
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.schema import Stream

READY = open_taxonomy("manipulation")
PHASES = READY.lanes[0]
SECOND = 10**9
PICK = (("motion_begins", 1.0), ("contact_begins", 3.0), ("object_lifts", 4.0),
        ("contact_ends", 7.0), ("motion_ends", 9.0))  # fmt: skip


def _events(*said: tuple[str, float], side: str = "right") -> tuple[PhysicalEvent, ...]:
    return tuple(PhysicalEvent(round(when * SECOND), name, side) for name, when in said)


def _way(task: str, *said: tuple[str, float]) -> list[tuple[str, float]]:
    need = READY.requirement(task)
    assert need is not None
    free = free_labels(READY, PHASES)
    found = passages(_events(*said), PHASES, need.order, start_ns=0, free=free)
    return [(each.label, each.time_ns / SECOND) for each in found]


def test_events_lead_through_the_phases_of_a_task() -> None:
    assert _way("pick_place", *PICK) == [
        ("rest", 0.0), ("reach", 1.0), ("grasp", 3.0), ("transport", 4.0), ("retreat", 7.0),
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
    assert _way("pick_place", *said) == [("rest", 0.0), ("reach", 1.0), ("rest", 5.0)]
    assert _way("handover", *said) == [("rest", 0.0), ("reach", 1.0), ("rest", 5.0)]


def test_a_fall_ends_every_task_whatever_comes_after() -> None:
    said = (*PICK[:2], ("base_falls", 3.5), ("motion_ends", 5.0))
    assert _way("pick_place", *said)[-1] == ("fall", 3.5)
    assert _way("reach", ("motion_begins", 1.0), ("base_falls", 2.0), ("motion_ends", 2.5),
                ("motion_ends", 4.0))[-1] == ("fall", 2.0)  # fmt: skip


def test_reaching_holds_and_comes_back() -> None:
    said = (("motion_begins", 1.0), ("motion_ends", 3.0), ("motion_begins", 5.0),
            ("motion_ends", 6.0))  # fmt: skip
    assert [label for label, _ in _way("reach", *said)] == [
        "rest", "reach", "hold", "retreat", "rest",
    ]  # fmt: skip


def test_a_thing_goes_from_hand_to_hand() -> None:
    said = (*PICK[:3], ("second_hand_takes", 5.0), ("contact_ends", 5.6),
            ("first_hand_leaves", 5.6), *PICK[3:])  # fmt: skip
    assert [label for label, _ in _way("handover", *said)] == [
        "rest", "reach", "grasp", "transport", "exchange", "transport", "retreat", "rest",
    ]  # fmt: skip


def test_a_task_that_nobody_ordered_follows_its_events() -> None:
    said = (("motion_begins", 1.0), ("contact_begins", 2.0), ("base_moves", 3.0))
    assert [label for label, _ in _way("juggle", *said)] == ["rest", "reach", "grasp", "walk"]


def test_forty_thousand_events_take_seconds() -> None:
    names = ["motion_begins", "contact_begins", "contact_ends", "motion_ends"] * 10_000
    said = [(name, 0.5 * number) for number, name in enumerate(names)]
    begin = time.process_time()
    assert len(_way("juggle", *said)) > 1000
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(
    ("said", "labels", "wanted"),
    [
        (PICK, "rest reach grasp transport retreat rest", ("success", None)),
        (PICK[:1] + PICK[4:], "rest reach rest", ("failure", "missed_grasp")),
        (PICK[:2] + PICK[3:], "rest reach grasp retreat rest", ("failure", "slip")),
        ((*PICK, ("hand_bumps", 5.0)), "rest reach grasp transport retreat rest",
         ("failure", "collision")),
        ((*PICK[:2], ("base_falls", 3.5)), "rest reach grasp fall", ("failure", "fall")),
    ],
)  # fmt: skip
def test_signals_tell_how_an_attempt_ended(
    said: Sequence[tuple[str, float]], labels: str, wanted: tuple[str, str | None]
) -> None:
    need = READY.requirement("pick_place")
    assert need is not None
    assert ending(_recording(), _events(*said), labels.split(), need.order) == wanted


@pytest.mark.parametrize(("opens", "mode"), [(True, "drop"), (False, "slip")])
def test_what_is_let_go_of_in_the_air_was_dropped_or_slipped(opens: bool, mode: str) -> None:
    need = READY.requirement("pick_place")
    assert need is not None
    height = np.interp(np.arange(0, 10, 0.01), (3.5, 5.0), (0.0, 0.2))
    pose = _signal("object_pose", np.stack([0 * height, 0 * height, height], axis=1))
    said = (*PICK, *((("gripper_opens", 6.95),) if opens else ()))
    labels = ("rest", "reach", "grasp", "transport", "retreat", "rest")
    assert ending(_recording(pose), _events(*said), labels, need.order) == ("failure", mode)


def _signal(name: str, values: np.ndarray, rate_hz: float = 100.0) -> ArraySignal:
    stamps = np.round(np.arange(len(values)) / rate_hz * SECOND).astype(np.int64)
    spec = Stream(name=name, group="debug", shape=tuple(map(int, values.shape[1:])))
    return ArraySignal(spec, stamps, values)


def _camera(count: int = 300) -> ArraySignal:
    spec = Stream(name="head", group="observations", kind="video", shape=(2, 2, 3), rate_hz=30)
    stamps = np.round(np.arange(count) / 30 * SECOND).astype(np.int64)
    return ArraySignal(spec, stamps, np.zeros((count, 2, 2, 3), np.uint8))


def _recording(*signals: ArraySignal, camera: bool = True) -> Recording:
    own = (*signals, _camera()) if camera else signals
    found: dict[str, Signal] = {each.spec.path: each for each in own}
    return Recording("episode", Path("episode"), 0, found)


def _picking(*, pace: float = 1.0) -> Recording:
    """A made-up arm of two joints that moves, takes, lifts, lets go and comes back."""
    time_s = np.arange(0.0, 10.0, 0.01) * pace

    def moved(begin: float, stop: float) -> np.ndarray:
        part = np.clip((time_s - begin) / (stop - begin), 0.0, 1.0)
        return np.asarray(part**3 * (10 - 15 * part + 6 * part**2))

    arm = np.stack([moved(1.0, 2.8) - moved(7.2, 9.0), moved(3.5, 5.0)], axis=1)
    noise = np.random.default_rng(1).normal(0.0, 1e-4, len(time_s))
    pad = np.clip((time_s - 3.0) * 8, 0, 1) * (time_s < 7.0) + noise
    rise = np.zeros((len(time_s), 7))
    rise[:, 2] = 0.2 * moved(3.5, 5.0) * (1 - moved(5.5, 6.8))
    grip = 0.09 - 0.05 * np.clip((time_s - 2.8) * 4, 0, 1) * (time_s < 7.0)
    return _recording(
        _signal("joint_position", arm), _signal("right_tactile", np.tile(pad[:, None], 3)),
        _signal("object_pose", rise), _signal("right_gripper", grip[:, None]),
    )  # fmt: skip


def _labels(annotation: Annotation | None) -> list[str]:
    assert annotation is not None
    return [segment.label for segment in annotation.in_lane("phase")]


def test_a_proposal_tiles_the_episode_on_its_frames_and_confirms_nothing() -> None:
    annotation = propose(_picking(), READY, task="pick_place")
    assert annotation is not None
    assert _labels(annotation) == ["rest", "reach", "grasp", "transport", "retreat", "rest"]
    phases, stamps = annotation.in_lane("phase"), _camera().time_ns
    assert [a.end_ns for a in phases[:-1]] == [b.start_ns for b in phases[1:]]
    assert phases[0].start_ns == 0
    assert phases[-1].end_ns == end_ns(stamps)
    assert {segment.start_ns for segment in annotation.segments} <= set(stamps.tolist())
    assert all(each.source == "proposal" and not each.confirmed for each in annotation.segments)
    assert [each.label for each in annotation.in_lane("right_contact")] == ["holds"]
    assert phases[2].attributes == {"hand": "right", "grasp_type": "precision_pinch"}
    assert annotation.outcome == "success"
    assert len({each.id for each in annotation.segments}) == len(annotation.segments)


def test_an_unknown_proposer_is_told_with_the_names_of_the_others() -> None:
    with pytest.raises(UnknownNameError, match="neighbours"):
        propose(_picking(), READY, task="pick_place", using="oracle")


def test_an_episode_without_frames_has_no_proposal() -> None:
    assert propose(_recording(camera=False), READY, task="pick_place") is None


def test_an_episode_without_signals_is_all_rest_and_not_judged_a_success() -> None:
    annotation = propose(_recording(), READY, task="pick_place")
    assert _labels(annotation) == ["rest"]
    assert annotation is not None
    assert annotation.outcome != "success"


@pytest.mark.parametrize(
    "stamps",
    [np.arange(300)[::-1] * SECOND // 30, np.full(300, 5), np.array([7]), np.arange(300) % 50],
    ids=["backwards", "standing", "one", "again and again"],
)
def test_a_camera_with_a_bad_clock_makes_no_phases_overlap(stamps: np.ndarray) -> None:
    camera, rest = _camera(), _picking()
    odd = ArraySignal(camera.spec, stamps.astype(np.int64), camera.values[: len(stamps)])
    found = propose(replace(rest, signals={**rest.signals, camera.spec.path: odd}), READY,
                    task="pick_place")  # fmt: skip
    assert found is not None
    phases = found.in_lane("phase")
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(phases))
    assert all(each.start_ns < each.end_ns for each in phases)


def _example(*, pace: float = 1.0) -> Example:
    recording = _picking(pace=pace)
    annotation = propose(recording, READY, task="pick_place")
    assert annotation is not None
    return Example(recording, annotation)


def test_a_neighbour_lends_its_phases_and_events_put_them_right() -> None:
    quick, straight = _picking(pace=1.25), propose(_picking(pace=1.25), READY, task="pick_place")
    found = propose(quick, READY, task="pick_place", examples=[_example()], using="neighbours")
    assert found is not None
    assert straight is not None
    assert _labels(found) == _labels(straight)
    ours, theirs = found.in_lane("phase"), straight.in_lane("phase")
    apart = [abs(a.start_ns - b.start_ns) for a, b in zip(ours, theirs, strict=True)]
    assert max(apart) <= 2 * SECOND // 30


def test_without_examples_neighbours_say_nothing() -> None:
    assert propose(_picking(), READY, task="pick_place", using="neighbours") is None


def test_an_example_of_another_robot_is_passed_over() -> None:
    other = _recording(_signal("joint_position", np.zeros((500, 9))))
    odd = Example(other, _example().annotation)
    assert propose(_picking(), READY, task="pick_place", examples=[odd], using="neighbours") is None


def test_later_proposers_fill_in_what_earlier_ones_leave_open() -> None:
    both = propose(_picking(), READY, task="pick_place", examples=[_example()],
                   using=("neighbours", "events"))  # fmt: skip
    assert both is not None
    assert both.outcome == "success"
    assert both.in_lane("right_contact")
    assert len({each.id for each in both.segments}) == len(both.segments)


def _question() -> ProposalRequest:
    return ProposalRequest(_picking(), READY, "pick_place", "observations/head", _events(*PICK))


def _answer(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import sys; sys.stdin.read(); print({text!r})")


def _said(**changes: object) -> str:
    segment = {"id": "x", "lane": "phase", "label": "reach", "start_ns": 5, "end_ns": 2**50}
    return json.dumps({"segments": [{**segment, **changes}], "outcome": "success"})


def test_a_program_is_asked_and_its_answer_put_on_frames() -> None:
    annotation = program.propose(_question(), command=_answer(_said(confirmed=True)))
    assert annotation is not None
    (segment,) = annotation.segments
    stamps = _camera().time_ns
    assert (segment.start_ns, segment.end_ns) == (int(stamps[1]), end_ns(stamps))
    assert not segment.confirmed
    assert segment.source == "proposal"
    assert annotation.outcome == "success"


def test_a_program_is_given_events_stamps_taxonomy_and_pictures(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    script = ("import sys, json, pathlib; q = json.load(sys.stdin); "
              "q['seen'] = [pathlib.Path(p['path']).stat().st_size for p in q['pictures']]; "
              f"pathlib.Path({str(told)!r}).write_text(json.dumps(q)); print('{{}}')")  # fmt: skip
    program.propose(_question(), command=(sys.executable, "-c", script), pictures=3)
    asked = json.loads(told.read_text())
    assert asked["task"] == "pick_place"
    assert asked["taxonomy"]["name"] == "manipulation"
    assert len(asked["stamps_ns"]) == 300
    assert [event["name"] for event in asked["events"]] == [name for name, _ in PICK]
    assert [each["frame"] for each in asked["pictures"]] == [0, 150, 299]
    assert all(asked["seen"])


def test_no_program_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(program.VARIABLE, raising=False)
    assert proposers()["program"].propose(_question()) is None


def test_a_variable_names_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("print('{}')")
    monkeypatch.setenv(program.VARIABLE, f"{sys.executable} {tmp_path / 'model.py'}")
    assert proposers()["program"].propose(_question()) == Annotation(reference="observations/head")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("not JSON", "no annotation"),
        ("[" * 100_000, "no annotation"),
        ("[1, 2]", "no annotation"),
        (_said(lane="moods"), "moods/reach"),
        (_said(label="dance"), "expected rest or reach"),
        (_said(start_ns=10**30), "no annotation"),
        (_said(confidence=float("nan")), "no annotation"),
        (_said(secret=1), "no annotation"),
        (json.dumps({"failure_mode": "boredom", "outcome": "failure"}), "boredom"),
        (json.dumps({"segments": [json.loads(_said())["segments"][0]] * 2}), "at one time"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(answer: str, complaint: str) -> None:
    with pytest.raises(AnnotationError, match=complaint):
        program.propose(_question(), command=_answer(answer))


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("import time; time.sleep(60)", "longer than 1 s"),
        ("import os, time\nif os.fork(): pass\nelse: time.sleep(60)", "longer than 1 s"),
        ("while True: print('x' * 4096)", "more than 4 MB"),
        ("import sys; sys.exit(3)", "ended with 3"),
    ],
)
def test_a_program_that_misbehaves_is_ended(script: str, complaint: str) -> None:
    begin = time.monotonic()
    with pytest.raises(AnnotationError, match=complaint):
        program.propose(_question(), command=(sys.executable, "-c", script), limit_s=1.0)
    assert time.monotonic() - begin < 20


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(AnnotationError, match="no_such_model"):
        program.propose(_question(), command=("no_such_model",))


def test_a_passage_without_an_event_is_sure() -> None:
    assert Passage("rest", 0, None).confidence == 1.0
    assert Segment(id="a", lane="phase", label="rest", start_ns=0, end_ns=1).confirmed
