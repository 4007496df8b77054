"""The bytes that the operator's page writes are read here as the page meant them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.teleoperation.operator_input import OperatorHand, OperatorInput
from corporeal.teleoperation.operator_message import read_message
from corporeal.teleoperation.webxr import to_webxr

WEB = Path(__file__).parents[2] / "web" / "src" / "teleoperate"
CASES = json.loads((WEB / "wire_cases.json").read_text())
# vitest holds the page's encoder to the same bytes: web/src/teleoperate/wire.test.ts.
BYTES = json.loads((WEB / "wire_bytes.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_what_the_page_wrote_is_what_is_read(case: dict[str, Any]) -> None:
    read = read_message(bytes.fromhex(BYTES[case["name"]]), 5)
    meant = case["input"]
    assert isinstance(read, OperatorInput)
    assert read.sequence == case["sequence"]
    assert (read.is_visible, read.origin) == (meant["isVisible"], meant["origin"])
    assert read.times.device_ns == round(meant["frameMs"] * 1e6)
    assert read.times.sent_ns == round(case["sentMs"] * 1e6)
    predicted = meant["predictedMs"]
    assert read.times.predicted_ns == (None if predicted is None else round(predicted * 1e6))
    _is_pose(read.head, meant["head"])
    if meant["velocity"] is None:
        assert read.base_velocity is None
    else:
        np.testing.assert_array_equal(read.base_velocity, meant["velocity"])
    _is_hand(read.left, meant["left"], None)
    _is_hand(read.right, meant["right"], case.get("jointStep"))


def _is_pose(read: Any, meant: list[float] | None) -> None:
    assert (read is None) == (meant is None)
    if meant is not None:
        np.testing.assert_allclose(to_webxr(read), meant, atol=1e-6)


def _is_hand(read: OperatorHand | None, meant: Any, step: float | None) -> None:
    assert (read is None) == (meant is None)
    if read is None:
        return
    assert (read.tracker, read.source) == (meant["tracker"], meant["source"])
    assert (read.is_emulated, read.clutch) == (meant["isEmulated"], meant["clutch"])
    _is_pose(read.pose, meant["pose"])
    np.testing.assert_array_equal(read.buttons, meant["buttons"])
    np.testing.assert_array_equal(read.pressed, meant["pressed"])
    np.testing.assert_array_equal(read.axes, meant["axes"])
    assert (read.joints is None) == (step is None)
    if step is not None and read.joints is not None:
        rightwards = to_webxr(read.joints[1:, :7])[:, 0]
        np.testing.assert_allclose(rightwards, step * np.arange(25), atol=1e-6)
        np.testing.assert_allclose(read.joints[1:, 7], 1 / 128)
