"""The simulated source: streams made late on purpose, in order of arrival."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corporeal.capture.driver import Mark, RecordingSource, Sample, drivers, parse_options
from corporeal.errors import UnknownNameError

IMU = "observations/pelvis_imu"
JOINTS = "observations/joint_position"


def _samples(**options: object) -> list[Sample]:
    driver = drivers()["sim"]
    chosen = parse_options(driver, {"task": "stand", "pictures": False, **options})
    driver.describe(chosen)
    return [item for item in driver.read(chosen) if isinstance(item, Sample)]


def _stamps(samples: list[Sample], path: str) -> NDArray[np.int64]:
    """Stamps of a stream since the first joint reading arrived: two runs begin at other times."""
    begin = next(sample.arrival_ns for sample in samples if sample.stream == JOINTS)
    return np.array([sample.source_ns for sample in samples if sample.stream == path]) - begin


def test_a_late_stream_comes_and_is_stamped_late_and_the_others_are_not() -> None:
    good, late = _samples(), _samples(late_ms={IMU: 80.0})
    arrivals = np.array([sample.arrival_ns for sample in late])
    assert (np.diff(arrivals) >= 0).all()
    for path, shift_ms in ((IMU, 80.0), (JOINTS, 0.0)):
        shift = _stamps(late, path) - _stamps(good, path)
        assert np.median(shift) / 1e6 == pytest.approx(shift_ms, abs=0.1)


@pytest.mark.slow  # Two motions are simulated.
def test_demonstrations_follow_cards_and_end_with_the_last() -> None:
    wishes: list[dict[str, Any] | None] = [
        {"hand": "left"}, {"variation": {"hand": "right"}, "asked": None}, None
    ]  # fmt: skip
    driver = drivers()["sim"]
    source = RecordingSource(
        "sim", driver, parse_options(driver, {"task": "reach", "pictures": False, "episodes": 9})
    ).following(lambda: wishes.pop(0))
    starts = [item for item in source.driver.read(source.options)
              if isinstance(item, Mark) and item.what == "start"]  # fmt: skip
    assert [each.metadata["variation"]["hand"] for each in starts] == ["left", "right"]
    assert wishes == []
    replay = RecordingSource("replay", drivers()["replay"], None)
    assert replay.following(dict) is replay, "what was recorded follows no card"


def test_an_unknown_stream_is_named() -> None:
    with pytest.raises(UnknownNameError, match="pelvis_imu"):
        _samples(late_ms={"observations/pelvis_inu": 80.0})
