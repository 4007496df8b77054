"""Steps as gradients of a policy's loss, from the user's own training, in one `.npz` file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.array_file import read_npz
from corporeal.errors import EpisodeError
from corporeal.signal.track import Array

_FEW = 1e-3


@dataclass(frozen=True, eq=False)
class GradientTable:
    """A row per step: `episode` says whose, by id or file name.

    `demonstrations` (N, P) and `rollouts` (M, P) are gradients, or projections of them; `success`
    (R,) is the outcome of every rollout by its number in `rollout` (M,). `trusted` (V, P) are steps
    of demonstrations that are known to be good.
    """

    demonstrations: Array
    episode: tuple[str, ...]
    rollouts: Array | None = None
    rollout: NDArray[np.int64] | None = None
    success: NDArray[np.bool_] | None = None
    trusted: Array | None = None


def read_gradients(path: Path) -> GradientTable:
    """The table in a file of arrays `demonstrations`, `episode`, and `rollouts`, `rollout`,
    `success` or `trusted`; raises EpisodeError where it is none."""
    arrays = read_npz(path)
    for name in ("demonstrations", "episode"):
        if name not in arrays:
            raise EpisodeError(f"{path}: no array {name!r}, got {', '.join(sorted(arrays))}; "
                               "expected gradients of steps and whose each is.")  # fmt: skip
    rows = _rows(path, arrays, "demonstrations")
    owners = tuple(str(each) for each in np.asarray(arrays["episode"]).ravel())
    if len(owners) != len(rows):
        raise EpisodeError(f"{path}: {len(owners)} names in 'episode' for {len(rows)} rows in "
                           "'demonstrations'; expected one each.")  # fmt: skip
    table = GradientTable(
        rows, owners,
        rollouts=_rows(path, arrays, "rollouts") if "rollouts" in arrays else None,
        rollout=np.asarray(arrays["rollout"], np.int64).ravel() if "rollout" in arrays else None,
        success=np.asarray(arrays["success"]).astype(bool) if "success" in arrays else None,
        trusted=_rows(path, arrays, "trusted") if "trusted" in arrays else None,
    )  # fmt: skip
    for name, other in (("rollouts", table.rollouts), ("trusted", table.trusted)):
        if other is not None and other.shape[1] != rows.shape[1]:
            raise EpisodeError(
                f"{path}: {name!r} has {other.shape[1]} columns where 'demonstrations' has "
                f"{rows.shape[1]}; expected the same."
            )
    _check_rollouts(path, table)
    return table


def _check_rollouts(path: Path, table: GradientTable) -> None:
    if table.rollouts is None:
        return
    numbers, success = table.rollout, table.success
    if numbers is None or success is None or len(numbers) != len(table.rollouts):
        raise EpisodeError(f"{path}: 'rollouts' without 'rollout' and 'success'; expected the "
                           "number of every row's rollout, and the outcome of each.")  # fmt: skip
    if numbers.min() < 0 or numbers.max() >= len(success):
        raise EpisodeError(f"{path}: 'rollout' counts to {int(numbers.max())} where 'success' has "
                           f"{len(success)} outcomes; expected numbers below that.")  # fmt: skip


def _rows(path: Path, arrays: Mapping[str, Any], name: str) -> Array:
    rows = np.asarray(arrays[name], np.float64)
    if rows.ndim != 2 or not len(rows) or not np.isfinite(rows).all():
        raise EpisodeError(
            f"{path}: {name!r}, got shape {rows.shape}; expected finite rows (steps, gradient)."
        )
    return rows


def influence(table: GradientTable) -> Array:
    """What every step of a rollout owes to every step of a demonstration (M, N).

    phi_r . (X^T X + lambda I)^-1 phi_d, lambda a thousandth of the mean eigenvalue.
    """
    if table.rollouts is None:
        raise ValueError("a table without rollouts")
    rows = table.demonstrations
    moments = rows.T @ rows
    moments[np.diag_indices_from(moments)] += _FEW * np.trace(moments) / len(moments)
    return np.asarray(table.rollouts @ np.linalg.solve(moments, rows.T))
