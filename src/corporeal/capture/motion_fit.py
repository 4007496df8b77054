"""How far in time the robot's own motion must be shifted to fit the energy of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.capture.motion_energy import Energy, Order
from corporeal.capture.motion_reference import MotionReference
from corporeal.geometry import Array

# Shifts that are looked at roughly, then finely, and their steps.
MOST_LAG_S, ROUGH_S, FINE_S, STEP_S = 0.3, 0.004, 0.04, 0.001
# The part of an event that is fitted: from stillness to the end of the stroke.
BEFORE_S, AFTER_S = 0.25, 0.30
FEWEST_SAMPLES = 12
# Before the event, when a stream is taken to be at rest.
_REST_S = (-0.5, -0.04)
_SWEEPS = 120
_TINY = 1e-12


@dataclass(frozen=True)
class LagFit:
    """The lag of a stream with one deviation, how high it rises, and how good the fit is."""

    lag_s: float
    deviation_s: float
    snr: float
    share: float
    events: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """The samples of a stream around its events: their height above rest, and whose they are."""

    begin_s: Array
    end_s: Array
    height: Array
    event: Array
    snr: float
    order: Order

    def left(self, reference: MotionReference, lags_s: Array) -> Array:
        """What the best mixture of the shifted reference leaves of each sample, squared (L, N)."""
        begin, end = self.begin_s - lags_s[:, None], self.end_s - lags_s[:, None]
        shapes = reference.shapes(self.order, begin, end)
        weights = nonnegative_least_squares(shapes, self.height)
        rest: Array = (self.height - np.einsum("lnb,lb->ln", shapes, weights)) ** 2
        return rest


def fit_shape(energy: Energy, reference: MotionReference, events_s: list[float]) -> LagFit | None:
    """The shift that fits the strokes of all events together; None when there is too little."""
    rows = _cut(energy, events_s, 0.0, (0.5, 0.5))
    if rows is None:
        return None
    lags = np.arange(-MOST_LAG_S, MOST_LAG_S + ROUGH_S / 2, ROUGH_S)
    rough = float(lags[int(np.argmin(rows.left(reference, lags).sum(axis=1)))])
    rows = _cut(energy, events_s, rough, (BEFORE_S, AFTER_S))
    if rows is None:
        return None
    near = rough + np.arange(-FINE_S, FINE_S + STEP_S / 2, STEP_S)
    left = rows.left(reference, near)
    total = left.sum(axis=1)
    lag = _lowest(near, total)
    names = np.unique(rows.event)
    own = [_lowest(near, left[:, rows.event == name].sum(axis=1)) for name in names]
    whole = max(float(rows.height @ rows.height), _TINY)
    return LagFit(
        lag_s=lag,
        deviation_s=max(_deviation(near, total, lag, len(rows.height)), spread_of(own)),
        snr=rows.snr,
        share=1.0 - float(np.interp(lag, near, total)) / whole,
        events=len(names),
    )


def _cut(
    energy: Energy, events_s: list[float], lag_s: float, around_s: tuple[float, float]
) -> _Rows | None:
    """The samples around those events of which a stream has enough."""
    chosen, heights, owner, snr = [], [], [], []
    for number, at_s in enumerate(events_s):
        time_s = energy.time_s - at_s - lag_s
        inside = np.flatnonzero((time_s > -around_s[0]) & (time_s < around_s[1]))
        still = energy.value[(time_s > _REST_S[0]) & (time_s < _REST_S[1])]
        if len(inside) < 3 or len(still) < 2:
            continue
        height = energy.value[inside] - float(np.median(still))
        noise = max(float(np.std(still)), 1e-3 * float(np.abs(height).max()), _TINY)
        chosen.append(inside)
        heights.append(height)
        owner.append(np.full(len(inside), float(number)))
        snr.append(float(height.max()) / noise)
    if sum(map(len, heights)) < FEWEST_SAMPLES:
        return None
    rows = np.concatenate(chosen)
    return _Rows(
        energy.begin_s[rows],
        energy.end_s[rows],
        np.concatenate(heights),
        np.concatenate(owner),
        float(np.median(snr)),
        energy.order,
    )


def nonnegative_least_squares(columns: Array, values: Array) -> Array:
    """Weights (L, B), none below nought, with which columns (L, N, B) come nearest to values (N,).

    All L problems at once, one weight after the other: the columns are few and much alike, and
    only how well they fit matters, not which of them get the weight.
    """
    scale = np.maximum(np.sqrt((columns**2).sum(axis=1)), _TINY)
    unit = columns / scale[:, None, :]
    alike = np.einsum("lnb,lnc->lbc", unit, unit)
    toward = np.einsum("lnb,n->lb", unit, values)
    weights = np.zeros_like(toward)
    for _ in range(_SWEEPS if columns.shape[2] > 1 else 1):
        for column in range(columns.shape[2]):
            gap = toward[:, column] - np.einsum("lb,lb->l", alike[:, column], weights)
            weights[:, column] = np.maximum(weights[:, column] + gap, 0.0)
    fitted: Array = weights / scale
    return fitted


def _lowest(lags_s: Array, misfit: Array) -> float:
    """The bottom of a curve, between its points by a parabola."""
    k = int(np.clip(np.argmin(misfit), 2, len(misfit) - 3))
    near = slice(k - 2, k + 3)
    bend, slope, _ = np.polyfit(lags_s[near] - lags_s[k], misfit[near], 2)
    if bend <= 0:
        return float(lags_s[k])
    return float(lags_s[k] + np.clip(-slope / (2 * bend), -2 * STEP_S, 2 * STEP_S))


def _deviation(lags_s: Array, total: Array, lag_s: float, count: int) -> float:
    """One deviation from how fast the misfit grows about its bottom."""
    near = np.abs(lags_s - lag_s) <= 0.01
    bend = 2 * float(np.polyfit(lags_s[near] - lag_s, total[near], 2)[0])
    # Neighbouring residuals are alike: three samples tell about as much as one that stands alone.
    left = float(np.interp(lag_s, lags_s, total)) / max(1.0, count / 3)
    return float(np.sqrt(2 * left / bend)) if bend > 0 else FINE_S


def spread_of(lags_s: list[float]) -> float:
    """One deviation of the median of the events' own lags; nought for fewer than three."""
    if len(lags_s) < 3:
        return 0.0
    away = np.abs(np.array(lags_s) - np.median(lags_s))
    return 1.2533 * 1.4826 * float(np.median(away)) / float(np.sqrt(len(lags_s)))
