"""The recording ran to its end: nothing was cut off, lost or left out on the way to the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from corporeal.episode.facts import BREAKS_OFF
from corporeal.quality.check import Check, Finding, Findings, reported
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_lost: int = 0) -> Findings:
    """Yield why a recording is not whole: recovered after a crash, or more than `max_lost` lost.

    What seems to be missing by a rate that nobody stated, as in a bag, is not held to be lost.

    Why: a truncated demonstration ends before its goal, and looks like one that stopped there.
    Fix: look at how it ends; keep it as a failure, or record it again.
    """
    recording = subject.recording
    yield from reported(recording.defects, __name__)
    if recording.recovered:
        yield Finding(f"the recording was cut off: {recording.recovered}")
    for problem in recording.facts.other.get("source_problems") or ():
        if BREAKS_OFF in str(problem):
            yield Finding(f"the recording was cut off: {problem}")
    held = recording.facts.other.get("quarantine")
    if held and held != recording.recovered:
        yield Finding(f"the recorder held this episode back: {held}")
    stated = not recording.facts.are_rates_measured
    for label, count in _losses(recording.facts.other, count_missed=stated):
        if count > max_lost:
            message = f"{label} lost {count} samples on the way to the file"
            yield Finding(message, stream=label, value=float(count), limit=float(max_lost))


def _losses(metadata: Mapping[str, Any], *, count_missed: bool) -> Iterator[tuple[str, int]]:
    losses = metadata.get("losses")
    if not isinstance(losses, Mapping):
        return
    for label, lost in losses.items():
        if isinstance(lost, Mapping):
            count = sum(n for what, n in lost.items() if count_missed or what != "missed")
        else:
            count = lost
        if isinstance(count, int | float):
            yield str(label), int(count)


CHECK = Check(find, topic="records", severity="quarantine", formerly=("recording_complete",))
