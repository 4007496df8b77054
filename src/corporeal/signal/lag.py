"""How late one signal is against another, by their content."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.signal.track import Array

# Motion below this is drift and posture; above it there is noise, whatever the sensor.
BAND_HZ = (0.25, 40.0)
# Spectra are smoothed over so much, before and after the rough lag is taken out.
ROUGH_HZ, FINE_HZ = 0.5, 2.0
SHORTEST_S = 1.0
LEAKAGE = 1e-4
# A peak this much above the next one is beyond doubt.
CLEAR = 0.35
_MOST_COHERENT = 0.98
_MOST_POINTS = 1 << 17
_TINY = 1e-300
# Slow motion only: fast parts of a command are filtered by the servo, each in its own way.
COMMAND_BAND_HZ = (0.2, 3.0)
MAX_COMMAND_LAG_S = 0.8


@dataclass(frozen=True)
class Lag:
    """`seconds` is positive when the signal is late. `confidence` goes from 0 to 1.

    `correlation` is that of the two at this lag, each part of the spectrum weighted by how far the
    two agree there. `deviation_s` is one standard deviation as the agreement implies it, which
    leaves out that a system may delay slow and fast motion differently.
    """

    seconds: float
    confidence: float
    correlation: float
    deviation_s: float = float("inf")


NOTHING = Lag(float("nan"), 0.0, 0.0)


def lag(
    reference: ArrayLike,
    reference_s: ArrayLike,
    signal: ArrayLike,
    signal_s: ArrayLike,
    *,
    max_lag_s: float = 0.5,
    band_hz: tuple[float, float] = BAND_HZ,
) -> Lag:
    """The lag of `signal` (S,) or (S, D) behind `reference` (T,) or (T, D) with the same columns.

    The two may have different rates, offsets and scales, one scale for all columns. Generalised
    cross-correlation with the weights of Hannan and Thomson (Knapp and Carter 1976, "The
    generalized correlation method for estimation of time delay"), which do not depend on whether
    positions or speeds are given. Without common motion the confidence is 0.
    """
    pair = _on_one_grid(
        _clean(reference, reference_s), _clean(signal, signal_s), max_lag_s, band_hz
    )
    return NOTHING if pair is None else _peak(*pair, max_lag_s, band_hz)


def lag_behind_command(
    told: ArrayLike, told_s: ArrayLike, done: ArrayLike, done_s: ArrayLike
) -> Lag:
    """How late a joint (T,) follows its command (S,)."""
    return lag(told, told_s, done, done_s, max_lag_s=MAX_COMMAND_LAG_S, band_hz=COMMAND_BAND_HZ)


def lag_course(
    reference: ArrayLike,
    reference_s: ArrayLike,
    signal: ArrayLike,
    signal_s: ArrayLike,
    *,
    max_lag_s: float = 0.5,
    band_hz: tuple[float, float] = BAND_HZ,
    window_s: float = 5.0,
    step_s: float = 2.5,
) -> tuple[Array, list[Lag]]:
    """The lag in windows along the episode: middles of the windows in seconds, and their lags."""
    one, one_s = _clean(reference, reference_s)
    two, two_s = _clean(signal, signal_s)
    if len(one_s) < 3 or len(two_s) < 3:
        return np.empty(0), []
    begin, end = max(one_s[0], two_s[0]), min(one_s[-1], two_s[-1])
    count = int(max(0.0, end - begin - window_s) / step_s + 1e-9) + 1
    if count > max(len(one_s), len(two_s)):
        # Windows between samples that lie so far apart hold nothing to compare.
        return np.empty(0), []
    middles = begin + window_s / 2 + step_s * np.arange(count)
    lags = []
    for middle in middles.tolist():
        low, high = middle - window_s / 2, middle + window_s / 2
        first = slice(*np.searchsorted(one_s, (low, high)).tolist())
        second = slice(*np.searchsorted(two_s, (low, high)).tolist())
        cut = (one[first], one_s[first]), (two[second], two_s[second])
        pair = _on_one_grid(*cut, max_lag_s, band_hz)
        lags.append(NOTHING if pair is None else _peak(*pair, max_lag_s, band_hz))
    return middles, lags


def line_through(x: Array, y: Array) -> tuple[float, float]:
    """Slope and level of a line by the median of all pairwise slopes (Theil 1950, Sen 1968)."""
    first, second = np.triu_indices(len(x), 1)
    slope = float(np.median((y[second] - y[first]) / (x[second] - x[first])))
    return slope, float(np.median(y - slope * x))


def _clean(values: ArrayLike, seconds: ArrayLike) -> tuple[Array, Array]:
    """Finite samples (T, D) on stamps that grow."""
    numbers = np.asarray(values, np.float64)
    when = np.asarray(seconds, np.float64)
    numbers = numbers.reshape(len(when), -1) if len(when) else numbers.reshape(0, 1)
    kept = np.isfinite(numbers).all(axis=1) & np.isfinite(when)
    numbers, when = numbers[kept], when[kept]
    if len(when) > 1 and not (np.diff(when) > 0).all():
        when, first = np.unique(when, return_index=True)
        numbers = numbers[first]
    return numbers, when


def _on_one_grid(
    one: tuple[Array, Array],
    two: tuple[Array, Array],
    max_lag_s: float,
    band_hz: tuple[float, float],
) -> tuple[Array, Array, float, float] | None:
    """Both as rates of change on the finer of their grids; its step and the slower one's period."""
    if len(one[1]) < 8 or len(two[1]) < 8 or one[0].shape[1] != two[0].shape[1]:
        return None
    begin, end = max(one[1][0], two[1][0]), min(one[1][-1], two[1][-1])
    if end - begin < max(SHORTEST_S, 2 * max_lag_s):
        return None
    periods = [float(np.median(np.diff(each[1]))) for each in (one, two)]
    step = max(min(periods), 0.1 / band_hz[1], (end - begin) / _MOST_POINTS)
    grid = np.arange(begin, end, step)
    moving = [np.diff(_between(*each, grid), axis=0) for each in (one, two)]
    if min(float(np.abs(each).max(initial=0.0)) for each in moving) <= _TINY:
        return None
    return moving[0], moving[1], step, max(periods)


def _between(values: Array, seconds: Array, grid: Array) -> Array:
    """Values (N, D) at the times of the grid, by linear interpolation."""
    right = np.clip(np.searchsorted(seconds, grid), 1, len(seconds) - 1)
    left = right - 1
    share = (grid - seconds[left]) / (seconds[right] - seconds[left])
    before = values[left]
    return np.asarray(before + share[:, None] * (values[right] - before))


def _peak(
    one: Array,
    two: Array,
    step: float,
    period: float,
    max_lag_s: float,
    band_hz: tuple[float, float],
) -> Lag:
    """The highest point of the weighted cross-correlation, found roughly and then finely."""
    count = len(one)
    size = 1 << int(np.ceil(np.log2(count + max_lag_s / step + 1)))
    highest_hz = min(band_hz[1], 0.45 / period)
    # What is smoothed into the band lies at most half a width above it.
    spectra = _Spectra.of(one, two, size, step, highest_hz + FINE_HZ)
    hertz = spectra.hertz
    inside = (hertz >= band_hz[0]) & (hertz <= highest_hz)
    if inside.sum() < 4:
        return NOTHING
    # Samples that are not independent: bins of the padded spectrum, and columns that move together.
    per_bin = count / size * max(1.0, min(3.0, _rank(one)))
    rough_s = 0.0
    for width_hz in (ROUGH_HZ, FINE_HZ):
        coherent, scale = spectra.agreement(width_hz, rough_s, per_bin)
        # What is so far below the motion is its leakage, not a signal.
        scale += LEAKAGE * float(scale[inside].max())
        weight = np.where(inside, coherent / (1.0 - coherent) / scale, 0.0)
        whole = np.sqrt((weight * spectra.one).sum() * (weight * spectra.two).sum())
        if whole <= _TINY:
            return NOTHING
        curve, lags = _curve(spectra.cross * weight / whole, size, step, max_lag_s)
        place, height = _vertex(curve)
        rough_s = float(lags[0] + place * (lags[1] - lags[0]))
    sharp = (2 * (2 * np.pi * hertz) ** 2 * coherent / (1.0 - coherent))[inside].sum()
    deviation = float(1.0 / np.sqrt(max(sharp * count / size, _TINY)))
    sure = _uniqueness(curve, round(place)) * float(np.clip(height, 0.0, 1.0))
    return Lag(rough_s, sure, float(np.clip(height, -1.0, 1.0)), deviation)


@dataclass(frozen=True, eq=False)
class _Spectra:
    """Power of the two signals and their cross-spectrum, summed over the columns."""

    hertz: Array
    one: Array
    two: Array
    cross: NDArray[np.complex128]

    @staticmethod
    def of(one: Array, two: Array, size: int, step: float, highest_hz: float) -> _Spectra:
        """Of signals (T, D) that are padded to `size`, up to a frequency."""
        taper = _taper(len(one))
        hertz = np.asarray(np.fft.rfftfreq(size, step), np.float64)
        hertz = hertz[: int(np.searchsorted(hertz, highest_hz, "right")) + 1]
        # Columns first: numpy then runs along neighbouring samples.
        first, second = (
            np.fft.rfft((each - each.mean(axis=0)).T * taper, size)[:, : len(hertz)]
            for each in (one, two)
        )
        return _Spectra(
            hertz,
            (first.real**2 + first.imag**2).sum(axis=0),
            (second.real**2 + second.imag**2).sum(axis=0),
            (np.conj(first) * second).sum(axis=0),
        )

    def agreement(self, width_hz: float, lag_s: float, per_bin: float) -> tuple[Array, Array]:
        """Coherence once a lag is taken out, and the common power, both smoothed."""
        width = max(1, round(width_hz / float(self.hertz[1])))
        turned = self.cross * np.exp(2j * np.pi * self.hertz * lag_s) if lag_s else self.cross
        real, imaginary, one, two = _smooth(
            np.stack((turned.real, turned.imag, self.one, self.two)), width
        )
        smooth = real + 1j * imaginary
        scale = np.asarray(np.sqrt(np.maximum(one * two, _TINY)))
        return _coherence(smooth, one, two, width * per_bin), scale


def _taper(count: int) -> Array:
    """A window that rises and falls over a tenth of its length."""
    edge = max(1, count // 10)
    window = np.ones(count)
    window[:edge] = 0.5 - 0.5 * np.cos(np.pi * (np.arange(edge) + 0.5) / edge)
    window[-edge:] = window[:edge][::-1]
    return window


def _rank(values: Array) -> float:
    """How many columns carry the motion: 1 when a single one does."""
    power = (values**2).sum(axis=0)
    return float(power.sum() ** 2 / max(float((power**2).sum()), _TINY))


def _smooth(values: Array, width: int) -> Array:
    """A running mean of rows over `width` bins; at the ends over those that are there."""
    count = values.shape[1]
    area = np.zeros((len(values), count + 1))
    np.cumsum(values, axis=1, out=area[:, 1:])
    place = np.arange(count)
    low = np.maximum(place - width // 2, 0)
    high = np.minimum(place + (width + 1) // 2, count)
    return np.asarray((area[:, high] - area[:, low]) / (high - low))


def _coherence(cross: NDArray[np.complex128], one: Array, two: Array, samples: float) -> Array:
    """Magnitude-squared coherence, less what chance gives with so few samples."""
    raw = (cross.real**2 + cross.imag**2) / np.maximum(one * two, _TINY)
    # On average 1 / samples; twice that is less common, and noise is wider than motion.
    chance = min(0.7, 2.0 / max(1.5, samples))
    return np.asarray(np.clip((raw - chance) / (1.0 - chance), 0.0, _MOST_COHERENT))


def _curve(
    spectrum: NDArray[np.complex128], size: int, step: float, max_lag_s: float
) -> tuple[Array, Array]:
    """Correlation over lags from -max_lag_s to max_lag_s, four points to a step of the grid."""
    finer = 4
    padded = np.zeros(size * finer // 2 + 1, np.complex128)
    padded[: len(spectrum)] = spectrum
    whole = np.fft.irfft(padded, size * finer)
    most = max(2, round(max_lag_s / step * finer))
    numbers = np.arange(-most, most + 1)
    return whole[numbers] * (size * finer / 2), np.asarray(numbers * (step / finer), np.float64)


def _vertex(curve: Array) -> tuple[float, float]:
    """Where the curve is highest, between its points, and how high."""
    at = int(np.argmax(curve))
    if at in (0, len(curve) - 1):
        return float(at), float(curve[at])
    before, here, after = curve[at - 1 : at + 2].tolist()
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return at + shift, here - 0.25 * (before - after) * shift


def _uniqueness(curve: Array, at: int) -> float:
    """1 when no other peak comes near the highest; 0 when one is as high, or it is at an end."""
    if at <= 0 or at >= len(curve) - 1 or curve[at] <= 0:
        return 0.0
    inner = curve[1:-1]
    peaks = np.flatnonzero((inner >= curve[:-2]) & (inner >= curve[2:])) + 1
    others = curve[peaks[np.abs(peaks - at) > 1]]
    second = max(float(others.max(initial=0.0)), float(curve[0]), float(curve[-1]))
    return float(np.clip((1.0 - second / float(curve[at])) / CLEAR, 0.0, 1.0))
