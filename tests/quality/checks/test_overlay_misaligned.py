"""Hands that do not lie on the hands in the pictures are found, and right ones are left alone."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.egocentric_scene import CAMERA, EgoScene, calibration, make_scene, write_detections

from corporeal.capture.driver import Sample, drivers, parse_options
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.geometry import matrix_from_quaternion
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.overlay_misaligned import CHECK
from corporeal.schema import Stream


@pytest.fixture(scope="module")
def scene() -> EgoScene:
    return make_scene(6.0)


def _recording(scene: EgoScene, folder: Path, *, late_s: float = 0.0, **changed: Any) -> Recording:
    """Hands in the frame of the head, and what a detector saw, read by the recorder's driver."""
    write_detections(scene, folder / "seen.jsonl", late_s=late_s)
    driver = drivers()["hand_pixels"]
    given = {"path": str(folder / "seen.jsonl"), "camera": CAMERA, "width": 640, "height": 480}
    options = parse_options(driver, given)
    specs = {stream.path: stream for stream in driver.describe(options).schema.streams}
    taken: dict[str, list[tuple[int, Any]]] = {path: [] for path in specs}
    for sample in driver.read(options):
        if isinstance(sample, Sample):
            taken[sample.stream].append((sample.source_ns, sample.value))
    signals: dict[str, Any] = {
        path: ArraySignal(specs[path], np.array([time for time, _ in rows]),
                          np.array([value for _, value in rows]))
        for path, rows in taken.items()
    }  # fmt: skip
    turn = matrix_from_quaternion(scene.head[:, 3:])
    stamps = np.round(scene.times_s * 1e9).astype(np.int64)
    for side, rows in scene.joints.items():
        spec = Stream.model_validate({"name": f"{side}_hand_joints", "group": "observations",
                                      "shape": (26, 3), "unit": "m", "frame": "head"})  # fmt: skip
        beside = np.einsum("tji,tkj->tki", turn, rows - scene.head[:, None, :3])
        signals[spec.path] = ArraySignal(spec, stamps, beside)
    document = calibration(scene.lens)
    document["cameras"][0].update(changed)
    documents = {"calibration": json.dumps(document)}
    return Recording("made", Path("made"), 0, signals, documents=documents)


def found(recording: Recording, **limits: float) -> list[Finding]:
    return list(CHECK.find(Subject(recording), **limits))


def test_hands_that_lie_on_the_pictures_pass(scene: EgoScene, tmp_path: Path) -> None:
    assert found(_recording(scene, tmp_path)) == []


def test_a_focal_length_that_is_two_percent_off_is_found(scene: EgoScene, tmp_path: Path) -> None:
    focal = [float(value) * 0.98 for value in scene.lens.values[:2]]
    findings = found(_recording(scene, tmp_path, focal_px=focal))
    assert len(findings) == 2
    for finding in findings:
        assert re.search(r"\+(1\.[89]|2\.[0-3]) % larger", finding.message)
        assert finding.value == pytest.approx(0.0204, abs=0.005)
        assert finding.limit == 0.01


def test_pictures_that_are_one_frame_off_are_found(scene: EgoScene, tmp_path: Path) -> None:
    findings = found(_recording(scene, tmp_path, late_s=1 / 30))
    assert len(findings) == 2
    assert all("later than their stamps" in finding.message for finding in findings)
    assert all(abs((finding.value or 0) - 0.0333) < 0.006 for finding in findings)


def test_a_camera_that_was_knocked_is_found(scene: EgoScene, tmp_path: Path) -> None:
    findings = found(_recording(scene, tmp_path, xyz=[0.08, 0.05, 0.0]))
    assert {"px right" in finding.message for finding in findings} == {True}


def test_without_a_detector_nothing_is_assessed(scene: EgoScene, tmp_path: Path) -> None:
    recording = _recording(scene, tmp_path)
    signals = {path: each for path, each in recording.signals.items() if "pixels" not in path}
    with pytest.raises(NotAssessed, match="what a detector saw"):
        found(replace(recording, signals=signals))
    with pytest.raises(NotAssessed, match="no calibration"):
        found(replace(recording, documents={}))
    with pytest.raises(NotAssessed, match="no hands were tracked"):
        found(replace(recording, signals={}))
