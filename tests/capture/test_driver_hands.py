"""Hands of any device and gloves over UDP become an episode beside a camera."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
from bench.egocentric_scene import CAMERA, make_scene, write_rig, write_table

from corporeal.capture.driver import DriverError, Sample, drivers, parse_options
from corporeal.capture.drivers.glove_udp import DRIVER as GLOVES
from corporeal.capture.drivers.glove_udp import GloveOptions
from corporeal.capture.hand_stream import hand_streams
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import open_rig
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import Schema
from corporeal.teleoperation.operator_input import SIDES, InputError, read_inputs


@pytest.mark.slow
def test_hands_and_a_movie_are_one_episode_on_one_clock(tmp_path: Path) -> None:
    scene = make_scene(1.5)
    rig = write_rig(scene, tmp_path / "rig", hidden={"right": slice(30, 60)})
    sources, team = open_rig(rig)
    settings = RecorderSettings(tmp_path / "out", metadata={"operator": "a", "task": "fold"})
    (path,) = Recorder(sources, settings, team=team).run()
    with Episode.open(path) as episode:
        assert episode.metadata["mode"] == "egocentric demonstration"
        left = episode["observations/left_hand_joints"]
        assert len(left) == len(scene.times_s)
        assert len(episode["observations/right_hand_joints"]) == len(scene.times_s) - 30
        pictures = episode[f"observations/{CAMERA}"].time_ns
        assert abs(int(pictures[0]) - int(left.time_ns[0])) < 100_000
        assert "calibration" in episode.documents
    inputs = list(read_inputs(path))
    assert len(inputs) == len(scene.times_s)
    for number, given in enumerate(inputs):
        hand = given.left
        assert hand is not None
        assert hand.joints is not None
        assert np.abs(hand.joints[:, :3] - scene.joints["left"][number]).max() < 1e-5
    assert [given.right is None for given in inputs].count(True) == 30


def test_an_episode_without_a_head_cannot_place_its_hands(tmp_path: Path) -> None:
    (joints,) = [each for each in hand_streams() if each.name == "left_hand_joints"]
    schema = Schema(document="schema", name="hands", version="1.0.0", streams=(joints,))
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        writer.append(joints.path, 0, np.zeros((26, 3)))
    with pytest.raises(InputError, match="without debug/head_pose"):
        list(read_inputs(tmp_path / "a.h5"))


def test_a_recording_without_hands_is_refused(tmp_path: Path) -> None:
    scene = make_scene(0.5)
    write_table(scene, tmp_path / "hands.csv",
                hidden={side: slice(0, None) for side in SIDES})  # fmt: skip
    driver = drivers()["hands"]
    with pytest.raises(DriverError, match="hands"):
        driver.describe(parse_options(driver, {"path": str(tmp_path / "hands.csv")}))


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _listen(messages: list[bytes], wanted: int) -> list[Sample]:
    """The first samples of gloves that are sent these messages again and again."""
    port, stop = _free_port(), threading.Event()

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not stop.wait(0.005):
                for message in messages:
                    sender.sendto(message, ("127.0.0.1", port))

    thread = threading.Thread(target=send, daemon=True)
    source = GLOVES.read(GloveOptions(port=port, timeout_s=5.0))
    taken: list[Sample] = []
    thread.start()
    try:
        for sample in source:
            assert isinstance(sample, Sample)
            taken.append(sample)
            if len(taken) == wanted:
                break
    finally:
        source.close()  # type: ignore[attr-defined]  # it is a generator
        stop.set()
        thread.join()
    return taken


def test_gloves_over_udp_are_relative_to_a_tracker_or_to_their_wrist() -> None:
    head = [0.0, 0.0, 1.6, 1.0, 0.0, 0.0, 0.0]
    tracked = {"wrist": [0.4, 0.1, 1.2], "thumb_tip": [0.5, 0.1, 1.2]}
    message = {"time_s": 12.5, "head": head, "left": tracked,
               "right": {"index_mcp": [0.09, 0.0, 0.0]}}  # fmt: skip
    samples = _listen([json.dumps(message).encode()], 3)
    by_stream = {sample.stream: sample for sample in samples}
    assert set(by_stream) == {"debug/head_pose", "observations/left_hand_joints",
                              "observations/right_glove_joints"}  # fmt: skip
    left = by_stream["observations/left_hand_joints"]
    assert left.source_ns == 12_500_000_000
    assert np.allclose(left.value[1], [0.4, 0.1, -0.4])
    assert np.isnan(left.value[0]).all()


def test_datagrams_of_strangers_end_in_a_sentence() -> None:
    broken = [b"\xff\xfe", b"[1]", b'{"left": {"foot": [1, 2, 3]}}', b'{"head": [1]}']
    with pytest.raises(DriverError, match="100 datagrams that cannot be read"):
        _listen(broken, 1)


def test_silence_ends_in_a_sentence() -> None:
    with pytest.raises(DriverError, match=r"nothing on port .* for 0.05 s"):
        next(GLOVES.read(GloveOptions(port=_free_port(), timeout_s=0.05)))
