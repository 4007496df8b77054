"""Stamps far from the time that the rest of an episode lies in, and the episode without them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import ImageSequence, Recording, Signal, VideoFile
from corporeal.quality.subject import Subject
from corporeal.signal import SignalPart
from corporeal.signal.runs import Flags
from corporeal.signal.stretch import LONGEST_STEP_S, main_stretch
from corporeal.units import SECOND_NS

_YEAR_S, _DAY_S, _HOUR_S = 365.25 * 86400.0, 86400.0, 3600.0


@dataclass(frozen=True, eq=False)
class StrayStamps:
    """The samples (T,) of one stream that lie elsewhere, and how far the farthest is."""

    label: str
    strays: Flags
    away_s: float
    """Seconds to the stretch that the rest lies in; negative before it."""


@dataclass(frozen=True, eq=False)
class SettledRecording:
    """A recording without stray stamps, at which sample of a signal it begins, and what strays."""

    recording: Recording
    first: dict[str, int]
    strays: tuple[StrayStamps, ...] = ()


def stray_stamps(
    recording: Recording, *, longest_step_s: float = LONGEST_STEP_S
) -> tuple[StrayStamps, ...]:
    """The streams with stamps outside of the stretch of time that most samples lie in."""
    signals = recording.signals
    stretch = main_stretch((each.time_ns for each in signals.values()),
                           longest_step_s=longest_step_s)  # fmt: skip
    if stretch is None:
        return ()
    begin, end = stretch
    strays = []
    for label, signal in signals.items():
        before, after = signal.time_ns < begin, signal.time_ns > end
        if not (before.any() or after.any()):
            continue
        away = np.where(before, float(begin), float(end))
        apart = np.where(before | after, signal.time_ns - away, 0.0)
        farthest = float(apart[int(np.abs(apart).argmax())])
        strays.append(StrayStamps(label, before | after, farthest / SECOND_NS))
    return tuple(strays)


def settle_clocks(recording: Recording) -> SettledRecording:
    """The recording in its main stretch of time: samples stamped before or after it are left out.

    A stray stamp between good ones gets the time between theirs. What is worked out of the result
    is bounded by the number of its samples.
    """
    strays = stray_stamps(recording)
    if not strays:
        return SettledRecording(recording, {})
    signals, first = dict(recording.signals), {}
    for stray in strays:
        signal = signals[stray.label]
        good = np.flatnonzero(~stray.strays)
        begin, stop = (int(good[0]), int(good[-1]) + 1) if len(good) else (0, 0)
        numbers = np.arange(begin, stop)
        stamps = np.array(signal.time_ns[begin:stop])
        inner = np.flatnonzero(stray.strays[begin:stop])
        if len(inner):
            known = signal.time_ns[good]
            between = np.interp(numbers[inner], good, (known - known[0]).astype(np.float64))
            stamps[inner] = known[0] + np.rint(between).astype(np.int64)
        signals[stray.label] = cut_signal(signal, begin, stop, stamps)
        first[stray.label] = begin
    return SettledRecording(replace(recording, signals=signals), first, strays)


def settle_subject(subject: Subject) -> Subject:
    """The subject in its main stretch of time; itself where no stamp strays."""
    settled = settle_clocks(subject.recording)
    if not settled.strays:
        return subject
    return replace(subject, recording=settled.recording, unreadable={}, computed={})


def cut_signal(
    signal: Signal, first: int, stop: int, stamps: NDArray[np.int64] | None = None
) -> Signal:
    """Samples `first` to `stop` of a signal, under other `stamps` where they are given."""
    when = signal.time_ns[first:stop] if stamps is None else stamps
    if isinstance(signal, VideoFile):
        return replace(signal, time_ns=when, first=signal.first + first, count=stop - first)
    if isinstance(signal, ImageSequence):
        return replace(signal, time_ns=when, pictures=signal.pictures[first:stop])
    return SignalPart(signal, first, stop, stamps)


def in_words(seconds: float) -> str:
    """A length of time in the unit that people would say it in."""
    size = abs(seconds)
    for unit, name in ((_YEAR_S, "years"), (_DAY_S, "days"), (_HOUR_S, "hours")):
        if size >= 1.5 * unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} s"
