"""The streams of an episode cover the same time on one clock."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.time import StreamStamps, stamped, timed_sources, window
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_skew_s: float = 0.005, min_overlap: float = 0.5) -> Findings:
    """Yield each stream that lies beside the episode, or is shifted as a whole against it.

    A recorder that cuts all streams at the same two moments leaves each within one period of both:
    a stream that begins late and also ends late, by `max_skew_s` more than that, is shifted. Where
    streams were started and stopped one by one, only an overlap below `min_overlap` counts, and of
    topics in a bag, whose rates nobody stated, only none at all. A
    source whose clock the recorder knew no better than `max_skew_s` is reported too; of one that
    is stamped on arrival, nobody knows how late it is.

    Why: frames that belong together are paired by their stamps.
    Fix: run the sync test, correct the offset of the source's clock, and align again.
    """
    clocks = subject.recording.facts.other.get("clocks")
    if isinstance(clocks, Mapping):
        yield from _uncertain(clocks, timed_sources(subject), max_skew_s)
    streams = list(stamped(subject))
    if len(streams) < 2:
        raise NotAssessed("only one stream has a rate")
    begin, end = window(streams)
    for stream in streams:
        if stream.bunched:
            continue
        first, last = float(stream.seconds.min()), float(stream.seconds.max())
        shared = max(0.0, min(last, end) - max(first, begin))
        # Topics of a bag begin and end when they like; only a clock of its own lies beside it all.
        least = min_overlap * (end - begin) if stream.is_stated else 1e-9
        if end > begin and shared < least and last > first:
            yield _beside(stream, shared / (end - begin), min_overlap, (begin, end))
        elif stream.is_stated and isinstance(clocks, Mapping) and len(streams) >= 5:
            yield from _shifted(stream, begin, end, max_skew_s)


def _beside(
    stream: StreamStamps, share: float, limit: float, episode: tuple[float, float]
) -> Finding:
    message = (
        f"{stream.label} covers {100 * share:.0f} % of the episode: it lasts from"
        f" {stream.seconds.min():.2f} to {stream.seconds.max():.2f} s, the other streams from"
        f" {episode[0]:.2f} to {episode[1]:.2f} s"
    )
    return Finding(message, stream=stream.label, value=share, limit=limit, severity="fail")


def _shifted(stream: StreamStamps, begin: float, end: float, max_skew_s: float) -> Findings:
    """A stream whose begin and end are both later, or both earlier, than a cut would leave them."""
    allowed = max(stream.period_s, 0.01) + max_skew_s
    late, past = float(stream.seconds[0]) - begin, float(stream.seconds[-1]) - end
    if np.sign(late) == np.sign(past) and min(abs(late), abs(past)) > allowed:
        shift = float(np.sign(late)) * min(abs(late), abs(past))
        message = (
            f"{stream.label} is shifted by about {1e3 * shift:+.0f} ms against the other streams:"
            f" it begins {1e3 * late:+.0f} ms and ends {1e3 * past:+.0f} ms from where they do"
        )
        yield Finding(message, stream=stream.label, value=abs(shift), limit=allowed)


def _uncertain(
    clocks: Mapping[str, Any], is_timed: Callable[[str], bool], max_skew_s: float
) -> Findings:
    for name, facts in clocks.items():
        if not isinstance(facts, Mapping) or not is_timed(str(name)):
            continue
        # Older recordings have the residual alone.
        known_ns = facts.get("uncertainty_ns", facts.get("residual_ns"))
        if isinstance(known_ns, int | float) and known_ns > 1e9 * max_skew_s:
            message = f"the clock of source {name} is known to {known_ns / 1e6:.1f} ms only"
            yield Finding(message, value=float(known_ns) / 1e9, limit=max_skew_s)


CHECK = Check(
    find, topic="time", severity="quarantine", unit="s", formerly=("streams_synchronised",)
)
