"""How alike whole demonstrations are, and how many different ones a set comes to (Vendi score)."""

from __future__ import annotations

import numpy as np

from corporeal.signal.track import Array

_MOST = 2000


def path_kernel(paths: Array) -> tuple[Array, float]:
    """Likeness (N, N) from 0 to 1 by a Gaussian of the paths' distance, and its bandwidth.

    The bandwidth is the median distance of two; a set of one has 1.
    """
    squares = (paths**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * paths @ paths.T, 0)
    np.fill_diagonal(apart, 0)
    between = apart[np.triu_indices(len(paths), 1)]
    width = float(np.sqrt(np.median(between))) if len(between) else 1.0
    return np.exp(-apart / (2 * max(width, 1e-9) ** 2)), width


def vendi(likeness: Array, order: float = 1.0) -> float:
    """The Vendi score: the effective number of different ones (Friedman and Dieng 2023).

    The exponential of the Renyi entropy of this order of the eigenvalues of K / n. From 1, where
    all are the same, to n, where none is like another.
    """
    count = len(likeness)
    if not count:
        return 0.0
    values = np.clip(np.linalg.eigvalsh(likeness[:_MOST, :_MOST] / min(count, _MOST)), 0, None)
    values = values[values > 1e-12] / values.sum()
    if order == 1.0:
        return float(np.exp(-(values * np.log(values)).sum()))
    return float((values**order).sum() ** (1 / (1 - order)))
