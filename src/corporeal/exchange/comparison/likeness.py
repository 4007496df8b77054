"""How alike numbers and pictures are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_DIFFERENCE = 1e-6
"""Floats of 32 bits hold 7 digits."""
MIN_PSNR_DB = 26.0
"""A picture encoded anew is not the same, but plainly the same scene."""


def difference(wanted: NDArray[Any], got: NDArray[Any]) -> float:
    """The largest error relative to the size of the values, infinite for a NaN that moved."""
    a, b = np.asarray(wanted, np.float64), np.asarray(got, np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    scale = np.maximum(1.0, np.abs(np.nan_to_num(a)))
    return float(np.nanmax(np.abs(a - b) / scale, initial=0.0))


def psnr_db(wanted: NDArray[Any], got: NDArray[Any]) -> float:
    """How alike two pictures are; 99 for the same."""
    error = float(np.mean((np.asarray(wanted, np.float32) - np.asarray(got, np.float32)) ** 2))
    return 99.0 if error == 0 else float(10 * np.log10(255.0**2 / error))
