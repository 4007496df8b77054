"""Takes driven by people: started, ended, discarded, judged; and what the health says of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from os import utime
from pathlib import Path
from typing import Any

import pytest
from tests.capture.small_rig import ARM, Items, in_order, mark, samples
from tests.studio.waiting import comes_to

from corporeal.capture.broadcast import MARKS, Broadcast, health_key
from corporeal.capture.operator_mark import MarkError, OperatorMark, read_mark
from corporeal.capture.recorder import Recorder
from corporeal.capture.take_log import FloorHealth, TakeLog
from corporeal.capture.trigger import Button, TerminalKeys
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
Make = Callable[..., Recorder]
Step = tuple[int, dict[str, Any], Callable[[Recorder], bool]]


def told(recorder: Recorder) -> FloorHealth:
    return recorder.health().floor


def arm_samples(recorder: Recorder) -> int:
    return next(each.samples for each in recorder.health().streams if each.path == ARM)


def driven(recorder: Make, *steps: Step, seconds: float = 9.0, **more: Any) -> Recorder:
    """A recorder that gets a mark at an arm's sample, and waits until it shows in the health."""
    made: list[Recorder] = []
    waiting = list(steps)

    def read() -> Items:
        for item in samples(seconds):
            if waiting and item.stream == ARM and item.value[0] == waiting[0][0]:
                number, values, is_done = waiting.pop(0)
                comes_to(None, lambda: arm_samples(made[0]), wanted=number)
                said = read_mark(json.dumps({**values, "by": "ada"}), None)
                assert made[0].enter(said) is None, values
                if said.what == "start":
                    yield item  # It begins with the next sample.
                comes_to(None, partial(is_done, made[0]), wanted=True)
                if said.what == "start":
                    continue
            yield item

    made.append(recorder(read, trigger=Button(), **more))
    made[0].run()
    return made[0]


def is_recording(recorder: Recorder) -> bool:
    return recorder.state == "recording"


def is_over(recorder: Recorder) -> bool:
    return recorder.state == "post-roll"


START = (200, {"mark": "start"}, is_recording)
END = (400, {"mark": "end"}, is_over)


def test_a_take_is_started_and_ended_by_a_person_who_is_named(recorder: Make) -> None:
    made = driven(recorder, START, END, plan=50)
    (path,) = made.episodes
    with Episode.open(path) as episode:
        assert episode.metadata["roll"]["short"] == []
        assert [one["what"] for one in episode.metadata["marks"]] == ["start", "end"]
        assert [(one["what"], one["by"]) for one in episode.metadata["marked_by"]] == [
            ("start", "ada"), ("end", "ada"),
        ]  # fmt: skip
        assert "by" not in episode.metadata
        # The journal stays open for a word on the outcome; samples of that time are not of it.
        assert episode[ARM].time_ns[-1] < 4.5e9
    floor = told(made)
    assert (floor.starts_by, floor.plan, floor.today) == ("key", 50, 1)
    assert floor.takes[0].seconds == pytest.approx(2.0, abs=0.1)
    assert floor.takes[0].state == "done"


def test_the_outcome_may_be_told_after_the_post_roll(recorder: Make) -> None:
    late = (700, {"mark": "outcome", "success": False, "failure": "drop"},
            lambda made: told(made).takes[0].outcome == "drop")  # fmt: skip
    made = driven(recorder, START, END, late, seconds=12.0)
    with Episode.open(made.episodes[0]) as episode:
        assert read_facts(episode.metadata).outcome.failure == "drop"


def test_success_ends_a_take_that_runs(recorder: Make) -> None:
    done = (400, {"mark": "outcome", "success": True, "end": True}, is_over)
    made = driven(recorder, START, done)
    with Episode.open(made.episodes[0]) as episode:
        assert read_facts(episode.metadata).outcome.success is True
        assert episode.metadata["marks"][-1]["what"] == "end"
    assert told(made).takes[0].outcome == "success"


