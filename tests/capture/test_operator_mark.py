"""Marks of people: what a page or a pedal may send, and that nothing else gets through."""

from __future__ import annotations

import json
import queue
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capture.small_rig import Items, in_order, mark, samples

from corporeal.capture.broadcast import MARKS, Broadcast
from corporeal.capture.operator_mark import LONGEST_TEXT, MarkError, OperatorMark, read_mark
from corporeal.capture.recorder import Recorder
from corporeal.capture.trigger import Button
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts

TOKEN = "secret"


def _read(**values: Any) -> OperatorMark:
    return read_mark(json.dumps({"token": TOKEN, **values}), TOKEN)


def test_every_kind_of_mark_is_read() -> None:
    assert _read(mark="segment", mode="teleop").facts["mode"] == "teleoperation"
    assert _read(mark="segment", end=True).facts == {"mode": None, "note": None}
    assert _read(mark="intervention", on=True).facts["mode"] == "correction of a policy"
    assert _read(mark="intervention", on=False).facts["mode"] is None
    lost = {"outcome": {"success": False, "failure": "drop"}}
    assert _read(mark="outcome", success=False, failure="drop").facts == lost
    assert _read(mark="note", text="a cat").facts == {"text": "a cat"}
    assert _read(mark="answer", question="Did it?", answer=True).facts["answer"] is True
    assert _read(mark="button").what == "button"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"\0\1", "binary data"),
        ("{", "no JSON"),
        ("[" * 2000, "no JSON"),
        ("[1]", "no object"),
        ('{"mark": "button"}', "token, got another one"),
        ('{"token": "Secret", "mark": "button"}', "token, got another one"),
        ('{"token": "secret", "mark": "explode"}', "expected one of: start, end, discard, segment"),
        ('{"token": "secret", "mark": {"a": 1}}', "mark, got an object"),
        ('{"token": "secret", "mark": "button", "force": 9}', "field 'force' of the mark button"),
        ('{"token": "secret", "mark": "segment", "mode": "juggling"}', "unknown mode"),
        ('{"token": "secret", "mark": "segment"}', "neither mode nor end"),
        ('{"token": "secret", "mark": "outcome", "success": 1}', "true or false"),
        ('{"token": "secret", "mark": "outcome", "success": true, "failure": "x"}', "a success"),
        ('{"token": "secret", "mark": "note", "text": ""}', "expected 1 to 500"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(message: str | bytes, words: str) -> None:
    with pytest.raises(MarkError, match=words) as refused:
        read_mark(message, TOKEN)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(MarkError, match=f"1 to {LONGEST_TEXT}"):
        _read(mark="note", text="x" * (LONGEST_TEXT + 1))


@given(st.text() | st.binary())
def test_no_message_gets_through_by_chance(message: str | bytes) -> None:
    with pytest.raises(MarkError):
        read_mark(message, TOKEN)


def test_marks_reach_the_episode(recorder: Callable[..., Recorder]) -> None:
    made: list[Recorder] = []
    items = in_order(*samples(6.0), mark("start", 1.5), mark("end", 3.5))

    def read() -> Items:
        for number, item in enumerate(items):
            if number == len(items) // 2:  # during the demonstration
                _wait_for(lambda: made[0].state == "recording")
                for each in (
                    OperatorMark("note", {"text": "a cat"}),
                    OperatorMark("outcome", {"outcome": {"success": False, "failure": "drop"}}),
                    OperatorMark("answer", {"question": "Did it?", "answer": True}),
                    OperatorMark("segment", {"mode": "teleoperation", "note": None}),
                ):
                    assert made[0].enter(each) is None
                assert "trigger key" in str(made[0].enter(OperatorMark("button")))
            yield item

    made.append(recorder(read))
    assert "no episode is open" in str(made[0].enter(OperatorMark("note", {"text": "early"})))
    (path,) = made[0].run()
    with Episode.open(path) as episode:
        metadata = episode.metadata
    assert [note["text"] for note in metadata["notes"]] == ["a cat"]
    assert 0 < metadata["notes"][0]["time_ns"] < 3_000_000_000
    assert metadata["answers"] == {"Did it?": True}
    assert metadata["segments"][-1]["mode"] == "teleoperation"
    assert read_facts(metadata).outcome.failure == "drop"


def _wait_for(is_true: Callable[[], bool]) -> None:
    bell = threading.Event()
    for _ in range(500):
        if is_true():
            return
        bell.wait(0.01)
    raise AssertionError("it did not come true")


def test_a_press_of_the_button_is_one_of_its_own(recorder: Callable[..., Recorder]) -> None:
    button = Button()
    made = recorder(lambda: iter(()), trigger=button)
    assert made.enter(OperatorMark("button")) is None
    assert button.see(mark("start", 0.0)) == "start"
    made.run()


@pytest.mark.usefixtures("no_thread_is_left")
def test_a_page_of_this_machine_marks_over_the_websocket(tmp_path: Path) -> None:
    client = pytest.importorskip("websockets.sync.client")
    heard: queue.SimpleQueue[OperatorMark] = queue.SimpleQueue()
    file = tmp_path / "marks.json"

    def enter(one: OperatorMark) -> str | None:
        heard.put(one)
        return None if one.what == "note" else "no episode is open that it could be of."

    with Broadcast(0) as server:
        address = f"ws://127.0.0.1:{server.port}{MARKS}"
        with client.connect(address) as early:
            early.send("{}")
            assert json.loads(early.recv(timeout=5))["reason"] == "this recorder takes no marks."
        server.take_marks(enter, file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        where = json.loads(file.read_text())
        assert where["address"] == address

        def ask(page: Any, **values: Any) -> dict[str, Any]:
            page.send(json.dumps(values))
            return dict(json.loads(page.recv(timeout=5)))

        with client.connect(address) as page:
            assert ask(page, token=where["token"], mark="note", text="a cat") == {"ok": True}
            assert heard.get(timeout=5).facts["text"] == "a cat"
            assert "token, got another one" in ask(page, token="x", mark="button")["reason"]
            said = ask(page, token=where["token"], mark="intervention", on=True)
            assert said == {"ok": False, "reason": "no episode is open that it could be of."}
        with pytest.raises(Exception, match="403"):
            client.connect(address, origin="https://evil.example").__enter__()
    assert not file.exists()


@pytest.mark.usefixtures("no_thread_is_left")
def test_a_client_that_floods_is_let_go(tmp_path: Path) -> None:
    client = pytest.importorskip("websockets.sync.client")
    exceptions = pytest.importorskip("websockets.exceptions")
    with Broadcast(0) as server:
        server.take_marks(lambda _: None, tmp_path / "marks.json")
        address = f"ws://127.0.0.1:{server.port}{MARKS}"
        with client.connect(address) as page:
            reasons = []
            with suppress(exceptions.ConnectionClosed):
                for _ in range(100):
                    page.send("{}")
                    reasons.append(json.loads(page.recv(timeout=5))["reason"])
            assert "Slow down" in reasons[-1]
            assert len(reasons) <= 25
        with client.connect(address) as page:
            page.send("x" * 100_000)
            with pytest.raises(exceptions.ConnectionClosed):
                page.recv(timeout=5)
        with client.connect(address) as page:
            page.send(json.dumps({"token": server.token, "mark": "note", "text": "still there"}))
            assert json.loads(page.recv(timeout=5)) == {"ok": True}
