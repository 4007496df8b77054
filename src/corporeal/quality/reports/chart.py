"""Small charts as SVG, drawn from the evidence of a finding."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from corporeal.quality.finding import Finding

WIDTH, HEIGHT = 420, 96
_LEFT, _BOTTOM, _TOP = 56, 16, 6
_MOST_CURVES = 4


def chart(finding: Finding) -> str:
    """The evidence as curves over time; nothing when there is none to draw."""
    evidence = {name: np.ravel(values) for name, values in finding.evidence.items()}
    time_s = evidence.pop("time_s", None)
    curves = {
        name: values.astype(float)
        for name, values in evidence.items()
        if values.size >= 3 and (time_s is None or values.size == time_s.size)
    }
    if not curves:
        return ""
    chosen = dict(list(curves.items())[:_MOST_CURVES])
    length = max(values.size for values in chosen.values())
    along = np.arange(length, dtype=float) if time_s is None else time_s.astype(float)
    finite = np.concatenate([values[np.isfinite(values)] for values in chosen.values()])
    if not finite.size or not np.isfinite(along).all():
        return ""
    limit = finding.limit if _is_drawn(finding.value, chosen) else None
    low, high = _range(finite, limit)
    lines = [
        _curve(along[: values.size], values, along, low, high, number)
        for number, values in enumerate(chosen.values())
    ]
    unit = "s" if time_s is not None else ""
    legend = "".join(
        f'<tspan class="c{number}" dx="{8 if number else 0}">{escape(name)}</tspan>'
        for number, name in enumerate(chosen)
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f'<line class="axis" x1="{_LEFT}" y1="{HEIGHT - _BOTTOM}" x2="{WIDTH}" '
        f'y2="{HEIGHT - _BOTTOM}"/>'
        f"{_limit(limit, low, high)}{''.join(lines)}"
        f'<text class="tick" x="{_LEFT - 4}" y="{_TOP + 8}" text-anchor="end">{high:.3g}</text>'
        f'<text class="tick" x="{_LEFT - 4}" y="{HEIGHT - _BOTTOM}" text-anchor="end">{low:.3g}'
        f"</text>"
        f'<text class="tick" x="{_LEFT}" y="{HEIGHT - 3}">{along[0]:.4g}</text>'
        f'<text class="tick" x="{WIDTH}" y="{HEIGHT - 3}" text-anchor="end">{along[-1]:.4g} {unit}'
        f"</text>"
        f'<text class="legend" x="{_LEFT + 40}" y="{HEIGHT - 3}">{legend}</text></svg>'
    )


def _is_drawn(value: float | None, curves: dict[str, NDArray[np.float64]]) -> bool:
    """Whether the value that broke the limit is the peak of a curve: only then is the limit of
    the same kind as what is drawn."""
    if value is None or not np.isfinite(value):
        return False
    peaks = [each(curve) for curve in curves.values() for each in (np.nanmax, np.nanmin)
             if np.isfinite(curve).any()]  # fmt: skip
    return any(abs(peak - value) <= 0.05 * abs(value) for peak in peaks)


def _range(values: NDArray[np.float64], limit: float | None) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    spread = high - low
    if limit is not None and np.isfinite(limit) and low - spread <= limit <= high + spread:
        low, high = min(low, limit), max(high, limit)
    margin = (high - low) * 0.08 or max(abs(high) * 0.1, 1e-9)
    return low - margin, high + margin


def _height(value: float, low: float, high: float) -> float:
    room = HEIGHT - _BOTTOM - _TOP
    return _TOP + room * (1 - (value - low) / (high - low))


def _limit(limit: float | None, low: float, high: float) -> str:
    if limit is None or not low <= limit <= high:
        return ""
    y = _height(limit, low, high)
    return f'<line class="limit" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH}" y2="{y:.1f}"/>'


def _curve(
    at: NDArray[np.float64],
    values: NDArray[np.float64],
    along: NDArray[np.float64],
    low: float,
    high: float,
    number: int,
) -> str:
    width = float(along[-1] - along[0]) or 1.0
    points = [
        f"{_LEFT + (WIDTH - _LEFT) * (x - along[0]) / width:.1f},{_height(y, low, high):.1f}"
        for x, y in zip(at.tolist(), values.tolist(), strict=True)
        if np.isfinite(y)
    ]
    return f'<polyline class="c{number}" points="{" ".join(points)}"/>'
