"""Every stream has the samples that its rate promises, from the start of the episode to its end."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.time import StreamStamps, stamped, window
from corporeal.quality.subject import Subject


def find(
    subject: Subject,
    *,
    max_missing: float = 0.02,
    max_edge_s: float = 0.25,
    max_early_share: float = 0.1,
    least_samples: int = 500,
) -> Findings:
    """Yield each stream that lacks more than a share `max_missing` of its samples.

    Or that begins or ends more than `max_edge_s` and two of its periods inside the episode, which
    is taken to last from where its streams begin to where they end (the middle ones of them).
    Where nobody stated a rate, as in a bag, none is promised: a sensor that begins or ends a second
    and a twentieth of the episode inside it is a note. One that came evenly from the beginning and
    then stopped while other sensors went on asks for a human: before the last `max_early_share` of
    the episode, and after `least_samples`.

    Why: with a sensor missing, part of the demonstration cannot be learnt from.
    Fix: find out why the source lost samples or stopped; cut the episode to what all streams cover.
    """
    for signal in subject.recording.signals.items():
        if not len(signal[1]) and signal[1].spec.rate_hz is not None:
            yield Finding(
                f"{signal[0]} has no sample at all", stream=signal[0], value=1.0, limit=max_missing
            )
    streams = list(stamped(subject))
    begin, end = window(streams)
    for stream in streams:
        if not stream.is_stated:
            even = [other for other in streams if other is not stream and _is_even_sensor(other)]
            died = _is_even_sensor(stream) and len(stream) >= least_samples
            died &= any(end - float(other.seconds.max()) < stream.period_s * 20 for other in even)
            yield from _shorter(stream, begin, end, max_early_share if died else None)
        elif stream.period_s > 0 and not stream.bunched:
            yield from _missing(stream, begin, end, max_missing, max_edge_s)


def _is_even_sensor(stream: StreamStamps) -> bool:
    return stream.group == "observations" and not stream.bunched and stream.is_even


def _shorter(
    stream: StreamStamps, begin: float, end: float, max_early_share: float | None
) -> Findings:
    """A sensor without a stated rate that covers less than the others.

    It died if it ends earlier than a share of the episode; None: its end says nothing.
    """
    late, early = float(stream.seconds.min()) - begin, end - float(stream.seconds.max())
    limit = max(1.0, 0.05 * (end - begin))
    if stream.group != "observations" or max(late, early) <= limit:
        return
    parts = [f"begins {late:.2f} s after the others"] if late > limit else []
    parts += [f"ends {early:.2f} s before them"] if early > limit else []
    died = max_early_share is not None and late <= limit and early > max_early_share * (end - begin)
    why = "after it came evenly until then" if died else "nobody stated that it runs throughout"
    yield Finding(
        f"{stream.named} {' and '.join(parts)}; {why}",
        stream=stream.label,
        value=max(late, early) / (end - begin),
        limit=limit / (end - begin),
        severity="quarantine" if died else "note",
    )


def _missing(
    stream: StreamStamps, begin: float, end: float, max_missing: float, max_edge_s: float
) -> Findings:
    period, last = stream.period_s, len(stream) - 1
    first_s, last_s = float(stream.seconds.min()), float(stream.seconds.max())
    late, early = max(0.0, first_s - begin), max(0.0, end - last_s)
    edge = max(max_edge_s, 2 * period)
    due = max(1.0, (max(end, last_s) - min(begin, first_s)) / period + 1)
    # A stream may begin and end anywhere within one period of the others.
    outside = sum(each / period for each in (late, early) if each > 1.5 * period)
    inside = max(0.0, (last_s - first_s) / period - last)
    share = (inside + outside) / due
    if share <= max_missing and late <= edge and early <= edge:
        return
    # As many samples as the stated rate promises: nothing is missing, the clock is wrong.
    if stream.rate_hz and abs((last + 1) / ((end - begin) * stream.rate_hz + 1) - 1) < 0.01:
        return
    gaps = np.flatnonzero(stream.steps > 1.5 * period)
    frames = [(int(place), int(place) + 2) for place in gaps[:200]]
    reasons = []
    if inside / due > max_missing / 2:
        reasons.append(f"about {inside:.0f} are missing on the way")
    if late > 1.5 * period and (late > edge or late / period / due > max_missing / 2):
        reasons.append(f"it begins {late:.2f} s after the episode")
        frames.insert(0, (0, 1))
    if early > 1.5 * period and (early > edge or early / period / due > max_missing / 2):
        reasons.append(f"it ends {early:.2f} s before the episode")
        frames.append((last, last + 1))
    yield Finding(
        f"{stream.named} has {last + 1} of the {due:.0f} samples that"
        f" {1 / period:.4g} Hz promise ({share:.1%} missing): {'; '.join(reasons)}",
        stream=stream.label,
        frames=tuple(frames),
        value=share,
        limit=max_missing,
        evidence=stream.evidence(),
    )


CHECK = Check(find, topic="time", severity="fail", unit="share", formerly=("complete_stream",))
