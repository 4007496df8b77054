"""No joint trembles."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import limb_of
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.columns import Columns, columns_of
from corporeal.quality.evidence.joint_response import response
from corporeal.quality.subject import Subject, attempt
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

# A tremor lasts: it must fill this many half-overlapping windows in a row.
WINDOWS = 3
# The highest share of the sampling rate that still shows a wave as it is.
NYQUIST = 0.47
# So many frequencies must be in the band to tell a line from it.
LINES = 8
# A window with a larger share of repeated values moves by steps.
HELD = 0.3
# A swing by less than so many steps of the encoder is its reading, not the joint's motion.
TICKS = 1.5
# Without an action a gait is told from a tremor by a line that is so many times narrower.
NO_ACTION = 7.5


@dataclass(frozen=True, eq=False)
class Waves:
    """Speed amplitudes (K, F, D) in the stream's own unit, in K windows, at frequencies (F,)."""

    frequencies: Array
    amplitudes: Array
    smooth: Flags
    """Windows (K, D) in which the values change at nearly every sample."""
    starts: NDArray[np.int64]
    length: int
    time_ns: NDArray[np.int64]
    """The clock that `starts` are places on."""


def find(
    subject: Subject,
    *,
    min_uncommanded: float = 0.3,
    min_commanded: float = 1.3,
    min_swing_rad: float = 0.034,
    ratio: float = 3.0,
    narrow: float = 8.0,
    lowest_hz: float = 6.5,
    window_s: float = 1.0,
    hand_rad_s: float = 0.02,
) -> Findings:
    """Yield joints that swing at `lowest_hz` or faster for two seconds, by their speed (rad/s).

    A swing that is `ratio` times what the target asks for comes from the servo; limit
    `min_uncommanded`. To a target at rest an operator's hand gives up to `hand_rad_s`. One that the
    target has too comes from the operator's hand; limits `min_commanded` and `min_swing_rad`, above
    what hurried people do (physiological tremor: 8 to 12 Hz), and it must stand out from the band
    by `narrow`. Columns
    that are refreshed more slowly than they are recorded move by steps, which is no tremor, and
    less than two steps of an encoder is none either.

    Why: a policy imitates the tremor, and gears wear out under it.
    Fix: filter the state below 5 Hz, lower the servo's gain, let the operator rest.
    """
    state = subject.state
    if state.period_s <= 0 or NYQUIST / state.period_s < 1.2 * lowest_hz:
        raise NotAssessed(f"{state.label} is too slow to show a tremor")
    answer = attempt(response, subject)
    ours = list(range(len(state.names))) if answer is None else answer.state_columns.tolist()
    read = columns_of(subject, state.label)
    seen = _waves(read.values[:, ours], state, lowest_hz, window_s)
    speed, smooth = _lasting(seen, np.minimum, read, ours)
    if answer is None:
        # Nothing says what was asked for: only a tremor that is far above a gait is one.
        track, theirs, told, asked, stands_out = state, ours, seen, speed, NO_ACTION * narrow
        excess = np.zeros(speed.shape, bool)
    else:
        track, theirs, stands_out = subject.action, answer.action_columns.tolist(), narrow
        read = columns_of(subject, track.label)
        targets = replace(track, values=read.values).at(state.time_ns)[:, theirs]
        told = _waves(targets, state, lowest_hz, window_s)
        most, _ = _lasting(told, np.maximum, read, theirs)
        excess = (speed > min_uncommanded) & (speed > ratio * (most + hand_rad_s)) & smooth
        asked, smooth = _lasting(told, np.minimum, read, theirs)
    # Steps of a gait fill the band, a tremor is one line in it.
    swing = asked / (2 * np.pi * told.frequencies[:, None])
    commanded = (
        (asked > min_commanded)
        & (swing > min_swing_rad)
        & (asked > stands_out * _middle(asked))
        & smooth
    )
    names = [state.names[column] for column in ours]
    legs = [limb_of(name, subject.recording.embodiment) == "leg" for name in names]
    commanded[:, :, legs] = False
    for column in np.flatnonzero((excess | commanded).any(axis=(0, 1))).tolist():
        if excess[:, :, column].any():
            wave = (state, ours[column], speed[..., column], excess[..., column])
            yield _finding(names[column], *wave, seen, min_uncommanded, "its target does not")
        else:
            wave = (track, theirs[column], asked[..., column], commanded[..., column])
            why = "more than an operator's hand does"
            yield _finding(names[column], *wave, told, min_commanded, why)


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
    return Waves(frequencies[high], speed, held < HELD, starts, length, track.time_ns)


def _lasting(waves: Waves, of: np.ufunc, read: Columns, columns: list[int]) -> tuple[Array, Flags]:
    """Least (or greatest) speed (K, F, D) over each run of windows, rad/s, and where it is read.

    What is less than the steps of the encoder is zero; windows count where all move smoothly.
    """
    turning = 2 * np.pi * waves.frequencies[:, None]
    clear = waves.amplitudes > TICKS * read.tick[columns] * turning
    speed = np.where(clear, waves.amplitudes / read.radian[columns], 0.0)
    count = len(speed) - WINDOWS + 1
    kept, smooth = speed[:count], waves.smooth[:count]
    for shift in range(1, WINDOWS):
        kept = of(kept, speed[shift : shift + count])
        smooth = smooth & waves.smooth[shift : shift + count]
    return np.asarray(kept), np.asarray(smooth)[:, None]


def _middle(speed: Array) -> Array:
    """The usual speed in the band (K, 1, D); none where it has too few lines to tell."""
    if speed.shape[1] < LINES:
        return np.zeros((len(speed), 1, speed.shape[2]))
    return np.asarray(np.median(speed, axis=1, keepdims=True))


def _finding(
    name: str,
    track: Track,
    column: int,
    speed: Array,
    bad: Flags,
    waves: Waves,
    limit: float,
    why: str,
) -> Finding:
    peak, line = np.unravel_index(np.where(bad, speed, 0.0).argmax(), speed.shape)
    # The windows are those of the state's clock; the stream that trembles may have its own.
    spans = [
        (waves.time_ns[waves.starts[window]],
         waves.time_ns[waves.starts[window + WINDOWS - 1] + waves.length - 1])
        for window in np.flatnonzero(bad.any(axis=1))
    ]  # fmt: skip
    mask = np.zeros(len(track), bool)
    for begin, end in spans:
        mask |= (track.time_ns >= begin) & (track.time_ns <= end)
    frequency = float(waves.frequencies[line])
    value = float(speed[peak, line])
    first = int(np.searchsorted(track.time_ns, waves.time_ns[waves.starts[peak]]))
    return Finding(
        f"{name} of {track.label} trembles at {frequency:.0f} Hz by "
        f"{value / (2 * np.pi * frequency):.4f} rad around "
        f"{waves.time_ns[waves.starts[peak]] / SECOND_NS:.1f} s; {why}",
        stream=track.label,
        frames=runs(mask),
        value=value,
        limit=limit,
        evidence=drawn(track, first, first + waves.length, [column]),
    )


CHECK = Check(find, topic="joints", severity="quarantine", unit="rad/s", formerly=("no_tremor",))
