"""Whole live sessions over real sockets on this machine: in, out, shown, recorded, abused."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from tests.retargeting.live_streams import BONES, json_pose, natnet_model, natnet_pose
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError
from corporeal.retargeting.live.live_recording import (
    discard_recording,
    read_live_frames,
    recording_folder,
)
from corporeal.retargeting.live.session import LiveSettings, LiveStatus, LiveSummary, run_live
from corporeal.retargeting.motion import POINTS, MotionError

pytest.importorskip("pinocchio", reason="live retargeting needs the extra robot")

# Poses come in real time here, and some tests promise a latency.
pytestmark = [pytest.mark.slow, pytest.mark.alone]

RATE_HZ = 120.0
PATIENCE_S = 60.0


@dataclass
class Running:
    """A session in its thread, and who listens to it."""

    stop: threading.Event
    statuses: list[LiveStatus] = field(default_factory=list)
    summaries: list[LiveSummary] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.statuses[0].listening.rsplit(":", 1)[1])

    @property
    def summary(self) -> LiveSummary:
        return self.summaries[0]


@contextmanager
def live(listen: str = "udp://127.0.0.1:0", **more: Any) -> Iterator[Running]:
    """A session that follows with a G1; its targets are collected, its end waited for."""
    running, begun = Running(threading.Event()), threading.Event()

    def report(status: LiveStatus) -> None:
        running.statuses.append(status)
        begun.set()

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        send = f"udp://127.0.0.1:{receiver.getsockname()[1]}"
        settings = replace(LiveSettings(open_robot("g1"), listen=listen, send=send), **more)
        thread = threading.Thread(
            target=lambda: running.summaries.append(
                run_live(settings, stop=running.stop, report=report)
            )
        )
        thread.start()
        try:
            assert begun.wait(PATIENCE_S)
            yield running
            time.sleep(0.05)
        finally:
            running.stop.set()
            thread.join(timeout=PATIENCE_S)
        assert not thread.is_alive()
        receiver.setblocking(False)
        while True:
            try:
                running.targets.append(json.loads(receiver.recv(65536)))
            except BlockingIOError:
                break


def _paced(send: Callable[[int], object], frames: int, *, rate_hz: float = RATE_HZ) -> None:
    begun = time.monotonic()
    for frame in range(frames):
        send(frame)
        time.sleep(max(0.0, begun + (frame + 1) / rate_hz - time.monotonic()))


@contextmanager
def sender(port: int) -> Iterator[Callable[[bytes], object]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        yield lambda data: opened.sendto(data, ("127.0.0.1", port))


def _assert_followed(running: Running, frames: int) -> None:
    summary, robot = running.summary, open_robot("g1")
    assert summary.frames + summary.tally.skipped >= 0.95 * frames
    # Poses that a busy machine skips leave the robot behind for a while.
    assert summary.infeasible <= 0.05 * summary.frames + summary.tally.skipped
    announced = [target for target in running.targets if "names" in target]
    assert announced[0]["names"] == list(robot.joint_names)
    targets = [target for target in running.targets if "q" in target and "stale" not in target]
    assert len(targets) == summary.frames
    q, t = np.array([each["q"] for each in targets]), np.array([each["t"] for each in targets])
    for column, joint in enumerate(robot.actuated):
        assert joint.lower is not None
        assert joint.upper is not None
        assert joint.velocity is not None
        assert q[:, column].min() >= joint.lower
        assert q[:, column].max() <= joint.upper
        assert (np.abs(np.diff(q[:, column])) <= joint.velocity * np.diff(t)).all()
    assert all(each["latency_ms"] > 0 for each in targets)
    assert 0 < summary.latency.total_ms.p50 <= summary.latency.total_ms.p99
    # Far above what it takes alone: other tests share these cores.
    assert summary.latency.total_ms.p50 < 50


def test_a_walk_over_udp_becomes_joint_targets_with_their_latency() -> None:
    motion = walking_person(180)
    with live() as running, sender(running.port) as send:
        _paced(lambda frame: send(json_pose(motion, frame)), 180)
    _assert_followed(running, 180)


def test_a_walk_over_a_websocket_becomes_joint_targets_too() -> None:
    client = pytest.importorskip("websockets.sync.client", reason="needs the extra live")
    motion = walking_person(120)
    with live("ws://127.0.0.1:0") as running:
        address = f"ws://127.0.0.1:{running.port}"
        with client.connect(address, compression=None) as socket_:
            socket_.send(json.dumps({"names": list(POINTS)}))
            _paced(
                lambda frame: socket_.send(
                    json.dumps({"t": frame / RATE_HZ, "points": motion.positions[frame].tolist()})
                ),
                120,
            )
            with client.connect(address) as second:
                second.send(json_pose(motion, 119).decode())
                with pytest.raises(Exception, match="another demonstrator"):
                    second.recv(timeout=PATIENCE_S)
        with pytest.raises(Exception, match="403"):
            client.connect(address, origin="https://stranger.example")
    _assert_followed(running, 120)
    assert running.summary.tally.stranger == 1


@pytest.mark.parametrize("version", [(3, 1), (4, 1)])
def test_a_skeleton_of_natnet_becomes_joint_targets_too(version: tuple[int, int]) -> None:
    motion = walking_person(90)
    names = {number: f"Bone{number}" for number in BONES}
    names |= {1: "Hip", 7: "LUArm", 8: "LFArm", 9: "LHand", 11: "RUArm", 12: "RFArm", 13: "RHand"}
    names |= {14: "LThigh", 15: "LShin", 16: "LFoot", 17: "RThigh", 18: "RShin", 19: "RFoot"}
    names |= {4: "Neck", 20: "LToe", 21: "RToe"}
    listen = f"natnet://127.0.0.1:0?version={version[0]}.{version[1]}"
    with live(listen) as running, sender(running.port) as send:
        send(natnet_model(names, version, turned=False))
        _paced(lambda frame: send(natnet_pose(motion, frame + 3 * (frame > 50), version)), 87)
    _assert_followed(running, 87)
    assert running.summary.tally.lost == 3


def test_garbage_between_poses_is_counted_and_nothing_else() -> None:
    motion = walking_person(60)
    rng = np.random.default_rng(0)

    with live() as running, sender(running.port) as send:

        def abuse(frame: int) -> None:
            send(rng.bytes(int(rng.integers(0, 400))))
            send(b'{"t": 1e999, "points": {"pelvis": [NaN, 0, 1]}}')
            send(json_pose(motion, frame))
            send(json_pose(motion, frame))
            send(json_pose(motion, max(0, frame - 7)))
            send(b"[" * 30000)

        _paced(abuse, 60)
    tally, frames = running.summary.tally, running.summary.frames
    assert tally.garbage == 180
    assert tally.duplicate >= 60
    assert tally.late >= 50
    # On a busy machine poses wait, and only the newest is taken: what was not solved was skipped.
    assert frames
    assert frames + tally.skipped >= 57
    assert any("unreadable" in note for note in running.summary.notes)


def test_silence_holds_the_last_target_and_flags_it() -> None:
    motion = walking_person(30)
    with live() as running, sender(running.port) as send:
        _paced(lambda frame: send(json_pose(motion, frame)), 30)
        time.sleep(0.5)
    fresh = [target for target in running.targets if "q" in target and "stale" not in target]
    stale = [target for target in running.targets if target.get("stale")]
    assert stale
    assert stale[-1]["q"] == fresh[-1]["q"]
    assert stale[-1]["latency_ms"] > 250
    assert running.summary.stale_times == 1


def test_a_second_sender_is_not_followed() -> None:
    motion = walking_person(30)
    with live() as running, sender(running.port) as first, sender(running.port) as second:
        _paced(lambda frame: (first(json_pose(motion, frame)), second(b"me too")), 30)
    assert running.summary.tally.stranger == 30
    assert running.summary.tally.garbage == 0


def test_centimetres_are_told_in_words_and_not_followed() -> None:
    motion = walking_person(5)
    motion.positions[...] *= 20
    with live() as running, sender(running.port) as send:
        _paced(lambda frame: send(json_pose(motion, frame)), 5)
    assert running.summary.frames == 0
    assert running.summary.incomplete == 5
    assert any("m long" in note for note in running.summary.notes)


def test_a_session_ends_by_itself_when_its_time_is_over() -> None:
    with live(seconds=0.2) as running:
        until = time.monotonic() + 3
        while not running.summaries and time.monotonic() < until:
            time.sleep(0.01)
    assert running.summary.frames == 0


def test_a_recording_is_on_disk_while_it_runs_and_loses_at_most_its_torn_end(
    tmp_path: Path,
) -> None:
    motion, episode = walking_person(90), tmp_path / "walk.corporeal"
    folder = recording_folder(episode)
    with live(record=episode) as running, sender(running.port) as send:
        _paced(lambda frame: send(json_pose(motion, frame)), 90)
        so_far = len(read_live_frames(folder))
    assert so_far >= 1
    assert running.summary.frames_at == folder
    frames = read_live_frames(folder)
    assert len(frames) == running.summary.frames
    assert frames.joint_names == open_robot("g1").joint_names
    shown = np.round(frames.t_s * RATE_HZ).astype(int)
    np.testing.assert_allclose(frames.positions, motion.positions[shown])
    # A person who is half a step on when the robot begins is followed within a few frames.
    assert np.median(frames.error_m) < 0.02
    with (folder / "frames.f64").open("r+b") as file:
        file.truncate((folder / "frames.f64").stat().st_size - 5)
    assert len(read_live_frames(folder)) == len(frames) - 1
    with pytest.raises(MotionError, match="not finished"):
        _run(listen="udp://127.0.0.1:0", record=episode)
    discard_recording(folder)
    assert not folder.exists()


def test_the_page_is_served_and_strangers_are_refused() -> None:
    client = pytest.importorskip("websockets.sync.client", reason="needs the extra live")
    motion = walking_person(60)
    with live(view=0) as running, sender(running.port) as send:
        page = running.statuses[0].page
        assert page is not None
        with urlopen(page, timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
            policy = answer.headers["Content-Security-Policy"]
        assert "Live retargeting" in text
        assert "https://" not in text
        assert "default-src 'none'" in policy
        for headers, path in (({"Host": "evil.example"}, ""), ({}, "secrets")):
            with pytest.raises(HTTPError, match=r"403|404"):
                urlopen(Request(page + path, headers=headers), timeout=PATIENCE_S)
        stream = page.replace("http", "ws") + "stream"
        with pytest.raises(Exception, match="403"):
            client.connect(stream, origin="https://stranger.example")
        with client.connect(stream, max_queue=None) as viewer:
            hello = json.loads(viewer.recv(timeout=PATIENCE_S))
            _paced(lambda frame: send(json_pose(motion, frame)), 60)
            frame = json.loads(viewer.recv(timeout=PATIENCE_S))
    assert hello["robot"] == "g1"
    assert len(frame["links"]) == 7 * len(hello["links"])
    assert len(frame["human"]) == 3 * len(POINTS)
    assert frame["latency"]["p95"] >= 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"listen": "carrier-pigeon://loft:1"}, "unknown protocol"),
        ({"listen": "natnet://127.0.0.1:0?version=1.0"}, "NatNet version"),
        ({"send": "ws://127.0.0.1:1"}, "expected udp"),
    ],
)
def test_what_cannot_be_opened_is_told_before_anything_runs(
    change: dict[str, str], words: str
) -> None:
    with pytest.raises(CorporealError, match=words):
        _run(**{"listen": "udp://127.0.0.1:0", **change})


def test_a_port_that_is_taken_is_told_in_one_sentence() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        listen = f"udp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(MotionError, match="Choose another address"):
            _run(listen=listen)


def _run(**settings: Any) -> LiveSummary:
    heard: list[LiveStatus] = []
    made = LiveSettings(open_robot("g1"), **settings)
    return run_live(made, stop=threading.Event(), report=heard.append)
