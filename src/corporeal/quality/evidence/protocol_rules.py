"""The protocol that an episode or a batch was made under, for the checks of its rules."""

from __future__ import annotations

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.protocol import Protocol
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.track import Array


def protocol_of(subject: Subject | Batch) -> Protocol:
    """The protocol; NotAssessed without one, or when it is for another task."""
    protocol = subject.protocol
    if not isinstance(protocol, Protocol):
        raise NotAssessed("no protocol; name one with --protocol")
    task = subject.task if isinstance(subject, Subject) else None
    # A dataset's task may be a whole sentence: only a name can contradict the protocol's.
    if task is not None and " " not in task and task != protocol.task.name:
        raise NotAssessed(f"the protocol is for {protocol.task.name}, the episode shows {task}")
    return protocol


def under_protocol(batch: Batch) -> tuple[Synopsis, ...]:
    """The episodes of the protocol's task."""
    name = protocol_of(batch).task.name
    return tuple(
        each
        for each in batch.episodes
        if each.task is None or " " in each.task or each.task == name
    )


def not_failed(subject: Subject) -> None:
    """NotAssessed for a demonstration that is labelled a failure: how it ends is not ruled."""
    if subject.recording.facts.outcome.success is False:
        raise NotAssessed("the demonstration is labelled a failure")


def window(subject: Subject, seconds: float, *, at_end: bool) -> tuple[int, int]:
    """Samples of the state in the first or last `seconds`."""
    state = subject.track(*roles.MEASURED)
    if len(state) < 2:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    if at_end:
        edge = state.seconds[-1] - seconds
        return int(np.searchsorted(state.seconds, edge)), len(state)
    return 0, max(2, int(np.searchsorted(state.seconds, state.seconds[0] + seconds)))


@once_per_subject
def hand_speeds(subject: Subject) -> dict[str, Array]:
    """Speed in m/s of every end effector on the state's clock, smoothed over 50 ms."""
    effectors = subject.robot.end_effectors
    if not effectors:
        raise NotAssessed(f"{subject.robot.name} names no end effectors")
    frames = {frame.name: frame.link for frame in subject.robot.frames}
    posture = subject.posture
    step = max(1, round(0.05 / max(1e-6, subject.tracks[posture.label].period_s)))
    seconds = subject.tracks[posture.label].seconds
    if len(seconds) <= step:
        raise NotAssessed(f"{posture.label} has {len(seconds)} samples")
    poses = subject.link_poses
    speeds = {}
    for name, place in effectors.items():
        where = poses.position(frames.get(place, place))
        apart = np.linalg.norm(where[step:] - where[:-step], axis=1)
        speeds[name] = apart / np.maximum(seconds[step:] - seconds[:-step], 1e-9)
    return speeds
