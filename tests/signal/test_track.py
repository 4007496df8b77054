"""A track: names of columns, values at other times, and what is too short to tell."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.errors import NotAssessed
from corporeal.schema import Stream
from corporeal.signal.track import Track


def track(samples: int = 5) -> Track:
    spec = Stream.model_validate(
        {"name": "x", "group": "observations", "shape": [2], "components": ["a", "b"],
         "rate_hz": 10.0, "unit": "m", "dtype": "float64"}
    )  # fmt: skip
    values = np.arange(2.0 * samples).reshape(samples, 2)
    return Track("observations/x", spec, np.arange(samples) * 100_000_000, values)


def test_chosen_columns_keep_their_names() -> None:
    chosen = track().select((1,))
    assert chosen.names == ("b",)
    assert chosen.values[:, 0].tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]


def test_values_between_samples_lie_on_a_line_and_the_ends_are_held() -> None:
    at = track().at(np.array([50_000_000, 900_000_000]))
    assert at.tolist() == [[1.0, 2.0], [8.0, 9.0]]


def test_speed_is_that_of_all_columns_together() -> None:
    assert track(50).speed(0.05)[25] == pytest.approx(np.hypot(20.0, 20.0))


def test_too_few_samples_have_no_rate_and_say_so() -> None:
    with pytest.raises(NotAssessed, match="observations/x has 2 samples"):
        _ = track(2).rate
    with pytest.raises(NotAssessed, match="no samples"):
        track(0).at(np.array([0]))
