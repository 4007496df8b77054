"""Cameras that share a trigger get one stamp per trigger, and who misses one is named."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from corporeal.capture.health import Health, HealthMonitor
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import open_rig
from corporeal.capture.trigger_group import TriggerGroup, match_frames, number_frames
from corporeal.episode import Episode
from corporeal.errors import CorporealError, DocumentError
from corporeal.schema import Schema

PERIOD_NS = 1e9 / 30
RIG = """
document: rig
name: stereo_head
version: 1.0.0
sources:
  - {name: left, driver: video_file, options: {path: left.mp4, name: head_left}}
  - {name: right, driver: video_file, options: {path: right.mp4, name: head_right}}
triggers: [{name: stereo, cameras: [head_left, head_right]}]
"""


def _movie(path: Path, *, skip: tuple[int, ...] = (), frames: int = 60) -> None:
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=30, options={"bf": "0"})
        video.width, video.height, video.pix_fmt = 32, 16, "yuv420p"
        video.codec_context.time_base = Fraction(1, 30)
        for number in range(frames):
            if number not in skip:
                picture = np.full((16, 32, 3), 4 * number % 256, np.uint8)
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                frame.pts, frame.time_base = number, Fraction(1, 30)
                container.mux(video.encode(frame))
        container.mux(video.encode(None))


def _record(folder: Path, text: str = RIG) -> tuple[Path, list[Health]]:
    (folder / "rig.yaml").write_text(text)
    sources, team = open_rig(folder / "rig.yaml")
    seen: list[Health] = []
    recorder = Recorder(sources, RecorderSettings(folder / "out"), team=team, on_health=seen.append)
    (path,) = recorder.run()
    return path, seen


@pytest.mark.parametrize("numbered", [False, True])
def test_frames_of_a_trigger_have_one_stamp_and_a_gap_is_named(
    tmp_path: Path, numbered: bool
) -> None:
    _movie(tmp_path / "left.mp4")
    _movie(tmp_path / "right.mp4", skip=(20, 21))
    text = RIG.replace("name: head_", "numbered: true, name: head_") if numbered else RIG
    path, health = _record(tmp_path, text)
    with Episode.open(path) as episode:
        left = episode["observations/head_left"].time_ns
        right = episode["observations/head_right"].time_ns
        facts = episode.metadata["trigger_groups"]["stereo"]
    assert len(left) - len(right) == 2
    assert set(right.tolist()) < set(left.tolist())
    missed = facts["missed"]["observations/head_right"]
    assert missed["count"] == 2
    assert missed["at_ns"] == left[20:22].tolist()
    assert facts["triggers"] == 60
    assert facts["out_of_step"] == {}
    assert facts["skew_ms"]["worst"] < 5
    (group,) = health[-1].triggers
    assert dict(group.missed) == {"observations/head_right": 2}
    assert any(
        "head_right missed 2 triggers of the group stereo" in one for one in health[-1].alarms
    )


def test_frames_are_numbered_by_their_stamps_also_when_the_clock_drifts() -> None:
    true = np.delete(np.arange(20_000), [7, 15_000, 15_001])
    stamps = np.rint(true * PERIOD_NS * (1 + 80e-6)).astype(np.int64)
    np.testing.assert_array_equal(number_frames(stamps, PERIOD_NS, {}), true)


def _times(numbers: Any, late_ms: float = 0.0) -> np.ndarray[Any, np.dtype[np.int64]]:
    noise = np.random.default_rng(3).normal(0, 2e5, len(numbers))
    return np.rint(np.asarray(numbers) * PERIOD_NS + 1e6 * late_ms + noise).astype(np.int64)


def test_cameras_whose_counters_began_elsewhere_are_matched() -> None:
    one, two = np.arange(100), np.arange(40, 100)
    times = {"a": _times(one), "b": _times(two, 4.0)}
    match = match_frames(times, {"a": one + 7, "b": two + 5000}, PERIOD_NS)
    np.testing.assert_array_equal(match.stamps["b"], match.stamps["a"][40:])
    assert match.facts["missed"] == {}
    assert match.facts["skew_ms"]["median"] == pytest.approx(4, abs=0.3)


def test_a_camera_that_is_out_of_step_by_a_frame_is_found() -> None:
    numbers = np.arange(100)
    # From frame 50 on the second camera counts a trigger that it did not answer in time.
    shown = np.where(numbers < 50, numbers, numbers + 1)
    times = {"a": _times(numbers), "b": _times(shown)}
    match = match_frames(times, {"a": numbers, "b": numbers}, PERIOD_NS)
    parted = match.facts["out_of_step"]["b"]
    assert parted["frames"] == 1
    assert parted["at_ns"] == pytest.approx(51 * PERIOD_NS, abs=2e6)
    # What is off by a frame keeps its own time, nothing is moved by more than half a period.
    assert np.abs(match.stamps["b"] - times["b"]).max() <= PERIOD_NS / 2


def test_the_gauge_sees_skew_as_frames_arrive(tmp_path: Path) -> None:
    streams = [{"name": name, "group": "observations", "kind": "video", "shape": [16, 32, 3],
                "rate_hz": 30} for name in ("a", "b")]  # fmt: skip
    schema = Schema.model_validate(
        {"document": "schema", "name": "two", "version": "1.0.0", "streams": streams}
    )
    monitor = HealthMonitor(schema, tmp_path, (TriggerGroup(name="pair", cameras=("a", "b")),))
    for number in range(10):
        stamp = round(number * PERIOD_NS)
        monitor.take("observations/a", stamp, stamp, is_recording=True)
        if number != 5:
            monitor.take("observations/b", stamp + 10**12, stamp + 6_000_000, is_recording=True)
    (group,) = monitor.read(10**9).triggers
    assert group.skew_ms == pytest.approx(6)
    assert dict(group.missed) == {"observations/b": 1}


def test_a_group_of_what_is_no_camera_is_refused(tmp_path: Path) -> None:
    for name in ("left", "right"):
        _movie(tmp_path / f"{name}.mp4", frames=5)
    with pytest.raises(
        CorporealError, match="trigger group stereo: camera 'tail' is not delivered"
    ):
        _record(tmp_path, RIG.replace("[head_left, head_right]", "[head_left, tail]"))
    with pytest.raises(DocumentError, match="two trigger groups"):
        _record(tmp_path, RIG.replace("triggers: [", "triggers: [{name: x, cameras: [head_left, "
                                      "head_right]}, "))  # fmt: skip
