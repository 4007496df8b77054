"""Cameras by address, video files and RealSense as sources."""

from __future__ import annotations

import subprocess
import sys
import time
import types
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from corporeal.capture.driver import (
    DriverError,
    RecordingSource,
    Sample,
    drivers,
    parse_options,
)
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.episode import Episode
from corporeal.errors import MissingExtraError


def _write_movie(path: Path, *, frames: int = 60, skip: tuple[int, ...] = ()) -> Path:
    """Grey pictures that get brighter by 4 each, 30 per second; `skip` are never written."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=30, options={"bf": "0", "crf": "8"})
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        video.codec_context.time_base = Fraction(1, 30)
        for number in range(frames):
            if number in skip:
                continue
            picture = np.full((48, 64, 3), 4 * number % 256, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
    return path


def _samples(name: str, values: dict[str, Any]) -> list[Sample]:
    driver = drivers()[name]
    items = driver.read(parse_options(driver, values))
    return [item for item in items if isinstance(item, Sample)]


def test_a_video_file_gives_its_pictures_with_their_own_stamps(tmp_path: Path) -> None:
    path = _write_movie(tmp_path / "a.mp4", skip=(10, 11))
    taken = _samples("video_file", {"path": path, "name": "head"})
    assert len(taken) == 58
    assert {sample.stream for sample in taken} == {"observations/head"}
    numbers = np.array([sample.source_ns for sample in taken]) * 30 / 1e9
    assert set(range(60)) - set(np.rint(numbers).astype(int).tolist()) == {10, 11}
    grey = [int(np.mean(sample.value)) for sample in taken]
    assert abs(grey[9] - 36) <= 4
    assert abs(grey[10] - 48) <= 4


def test_a_camera_joins_another_source_in_one_episode(tmp_path: Path) -> None:
    path = _write_movie(tmp_path / "a.mp4", frames=180)
    video, body = drivers()["video_file"], drivers()["synthetic"]
    options = parse_options(video, {"path": path, "name": "front", "external": True})
    wanted = parse_options(body, {"seconds": 1, "height": 16, "width": 32})
    sources = [RecordingSource("body", body, wanted), RecordingSource("front", video, options)]
    (made,) = Recorder(sources, RecorderSettings(tmp_path / "out")).run()
    with Episode.open(made) as episode:
        assert set(episode.metadata["clocks"]) == {"robot", "front"}
        stamps = episode["debug/front"].time_ns
        assert np.allclose(np.diff(stamps), 1e9 / 30, atol=2e5)
        # Both files begin at the same moment; the demonstration starts 1.2 s after it.
        assert abs((stamps[0] / 1e9 + 1.2) % (1 / 30)) < 0.04
        assert "quarantine" not in episode.metadata


def test_a_stream_from_the_network_is_read_live(tmp_path: Path) -> None:
    path = _write_movie(tmp_path / "a.mp4", frames=90)
    port = 18654
    sender = (
        "import av,sys,time\n"
        "src=av.open(sys.argv[1]); out=av.open(sys.argv[2],'w',format='mpegts')\n"
        "s=out.add_stream_from_template(src.streams.video[0])\n"
        "b=time.time()\n"
        "for p in src.demux(video=0):\n"
        "    if p.dts is None: continue\n"
        "    time.sleep(max(0,float(p.dts*p.time_base)-(time.time()-b)))\n"
        "    p.stream=s; out.mux(p)\n"
        "out.close()\n"
    )
    address = f"tcp://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, "-c", sender, str(path), f"{address}?listen=1"])
    try:
        driver = drivers()["camera"]
        values = {"device": address, "width": 64, "height": 48, "name": "head"}
        for _ in range(100):
            try:
                items = driver.read(parse_options(driver, values))
                taken = list(islice(items, 30))
                break
            except DriverError:
                time.sleep(0.1)  # The sender is not up yet.
        steps = np.diff([item.source_ns for item in taken if isinstance(item, Sample)])
        assert len(steps) == 29
        assert np.allclose(steps, 1e9 / 30, atol=1e5)
        items.close()  # type: ignore[attr-defined]
    finally:
        process.kill()
        process.wait(timeout=10)


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("camera", {"device": "/dev/video77"}, "camera /dev/video77: No such file"),
        ("camera", {"device": "rtsp://me:secret@127.0.0.1:9/x"}, "camera rtsp://me@127.0.0.1:9/x"),
        ("video_file", {"path": "no.mp4"}, "got 'no.mp4'; expected a video file"),
    ],
)
def test_a_camera_that_is_not_there_is_one_sentence(
    name: str, values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DriverError, match=sentence) as caught:
        _samples(name, values)
    assert "secret" not in str(caught.value)


def test_a_camera_of_another_size_says_what_to_set(tmp_path: Path) -> None:
    path = _write_movie(tmp_path / "a.mp4")
    with pytest.raises(DriverError, match="Set width=64 and height=48"):
        _samples("camera", {"device": f"file://{path}"})


def test_realsense_names_its_install_line_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyrealsense2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'corporeal\[realsense\]'"):
        _samples("realsense", {})


def test_realsense_gives_colour_and_depth_in_millimetres(monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up library with the calls of the real one: no camera is needed, none is proven."""

    def frame(values: Any) -> Any:
        return types.SimpleNamespace(get_data=lambda: values, get_timestamp=lambda: 1234.5)

    colour = frame(np.full((16, 32, 3), 7, np.uint8))
    depth = frame(np.full((16, 32), 4000, np.uint16))
    sensor = types.SimpleNamespace(get_depth_scale=lambda: 0.0001)
    device = types.SimpleNamespace(first_depth_sensor=lambda: sensor)
    stopped: list[bool] = []
    pipeline = types.SimpleNamespace(
        start=lambda _: types.SimpleNamespace(get_device=lambda: device),
        wait_for_frames=lambda _: types.SimpleNamespace(
            get_color_frame=lambda: colour, get_depth_frame=lambda: depth
        ),
        stop=lambda: stopped.append(True),
    )
    library = types.SimpleNamespace(
        config=lambda: types.SimpleNamespace(enable_stream=lambda *_: None),
        pipeline=lambda: pipeline,
        stream=types.SimpleNamespace(color=1, depth=2),
        format=types.SimpleNamespace(rgb8=1, z16=2),
    )
    monkeypatch.setitem(sys.modules, "pyrealsense2", library)
    driver = drivers()["realsense"]
    items = driver.read(parse_options(driver, {"height": 16, "width": 32}))
    first, second = islice(items, 2)
    assert isinstance(first, Sample)
    assert isinstance(second, Sample)
    assert (first.stream, second.stream) == ("observations/camera", "observations/camera_depth")
    assert first.source_ns == 1_234_500_000
    assert int(second.value[0, 0]) == 400
    items.close()  # type: ignore[attr-defined]
    assert stopped == [True]
