"""One cause, one finding: streams of one message, and what follows from another fault."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.quality.check import SEVERITIES, Check, Finding, Spans, checks
from corporeal.words import listed

# A consequence lies within so many samples of its cause: rates are taken over a few.
_NEAR = 6


def join_causes(findings: Sequence[Finding], recording: Recording) -> tuple[Finding, ...]:
    """The findings, one for each cause, in their order."""
    return tuple(each for each in _fold(_join_siblings(findings, recording)) if each is not None)


def join_with_batch(
    about: Sequence[Finding], own: Sequence[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What the batch says of an episode and what its own checks say, one finding for each cause."""
    left = _fold((*about, *own))
    return (
        tuple(each for each in left[: len(about)] if each is not None),
        tuple(each for each in left[len(about) :] if each is not None),
    )


def _fold(findings: Sequence[Finding]) -> list[Finding | None]:
    """The findings in their places; None in the place of one that follows from another.

    A joint that leaps is too fast as well, and its hand is; columns in degrees are beyond limits of
    radians. The cause says what follows from it, and weighs as much as the gravest of that.
    """
    kept: list[Finding | None] = list(findings)
    for place in range(len(kept)):
        cause = kept[place]
        if cause is None or cause.severity == "note" or cause.check not in checks():
            continue
        explained = {
            number: other
            for number, other in enumerate(kept)
            if other is not None and _follows(other, cause, checks()[cause.check])
        }
        if explained:
            kept[place] = _with_consequences(cause, list(explained.values()))
            kept = [None if number in explained else each for number, each in enumerate(kept)]
    return kept


def _follows(other: Finding, cause: Finding, known: Check) -> bool:
    """Whether they are of the same columns and moments, as far as either says."""
    if other.check in known.spoils and not cause.frames:
        return True
    if other.check not in known.explains:
        return False
    streams = {cause.stream, *cause.siblings}
    if cause.stream is not None and other.stream is not None and other.stream not in streams:
        return False
    if other.columns and cause.columns and not set(other.columns) <= set(cause.columns):
        return False
    # A lag is of a whole stream, and stamps that are wrong anywhere make it another one.
    if known.topic == "time" and checks()[other.check].topic == "lag":
        return True
    return not cause.frames or _all_near(other.frames, cause.frames)


def _all_near(spans: Spans, places: Spans) -> bool:
    """Whether each of the spans lies within some place, give or take a few samples."""
    return bool(spans) and all(
        any(begin - _NEAR <= first and stop <= end + _NEAR for begin, end in places)
        for first, stop in spans
    )


def _with_consequences(cause: Finding, others: Sequence[Finding]) -> Finding:
    counts = Counter(name for each in others for name in (each.check, *each.consequences))
    told = [f"{name} ({count} times)" if count > 1 else name for name, count in counts.items()]
    verb = "follows" if len(told) == 1 else "follow"
    gravest = min((cause, *others), key=lambda each: SEVERITIES.index(each.severity or "note"))
    return replace(
        cause,
        message=f"{cause.message.rstrip('.')}; from this {verb} {listed(told)}",
        severity=gravest.severity,
        consequences=tuple(counts),
    )


def _join_siblings(findings: Sequence[Finding], recording: Recording) -> list[Finding]:
    """What a check says alike of streams that share their stamps becomes one finding.

    A message brings position, velocity and effort together; when it is late, it is late once. The
    finding stays with the first stream and names the others.
    """
    merged: dict[Any, list[Finding]] = {}
    seen: Counter[Any] = Counter()
    for number, finding in enumerate(findings):
        cause = _cause(finding, recording) or number
        # Two findings in one stream are two, such as of two joints at the same time.
        place = seen[cause, finding.stream]
        seen[cause, finding.stream] += 1
        merged.setdefault((cause, place), []).append(finding)
    return [_joined(group) for group in merged.values()]


def _cause(finding: Finding, recording: Recording) -> Any:
    """The same for findings of one cause; None for one that stands alone."""
    signal = recording.signals.get(finding.stream or "")
    timed = finding.check in checks() and checks()[finding.check].topic == "time"
    if signal is None or not len(signal) or not (timed or finding.frames):
        return None
    stamps = hashlib.blake2b(np.ascontiguousarray(signal.time_ns).tobytes(), digest_size=16)
    # What is wrong with values at the same moments is one cause only in one kind of stream:
    # an action beyond a limit and a state beyond it are two facts.
    side = "" if timed else signal.spec.group
    return finding.check, finding.severity, finding.frames, stamps.digest(), side


def _joined(group: list[Finding]) -> Finding:
    first, *others = group
    streams = dict.fromkeys(each.stream for each in others if each.stream != first.stream)
    if not others:
        return first
    names = listed([str(stream) for stream in streams])
    message = f"{first.message}; the same in {names}, stamped by the same messages"
    return replace(first, message=message, siblings=tuple(map(str, streams)))
