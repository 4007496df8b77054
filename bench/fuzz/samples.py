"""What is damaged: whole files of every kind, ours and of others, and the reader of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from bench.fuzz.bodies import hand_samples, learnt_samples, mesh_samples, motion_samples
from bench.fuzz.published import body_samples, floor_samples, published_samples
from bench.fuzz.readers import Sample, is_read
from corporeal.calibration.board import open_board
from corporeal.calibration.hand_eye import pose_matrix
from corporeal.calibration.verification import (
    LoggedCheck,
    append,
)
from corporeal.calibration.verification.check_log import LoggedShift
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.exchange.conversion import export
from corporeal.exchange.format import formats
from corporeal.teleoperation.inputs import webxr_capture
from corporeal.teleoperation.operator_message import write_message
from corporeal.testing import Workload

MAX_BYTES = 400_000
_TOML = """document = "taxonomy"
name = "small"
version = "1.0.0"
[[lanes]]
name = "phase"
labels = [{name = "reach", begins = "the hand moves"}, {name = "grasp", begins = "it touches"}]
"""
REAL = {".bvh": "motion", ".c3d": "motion", ".npz": "motion", ".csv": "motion", ".urdf": "robot",
        ".pkl": "dataset", ".bag": "bag", ".mcap": "bag", ".db3": "bag"}  # fmt: skip


def make_samples(folder: Path, data: Path) -> list[Sample]:
    """An episode of ours in every format that can be written, documents, and real files."""
    episodes = folder / "episodes"
    episodes.mkdir(parents=True)
    workload = Workload(open_robot("g1"), duration_s=0.3, size=(32, 48))
    with EpisodeWriter(episodes / "e0000.h5", schema=workload.schema, metadata=workload.metadata,
                       embodiment=workload.embodiment, epoch_ns=0) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    samples = [Sample("episode file", str(episodes), "dataset")]
    for name in formats():
        try:
            samples.append(Sample(name, str(export(episodes, folder / name, name).out), "dataset"))
        except CorporealError:
            continue
    robot = open_robot("g1").model_dump(mode="json")
    for suffix in (".json", ".yaml", ".toml"):
        path = folder / f"document{suffix}"
        text = _TOML if suffix == ".toml" else json.dumps(robot)
        path.write_text(text, "utf-8")
        samples.append(Sample(f"document {suffix}", str(path), "document"))
    samples += _real_samples(data)
    samples += calibration_samples(folder / "calibration", data)
    samples += teleoperation_samples(folder / "teleoperation", data)
    samples += hand_samples(folder / "hands", data)
    samples += motion_samples(folder / "motions", data)
    samples += mesh_samples(folder / "meshes")
    samples += learnt_samples(folder / "learnt")
    samples += published_samples(folder / "published")
    samples += body_samples(folder / "bodies", data)
    samples += floor_samples(folder / "floor")
    return [sample for sample in samples if is_read(sample)]


def _real_samples(data: Path) -> Iterator[Sample]:
    for suffix, reader in REAL.items():
        sizes = {path: path.stat().st_size for path in data.rglob(f"*{suffix}") if path.is_file()}
        small = sorted((size, str(path)) for path, size in sizes.items() if size <= MAX_BYTES)
        good = (Sample(f"{reader} {suffix}", path, reader) for _, path in small[:40])
        yield from [sample for sample in good if is_read(sample)][-2:]


def calibration_samples(folder: Path, data: Path) -> Iterator[Sample]:
    """Boards, pairs, rests, a station with its log of checks, and pictures, as people give them."""
    folder.mkdir(parents=True)
    for name in ("charuco_a4", "verification_a4"):
        board = open_board(name)
        path = folder / f"{name}.yaml"
        path.write_text(json.dumps(board.model_dump(mode="json", exclude_none=True)), "utf-8")
        yield Sample(f"board {name}", str(path), "board")
    rng = np.random.default_rng(0)
    turns, places = rng.normal(0, 0.6, (2, 12, 3)), rng.normal(0, 0.3, (2, 12, 3))
    hands, seen = (
        [pose_matrix(*each) for each in zip(turns[place], places[place], strict=True)]
        for place in (0, 1)
    )
    pairs = [[hand.tolist(), board.tolist()] for hand, board in zip(hands, seen, strict=True)]
    (folder / "pairs.json").write_text(json.dumps({"pairs": pairs}), "utf-8")
    yield Sample("pairs .json", str(folder / "pairs.json"), "pairs")
    rows = ["qw,qx,qy,qz,fx,fy,fz,tx,ty,tz"]
    for quaternion in rng.normal(size=(10, 4)):
        unit = quaternion / np.linalg.norm(quaternion)
        rows.append(",".join(f"{value:.5f}" for value in (*unit, *rng.normal(0, 3, 6))))
    (folder / "rests.csv").write_text("\n".join(rows), "utf-8")
    yield Sample("rests .csv", str(folder / "rests.csv"), "rests")
    yield _station_sample(folder / "station")
    with av.open(str(folder / "board.mp4"), "w") as container:
        stream: Any = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for picture in rng.integers(0, 256, (5, 48, 64, 3), np.uint8):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    yield Sample("views .mp4", str(folder / "board.mp4"), "views")
    for suffix in (".png", ".jpg", ".tif", ".webp", ".bmp"):
        path = folder / f"board{suffix}"
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8)).save(path)
        yield Sample(f"views {suffix}", str(path), "views")
    for path in sorted(data.glob("calib/handeye_*"))[:1]:
        yield Sample("pairs, a folder", str(path), "pairs")


def _station_sample(folder: Path) -> Sample:
    folder.mkdir()
    station = {
        "document": "calibration", "name": "cell", "version": "1.0.0", "measured": "2026-11-19",
        "cameras": [{"name": "wrist", "width": 640, "height": 480, "focal_px": [600, 600],
                     "centre_px": [320, 240], "distortion": [0, 0, 0, 0, 0], "lens": "pinhole"}],
    }  # fmt: skip
    (folder / "cell.yaml").write_text(json.dumps(station), "utf-8")
    three = (0.001, 0.002, 0.003)
    shift = LoggedShift("m", "wrist", three, three, three, three, 0.003, 0.017, "none")
    for minute in range(6):
        at = f"2026-11-19T0{minute}:00:00.000+00:00"
        append(folder / "cell.checks.jsonl", LoggedCheck(
            "check", at, "cell@1.0.0", "anna", passed=True, shifts=(shift,)))  # fmt: skip
    return Sample("station and its checks", str(folder), "station")


def teleoperation_samples(folder: Path, data: Path) -> Iterator[Sample]:
    """A short capture of a headset, and what its page would send."""
    folder.mkdir(parents=True)
    for path in sorted(data.glob("teleop/webxr_*/capture.json")):
        values = json.loads(path.read_bytes())
        short = folder / "capture.json"
        short.write_text(json.dumps({**values, "frames": values["frames"][::300]}), "utf-8")
        yield Sample("capture of a headset", str(short), "capture")
        for number, given in enumerate(webxr_capture.INPUT.read(short)):
            (folder / f"{number}.bin").write_bytes(write_message(given))
        yield Sample("message of a page", str(folder / "0.bin"), "message")
    hello = {"kind": "hello", "version": 1, "device": "x", "joint_streams": {"arm": ["a", "b"]}}
    (folder / "hello.json").write_text(json.dumps(hello), "utf-8")
    yield Sample("words of a page", str(folder / "hello.json"), "message")
