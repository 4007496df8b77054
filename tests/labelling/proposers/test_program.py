"""A program is asked, and believed in nothing."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from tests.labelling.picking import PICK, READY, events, head_camera, picking

from corporeal.labelling.annotation import Annotation, AnnotationError
from corporeal.labelling.frames import end_ns
from corporeal.labelling.proposal import ProposalRequest, proposers
from corporeal.labelling.proposers import program


def _question() -> ProposalRequest:
    return ProposalRequest(picking(), READY, "pick_place", "observations/head", events(*PICK))


def _answer(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import sys; sys.stdin.read(); print({text!r})")


def _said(**changes: object) -> str:
    segment = {"id": "x", "lane": "phase", "label": "approach", "start_ns": 5, "end_ns": 2**50}
    return json.dumps({"segments": [{**segment, **changes}], "outcome": "success"})


def test_a_program_is_asked_and_its_answer_put_on_frames() -> None:
    annotation = program.propose(_question(), command=_answer(_said(confirmed=True)))
    assert annotation is not None
    (segment,) = annotation.segments
    stamps = head_camera().time_ns
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
        (_said(lane="moods"), "moods/approach"),
        (_said(label="dance"), "expected rest or approach"),
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
