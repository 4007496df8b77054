"""Captures of a headset that nobody recorded end in a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corporeal.errors import CorporealError
from corporeal.teleoperation.inputs.webxr_capture import INPUT
from corporeal.teleoperation.operator_input import InputError

POSE = [0, 0, 0, 0, 0, 0, 1]
DEVICE = {"handedness": "left", "numButtons": 1, "numAxes": 2, "hasHand": False}
HAND = [0, *POSE, POSE, [[1, 0, 1], 0, 0]]


def _read(path: Path, values: object) -> None:
    path.write_text(json.dumps(values))
    assert INPUT.accepts(path)
    for _ in INPUT.read(path):
        pass


def test_the_capture_that_the_others_are_made_of_is_read(tmp_path: Path) -> None:
    _read(tmp_path / "a.json", {"schema": [[0, DEVICE]], "frames": [[0.5, *POSE, HAND]]})


@pytest.mark.parametrize(
    "values",
    [
        {"schema": [[0, DEVICE]], "frames": [[float("inf"), *POSE]]},
        {"schema": [[0, DEVICE]], "frames": [[0.5, *POSE, [float("inf"), *HAND[1:]]]]},
        {"schema": [[float("inf"), DEVICE]], "frames": []},
        {"schema": [[0, {**DEVICE, "numAxes": float("inf")}]], "frames": []},
        {"schema": [[0, DEVICE]], "frames": [[0.5, *POSE[:6], 10**400]]},
        {"schema": [[0, DEVICE]], "frames": [[0.5, *POSE, 3]]},
        {"schema": [[0, DEVICE]], "frames": {"a": 1}},
        {"schema": [[0, DEVICE]]},
    ],
)
def test_numbers_that_no_headset_has_are_refused(tmp_path: Path, values: Any) -> None:
    with pytest.raises(InputError, match="expected schema and frames"):
        _read(tmp_path / "a.json", values)


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(CorporealError, match="is a FIFO"):
        INPUT.accepts(tmp_path / "a.json")


def test_a_capture_is_bounded_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate((128 << 20) + 1)
    with pytest.raises(InputError, match="128 MiB"):
        list(INPUT.read(tmp_path / "a.json"))
