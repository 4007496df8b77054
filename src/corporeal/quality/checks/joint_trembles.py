"""No joint trembles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.joint_response import paired
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track

# A tremor lasts: it must fill this many half-overlapping windows in a row.
WINDOWS = 3
# The highest share of the sampling rate that still shows a wave as it is.
NYQUIST = 0.47
# So many frequencies must be in the band to tell a line from it.
LINES = 8
# A window with a larger share of repeated values moves by steps.
HELD = 0.3


@dataclass(frozen=True, eq=False)
class Waves:
    """Speed amplitudes (K, F, D) of one stream in K windows, at frequencies (F,)."""

    frequencies: Array
    amplitudes: Array
    smooth: Flags
    """Windows (K, D) in which the values change at nearly every sample."""
    starts: NDArray[np.int64]
    length: int


def find(
    subject: Subject,
    *,
    min_uncommanded: float = 0.3,
    min_commanded: float = 1.5,
    ratio: float = 3.0,
    narrow: float = 60.0,
    lowest_hz: float = 6.5,
    window_s: float = 1.0,
    hand_rad_s: float = 0.02,
) -> Findings:
    """Yield joints that swing at `lowest_hz` or faster for two seconds, by their speed (rad/s).

    A swing that is `ratio` times what the target asks for comes from the servo; limit
    `min_uncommanded`. To a target at rest an operator's hand gives up to `hand_rad_s`. One that the
    target has too comes from the operator's hand; limit `min_commanded`, above what hurried people
    do (physiological tremor: 8 to 12 Hz), and it must stand out from the band by `narrow`. Columns
    that are refreshed more slowly than they are recorded move by steps, which is no tremor.

    Why: a policy imitates the tremor, and gears wear out under it.
    Fix: filter the state below 5 Hz, lower the servo's gain, let the operator rest.
    """
    state = subject.state
    try:
        action = subject.track(*roles.COMMANDED)
        names, ours, theirs = paired(state, action)
    except NotAssessed:
        names, ours, theirs = list(state.names), list(range(len(state.names))), []
    if state.period_s <= 0 or NYQUIST / state.period_s < 1.2 * lowest_hz:
        raise NotAssessed(f"{state.label} is too slow to show a tremor")
    seen = _waves(bridge_gaps(state.values[:, ours]), state, lowest_hz, window_s)
    speed = _lasting(seen.amplitudes, np.minimum)
    if theirs:
        targets = bridge_gaps(action.at(state.time_ns)[:, theirs])
        asked_for = _waves(targets, state, lowest_hz, window_s)
        asked = _lasting(asked_for.amplitudes, np.maximum)
    else:
        asked = speed
    excess = (speed > min_uncommanded) & (speed > ratio * (asked + hand_rad_s))
    # Steps of a gait fill the band, a tremor is one line in it.
    both = speed > min_commanded
    if speed.shape[1] >= LINES:
        both &= speed > narrow * np.median(speed, axis=1, keepdims=True)
    smooth = _lasting(seen.smooth, np.minimum)[:, None]
    excess &= smooth
    both &= smooth
    for column in np.flatnonzero((excess | both).any(axis=(0, 1))).tolist():
        alone = bool(excess[:, :, column].any())
        bad = excess if alone else both
        limit = min_uncommanded if alone else min_commanded
        yield _finding(
            state, names[column], ours[column], seen, speed[..., column], bad[..., column],
            limit, alone,
        )  # fmt: skip


def _waves(values: Array, track: Track, lowest_hz: float, window_s: float) -> Waves:
    length = 2 * max(4, round(window_s / track.period_s / 2))
    starts = np.arange(0, len(values) - length + 1, length // 2)
    if len(starts) < WINDOWS:
        raise NotAssessed(f"{track.label} is too short to show a tremor")
    pieces = values[starts[:, None] + np.arange(length)]
    held = (np.diff(pieces, axis=1) == 0).mean(axis=1)
    ramp = np.linspace(-1.0, 1.0, length)
    slope = np.einsum("n,knd->kd", ramp, pieces) / (ramp**2).sum()
    pieces = pieces - pieces.mean(axis=1, keepdims=True) - slope[:, None] * ramp[:, None]
    weights = np.hanning(length)
    frequencies = np.asarray(np.fft.rfftfreq(length, track.period_s), np.float64)
    high = (frequencies >= lowest_hz) & (frequencies <= NYQUIST / track.period_s)
    spectrum = np.abs(np.fft.rfft(pieces * weights[:, None], axis=1)[:, high])
    turning = 2 * np.pi * frequencies[high]
    speed = spectrum * (2 / weights.sum()) * turning[:, None]
    return Waves(frequencies[high], speed, held < HELD, starts, length)


def _lasting(amplitudes: Any, of: np.ufunc) -> Any:
    """Least (or greatest) value over each run of windows."""
    count = len(amplitudes) - WINDOWS + 1
    kept = amplitudes[:count]
    for shift in range(1, WINDOWS):
        kept = of(kept, amplitudes[shift : shift + count])
    return kept


def _finding(
    state: Track,
    name: str,
    column: int,
    waves: Waves,
    speed: Array,
    bad: Flags,
    limit: float,
    alone: bool,
) -> Finding:
    peak, line = np.unravel_index(np.where(bad, speed, 0.0).argmax(), speed.shape)
    mask = np.zeros(len(state), bool)
    for window in np.flatnonzero(bad.any(axis=1)):
        first = int(waves.starts[window])
        mask[first : int(waves.starts[window + WINDOWS - 1]) + waves.length] = True
    frequency = float(waves.frequencies[line])
    value = float(speed[peak, line])
    why = "its target does not" if alone else "more than an operator's hand does"
    frames = runs(mask)
    first = int(waves.starts[peak])
    return Finding(
        f"{name} of {state.label} trembles at {frequency:.0f} Hz by "
        f"{value / (2 * np.pi * frequency):.4f} rad around {state.seconds[first]:.1f} s; {why}",
        stream=state.label,
        frames=frames,
        value=value,
        limit=limit,
        evidence=drawn(state, first, first + waves.length, [column]),
    )


CHECK = Check(find, topic="joints", severity="quarantine", unit="rad/s", formerly=("no_tremor",))
