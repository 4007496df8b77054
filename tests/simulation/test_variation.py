"""Variation is seeded, stays within its ranges, and faults change what they should."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.errors import CorporealError, UnknownNameError
from corporeal.simulation.variation import FIXED, STYLES, WIDE, Ranges, SceneLayout, vary

LAYOUT = SceneLayout(shapes=("box", "cylinder", "ball"))


@given(seed=st.integers(0, 2**31))
def test_the_same_seed_gives_the_same_variation(seed: int) -> None:
    assert vary(LAYOUT, seed) == vary(LAYOUT, seed)


def test_another_seed_gives_another_variation() -> None:
    drawn = {vary(LAYOUT, seed).things[0].position for seed in range(20)}
    assert len(drawn) == 20


@given(seed=st.integers(0, 2**31))
def test_randomisation_stays_within_its_ranges(seed: int) -> None:
    variation = vary(LAYOUT, seed, ranges=WIDE)
    thing = variation.things[0]
    assert WIDE.friction[0] <= thing.friction <= WIDE.friction[1]
    low, high = LAYOUT.mass_kg
    assert low * WIDE.mass[0] * 0.999 <= thing.mass_kg <= high * WIDE.mass[1] * 1.001
    assert all(0.0 <= part <= 1.0 for colour in variation.palette for part in colour)


def test_a_light_can_change_without_moving_the_object() -> None:
    dim = replace(FIXED, light=(0.3, 0.3), texture=(1.0, 1.0))
    assert vary(LAYOUT, 5, ranges=dim).things == vary(LAYOUT, 5, ranges=FIXED).things


def test_a_variation_can_be_written_as_json() -> None:
    written = json.loads(json.dumps(vary(LAYOUT, 4, fault="fall").as_dict()))
    assert written["seed"] == 4
    assert written["skill"] == STYLES[written["style"]].skill


def test_a_range_beyond_the_specification_is_refused() -> None:
    with pytest.raises(CorporealError, match=r"range of mass, got \(0.01, 1.0\)"):
        Ranges(mass=(0.01, 1.0))


def test_an_unknown_style_or_fault_is_named() -> None:
    with pytest.raises(UnknownNameError, match="careful"):
        vary(LAYOUT, 1, style="carefull")
    with pytest.raises(UnknownNameError, match="missed_grasp"):
        vary(LAYOUT, 1, fault="missed")


def test_a_slip_is_a_slippery_object_and_a_fall_a_hard_push() -> None:
    assert vary(LAYOUT, 3, fault="slip").things[0].friction < 0.15
    push = vary(LAYOUT, 3, fault="fall").push_ns
    assert (push[0] ** 2 + push[1] ** 2) ** 0.5 > 25.0
    assert vary(LAYOUT, 3).push_ns == (0.0, 0.0)


def test_the_skill_of_the_styles_falls_as_their_faults_grow() -> None:
    ranked = sorted(STYLES.values(), key=lambda style: -style.skill)
    assert [style.tremor_m for style in ranked] == sorted(style.tremor_m for style in ranked)
    assert [style.aim_m for style in ranked] == sorted(style.aim_m for style in ranked)
