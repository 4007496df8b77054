"""Numbers go to -1 to 1 by limits or by percentiles, and come back as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.exchange.small_sets import tables_of, write_episodes

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import CorporealError, DocumentError
from corporeal.exchange.layout import TableLayout, layout_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.training.normalisation import Normalisation, Scale, fit
from corporeal.schema import Stream

KEY = "observation.state"


def normalisation(low: list[float], high: list[float], key: str = KEY) -> Normalisation:
    source: Any = ("range",) * len(low)
    scale = Scale(shape=(len(low),), low=tuple(low), high=tuple(high), source=source)
    return Normalisation(document="normalisation", name="made", version="1.0.0", method="limits",
                         columns={key: scale})  # fmt: skip


def recording(values: np.ndarray, number: int = 0, **spec: Any) -> Recording:
    stream = Stream(**{"name": "state", "group": "observations", "dtype": "float64",
                       "shape": values.shape[1:], "rate_hz": 50, **spec})  # fmt: skip
    times = np.arange(len(values), dtype=np.int64) * 20_000_000
    signal = ArraySignal(stream, times, values)
    return Recording(f"r{number}", Path("made"), number, {stream.path: signal},
                     embodiment=open_robot("g1"))  # fmt: skip


def layout(of: Recording) -> TableLayout:
    return layout_of(of, ExportOptions())


ends = st.floats(-1e6, 1e6, width=32)


@given(
    st.lists(st.tuples(ends, ends), min_size=3, max_size=3),
    arrays(np.float64, (5, 3), elements=st.floats(-1e6, 1e6)),
)
def test_what_is_applied_comes_back(pairs: list[tuple[float, float]], values: np.ndarray) -> None:
    scale = normalisation([min(pair) for pair in pairs], [max(pair) for pair in pairs])
    back = scale.invert(KEY, scale.apply(KEY, values))
    size = np.maximum(np.abs(values), np.max(np.abs(pairs), axis=1))
    assert (np.abs(back - values) <= 8 * np.finfo(np.float64).eps * size + 1e-300).all()


def test_low_becomes_minus_one_and_high_one() -> None:
    scale = normalisation([-2.0, 0.0], [4.0, 10.0])
    values = np.array([[-2.0, 0.0], [4.0, 10.0], [1.0, 5.0], [7.0, 20.0]])
    expected = [[-1, -1], [1, 1], [0, 0], [2, 3]]
    np.testing.assert_allclose(scale.apply(KEY, values), expected)


def test_an_entry_that_never_moves_becomes_nought_and_comes_back_exactly() -> None:
    scale = normalisation([0.3, -1.0], [0.3, 1.0])
    values = np.array([[0.3, 0.5], [0.7, 0.5]])
    applied = scale.apply(KEY, values)
    assert applied[0, 0] == 0.0
    assert scale.invert(KEY, applied)[0, 0] == 0.3
    np.testing.assert_allclose(scale.invert(KEY, applied), values, rtol=1e-15)


def test_the_type_of_floats_stays_and_unknown_columns_are_left_alone() -> None:
    scale = normalisation([0.0], [2.0])
    for kind in (np.float32, np.float64):
        assert scale.apply(KEY, np.ones((4, 1), kind)).dtype == kind
        assert scale.invert(KEY, np.ones((4, 1), kind)).dtype == kind
    other = np.arange(3)
    assert scale.apply("observation.other", other) is other


def test_joints_take_the_robots_limits_and_the_rest_its_range(tmp_path: Path) -> None:
    context, tables = tables_of(write_episodes(tmp_path / "set"))
    robot = open_robot("g1")
    found = fit([table.recording for table in tables], context.layout, "limits", robot)
    joints = robot.actuated
    for key in (KEY, "action"):
        scale = found.columns[key]
        assert set(scale.source) == {"limits"}
        assert scale.low == tuple(joint.lower for joint in joints)
        assert scale.high == tuple(joint.upper for joint in joints)
    speed = found.columns["observation.joint_velocity"]
    assert set(speed.source) == {"range"}
    everything = np.concatenate([table.whole()["observation.joint_velocity"] for table in tables])
    np.testing.assert_array_equal(speed.low, everything.min(axis=0).astype(np.float64))
    np.testing.assert_array_equal(speed.high, everything.max(axis=0).astype(np.float64))


def test_degrees_have_no_use_for_limits_in_radians() -> None:
    values = np.linspace(-30.0, 40.0, 50)[:, None]
    made = recording(values, name="joint_position", unit="deg", components=("left_knee_joint",))
    scale = fit([made], layout(made), "limits", made.embodiment).columns[KEY]
    assert (scale.source, scale.low, scale.high) == (("range",), (-30.0,), (40.0,))


def test_a_quaternion_has_limits_of_its_own() -> None:
    values = np.tile([1.0, 2.0, 3.0, 0.9, 0.1, 0.2, 0.3], (20, 1)) + np.arange(20)[:, None] / 1e3
    names = ("x", "y", "z", "qw", "qx", "qy", "qz")
    made = recording(values, components=names, interpolation="linear")
    scale = fit([made], layout(made), "limits", None).columns[KEY]
    assert scale.source == ("range",) * 3 + ("limits",) * 4
    assert scale.low[3:] == (-1.0,) * 4


def test_percentiles_are_exact_over_all_episodes() -> None:
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(count, 2, 3)) for count in (5000, 300, 1)]
    made = [recording(values, number) for number, values in enumerate(sets)]
    found = fit(iter(made), layout(made[0]), "quantiles", None)
    scale = found.columns[KEY]
    everything = np.concatenate(sets).reshape(-1, 6)
    np.testing.assert_array_equal(scale.low, np.percentile(everything, 1, axis=0))
    np.testing.assert_array_equal(scale.high, np.percentile(everything, 99, axis=0))
    assert scale.shape == (2, 3)
    assert set(scale.source) == {"quantiles"}
    beyond = found.apply(KEY, np.concatenate(sets))
    assert beyond.max() > 1
    np.testing.assert_allclose(found.invert(KEY, beyond), np.concatenate(sets), atol=1e-12)


@pytest.mark.parametrize("method", ["limits", "quantiles"])
def test_values_that_are_no_numbers_and_noise_do_no_harm(method: str) -> None:
    values = np.ones((200, 3))
    values[:, 0] = np.nan
    values[::7, 1] = np.inf
    values[:, 2] += np.arange(200) * 1e-12
    made = recording(values)
    scale = fit([made], layout(made), method, None).columns[KEY]
    assert scale.low == scale.high
    assert scale.low == pytest.approx((0.0, 1.0, 1.0))


def test_whole_numbers_and_flags_have_no_scale() -> None:
    made = recording(np.zeros((10, 2), np.int64), dtype="int64")
    assert fit([made], layout(made), "limits", None).columns == {}


def test_a_saved_document_reads_back_the_same(tmp_path: Path) -> None:
    made = normalisation([0.1, -3.0], [0.2, 4.0])
    made.save(tmp_path / "n.json")
    again = Normalisation.load(tmp_path / "n.json")
    assert again == made
    assert again.hash == made.hash


def test_a_document_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="low has 1 entries; expected 2"):
        Scale(shape=(2,), low=(0.0,), high=(1.0, 2.0), source=("range", "range"))
    text = normalisation([0.0], [1.0]).canonical().replace('"high":[1.0]', '"high":[-1.0]')
    with pytest.raises(DocumentError, match="above high"):
        Normalisation.parse(text, suffix=".json")


def test_an_unknown_method_and_an_empty_dataset_are_refused() -> None:
    made = recording(np.zeros((10, 2)))
    with pytest.raises(CorporealError, match="method of normalisation, got 'mean'"):
        fit([made], layout(made), "mean", None)
    with pytest.raises(CorporealError, match="no episode"):
        fit([], layout(made), "limits", None)
