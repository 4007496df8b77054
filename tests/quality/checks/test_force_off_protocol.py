"""The hand grips within the force range."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import demonstration, signal
from tests.quality.ruled import judge

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.schema import Stream

NAME = "force_off_protocol"
TOUCH = "observations/left_tactile"
WRIST = "observations/left_wrist_wrench"


def _gripping(force_n: float) -> Recording:
    good = demonstration()
    spec = Stream(name="left_tactile", group="observations", shape=(4, 4), rate_hz=50, unit="Pa")
    stamps = next(iter(good.signals.values())).time_ns
    maps = np.zeros((len(stamps), 4, 4))
    # Two fingers press against each other, on taxels of 12.5 mm2.
    maps[150:300] = 2 * force_n / 1.25e-5 / 16
    return replace(good, signals={**good.signals, TOUCH: ArraySignal(spec, stamps, maps)})


def test_passes_within_the_range() -> None:
    assert not list(judge(NAME, _gripping(12.0)))
    assert not list(judge(NAME, _gripping(0.0)))


@pytest.mark.parametrize(("force_n", "limit"), [(3.0, 5.0), (40.0, 25.0)])
def test_finds_a_grip_that_is_too_weak_or_too_strong(force_n: float, limit: float) -> None:
    (found,) = judge(NAME, _gripping(force_n))
    assert found.stream == TOUCH
    assert found.value == pytest.approx(force_n)
    assert found.limit == limit


def test_finds_too_much_at_the_wrist_where_there_is_no_touch() -> None:
    good = demonstration()
    stamps = next(iter(good.signals.values())).time_ns
    wrench = np.zeros((len(stamps), 6))
    wrench[200:220, 2] = 60.0
    columns = ("fx", "fy", "fz", "tx", "ty", "tz")
    pressed = signal("left_wrist_wrench", "observations", columns, "N", stamps, wrench)
    (found,) = judge(NAME, replace(good, signals={**good.signals, WRIST: pressed}))
    assert found.value == pytest.approx(60.0)


def test_without_touch_and_wrench_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, demonstration()))
