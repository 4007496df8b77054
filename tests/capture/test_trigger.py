"""What starts and ends an episode, and what is in the file before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.capture.small_rig import (
    ARM,
    BEGIN_NS,
    CAMERA,
    SECOND_NS,
    SLOW,
    in_order,
    mark,
    samples,
)

from corporeal.capture.driver import Mark, Sample
from corporeal.capture.recorder import Recorder
from corporeal.capture.trigger import Automatic, Button, MotionDetector, motion_trigger
from corporeal.episode import Episode
from corporeal.episode.file import VideoReader
from corporeal.episode.overview import verify
from corporeal.errors import UnknownNameError
from corporeal.schema import Schema, open_schema

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
Make = Callable[..., Recorder]
PERIOD_S = {ARM: 0.01, SLOW: 0.2, CAMERA: 0.05}


def _check_rolls(path: Path, *, pre_s: float = 1.0, post_s: float = 2.0) -> None:
    assert verify(path) == ()
    with Episode.open(path) as episode:
        assert episode.recovered is None
        (end,) = (m["time_ns"] for m in episode.metadata["marks"] if m["what"] == "end")
        for stream, period_s in PERIOD_S.items():
            time_s = episode[stream].time_ns / SECOND_NS
            assert time_s[0] <= -pre_s, stream
            assert time_s[-1] >= end / SECOND_NS + post_s, stream
            assert np.diff(time_s).max() < 1.5 * period_s, stream
        assert episode.metadata["roll"]["short"] == []
        camera = episode[CAMERA]
        assert isinstance(camera, VideoReader)
        assert bool(camera.packets.is_key[0])
        for number in (0, 1, len(episode[CAMERA]) - 1):
            assert episode[CAMERA][number].shape == (16, 32, 3)


def _moving(from_s: float, until_s: float, seconds: float) -> list[Sample]:
    found = []
    for item in samples(seconds):
        at_s = (item.source_ns - BEGIN_NS) / SECOND_NS
        if item.stream == ARM:
            speed = 1.0 if from_s <= at_s < until_s else 0.0
            item = Sample(ARM, item.source_ns, item.arrival_ns, np.full(3, speed))
        found.append(item)
    return found


def test_marks_give_pre_roll_and_post_roll_in_every_stream(recorder: Make) -> None:
    items = in_order(*samples(8.0), mark("start", 2.0), mark("end", 4.0))
    (path,) = recorder(lambda: iter(items)).run()
    _check_rolls(path)


def test_motion_gives_pre_roll_and_post_roll_in_every_stream(recorder: Make) -> None:
    items = _moving(3.0, 4.0, 9.5)
    (path,) = recorder(lambda: iter(items), trigger=MotionDetector(ARM, still_s=1.0)).run()
    _check_rolls(path)
    with Episode.open(path) as episode:
        began = episode[ARM].time_ns[np.argmax(episode[ARM][:][:, 0] > 0.5)]
        assert abs(began) < 0.02 * SECOND_NS


def test_a_button_gives_pre_roll_and_post_roll_in_every_stream(recorder: Make) -> None:
    class Pressed(Button):
        def see(self, item: Sample | Mark) -> Literal["start", "end"] | None:
            if isinstance(item, Sample) and item.stream == ARM and item.value[0] in (200, 400):
                self.press()
            return super().see(item)

    (path,) = recorder(lambda: iter(samples(8.0)), trigger=Pressed()).run()
    _check_rolls(path)


def test_demonstrations_that_follow_closely_all_have_their_rolls(recorder: Make) -> None:
    marks = [mark("start", 2.0), mark("end", 3.0), mark("start", 3.3), mark("end", 3.6),
             mark("start", 3.7), mark("end", 4.5)]  # fmt: skip
    items = in_order(*samples(8.0), *marks)
    paths = recorder(lambda: iter(items)).run()
    assert len(paths) == 3
    for path in paths:
        _check_rolls(path)


def test_a_source_that_ends_early_has_a_short_roll_that_is_flagged(recorder: Make) -> None:
    items = in_order(*samples(3.0), mark("start", 0.4), mark("end", 2.5))
    (path,) = recorder(lambda: iter(items)).run()
    with Episode.open(path) as episode:
        roll = episode.metadata["roll"]
        assert episode.recovered is None
        assert 0.2 <= roll["pre_s"] <= 0.4
        assert 0.2 <= roll["post_s"] <= 0.5
        assert f"{ARM}: pre_s is 0.40; expected 1.00" in roll["short"]
        assert any(text.startswith(f"{ARM}: post_s") for text in roll["short"])


def test_a_start_while_recording_and_an_end_without_start_are_ignored(recorder: Make) -> None:
    marks = [mark("end", 1.0), mark("start", 2.0), mark("start", 2.5, task="no"), mark("end", 3.0),
             mark("end", 3.5)]  # fmt: skip
    (path,) = recorder(lambda: iter(in_order(*samples(7.0), *marks))).run()
    _check_rolls(path)
    with Episode.open(path) as episode:
        assert episode.epoch_ns == BEGIN_NS + 2 * SECOND_NS
        assert [one["what"] for one in episode.metadata["marks"]] == ["start", "end"]
        assert episode.metadata["task"] == "t"


def test_delayed_streams_have_their_post_roll_too(recorder: Make) -> None:
    late = [
        Sample(item.stream, item.source_ns, item.arrival_ns + 60_000_000, item.value)
        if item.stream == CAMERA
        else item
        for item in samples(8.0)
    ]
    items = in_order(*late, mark("start", 2.0), mark("end", 4.0))
    (path,) = recorder(lambda: iter(items)).run()
    with Episode.open(path) as episode:
        # Capture times, by number: the clock's offset is not in question here.
        assert len(episode[CAMERA]) >= 20 * (1.0 + 2.0 + 2.0)
        assert episode.metadata["roll"]["short"] == []


def test_automatic_starts_at_once_only_without_a_mark() -> None:
    sample, start = samples(0.1)[0], mark("start", 0.0)
    assert Automatic(at_once=True).see(sample) == "start"
    marked = Automatic(at_once=True)
    assert [marked.see(start), marked.see(sample)] == ["start", None]
    assert Automatic().see(sample) is None


def test_motion_ignores_what_is_not_a_row_of_numbers() -> None:
    trigger = MotionDetector(ARM)
    for value in ("text", None, [[1], [1, 2]], [np.nan], [], object()):
        assert trigger.see(Sample(ARM, 0, 0, value)) is None
    assert trigger.see(Mark("start", 0)) is None
    assert trigger.see(Sample(ARM, 0, 0, [np.nan, 1.0])) == "start"


def test_motion_is_found_in_positions_where_there_is_no_velocity() -> None:
    velocity = "observations/joint_velocity"
    full = open_schema("teleop_humanoid")
    assert motion_trigger(full).stream == velocity
    rest = tuple(stream for stream in full.streams if stream.path != velocity)
    trigger = motion_trigger(full.model_copy(update={"streams": rest}))
    cues = []
    for number in range(700):
        time_ns = number * 10_000_000
        angle = 0.5 * min(max(number / 100 - 1, 0), 1)
        cues.append(trigger.see(Sample(trigger.stream, time_ns, time_ns, [angle, 0.0])))
    assert [n for n, cue in enumerate(cues) if cue] == pytest.approx([102, 406], abs=5)
    assert [cue for cue in cues if cue] == ["start", "end"]


def test_motion_without_joints_names_the_streams(small_schema: Schema) -> None:
    with pytest.raises(UnknownNameError, match="stream for the trigger"):
        motion_trigger(small_schema)
