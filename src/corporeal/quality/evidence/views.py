"""Two views compared: how alike they are, how far one is shifted, whether it is turned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Brightness per pixel from which on an edge is seen to move.
EDGE = 1.5


def likeness(one: Array, two: Array) -> float:
    """Correlation of two pictures of the same shape; 0 where one is plain."""
    first, second = one - one.mean(), two - two.mean()
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / size if size > 1e-9 else 0.0


def edges(view: Array) -> Array:
    """Strength of the edges: what stays when light and colours change."""
    down, right = np.gradient(view)
    return np.asarray(np.hypot(down, right))


def busy_share(view: Array) -> float:
    """Share of the picture in which a move of the camera would show."""
    return float((edges(view) > EDGE).mean())


def turned_views(view: Array) -> tuple[tuple[str, Array], ...]:
    """The view turned and mirrored, each with the words for it."""
    return (
        ("is turned upside down", view[::-1, ::-1]),
        ("is mirrored left to right", view[:, ::-1]),
        ("is mirrored top to bottom", view[::-1]),
    )


def shift(before: Array, after: Array) -> tuple[float, float, float]:
    """How far the view moved down and right in pixels, and how well it then fits (likeness).

    Phase correlation (Kuglin and Hines 1975) between the two, refined by a parabola.
    """
    height, width = before.shape
    window = np.outer(np.hanning(height), np.hanning(width))
    one = np.fft.rfft2((before - before.mean()) * window)
    two = np.fft.rfft2((after - after.mean()) * window)
    cross = np.conj(one) * two
    surface = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=before.shape)
    row, column = (int(each) for each in np.unravel_index(int(np.argmax(surface)), surface.shape))
    rows = (row + height // 2) % height - height // 2
    columns = (column + width // 2) % width - width // 2
    down = rows + _vertex(surface[:, column], row)
    right = columns + _vertex(surface[row], column)
    return down, right, likeness(*_overlap(before, after, rows, columns))


def _vertex(line: Array, at: int) -> float:
    """Where between the points the peak lies, relative to the highest one."""
    before, here, after = line[at - 1], line[at], line[(at + 1) % len(line)]
    bend = before - 2 * here + after
    return float(0.5 * (before - after) / bend) if bend < 0 else 0.0


def _overlap(before: Array, after: Array, down: int, right: int) -> tuple[Array, Array]:
    """The parts that both show once `after` is moved back."""
    height, width = before.shape
    rows, columns = height - abs(down), width - abs(right)
    top, left = max(0, -down), max(0, -right)
    one = before[top : top + rows, left : left + columns]
    top, left = max(0, down), max(0, right)
    return one, after[top : top + rows, left : left + columns]
