"""The clock of a source while it records: offset and drift, from the quickest of late messages."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from corporeal.capture.clock import ClockEstimate, estimate_clock
from corporeal.units import SECOND_NS

_WINDOW_NS = SECOND_NS // 2
_MOST_WINDOWS = 120
# As short as an episode's clock is fitted from; before that a skew would be a guess.
_FEWEST_WINDOWS = 5
_STEP_NS = SECOND_NS


@dataclass
class ClockGauge:
    """The quickest message of each half second of the last minute, whichever stream it was of."""

    quickest: deque[tuple[int, int, int]] = field(
        default_factory=lambda: deque(maxlen=_MOST_WINDOWS)
    )
    """The window, and the message's stamp and arrival."""

    def take(self, source_ns: int, arrival_ns: int) -> None:
        """Note a message; a clock that was set is estimated anew from here."""
        window = arrival_ns // _WINDOW_NS
        if self.quickest:
            last, stamp, arrival = self.quickest[-1]
            faster_ns = (arrival - stamp) - (arrival_ns - source_ns)
            if abs(faster_ns) > _STEP_NS:
                self.quickest.clear()
            elif window == last:
                if faster_ns <= 0:
                    return
                self.quickest.pop()
        self.quickest.append((window, source_ns, arrival_ns))

    def estimate(self) -> ClockEstimate | None:
        """The clock as far as it is known; None in the first seconds."""
        if len(self.quickest) < _FEWEST_WINDOWS:
            return None
        table = np.array([(stamp, arrival) for _, stamp, arrival in self.quickest], np.int64)
        return estimate_clock("", table[:, 0], table[:, 1])


def skew_of(
    clock: ClockEstimate | None, source_ns: int, arrival_ns: int
) -> tuple[float, float] | None:
    """How much later than its clock says a sample arrived, and two deviations of that, in ms.

    None while the clock is being estimated, and where nobody stamped before the arrival.
    """
    if clock is None or clock.uncertainty_ns is None:
        return None
    host = int(clock.to_host(np.array([source_ns], np.int64))[0])
    return (arrival_ns - host) / 1e6, clock.uncertainty_ns / 1e6