def test_a_discarded_take_is_kept_held_back_and_not_counted(recorder: Make) -> None:
    away = (400, {"mark": "discard", "reason": "the object fell off"}, is_over)
    made = driven(recorder, START, away)
    (path,) = made.episodes
    assert made.quarantined[path] == "the operator discarded it: the object fell off"
    with Episode.open(path) as episode:
        assert episode.metadata["discarded"] == {"reason": "the object fell off"}
    floor = told(made)
    assert (floor.today, floor.discarded_today) == (0, 1)
    assert floor.takes[0].is_discarded
    assert TakeLog(path.parent).read(0).discarded_today == 1


def test_what_makes_no_sense_now_is_answered_in_a_sentence(recorder: Make) -> None:
    made = recorder(lambda: iter(()), trigger=Button())
    for what, words in (("end", "nothing is being recorded"), ("discard", "no episode is open")):
        assert words in str(made.enter(OperatorMark(what)))  # type: ignore[arg-type]
    made.stop()
    assert "at its end" in str(made.enter(OperatorMark("start")))
    made.run()
    by_itself = recorder(lambda: iter(()))
    assert "trigger key" in str(by_itself.enter(OperatorMark("start")))
    by_itself.run()


def test_a_take_that_began_by_itself_can_be_ended(recorder: Make) -> None:
    made: list[Recorder] = []

    def read() -> Items:
        for item in in_order(*samples(6.0), mark("start", 1.5), mark("end", 5.5)):
            if getattr(item, "stream", "") == ARM and item.value[0] == 300:  # type: ignore[union-attr]
                comes_to(None, lambda: is_recording(made[0]), wanted=True)
                assert made[0].enter(OperatorMark("end", ends=True)) is None
                comes_to(None, lambda: not is_recording(made[0]), wanted=True)
            yield item

    made.append(recorder(read))
    (path,) = made[0].run()
    with Episode.open(path) as episode:
        (end,) = (one["time_ns"] for one in episode.metadata["marks"] if one["what"] == "end")
    # A recorder that is behind has the mark a little earlier; the take's own end is at 4 s.
    assert 0 < end < 1.7e9


def test_takes_of_this_day_in_the_folder_count_and_those_of_another_do_not(recorder: Make) -> None:
    (path,) = driven(recorder, START, END).episodes
    assert TakeLog(path.parent).read(0).today == 1
    (path.parent / "broken.h5").write_text("no episode")
    yesterday = (datetime.now() - timedelta(days=1)).timestamp()
    utime(path, (yesterday, yesterday))
    assert TakeLog(path.parent).read(0).today == 0


def test_a_verdict_reaches_the_health(recorder: Make) -> None:
    made = driven(recorder, START, END)
    made.note_verdict(made.episodes[0], "failed", "camera frozen (head left): redo")
    (take,) = told(made).takes
    assert (take.verdict, take.words) == ("failed", "camera frozen (head left): redo")


def test_keys_of_the_terminal_are_marks() -> None:
    keys = TerminalKeys()
    assert keys.read("\n").what == "button"
    assert keys.read("s\n").facts == {"outcome": {"success": True, "failure": None}}
    lost = keys.read("F drop\n")
    assert (lost.facts, lost.ends) == ({"outcome": {"success": False, "failure": "drop"}}, True)
    assert keys.read("d cable in the way").facts == {"reason": "cable in the way"}
    assert [keys.read("i").facts["mode"] for _ in range(2)] == ["correction of a policy", None]
    with pytest.raises(MarkError, match="'x' is no key here"):
        keys.read("x")


def test_whoever_connects_with_the_users_key_needs_no_token_in_every_mark(tmp_path: Path) -> None:
    client = pytest.importorskip("websockets.sync.client")
    exceptions = pytest.importorskip("websockets.exceptions")
    heard: list[OperatorMark] = []
    with Broadcast(0) as server:
        server.take_marks(lambda one: heard.append(one), tmp_path / "marks.json")
        address = f"ws://127.0.0.1:{server.port}{MARKS}"
        headers = {"Authorization": f"Bearer {health_key()}"}
        with client.connect(address, additional_headers=headers) as page:
            page.send(json.dumps({"mark": "start", "by": "ada"}))
            assert json.loads(page.recv(timeout=5)) == {"ok": True}
        assert heard[0].by == "ada"
        with pytest.raises(exceptions.InvalidStatus, match="401"):
            client.connect(address, additional_headers={"Authorization": "Bearer x"}).__enter__()
