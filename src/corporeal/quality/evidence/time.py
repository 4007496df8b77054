"""When samples were taken, as their stamps say, and which frames were lost as the motion says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.check import MAX_EVIDENCE
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array
from corporeal.units import SECOND_NS
from corporeal.words import some_of

# A step shorter than this share of the period is no step between two samples.
BUNCHED = 0.25
# So many of the steps must be that short before a stream counts as stamped in bunches.
BUNCHED_SHARE = 0.2
# Steps this near to the typical one, and so many of them, make a stream regular.
EVEN, EVEN_SHARE = 0.2, 0.9
Floats = NDArray[np.float32]
# Samples on either side of the place in question, and the order of the curve laid through them.
SIDE, ORDER = 4, 3
# Numbers of lost frames that are tried.
LOST = (1, 2, 3, 4, 5, 6, 8, 10)
_FREEDOM = 2 * SIDE - ORDER - 1
# No column may speak louder than this, in units of its usual misfit.
_LOUDEST = 100 * _FREEDOM
# Misfits are judged against those of five blocks of so many samples around.
_BLOCK = 7
# How many columns' worth of doubt stands against every claim.
_DOUBT = 4 * _FREEDOM
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class StreamStamps:
    """When the samples of one stream were taken, as their stamps say."""

    label: str
    kind: str
    rate_hz: float | None
    time_ns: NDArray[np.int64]
    is_stated: bool = True
    """Whether somebody stated the rate; else it is what the stamps come to."""
    group: str = "observations"
    beside: tuple[str, ...] = ()
    """Other streams of the group with the very same stamps: parts of the same messages."""

    def __len__(self) -> int:
        return len(self.time_ns)

    @property
    def named(self) -> str:
        """The stream and those that share its stamps, for messages."""
        return f"{self.label} (and {some_of(self.beside)})" if self.beside else self.label

    @cached_property
    def is_even(self) -> bool:
        """Whether nine in ten steps are the typical one: a loop that is often late is not."""
        away = np.abs(self.steps / (self.typical_s or 1.0) - 1.0)
        return bool(len(away) and float((away < EVEN).mean()) > EVEN_SHARE)

    @cached_property
    def seconds(self) -> Array:
        """Stamps in seconds from the epoch."""
        return self.time_ns / SECOND_NS

    @cached_property
    def steps(self) -> Array:
        """Seconds from each sample to the next."""
        return np.diff(self.time_ns) / SECOND_NS

    @cached_property
    def typical_s(self) -> float:
        """The median of the steps that go forward; zero when none does."""
        forward = self.steps[self.steps > 0]
        return float(np.median(forward)) if len(forward) else 0.0

    @cached_property
    def period_s(self) -> float:
        """One over the stated rate when the stamps bear it out within 2 %, else the typical step.

        For a bunched stream it is the stated one, or else the mean.
        """
        stated = 1.0 / self.rate_hz if self.rate_hz else 0.0
        if self.bunched:
            return stated or float(self.seconds[-1] - self.seconds[0]) / max(1, len(self) - 1)
        if stated and abs(self.typical_s / stated - 1.0) <= 0.02:
            return stated
        return self.typical_s or stated

    @cached_property
    def bunched(self) -> bool:
        """Whether many samples share a stamp, or nearly so: arrival times, not capture times."""
        if len(self.steps) < 8:
            return False
        mean = float(self.seconds[-1] - self.seconds[0]) / len(self.steps)
        period = 1.0 / self.rate_hz if self.rate_hz else mean
        if period <= 0:
            return True
        return bool((np.abs(self.steps) < BUNCHED * period).mean() > BUNCHED_SHARE)

    def evidence(self, around: int | None = None) -> dict[str, Array]:
        """The steps over time, around one sample or thinned over the whole."""
        if around is None:
            every = max(1, -(-len(self.steps) // MAX_EVIDENCE))
            shown = slice(0, None, every)
        else:
            shown = slice(max(0, around - 40), around + 40)
        return {"time_s": self.seconds[1:][shown], "step_s": self.steps[shown]}


def stamped(subject: Subject, *, least: int = 2, rated: bool = True) -> Iterator[StreamStamps]:
    """The stamps of every stream with `least` samples; `rated` leaves events out.

    Arrays of one group with the same stamps, such as positions and velocities of one message,
    come once. Raises NotAssessed when there is no such stream.
    """
    stated = not subject.recording.facts.are_rates_measured
    found: dict[object, list[StreamStamps]] = {}
    for label, signal in subject.recording.signals.items():
        spec, count = signal.spec, len(signal)
        rate = spec.rate_hz
        if count < least or (rated and (rate is None or spec.kind == "text")):
            continue
        when = np.asarray(signal.time_ns, np.int64)
        one = StreamStamps(label, spec.kind, rate, when, stated, spec.group)
        key = (spec.group, rate, count) if spec.kind == "array" else label
        alike = found.setdefault(key, [])
        for place, other in enumerate(alike):
            if other.time_ns is when or np.array_equal(other.time_ns, when):
                alike[place] = replace(other, beside=(*other.beside, label))
                break
        else:
            alike.append(one)
    yield from (stream for alike in found.values() for stream in alike)
    if not found:
        kind = "with a rate and " if rated else "with "
        raise NotAssessed(f"no stream {kind}{least} samples")


def with_stated_rate(streams: Iterable[StreamStamps]) -> list[StreamStamps]:
    """Those that may be held to a rate; raises NotAssessed where nobody stated one."""
    held = [stream for stream in streams if stream.is_stated]
    if not held:
        raise NotAssessed("nobody stated the rates of the streams: they are what the stamps say")
    return held


def timed_sources(subject: Subject) -> Callable[[str], bool]:
    """Whether a clock, by its name in the recorder's notes, stamps a stream that has a rate.

    A clock that stamps only events is known from a few messages: nothing is held to it.
    """
    recording = subject.recording
    known = recording.facts.other.get("stream_sources")
    if not isinstance(known, Mapping):
        return lambda _: True
    rated = {signal.spec.path for signal in recording.signals.values() if signal.spec.rate_hz}
    timed = {str(source) for path, source in known.items() if path in rated}
    return lambda name: name in timed


def window(streams: list[StreamStamps]) -> tuple[float, float]:
    """Begin and end of the episode in seconds: where the streams in the middle begin and end."""
    begins = [float(each.seconds.min()) for each in streams]
    ends = [float(each.seconds.max()) for each in streams]
    return float(np.median(begins)), float(np.median(ends))


@dataclass(frozen=True, eq=False)
class Losses:
    """For every place between samples i and i + 1: how sure a loss is, and how many were lost.

    `surety` is about 0 where nothing is amiss; no clean demonstration seen so far exceeds 0.26.
    """

    surety: Array
    lost: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Misfits:
    """Of one set of columns: misfit (K + 1, N) without and with a loss, and columns in motion."""

    total: Array
    moving: Array

    def gain(self, best: NDArray[np.int64]) -> Array:
        """Logarithm of how much better the curve fits with the loss than without (N,)."""
        room = _DOUBT + _FREEDOM * self.moving
        with_loss = self.total[best, np.arange(self.total.shape[1])]
        return np.asarray(np.log((self.total[0] + room) / (with_loss + room)))


def losses(state: Array, action: Array | None = None) -> Losses:
    """Where frames are missing in (T, D) samples that claim even steps.

    A cubic is laid through four samples before and four after each place, with the gap between
    them one step wide, and again as wide as 2 to 11 steps. Frames are missing where a wider gap
    makes the curve fit as well as it does elsewhere, in all columns that move. A controller that
    waited is no loss of frames: the robot jumps, but the commands beside it do not.
    """
    count = len(state)
    quiet = Losses(np.zeros(max(0, count - 1)), np.zeros(max(0, count - 1), np.int64))
    if count < 4 * SIDE:
        return quiet
    seen = _misfits(state)
    if seen is None:
        return quiet
    told = _misfits(action) if action is not None else None
    total = seen.total if told is None else seen.total + told.total
    best = 1 + total[1:].argmin(axis=0)
    surety = _surety(seen, told, best)
    quiet.surety[SIDE - 1 : count - SIDE] = surety
    quiet.lost[SIDE - 1 : count - SIDE] = np.array((0, *LOST))[best]
    return quiet


def _surety(seen: _Misfits, told: _Misfits | None, best: NDArray[np.int64]) -> Array:
    """How sure a loss is (N,): a logistic model of demonstrations with and without lost frames.

    The gain of the whole, of the state and of the commands speak for a loss, what is left over
    and the widest gap against it, since a jump to an unrelated posture looks like that too.
    """
    every = np.arange(len(best))
    state = seen.gain(best)
    if told is None:
        both, commands = seen, np.zeros(len(best), bool)
        action = 0.8 * np.minimum(state, 1.2)
    else:
        both = _Misfits(seen.total + told.total, seen.moving + told.moving)
        commands = told.moving >= 3
        action = np.where(commands, told.gain(best), 0.8 * np.minimum(state, 1.2))
    left = both.total[best, every] / np.maximum(_FREEDOM * both.moving, 1.0)
    odds = 1.4 * both.gain(best) + 7.2 * np.minimum(state, 1.5) + 2.9 * np.minimum(action, 1.5)
    odds -= 0.5 * np.log(np.maximum(left, 0.5)) + np.where(best == len(LOST), 1.4, 0.0) + 4.2
    # The robot leapt and its commands did not: the controller waited, which is no lost frame.
    # Nor is it one where the gap explains the commands no better at all, however well the rest.
    waited = commands & ((action < 0.8) & (left > 1.5) | (action < 0.2))
    return np.asarray(np.where(waited | (state < 0.2), 0.0, np.maximum(odds / 8, 0.0)))


def _misfits(values: Array) -> _Misfits | None:
    """Misfits of the columns that move at all, each in units of what is usual for it."""
    values = values[:, np.ptp(values, axis=0) > 0]
    if not values.shape[1]:
        return None
    # Single precision is finer than any encoder once the offset is gone. Time runs last: fast.
    centred = np.ascontiguousarray((values - np.median(values, axis=0)).T, np.float32)
    width, count = len(centred), centred.shape[1] - 2 * SIDE + 1
    windows = np.stack([centred[:, place : place + count] for place in range(2 * SIDE)])
    left = _bases() @ windows.reshape(2 * SIDE, -1)
    left *= left
    squares = left.reshape(len(LOST) + 1, _FREEDOM, width, count).sum(axis=1)
    usual = np.maximum(_nearby(squares[0]), np.median(squares[0], axis=1, keepdims=True))
    usual = np.maximum(usual, _TINY) / _FREEDOM
    moving = _slope(windows) ** 2 > usual
    squares /= usual
    loud = np.minimum(squares, _LOUDEST, out=squares)
    loud *= moving
    return _Misfits(loud.sum(axis=1).astype(np.float64), moving.sum(axis=0).astype(np.float64))


@cache
def _bases() -> Floats:
    """The filters for no loss and for every number in LOST, one below the other."""
    each = [_left_over(lost) for lost in (0, *LOST)]
    return np.ascontiguousarray(np.concatenate(each, axis=1).T, np.float32)


def _left_over(lost: int) -> Array:
    """What no cubic through the samples can explain: an orthonormal basis (2 SIDE, freedom)."""
    times = np.concatenate((np.arange(1 - SIDE, 1), np.arange(1, SIDE + 1) + lost))
    full, _ = np.linalg.qr(np.vander(times / len(times), ORDER + 1), mode="complete")
    return np.asarray(full[:, ORDER + 1 :])


def _nearby(plain: Floats) -> Floats:
    """The 60th percentile of the misfits (D, N) in five blocks about each place."""
    count = plain.shape[1]
    blocks = -(-count // _BLOCK)
    whole = np.pad(plain, ((0, 0), (0, blocks * _BLOCK - count)), mode="reflect")
    whole = np.pad(whole, ((0, 0), (2 * _BLOCK, 2 * _BLOCK)), mode="reflect")
    five = sliding_window_view(whole, 5 * _BLOCK, axis=1)[:, ::_BLOCK]
    rank = round(0.6 * (5 * _BLOCK - 1))
    level = np.partition(five, rank, axis=2)[:, :, rank]
    return np.asarray(np.repeat(level, _BLOCK, axis=1)[:, :count])


def _slope(windows: Floats) -> Floats:
    """Mean size (D, N) of the steps in each window, without the one in question."""
    steps = np.abs(np.diff(windows, axis=0))
    return np.asarray((steps.sum(axis=0) - steps[SIDE - 1]) / (2 * SIDE - 2))


def repeats(values: Array) -> Flags:
    """Samples (T,) that are copies of the one before while the motion around them goes on."""
    count = len(values)
    copies = np.zeros(count, bool)
    values = values[:, np.ptp(values, axis=0) > 0]
    if count < 8 or not values.shape[1]:
        return copies
    steps = np.diff(values, axis=0)
    same = (steps == 0).all(axis=1)
    if not same.any():
        return copies
    sizes = np.where(steps == 0, np.nan, np.abs(steps))
    # The smallest steps are the resolution of the sensor: motion is more than a few of them.
    quantum = np.nanquantile(sizes, 0.05, axis=0)
    first = np.flatnonzero(np.diff(np.concatenate(([False], same))) & same)
    stop = np.flatnonzero(np.diff(np.concatenate((same, [False]))) & same) + 1
    for begin, end in zip(first.tolist(), stop.tolist(), strict=True):
        around = np.abs(np.concatenate((steps[max(0, begin - 2) : begin], steps[end : end + 2])))
        sides = min(begin, 1) + min(len(steps) - end, 1)
        moves = (np.median(around, axis=0) > 3 * quantum).sum() if len(around) > 2 else 0
        if sides == 2 and moves >= min(2, values.shape[1]):
            copies[begin + 1 : end + 1] = True
    return copies
