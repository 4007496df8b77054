"""The recorded input that the tests of teleoperation play."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from corporeal.teleoperation.operator_input import OperatorInput, read_inputs

DATA = Path(__file__).parents[3] / "shared" / "data" / "teleop"
QUEST = DATA / "webxr_quest3_capture" / "capture.json"


@cache
def quest_inputs() -> tuple[OperatorInput, ...]:
    """20 s of a real Quest 3: controllers, hands, controllers again; skips where it is absent."""
    if not QUEST.is_file():
        pytest.skip(f"{QUEST} is not there")
    return tuple(read_inputs(QUEST))
