"""Figures with a limit that does not come from earlier batches, and a team's own limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.database import CatalogError
from corporeal.labelling.agreement import FEWEST_BOUNDARIES, LEAST_KAPPA, MOST_FRAMES
from corporeal.operations.monitoring.metrics import BOUNDARY_FRAMES, KAPPA, MetricSeries

SHARES = ("label_balance_error", "largest_operator_share")
LIMITS: Mapping[str, float] = {
    "label_balance_error": 0.1,
    "largest_operator_share": 0.3,
    KAPPA: LEAST_KAPPA,
    BOUNDARY_FRAMES: MOST_FRAMES,
}
"""The limit of each such figure; that of `label_kappa` holds for every type of label."""
LEAST = (KAPPA,)
"""Figures that are to be at least as large as their limit; the others at most."""
SECTION = "limits"
FEWEST_EPISODES = 10


def read_limits(own: Any) -> dict[str, float]:
    """The limits with a team's own, the section [limits] of `corporeal.toml`, in their places."""
    if not isinstance(own, Mapping):
        raise CatalogError(f"corporeal.toml: {SECTION}; expected a section [{SECTION}].")
    for name, value in own.items():
        if name not in LIMITS:
            raise CatalogError(
                f"corporeal.toml: {SECTION}.{name:.80}; expected one of: {', '.join(LIMITS)}."
            )
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < 0:
            raise CatalogError(
                f"corporeal.toml: {SECTION}.{name}, got {value!r:.80}; expected a number from 0."
            )
    return {**LIMITS, **{name: float(value) for name, value in own.items()}}


def family_of(name: str) -> str:
    """The name that a figure's limit goes by: of `label_kappa.phase` it is `label_kappa`."""
    return name.partition(".")[0]


def beyond_limit(series: MetricSeries, limit: float) -> NDArray[np.int8]:
    """Which batches are beyond a limit (N,); those made of too little are not judged."""
    family = family_of(series.name)
    with np.errstate(invalid="ignore", divide="ignore"):
        if family in SHARES:
            # One episode over is the rounding of a small batch.
            enough, beyond = FEWEST_EPISODES, series.values - 1 / series.sizes > limit
        else:
            enough = FEWEST_BOUNDARIES
            beyond = series.values < limit if family in LEAST else series.values > limit
        marks: NDArray[np.int8] = ((series.sizes >= enough) & beyond).astype(np.int8)
    return marks
