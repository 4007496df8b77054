"""Every camera is there, where it belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.quality.demonstrations import demonstration
from tests.quality.ruled import judge

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import Camera
from corporeal.schema import Stream

NAME = "cameras_off_protocol"
HEAD = Camera(name="head_left", xyz=(0.1, 0.0, 0.4), rpy=(0.0, 0.5, 0.0))


def _seen(*names: str, **metadata: Any) -> Recording:
    good = demonstration(metadata=metadata)
    signals = dict(good.signals)
    for name in names:
        spec = Stream(name=name, group="observations", kind="video", shape=(16, 16, 3), rate_hz=30)
        signals[f"observations/{name}"] = ArraySignal(spec, np.zeros(1, np.int64), [None])
    return replace(good, signals=signals)


def test_passes_when_they_are_there() -> None:
    assert not list(judge(NAME, _seen("head_left", "head_right")))


def test_finds_a_camera_that_is_missing_but_not_an_optional_one() -> None:
    (found,) = judge(NAME, _seen("head_left"))
    assert found.stream == "head_right"


def test_passes_when_a_camera_stands_within_its_tolerance() -> None:
    pose = {"head_left": {"xyz": [0.11, 0.0, 0.4], "rpy": [0.0, 0.51, 0.0]}}
    assert not list(judge(NAME, _seen("head_left", cameras=pose), cameras=(HEAD,)))


def test_finds_a_camera_that_was_moved_and_turned() -> None:
    pose = {"head_left": {"xyz": [0.15, 0.0, 0.4], "rpy": [0.0, 0.6, 0.0]}}
    found = list(judge(NAME, _seen("head_left", cameras=pose), cameras=(HEAD,)))
    assert "50 mm" in found[0].message
    assert "5.7 degrees" in found[1].message


def test_finds_a_place_in_another_frame() -> None:
    head = HEAD.model_copy(update={"frame": "torso_link"})
    pose = {"head_left": {"xyz": [0.1, 0.0, 0.4], "rpy": [0.0, 0.5, 0.0], "frame": "pelvis"}}
    (found,) = judge(NAME, _seen("head_left", cameras=pose), cameras=(head,))
    assert "in the frame pelvis; the protocol says torso_link" in found.message


def test_a_place_that_is_not_recorded_is_a_note() -> None:
    (found,) = judge(NAME, _seen("head_left"), cameras=(HEAD,))
    assert found.severity == "note"


def test_without_cameras_in_the_protocol_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, demonstration(), cameras=()))
