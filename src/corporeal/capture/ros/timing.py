"""Which clock stamped a topic of a bag, how regular it is, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.units import SECOND_NS

Times = NDArray[np.int64]
# No robot publishes whole messages faster; a bag that says so was written after the fact.
BURST_HZ = 5_000.0
BURST_MESSAGES = 20
OTHER_CLOCK_S = 1.0
LATE_S = 0.1
GAP_PERIODS = 2.5
GAP_S = 0.05


@dataclass(frozen=True)
class Timing:
    """How to stamp the messages of a topic.

    `uses_header`: the message's own stamp, else the bag's time. `offset_ns` is added to bag time
    for the few messages whose stamp is empty. `is_foreign`: the stamps count on a clock far from
    the bag's. `is_burst`: bag time is not capture time, so that the true rate is unknown.
    """

    uses_header: bool
    offset_ns: int = 0
    is_foreign: bool = False
    is_burst: bool = False
    problems: tuple[str, ...] = ()

    def stamp(self, header_ns: int | None, log_ns: int) -> int:
        """The source stamp of one message."""
        if self.uses_header and header_ns is not None and not is_unset(header_ns, log_ns):
            return header_ns
        return log_ns + self.offset_ns


def is_unset(header_ns: int, log_ns: int) -> bool:
    """True for a stamp nobody filled in; on a clock that starts at 0, 0 is a real stamp."""
    return header_ns == 0 and abs(log_ns) > SECOND_NS


def rate_of(times: Times) -> float | None:
    """The rate of regular stamps in Hz, to four digits; None for events or too few."""
    steps = np.diff(np.sort(times)).astype(np.float64)
    steps = steps[steps > 0]
    if len(steps) < 2:
        return None
    middle = float(np.median(steps))
    regular = np.mean((steps > 0.5 * middle) & (steps < 1.5 * middle))
    rate = SECOND_NS / middle
    return float(f"{rate:.4g}") if regular >= 0.5 and rate <= 1e6 else None


def judge(topic: str, log: Times, header: Times | None) -> Timing:
    """Look at all stamps of a topic; `header` is None for a type without a stamp."""
    where = f"Topic {topic}: "
    problems = _order_problems(where, log, "bag time")
    if header is None:
        burst = _burst(where, log, None)
        return Timing(False, is_burst=bool(burst), problems=(*problems, *burst))
    unset = (header == 0) & (np.abs(log) > SECOND_NS)
    if unset.all():
        burst = _burst(where, log, None)
        problems.append(
            f"{where}all {len(log)} header stamps are empty; bag time stands in for them."
        )
        return Timing(False, is_burst=bool(burst), problems=(*problems, *burst))
    if len(header) > 2 and (header == header[0]).all() and (log != log[0]).any():
        burst = _burst(where, log, None)
        problems.append(f"{where}all {len(log)} stamps are the same; bag time stands in for them.")
        return Timing(False, is_burst=bool(burst), problems=(*problems, *burst))
    lag = (log - header)[~unset]
    offset = -round(float(np.median(lag)))
    if unset.any():
        problems.append(
            f"{where}{int(unset.sum())} of {len(log)} header stamps are empty; those messages are "
            "stamped from bag time."
        )
    stamps = header[~unset]
    problems += _order_problems(where, stamps, "header stamps")
    problems += _burst(where, log[~unset], stamps)
    problems += _gap_problems(where, stamps)
    is_foreign = abs(offset) > OTHER_CLOCK_S * SECOND_NS
    late = float(np.max(lag) - np.median(lag)) / SECOND_NS
    if late > LATE_S and len(lag) > 2:
        problems.append(
            f"{where}messages were written up to {late:.3f} s later than usual after their stamp; "
            "the header stamps are kept."
        )
    return Timing(True, offset, is_foreign, problems=tuple(problems))


def foreign_problems(timings: Mapping[str, Timing]) -> list[str]:
    """One sentence for each topic that another clock stamped, or one for all when they are many."""
    found = {topic: timing.offset_ns / SECOND_NS for topic, timing in timings.items()
             if timing.is_foreign}  # fmt: skip
    if len(found) <= 3:
        return [
            f"Topic {topic}: stamps are {offset:+.3f} s from bag time: another clock, whose "
            "offset must be estimated."
            for topic, offset in found.items()
        ]
    low, high = min(found.values()), max(found.values())
    return [
        f"Header stamps of {len(found)} topics are {low:+.3f} s to {high:+.3f} s from bag time: "
        f"other clocks, or stamps made at another moment. The topics: {', '.join(found)}."
    ]


def _order_problems(where: str, times: Times, what: str) -> list[str]:
    steps = np.diff(times)
    back, same = int((steps < 0).sum()), int((steps == 0).sum())
    problems = []
    if back:
        worst = -int(steps.min()) / SECOND_NS
        problems.append(
            f"{where}{what} step back {back} time{'s' * (back > 1)}, by {worst:.4f} s at most."
        )
    if same and what != "bag time":
        problems.append(f"{where}{same} of {len(times)} {what} repeat the one before.")
    return problems


def _burst(where: str, log: Times, header: Times | None) -> list[str]:
    """Messages written much faster than they were made."""
    if len(log) < BURST_MESSAGES:
        return []
    span = int(log.max() - log.min()) / SECOND_NS
    if header is None:
        if (len(log) - 1) / max(span, 1e-9) < BURST_HZ:
            return []
        return [
            f"{where}{len(log)} messages lie within {span * 1e3:.1f} ms of bag time, which is when "
            "they were written, not when they were captured; their true rate is unknown."
        ]
    made = int(header.max() - header.min()) / SECOND_NS
    if span > 0.1 * made:
        return []
    return [
        f"{where}{len(log)} messages stamped over {made:.3f} s were written within {span:.3f} s; "
        "the header stamps are kept."
    ]


def _gap_problems(where: str, stamps: Times) -> list[str]:
    rate = rate_of(stamps)
    if rate is None:
        return []
    steps = np.diff(np.sort(stamps)).astype(np.float64) / SECOND_NS
    gaps = steps[steps > max(GAP_PERIODS / rate, GAP_S)]
    if not len(gaps):
        return []
    return [
        f"{where}{len(gaps)} gap{'s' * (len(gaps) > 1)} in a stream of {rate:g} Hz, "
        f"the longest {gaps.max():.3f} s."
    ]
