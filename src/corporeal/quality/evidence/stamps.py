"""The stamps of a stream that has a rate: its steps, its period, what is missing or bunched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.finding import MAX_EVIDENCE
from corporeal.quality.subject import Subject
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]

# A step shorter than this share of the period is no step between two samples.
BUNCHED = 0.25
# So many of the steps must be that short before a stream counts as stamped in bunches.
BUNCHED_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Stamps:
    """When the samples of one stream were taken, as their stamps say."""

    label: str
    kind: str
    rate_hz: float | None
    time_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time_ns)

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


def stamped(subject: Subject, *, least: int = 2, rated: bool = True) -> Iterator[Stamps]:
    """The stamps of every stream with `least` samples; `rated` leaves events out.

    Raises NotAssessed when there is no such stream.
    """
    found = 0
    for label, signal in subject.recording.signals.items():
        rate = signal.spec.rate_hz
        if len(signal) < least or (rated and (rate is None or signal.spec.kind == "text")):
            continue
        found += 1
        yield Stamps(label, signal.spec.kind, rate, np.asarray(signal.time_ns, np.int64))
    if not found:
        kind = "with a rate and " if rated else "with "
        raise NotAssessed(f"no stream {kind}{least} samples")


def window(streams: list[Stamps]) -> tuple[float, float]:
    """Begin and end of the episode in seconds: where the streams in the middle begin and end."""
    begins = [float(each.seconds.min()) for each in streams]
    ends = [float(each.seconds.max()) for each in streams]
    return float(np.median(begins)), float(np.median(ends))
