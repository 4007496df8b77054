"""The batch is like the ones before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import batch_of, brief, demonstration

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.checks.batch_drifts import find

ONE = brief(demonstration())


def _charted(count: int, *, seed: int, force: float = 8.0) -> tuple[Synopsis, ...]:
    dice = np.random.default_rng(seed)
    return tuple(
        replace(
            ONE,
            measures={"duration_s": dice.normal(12, 1.5), "peak_force": dice.normal(force, 1.0)},
        )
        for _ in range(count)
    )


@pytest.mark.parametrize("seed", range(20))
def test_passes_when_nothing_has_changed(seed: int) -> None:
    batch = Batch(_charted(10, seed=seed), earlier=_charted(60, seed=100 + seed))
    assert not list(find(batch))


def test_finds_the_measure_that_has_moved() -> None:
    batch = Batch(_charted(10, seed=1, force=11.0), earlier=_charted(60, seed=2))
    (found,) = find(batch)
    assert found.message.startswith("peak force in N of pick_place went from 7.88")
    assert len(found.evidence["now"]) == 10


def test_without_enough_history_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no earlier"):
        list(find(batch_of(demonstration())))
    with pytest.raises(NotAssessed, match="20 earlier"):
        list(find(Batch(_charted(10, seed=1), earlier=_charted(5, seed=2))))
