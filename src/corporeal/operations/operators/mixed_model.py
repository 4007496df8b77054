"""A linear model with random effects, fitted by REML: what is the same for all, and what varies.

y = X b + Z u + e, where u has one variance for each group of its columns. The ratios of those
variances to that of e are found by a search over the restricted likelihood; what is left of it has
a closed form. Sizes are those of a team: thousands of rows, hundreds of columns of Z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.errors import CorporealError

Floats = NDArray[np.float64]
_LEAST_RATIO, _MOST_RATIO = 1e-6, 1e4


@dataclass(frozen=True, eq=False)
class MixedFit:
    """Fixed effects with their covariance, and variances: of the noise, then of each group."""

    effects: Floats
    covariance: Floats
    noise: float
    variances: tuple[float, ...]
    rows: int
    freedom: int
    """Degrees of freedom of the noise: rows without all effects, fixed and random."""

    def error(self, column: int) -> float:
        """The standard error of a fixed effect."""
        return float(np.sqrt(max(self.covariance[column, column], 0.0)))


def fit_mixed(y: Floats, fixed: Floats, random: Sequence[Floats] = ()) -> MixedFit:
    """Fit by REML; `random` has one matrix of columns for each variance.

    Raises CorporealError where fixed effects cannot be told from each other.
    """
    rows, columns = fixed.shape
    if rows <= columns or np.linalg.matrix_rank(fixed) < columns:
        raise CorporealError(
            f"model, got {rows} episodes for {columns} effects that cannot be told apart; "
            "expected more episodes, or fewer effects."
        )
    groups = [each for each in random if each.shape[1] > 1]
    if not groups:
        return _plain(y, fixed)
    z = np.concatenate(groups, axis=1)
    sizes = [each.shape[1] for each in groups]
    cross = _Cross(y, fixed, z)

    def loss(logs: Floats) -> float:
        return _reml(cross, np.repeat(np.exp(logs), sizes), rows, columns)[0]

    bounds = [(np.log(_LEAST_RATIO), np.log(_MOST_RATIO))] * len(groups)
    starts = [np.full(len(groups), np.log(ratio)) for ratio in (0.01, 0.5)]
    found = [scipy.optimize.minimize(loss, start, method="L-BFGS-B", bounds=bounds)
             for start in starts]  # fmt: skip
    best = min(found, key=lambda each: float(each.fun))
    ratios = np.exp(best.x)
    _, effects, information, noise = _reml(cross, np.repeat(ratios, sizes), rows, columns)
    there = [size for size, ratio in zip(sizes, ratios, strict=True) if ratio > 10 * _LEAST_RATIO]
    freedom = max(rows - columns - sum(there) + len(there), 1)
    return MixedFit(effects, _inverse(information, noise), noise,
                    tuple(float(noise * ratio) for ratio in ratios), rows, freedom)  # fmt: skip


class _Cross:
    """Products that every step of the search needs."""

    def __init__(self, y: Floats, x: Floats, z: Floats) -> None:
        self.xx, self.xz, self.zz = x.T @ x, x.T @ z, z.T @ z
        self.xy, self.zy, self.yy = x.T @ y, z.T @ y, float(y @ y)


def _reml(
    cross: _Cross, ratios: Floats, rows: int, columns: int
) -> tuple[float, Floats, Floats, float]:
    """Minus twice the restricted log-likelihood, effects, their information, and the noise."""
    inner = cross.zz + np.diag(1.0 / ratios)
    factor = scipy.linalg.cho_factor(inner, lower=True)
    information = cross.xx - cross.xz @ scipy.linalg.cho_solve(factor, cross.xz.T)
    solved = scipy.linalg.cho_solve(factor, cross.zy)
    right = cross.xy - cross.xz @ solved
    effects = np.linalg.solve(information, right)
    left = cross.yy - float(cross.zy @ solved) - float(effects @ right)
    noise = max(left, 1e-12) / (rows - columns)
    size = 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.log(ratios).sum())
    size += float(np.linalg.slogdet(information)[1])
    return (rows - columns) * float(np.log(noise)) + size, effects, information, noise


def _inverse(information: Floats, noise: float) -> Floats:
    return np.asarray(noise * np.linalg.inv(information), np.float64)


def _plain(y: Floats, x: Floats) -> MixedFit:
    """Least squares, where nothing is in groups."""
    rows, columns = x.shape
    effects = np.asarray(np.linalg.lstsq(x, y)[0], np.float64)
    rest = y - x @ effects
    noise = float(rest @ rest) / (rows - columns)
    return MixedFit(effects, _inverse(x.T @ x, noise), noise, (), rows, rows - columns)
