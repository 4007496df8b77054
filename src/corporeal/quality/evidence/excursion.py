"""Leaps out and back, and steps that stay, in columns of numbers."""

from __future__ import annotations

import numpy as np

from corporeal.signal.track import Array


def excursions(values: Array, widest: int) -> Array:
    """How far each sample (T, D) is out, on a leap of at most `widest` samples; zero elsewhere.

    The samples before and after the leap give the straight line that it is measured from; all
    samples of it must be out on one side, and the line must be flat against the leap: a step that
    stays is none.
    """
    size = np.zeros_like(values)
    for width in range(1, min(widest, len(values) - 2) + 1):
        left, right = values[: -width - 1], values[width + 1 :]
        rise = right - left
        shares = [(step + 1) / (width + 1) for step in range(width)]
        inside = np.stack(
            [
                values[1 + step : len(values) - width + step] - left - rise * share
                for step, share in enumerate(shares)
            ]
        )
        out = np.abs(inside).min(axis=0)
        same = (inside > 0).all(axis=0) | (inside < 0).all(axis=0)
        back = np.where(same & (np.abs(rise) < 0.5 * out), out, 0.0)
        for step in range(width):
            part = size[1 + step : 1 + step + len(back)]
            np.maximum(part, np.where(back > 0, np.abs(inside[step]), 0.0), out=part)
    return size


def neighbourhood(size: Array, widest: int, *, reach: int = 20, share: float = 0.1) -> Array:
    """What is usual near each sample: a high quantile of the sizes within `reach`, and overall.

    A leap must not be measured against itself, so the sizes nearest to it are left out.
    """
    usual = np.quantile(size, 1 - share / 2, axis=0) * np.ones_like(size)
    # Largest of blocks of samples on both sides, beyond the leap itself.
    for side in (-1, 1):
        near = np.zeros_like(size)
        for shift in range(widest + 1, reach + 1):
            if shift >= len(size):
                break
            part = size[:-shift] if side < 0 else size[shift:]
            target = near[shift:] if side < 0 else near[:-shift]
            np.maximum(target, part * 0.5, out=target)
        np.maximum(usual, near, out=usual)
    return usual


def steps(values: Array, *, reach: int = 3) -> tuple[Array, Array]:
    """Change (T - 1, D) from each sample to the next, and the greatest one of its neighbours."""
    change = np.diff(values, axis=0)
    size = np.abs(change)
    near = np.zeros_like(size)
    for shift in range(1, min(reach, len(size) - 1) + 1):
        np.maximum(near[shift:], size[:-shift], out=near[shift:])
        np.maximum(near[:-shift], size[shift:], out=near[:-shift])
    return change, near
