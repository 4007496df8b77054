"""Cameras that share a trigger have a frame of every one, in step."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_skew_ms: float = 8.0, max_missed_share: float = 0.02) -> Findings:
    """Yield cameras of a trigger group that are off by frames, miss triggers, or lie apart in time.

    What is judged is `trigger_groups`, which the recorder writes: frames were matched by the
    devices' own numbers, or by their stamps. More than `max_missed_share` of the triggers may not
    be missed, and frames of one trigger may not lie more than `max_skew_ms` apart.

    Why: depth from two pictures of different instants is wrong wherever something moves.
    Fix: check the trigger's cable and the load of the bus; record again.
    """
    groups = subject.recording.facts.other.get("trigger_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise NotAssessed("no cameras share a trigger")
    for name, group in groups.items():
        if isinstance(group, Mapping):
            yield from _judge(str(name), group, max_skew_ms, max_missed_share)


def _judge(name: str, group: Mapping[str, Any], max_skew_ms: float, max_share: float) -> Findings:
    for camera, parted in _entries(group, "out_of_step"):
        frames, at_s = round(_number(parted.get("frames"))), _number(parted.get("at_ns")) / 1e9
        where = "behind" if frames > 0 else "ahead"
        yield Finding(
            f"{camera} is {abs(frames)} frames {where} in the trigger group {name} from "
            f"{at_s:.2f} s on",
            stream=camera,
            value=float(frames),
            limit=0.0,
            severity="fail",
        )
    triggers = max(1, round(_number(group.get("triggers"))))
    for camera, missed in _entries(group, "missed"):
        count, at_ns = round(_number(missed.get("count"))), missed.get("at_ns")
        first_ns = _number(at_ns[0]) if isinstance(at_ns, list | tuple) and at_ns else 0.0
        share = count / triggers
        if share > max_share:
            yield Finding(
                f"{camera} missed {count} of {triggers} triggers of {name}, the first at "
                f"{first_ns / 1e9:.2f} s",
                stream=camera,
                value=share,
                limit=max_share,
            )
    skew = group.get("skew_ms")
    median = skew.get("median") if isinstance(skew, Mapping) else None
    if isinstance(median, int | float) and median > max_skew_ms:
        yield Finding(
            f"frames of one trigger of {name} lie {median:.1f} ms apart",
            value=float(median),
            limit=max_skew_ms,
        )


def _number(value: Any) -> float:
    """A number of the metadata; 0 for what is none."""
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if is_number else 0.0


def _entries(group: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    entries = group.get(name)
    for camera, entry in entries.items() if isinstance(entries, Mapping) else ():
        if isinstance(entry, Mapping):
            yield str(camera), entry


CHECK = Check(find, topic="time", severity="quarantine")
