"""The recorder with sources that misbehave: what was received is in an episode that says why."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.capture.small_rig import (
    ARM,
    BEGIN_NS,
    CAMERA,
    SECOND_NS,
    SLOW,
    WORDS,
    Items,
    in_order,
    mark,
    samples,
)

from corporeal.capture.driver import DriverError, Loss, Mark, Sample
from corporeal.capture.health import Health
from corporeal.capture.recorder import Recorder
from corporeal.capture.source_thread import Taken
from corporeal.episode import Episode
from corporeal.episode.file.journal import JournalError, JournalWriter
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
Make = Callable[..., Recorder]


def _one(paths: list[Path]) -> Episode:
    assert len(paths) == 1
    assert verify(paths[0]) == ()
    return Episode.open(paths[0])


def _good(seconds: float = 6.0) -> list[Sample | Mark]:
    return in_order(*samples(seconds), mark("start", 1.5, task="reach"), mark("end", 3.0))


def test_a_good_source_becomes_a_whole_episode(recorder: Make) -> None:
    made = recorder(lambda: iter(_good()))
    with _one(made.run()) as episode:
        assert episode.recovered is None
        assert "quarantine" not in episode.metadata
        assert episode.metadata["task"] == "reach"
        assert [one["what"] for one in episode.metadata["marks"]] == ["start", "end"]
        assert episode.metadata["roll"]["short"] == []
        assert episode.missing_streams == (WORDS,)
        np.testing.assert_array_equal(np.diff(episode[ARM][:][:, 0]), 1)
        assert episode[CAMERA][0].shape == (16, 32, 3)
    assert made.state == "ended"
    assert made.quarantined == {}
    assert sorted(path.suffix for path in made.settings.out.iterdir()) == [".h5"]


def test_stamps_count_from_the_start_mark(recorder: Make) -> None:
    with _one(recorder(lambda: iter(_good())).run()) as episode:
        assert episode.epoch_ns == BEGIN_NS + round(1.5 * SECOND_NS)
        numbers, stamps = episode[ARM][:][:, 0], episode[ARM].time_ns
        captured = (numbers / 100 - 1.5) * SECOND_NS
        # All messages take 1 ms, which no clock estimate can see.
        np.testing.assert_allclose(stamps - captured, 1e6, atol=2000)


def test_a_source_that_raises_leaves_what_came_before(recorder: Make) -> None:
    def read() -> Items:
        yield from _good()[:260]
        raise OSError("cable pulled")

    made = recorder(read)
    with pytest.raises(DriverError, match=r"the source failed: cable pulled\. What was recorded"):
        made.run()
    with _one(made.episodes) as episode:
        assert (
            episode.recovered
            == episode.metadata["quarantine"]
            == ("the source failed: cable pulled")
        )
        expected = sum(isinstance(one, Sample) and one.stream == ARM for one in _good()[:260])
        assert len(episode[ARM]) == expected
    assert made.quarantined == {made.episodes[0]: "the source failed: cable pulled"}
    assert made.state == "ended"


@pytest.mark.parametrize("error", [SystemExit(3), KeyError(), GeneratorExit()])
def test_whatever_a_source_raises_ends_it_in_order(recorder: Make, error: BaseException) -> None:
    class Faulty:
        def __init__(self) -> None:
            self.left = iter(_good()[:300])

        def __iter__(self) -> Faulty:
            return self

        def __next__(self) -> Sample | Mark:
            for item in self.left:
                return item
            raise error

    made = recorder(Faulty)
    with pytest.raises(DriverError, match="the source failed"):
        made.run()
    with _one(made.episodes) as episode:
        assert episode.recovered is not None


def test_a_source_that_cannot_be_opened_says_so(recorder: Make) -> None:
    def read() -> Items:
        raise OSError("no such device")

    made = recorder(read)
    with pytest.raises(DriverError, match="no such device"):
        made.run()
    assert made.episodes == []
    assert list(made.settings.out.iterdir()) == []


def test_a_source_that_hangs_is_given_up(recorder: Make) -> None:
    release = threading.Event()

    def read() -> Items:
        yield from _good()[:260]
        threading.current_thread().name = "hung"
        release.wait(20)

    made = recorder(read, stall_s=0.3)
    ended = threading.Timer(1.5, release.set)
    ended.start()
    with _one(made.run()) as episode:
        assert str(episode.recovered).startswith("the source has been silent for 0.")
    ended.join()


def test_a_source_that_is_silent_after_the_end_mark_is_not_given_up(recorder: Make) -> None:
    first = in_order(*samples(2.5), mark("start", 1.5), mark("end", 2.0))
    more = in_order(*samples(6.0, begin_s=10.0), mark("start", 11.5), mark("end", 12.0))

    def read() -> Items:
        yield from first
        time.sleep(0.6)
        yield from more

    made = recorder(read, stall_s=0.2)
    assert len(made.run()) == 2
    with Episode.open(made.episodes[0]) as episode:
        assert episode.recovered is None
        assert any("post_s is 0.4" in text for text in episode.metadata["roll"]["short"])


def test_a_live_source_that_floods_is_counted_and_bounded(
    recorder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.capture.source_thread._WAITING_LIVE", 256)
    picture = np.zeros((16, 32, 3), np.uint8)
    seen: list[Health] = []

    def read() -> Items:
        yield mark("start", 0.0)
        for number in range(40_000):
            stamp = BEGIN_NS + number * 10_000
            yield Sample(ARM, stamp, stamp, np.full(3, number))
            yield Sample(CAMERA, stamp, stamp, picture)
        yield mark("end", 0.4)

    made = recorder(read, is_live=True, on_health=seen.append)
    with _one(made.run()) as episode:
        health = {stream.path: stream for stream in seen[-1].streams}
        assert health[ARM].samples == len(episode[ARM])
        assert health[ARM].refused > 0
        assert health[ARM].samples + health[ARM].refused == 40_000
        assert health[CAMERA].samples + health[CAMERA].refused == 40_000
        # Counted from when the recorder took up the start, not from when it was sent.
        noted = episode.metadata["losses"][ARM]["refused"]
        assert 0.8 * health[ARM].refused < noted <= health[ARM].refused
    assert any("refused" in alarm for alarm in seen[-1].alarms)


@pytest.mark.parametrize("clock", ["repeats", "reverses", "jumps", "extreme"])
def test_a_broken_clock_costs_no_sample(recorder: Make, clock: str) -> None:
    def stamp(number: int, good: int) -> int:
        if clock == "repeats":
            return good - good % (SECOND_NS // 10)
        if clock == "reverses":
            return BEGIN_NS - (good - BEGIN_NS)
        if clock == "jumps":
            return good + 3600 * SECOND_NS * (number > 250)
        return (1 if number % 2 else -1) * ((1 << 63) - 1 - number)

    def read() -> Items:
        for number, item in enumerate(_good()):
            if isinstance(item, Sample):
                item = Sample(item.stream, stamp(number, item.source_ns), item.arrival_ns,
                              item.value)  # fmt: skip
            yield item

    with _one(recorder(read).run()) as episode:
        np.testing.assert_array_equal(np.diff(episode[ARM][:][:, 0]), 1)
        seen = episode.metadata["clocks"]["robot"]
        counted = {"repeats": "repeats", "reverses": "backwards", "jumps": "jumps"}
        assert seen[counted.get(clock, "backwards")] > 0


def test_a_clock_that_is_set_by_decades_quarantines_the_recording(recorder: Make) -> None:
    """A device without a battery is at 1970 until a time server answers."""

    def read() -> Items:
        for item in _good():
            if isinstance(item, Sample) and item.arrival_ns < BEGIN_NS + 2 * SECOND_NS:
                item = Sample(item.stream, item.source_ns - BEGIN_NS, item.arrival_ns, item.value)
            yield item

    seen: list[Health] = []
    made = recorder(read, on_health=seen.append)
    with _one(made.run()) as episode:
        np.testing.assert_array_equal(np.diff(episode[ARM][:][:, 0]), 1)
        assert "stamps lie up to 53.9 years from their arrival" in episode.metadata["quarantine"]
        assert episode.recovered is None
    assert list(made.quarantined) == made.episodes
    assert any("its clock was set by 53.9 years" in alarm for alarm in seen[-1].alarms)


@pytest.mark.parametrize(("pace", "words"), [(1.1, "10.0 % too fast"), (0.9, "10.0 % too slow")])
def test_a_clock_that_runs_too_fast_or_slow_is_named(
    recorder: Make, pace: float, words: str
) -> None:
    def read() -> Items:
        for item in _good():
            if isinstance(item, Sample):
                stamp = BEGIN_NS + round(pace * (item.source_ns - BEGIN_NS))
                item = Sample(item.stream, stamp, item.arrival_ns, item.value)
            yield item

    with _one(recorder(read).run()) as episode:
        told = [each["message"] for each in episode.metadata["warnings"]]
        assert f"{ARM}: its clock runs {words}" in told


def test_a_clock_that_is_wrong_all_the_time_is_no_reason_for_quarantine(recorder: Make) -> None:
    def read() -> Items:
        for item in _good():
            if isinstance(item, Sample):
                item = Sample(item.stream, item.source_ns - BEGIN_NS, item.arrival_ns, item.value)
            yield item

    made = recorder(read)
    with _one(made.run()) as episode:
        assert "quarantine" not in episode.metadata


def test_numpy_stamps_are_taken_and_others_refused(recorder: Make) -> None:
    def read() -> Items:
        yield mark("start", 0.0)
        yield Sample(ARM, np.int64(BEGIN_NS), np.int64(BEGIN_NS), np.zeros(3))  # type: ignore[arg-type]
        yield Sample(ARM, 1.5, BEGIN_NS, np.zeros(3))  # type: ignore[arg-type]
        yield Sample(ARM, 1 << 70, BEGIN_NS, np.zeros(3))
        yield Sample(ARM, None, BEGIN_NS, np.zeros(3))  # type: ignore[arg-type]
        yield mark("end", 0.1)

    made = recorder(read)
    with _one(made.run()) as episode:
        assert len(episode[ARM]) == 1
        assert episode.metadata["losses"][ARM] == {"missed": 0, "refused": 3}


def test_what_a_source_lost_itself_is_in_the_health_and_in_the_episode(recorder: Make) -> None:
    """Before the demonstration it costs nothing of it."""
    seen: list[Health] = []

    def read() -> Items:
        yield Loss(ARM, 40, "the recorder was behind")
        yield mark("start", 0.0)
        for number, item in enumerate(samples(0.5)):
            yield item
            if number == 20:
                yield Loss(ARM, 3, "the recorder was behind")
        yield mark("end", 0.5)

    made = recorder(read, on_health=seen.append)
    with _one(made.run()) as episode:
        assert episode.metadata["losses"][ARM]["refused"] == 3
    health = {stream.path: stream for stream in seen[-1].streams}[ARM]
    assert (health.refused, health.reason) == (43, "the recorder was behind")


def test_bad_values_are_refused_and_nan_is_kept(recorder: Make) -> None:
    bad: list[Any] = [np.zeros(4), "text", [[1, 2], [3]], None, object(), np.zeros(3, complex)]

    def read() -> Items:
        yield mark("start", 0.0)
        for number, value in enumerate([np.full(3, np.nan), *bad, np.full(3, np.inf)]):
            stamp = BEGIN_NS + number * SECOND_NS // 100
            yield Sample(ARM, stamp, stamp, value)
        yield Sample(CAMERA, BEGIN_NS, BEGIN_NS, np.zeros((8, 8, 3), np.uint8))
        yield Sample(WORDS, BEGIN_NS, BEGIN_NS, 5)
        yield mark("end", 0.1)

    made = recorder(read)
    with _one(made.run()) as episode:
        assert np.isnan(episode[ARM][0]).all()
        assert np.isinf(episode[ARM][-1]).all()
        assert len(episode[ARM]) == 2
        assert episode.metadata["losses"][ARM]["refused"] == len(bad)
        assert episode.metadata["losses"][CAMERA]["refused"] == 1
    reasons = {stream.path: stream.reason for stream in made.health().streams}
    assert "expected float32 of shape (3,)" in reasons[ARM]


def test_a_stream_that_was_not_announced_is_refused_and_named(recorder: Make) -> None:
    stranger = Sample("observations/stranger", BEGIN_NS, BEGIN_NS, 1)
    made = recorder(lambda: iter([*_good()[:200], stranger, *_good()[200:]]))
    with _one(made.run()) as episode:
        assert episode.recovered is None
    assert made.unannounced == {"observations/stranger": 1}
    assert any("observations/stranger: 1 samples refused" in one for one in made.health().alarms)


def test_a_stream_that_never_comes_is_an_alarm_and_a_gap(recorder: Make) -> None:
    alarmed = threading.Event()
    items = [one for one in _good() if isinstance(one, Mark) or one.stream != SLOW]

    def look(health: Health) -> None:
        if any(f"{SLOW} has sent nothing" in alarm for alarm in health.alarms):
            alarmed.set()

    def read() -> Items:
        yield from items[: len(items) // 2]
        # The demonstration goes on until the alarm was raised, however busy the machine is.
        alarmed.wait(60)
        yield from items[len(items) // 2 :]

    with _one(recorder(read, on_health=look).run()) as episode:
        assert SLOW in episode.missing_streams
    assert alarmed.is_set()


@pytest.mark.parametrize("items", [[], [mark("start", 0.0)], samples(1.0)])
def test_a_source_without_a_demonstration_makes_no_episode(
    recorder: Make, items: list[Sample | Mark]
) -> None:
    made = recorder(lambda: iter(items))
    if not any(isinstance(item, Mark) for item in items):
        assert made.run() == []
        assert list(made.settings.out.iterdir()) == []
        return
    with pytest.raises(JournalError, match="no sample was recorded"):
        made.run()
    assert made.state == "ended"


def test_a_driver_whose_close_raises_ends_in_order(recorder: Make) -> None:
    def read() -> Items:
        try:
            yield from _good()
        finally:
            raise OSError("close failed")

    made = recorder(read, episodes=1)
    with pytest.raises(DriverError, match="close failed"):
        made.run()
    with _one(made.episodes) as episode:
        assert episode.recovered is None


def test_a_driver_that_yields_something_else_fails_with_words(recorder: Make) -> None:
    made = recorder(lambda: iter([*_good()[:260], None]))
    with pytest.raises(DriverError, match="got NoneType; expected Sample or Mark"):
        made.run()
    assert len(made.episodes) == 1


def test_stop_ends_it_soon_and_says_so(recorder: Make) -> None:
    def endless() -> Items:
        yield mark("start", 0.0)
        for number in range(10**9):
            stamp = BEGIN_NS + number * SECOND_NS // 100
            yield Sample(ARM, stamp, stamp, np.zeros(3))
            time.sleep(0.001)

    made = recorder(endless)
    threading.Timer(0.4, made.stop).start()
    begin = time.monotonic()
    with _one(made.run()) as episode:
        assert episode.recovered == "recording was stopped before the episode ended"
    assert time.monotonic() - begin < 5


def test_a_stop_while_encoders_are_behind_loses_nothing_that_was_handed_over(
    recorder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Recorder] = []
    handed = [0]

    def read() -> Items:
        yield mark("start", 0.0)
        for number in range(300):
            stamp = BEGIN_NS + number * SECOND_NS // 100
            yield Sample(ARM, stamp, stamp, np.full(3, number))
            yield Sample(CAMERA, stamp, stamp, np.zeros((16, 32, 3), np.uint8))
            handed[0] += 1
        made[0].stop()
        yield mark("end", 20.0)

    made.append(recorder(read, is_live=True))
    packer = made[0]._packers[CAMERA]
    real = packer.pack

    def slowly(checked: Any) -> bytes:
        time.sleep(0.05)
        return real(checked)

    monkeypatch.setattr(packer, "pack", slowly)
    with _one(made[0].run()) as episode:
        refused = episode.metadata["losses"].get(CAMERA, {"refused": 0})["refused"]
        assert len(episode[ARM]) == handed[0] == 300
        assert len(episode[CAMERA]) + refused == 300
        assert refused == 0 or "samples were refused" in episode.metadata["quarantine"]


def test_pictures_whose_encoder_is_behind_are_kept_raw_and_encoded_later(
    recorder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.capture.encoding.RAW_AFTER_S", 0.0)
    kept: list[bool] = []
    real = JournalWriter.append

    def append(self: JournalWriter, stream: str, *more: Any, **options: Any) -> None:
        kept.append(bool(options.get("is_raw")))
        real(self, stream, *more, **options)

    monkeypatch.setattr(JournalWriter, "append", append)

    def read() -> Items:
        for item in _good():
            time.sleep(0.001)
            yield item

    with _one(recorder(read, is_live=True).run()) as episode:
        assert sum(kept) >= len(episode[CAMERA]) > 0
        picture = episode[CAMERA][0]
    assert abs(int(picture.mean()) - int(round(picture.mean() / 5) * 5)) <= 2


def test_samples_that_the_recorder_has_not_taken_up_are_unsaved(recorder: Make) -> None:
    seen: list[Health] = []

    def read() -> Items:
        yield from _good(0.5)

    made = recorder(read, is_live=True)
    accept = made._accept

    def accept_late(taken: Taken) -> None:
        deadline_s = time.monotonic() + 20
        while not seen and time.monotonic() < deadline_s:
            health = made.health()
            seen.extend([health] if health.unsaved_s > 0.4 else [])
        accept(taken)

    made._accept = accept_late  # type: ignore[method-assign]
    made.run()
    assert any("a power cut would lose them" in alarm for alarm in seen[0].alarms)


def test_a_live_source_without_marks_is_one_demonstration(recorder: Make) -> None:
    def endless() -> Items:
        for number in range(10**9):
            stamp = BEGIN_NS + number * SECOND_NS // 100
            yield Sample(ARM, stamp, stamp, np.full(3, number))
            time.sleep(0.002)

    made = recorder(endless, is_live=True)
    threading.Timer(0.4, made.stop).start()
    with _one(made.run()) as episode:
        assert episode.recovered is None
        assert episode[ARM][0][0] == 0
        assert "roll" not in episode.metadata


def test_an_interrupt_in_the_recorder_leaves_an_episode(recorder: Make) -> None:
    def interrupt(health: Health) -> None:
        if health.state == "recording":
            raise KeyboardInterrupt

    def read() -> Items:
        for item in _good():
            yield item
            time.sleep(0.002)

    made = recorder(read, on_health=interrupt)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    with _one(made.episodes) as episode:
        assert episode.recovered == "recording broke off: KeyboardInterrupt"


def test_health_that_cannot_be_written_does_not_stop_it(recorder: Make) -> None:
    def fail(health: Health) -> None:
        raise OSError("No space left on device")

    assert len(recorder(lambda: iter(_good()), on_health=fail).run()) == 1


def test_a_disk_that_fails_ends_it_and_keeps_the_journal(
    recorder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = JournalWriter._put, [4]

    def put(self: JournalWriter, block: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            self._error = OSError(28, "No space left on device")
            return
        real(self, block)

    monkeypatch.setattr(JournalWriter, "_put", put)

    def read() -> Items:
        for item in _good():
            yield item
            time.sleep(0.001)

    made = recorder(read, sync_every_s=0.02)
    with pytest.raises(JournalError, match=r"No space left on device\. Recording stopped"):
        made.run()
    assert made.state == "ended"
    assert [path.suffix for path in made.settings.out.iterdir()] == [".journal"]


def test_a_camera_whose_encoder_breaks_is_the_reason(
    recorder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder(lambda: iter(_good()))
    packer, count = made._packers[CAMERA], iter(range(1000))
    real = packer.pack

    def pack(checked: Any) -> bytes:
        if next(count) == 40:
            raise ValueError("encoder broke")
        return real(checked)

    monkeypatch.setattr(packer, "pack", pack)
    with pytest.raises(ValueError, match="encoder broke"):
        made.run()
    assert made.state == "ended"
    with _one(made.episodes) as episode:
        assert "encoder broke" in str(episode.recovered)


@pytest.mark.parametrize("is_live", [False, True])
def test_an_encoder_that_breaks_when_it_is_behind_is_no_hang(
    recorder: Make, monkeypatch: pytest.MonkeyPatch, is_live: bool
) -> None:
    is_behind = threading.Event()

    def read() -> Items:
        yield mark("start", 0.0)
        for number in range(3000):
            if number == 40:
                is_behind.set()
            stamp = BEGIN_NS + number * 1_000_000
            yield Sample(ARM, stamp, stamp, np.zeros(3))
            yield Sample(CAMERA, stamp, stamp, np.zeros((16, 32, 3), np.uint8))
            time.sleep(0.0005)

    def pack(checked: Any) -> bytes:
        is_behind.wait(20)
        raise ValueError("encoder broke")

    made = recorder(read, is_live=is_live)
    monkeypatch.setattr(made._packers[CAMERA], "pack", pack)
    with pytest.raises(ValueError, match="encoder broke"):
        made.run()
    with _one(made.episodes) as episode:
        assert len(episode[ARM]) > 30
        assert "encoder broke" in str(episode.recovered)


def test_so_many_episodes_as_asked_also_beside_earlier_ones(recorder: Make) -> None:
    def read() -> Iterator[Sample | Mark]:
        everything: list[Sample | Mark] = [*samples(30.0)]
        for number in range(5):
            everything += [mark("start", 2 + 5 * number), mark("end", 3 + 5 * number)]
        yield from in_order(*everything)

    first = recorder(read, episodes=2)
    assert len(first.run()) == 2
    again = recorder(read, episodes=2)
    assert len(again.run()) == 2
    assert len(list(again.settings.out.glob("*.h5"))) == 4


def test_an_output_folder_that_is_a_file_is_named(recorder: Make, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(CorporealError, match="folder for the episodes, got"):
        recorder(lambda: iter([]))


def test_facts_that_json_cannot_hold_do_not_cost_the_episode(recorder: Make) -> None:
    items = in_order(*samples(1.0), mark("start", 0.1), mark("end", 0.6, score=float("nan"),
                     note="half \ud800", path=Path("x"), many=[1, float("inf")]))  # fmt: skip
    with _one(recorder(lambda: iter(items)).run()) as episode:
        assert episode.metadata["score"] is None
        assert episode.metadata["note"] == "half ?"
        assert episode.metadata["many"] == [1, None]
