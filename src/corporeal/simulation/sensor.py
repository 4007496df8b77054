"""How a sensor departs from the truth: its clock, its instants, its delay and its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corporeal.units import SECOND_NS

Array = NDArray[np.float64]
Instants = NDArray[np.int64]


@dataclass(frozen=True)
class SensorClock:
    """A device's own clock: at true time t it shows t + offset_ns + drift_ppm * 1e-6 * t."""

    name: str
    offset_ns: int = 0
    drift_ppm: float = 0.0

    def stamp(self, true_ns: ArrayLike) -> Instants:
        """What the clock shows at true times (...), whole nanoseconds."""
        true = np.asarray(true_ns, np.int64)
        # The drift is added apart: the product with 1 + 1e-6 would lose nanoseconds in a float.
        drifted = np.rint(self.drift_ppm * 1e-6 * true).astype(np.int64)
        shown: Instants = true + drifted + self.offset_ns
        return shown

    def true(self, source_ns: ArrayLike) -> Instants:
        """The true times (...) at which the clock shows `source_ns`, to the nanosecond."""
        elapsed = np.asarray(source_ns, np.int64) - self.offset_ns
        rate = self.drift_ppm * 1e-6
        moment: Instants = elapsed - np.rint(elapsed * (rate / (1.0 + rate))).astype(np.int64)
        return moment


@dataclass(frozen=True)
class ClockSpread:
    """What the clocks of a kind of device are like: offset within a range, drift to either side."""

    offset_s: tuple[float, float] = (0.0, 0.0)
    drift_ppm: float = 0.0

    def draw(self, name: str, seed: int) -> SensorClock:
        """One such clock; the same for the same name and seed."""
        rng = stream_rng(seed, "clock", name)
        offset_ns = round(rng.uniform(*self.offset_s) * SECOND_NS)
        return SensorClock(name, offset_ns, float(rng.uniform(-self.drift_ppm, self.drift_ppm)))


@dataclass(frozen=True)
class SensorLatency:
    """From capture to arrival at the host: a floor and a tail, with this mean and deviation."""

    mean_s: float = 0.0
    jitter_s: float = 0.0

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Delays (count,) in seconds, none below zero: Gamma of shape 2 above a floor."""
        scale = min(self.jitter_s, self.mean_s / np.sqrt(2)) / np.sqrt(2)
        delays: Array = self.mean_s - 2 * scale + rng.gamma(2.0, 1.0, count) * scale
        return delays


@dataclass(frozen=True)
class Noise:
    """Errors of a signal, in its unit: one number, or one for each component.

    `white` is the deviation of each sample, `bias` that of an error fixed at switch-on, `walk`
    that of its wandering after one second, `gain` that of a fixed relative error, and `quantum`
    the step of the converter (0: none).
    """

    white: float | tuple[float, ...] = 0.0
    bias: float | tuple[float, ...] = 0.0
    walk: float | tuple[float, ...] = 0.0
    gain: float | tuple[float, ...] = 0.0
    quantum: float | tuple[float, ...] = 0.0

    def errors(self, rng: np.random.Generator, time_s: Array, width: int) -> Array:
        """What is added to samples (T, width) taken at `time_s` (T,)."""
        count = len(time_s)
        errors: Array = rng.normal(size=(count, width)) * np.asarray(self.white)
        errors += rng.normal(size=width) * np.asarray(self.bias)
        steps = np.sqrt(np.maximum(np.diff(time_s, prepend=time_s[:1]), 0.0))[:, None]
        wander = np.cumsum(rng.normal(size=(count, width)) * steps, axis=0)
        errors += wander * np.asarray(self.walk)
        return errors

    def apply(self, rng: np.random.Generator, time_s: Array, values: Array) -> Array:
        """Samples (T, width) at `time_s` (T,) as the sensor would report them."""
        factors = 1.0 + rng.normal(size=values.shape[1]) * np.asarray(self.gain)
        noisy = values * factors + self.errors(rng, time_s, values.shape[1])
        step = np.broadcast_to(np.asarray(self.quantum, np.float64), noisy.shape)
        stepped: Array = np.where(
            step > 0, np.rint(noisy / np.where(step > 0, step, 1)) * step, noisy
        )
        return stepped


@dataclass(frozen=True)
class PictureNoise:
    """Grey levels of 255: `read` is there in the dark, `shot` the variance per level of light."""

    read: float = 1.5
    shot: float = 0.02


@dataclass(frozen=True)
class DepthNoise:
    """A stereo depth camera: the error grows with the square of the distance.

    `disparity_px` is the deviation of the match; pixels nearer than `near_m`, farther than
    `far_m`, and a share `holes` of the others have no measurement.
    """

    disparity_px: float = 0.08
    baseline_m: float = 0.05
    near_m: float = 0.2
    far_m: float = 6.0
    holes: float = 0.003


@dataclass(frozen=True)
class RangeNoise:
    """A scanning laser: deviation of the range, and the share of pulses that never come back."""

    white_m: float = 0.02
    near_m: float = 0.1
    far_m: float = 40.0
    dropouts: float = 0.01


@dataclass(frozen=True)
class Sensor:
    """One stream's device: which clock stamps it, when it samples, how late and how wrong it is.

    Streams that name the same `packet` come in one message: same instants, same delay, same
    losses. `wander_s` is the deviation of an instant from the device's own even grid. A sensor
    without `noise` is perfect.
    """

    path: str
    clock: str
    rate_hz: float
    latency: SensorLatency = SensorLatency()
    noise: Noise | PictureNoise | DepthNoise | RangeNoise | None = None
    drop: float = 0.0
    wander_s: float = 0.0
    packet: str = ""


@dataclass(frozen=True)
class Schedule:
    """When samples (T,) were captured, truly and by the device's clock, and when they arrived."""

    true_ns: Instants
    source_ns: Instants
    arrival_ns: Instants


def schedule(
    sensor: Sensor, clock: SensorClock, *, seed: int, start_ns: int, end_ns: int
) -> Schedule:
    """The samples of a sensor between two true times, on the even grid of its own clock.

    A channel delivers in order: a sample never overtakes the one before it.
    """
    rng = stream_rng(seed, "instants", sensor.packet or sensor.path)
    period_ns = SECOND_NS / sensor.rate_hz
    first, last = (int(clock.stamp(moment)) for moment in (start_ns, end_ns))
    ticks = rng.uniform() + np.arange(int((last - first) / period_ns) + 1)
    wander = rng.normal(size=len(ticks)) * sensor.wander_s * SECOND_NS
    # Half a period at most: samples keep their order.
    wander = np.clip(wander, -0.49 * period_ns, 0.49 * period_ns)
    true = clock.true(first + np.rint(ticks * period_ns + wander).astype(np.int64))
    delay_ns = np.rint(sensor.latency.draw(rng, len(ticks)) * SECOND_NS).astype(np.int64)
    kept = rng.random(len(ticks)) >= sensor.drop
    kept &= (true >= start_ns) & (true <= end_ns)
    true, delay_ns = true[kept], delay_ns[kept]
    arrival: Instants = np.maximum.accumulate(true + delay_ns)
    return Schedule(true, clock.stamp(true), arrival)


def stream_rng(seed: int, purpose: str, name: str, index: int = 0) -> np.random.Generator:
    """A generator of its own for each purpose, stream and sample: none disturbs another."""
    return np.random.default_rng([seed, index, *f"{purpose}/{name}".encode()])
