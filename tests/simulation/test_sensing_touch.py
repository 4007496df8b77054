from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.simulation.run import Touch
from corporeal.simulation.sensing import TAXEL_M2, pressure_map, pressure_maps

PLACE = st.floats(-1, 1)
CONTACT = st.tuples(PLACE, PLACE, st.floats(0, 100), st.integers(0, 1))


@given(st.lists(CONTACT, max_size=6))
def test_pressure_times_area_is_the_force_even_at_the_rim(
    contacts: list[tuple[float, float, float, int]],
) -> None:
    rows = np.array(contacts, np.float64).reshape(-1, 4)
    pressure = pressure_map(rows[:, :2], rows[:, 2], rows[:, 3])
    assert pressure.shape == (16, 16)
    assert pressure.min() >= 0
    assert pressure.sum() * TAXEL_M2 == pytest.approx(rows[:, 2].sum(), abs=1e-9)


def test_the_peak_is_where_the_contact_is() -> None:
    for finger, column in ((0, 6), (1, 14)):
        pressure = pressure_map([[0.7, -0.8]], [5.0], [finger])
        assert divmod(int(np.argmax(pressure)), 16) == (1, column)


def test_a_finger_presses_on_its_own_half_of_the_map() -> None:
    both = pressure_map([[0.9, 0.0], [-0.9, 0.0]], [5.0, 2.0], [0, 1])
    assert both[:, :8].sum() * TAXEL_M2 == pytest.approx(5.0)
    assert both[:, 8:].sum() * TAXEL_M2 == pytest.approx(2.0)


def test_a_softer_skin_spreads_the_same_force_wider() -> None:
    hard, soft = (pressure_map([[0, 0]], [5.0], [0], spread_m=width) for width in (0.002, 0.006))
    assert hard.max() > 2 * soft.max()
    assert hard.sum() == pytest.approx(soft.sum())


def test_maps_follow_the_contacts_of_their_own_hand_in_time() -> None:
    steps = np.arange(100)
    touch = Touch(
        np.concatenate([steps[50:], steps]),
        np.concatenate([np.zeros(50, np.int64), np.ones(100, np.int64)]),
        np.zeros((150, 2)),
        np.concatenate([np.full(50, 8.0), np.linspace(0, 3, 100)]),
    )
    time_s = np.array([0.05, 0.150, 0.197])
    left, right = (
        pressure_maps(touch, hand, step_s=0.002, steps=100, time_s=time_s, window_s=0.008)
        for hand in (0, 1)
    )
    assert left.sum(axis=(1, 2)) * TAXEL_M2 == pytest.approx([0, 8, 8])
    assert right.sum(axis=(1, 2))[1] * TAXEL_M2 == pytest.approx(3 * 75 / 99)


def test_a_flickering_contact_reads_as_its_mean() -> None:
    steps = np.arange(0, 100, 2)
    touch = Touch(steps, np.zeros(50, np.int64), np.zeros((50, 2)), np.full(50, 6.0))
    times = np.array([0.1, 0.101])
    maps = pressure_maps(touch, 0, step_s=0.002, steps=100, time_s=times, window_s=0.008)
    assert maps.sum(axis=(1, 2)) * TAXEL_M2 == pytest.approx([6 * 3 / 5, 6 * 2 / 4])


def test_a_hand_without_contacts_reads_nothing() -> None:
    empty = Touch(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0))
    maps = pressure_maps(empty, 0, step_s=0.002, steps=10, time_s=np.zeros(3), window_s=0.01)
    assert maps.shape == (3, 16, 16)
    assert not maps.any()
