"""What is said of the episode is true of its data: robot, length, width of every stream."""

from math import prod

import numpy as np

from corporeal.embodiment import robot_names
from corporeal.episode.recording import METADATA_WRONG, Recording
from corporeal.quality.check import Check, Finding, Findings, reported
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.track import Track
from corporeal.units import SECOND_NS


def find(subject: Subject, *, max_end_error_s: float = 0.5) -> Findings:
    """Yield statements that the data contradicts; an end may be stated `max_end_error_s` too late.

    Why: readers trust the head of a file; what it says wrongly is wrong everywhere after.
    Fix: correct the statement, or find out which part of the data is missing.
    """
    recording = subject.recording
    yield from reported(recording.defects, __name__)
    yield from _robot(recording)
    for track in subject.tracks.values():
        yield from _width(track)
    yield from _counts(subject)
    yield from _end(recording, max_end_error_s)


def _robot(recording: Recording) -> Findings:
    stated = recording.facts.other.get("robot")
    robot = recording.embodiment
    if robot is None or not isinstance(stated, str):
        return
    known = robot_names()
    if stated in known and robot.name in known and stated != robot.name:
        yield Finding(f"the metadata names the robot {stated}, the data is of {robot.name}")


def _width(track: Track) -> Findings:
    stated = prod(size for size in track.spec.shape if isinstance(size, int))
    width = track.values.shape[1]
    if len(track) and width != stated:
        message = f"{track.label} is described with {stated} columns and has {width}"
        yield Finding(message, stream=track.label, value=float(width), limit=float(stated))


def _counts(subject: Subject) -> Findings:
    other = subject.recording.facts.other
    stated = other.get("length", other.get("frames"))
    label = subject.recording.named(*roles.MEASURED, *roles.COMMANDED)
    if not isinstance(stated, int) or label is None:
        return
    count = len(subject.recording.signals[label])
    if count != stated and not _already_said(subject.recording):
        message = f"the metadata counts {stated} frames, {label} has {count}"
        yield Finding(message, stream=label, value=float(count), limit=float(stated))


def _already_said(recording: Recording) -> bool:
    return any(defect.check == METADATA_WRONG for defect in recording.defects)


def _end(recording: Recording, max_end_error_s: float) -> Findings:
    """The data must reach the end that the recorder marked, and the roll it measured after it."""
    end_ns = recording.facts.marks_ns.get("end")
    roll = recording.facts.other.get("roll")
    if (
        end_ns is None
        or not isinstance(roll, dict)
        or not isinstance(roll.get("post_s"), int | float)
    ):
        return
    due_s = end_ns / SECOND_NS + float(roll["post_s"])
    if recording.facts.are_rates_measured:
        return  # The mark is the end of a bag; its topics end when they like.
    for label, signal in recording.signals.items():
        if signal.spec.rate_hz is None or not len(signal):
            continue
        last_s = float(np.max(signal.time_ns)) / SECOND_NS
        if last_s < due_s - max_end_error_s - 2 / signal.spec.rate_hz:
            message = f"{label} ends at {last_s:.2f} s; the recorder saw it run to {due_s:.2f} s"
            yield Finding(message, stream=label, value=last_s, limit=due_s)


CHECK = Check(find, topic="records", severity="fail", formerly=("metadata_agrees",))
