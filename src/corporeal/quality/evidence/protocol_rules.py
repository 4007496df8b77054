"""The protocol that an episode was made under, and whether its ends are as that says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.protocol import Protocol
from corporeal.protocol.protocol import State
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Finding, Findings
from corporeal.quality.evidence.motion import opening_range
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.track import Track

# How long is looked at where the protocol asks for no stillness.
_LOOK_S = 0.25

Span = tuple[int, int]


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
    state = subject.state
    if len(state) < 2:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    if at_end:
        edge = state.seconds[-1] - seconds
        return int(np.searchsorted(state.seconds, edge)), len(state)
    return 0, max(2, int(np.searchsorted(state.seconds, state.seconds[0] + seconds)))


@dataclass(frozen=True)
class RestTolerance:
    """What may still move in a state of rest, and how low a robot still stands upright."""

    sway_rad: float
    sway_m: float
    height_share: float


@dataclass(frozen=True, eq=False)
class _End:
    """The first or last moments of a subject's state, and what the protocol wants there."""

    subject: Subject
    wanted: State
    span: Span
    where: str
    allowed: RestTolerance

    def inside(self, track: Track) -> NDArray[np.int64]:
        """Samples of another track in these moments."""
        state = self.subject.state
        begin, end = state.time_ns[self.span[0]], state.time_ns[self.span[1] - 1]
        return np.flatnonzero((track.time_ns >= begin) & (track.time_ns <= end))


def judge(subject: Subject, wanted: State, allowed: RestTolerance, *, at_end: bool) -> Findings:
    """Every way in which the state differs from the protocol's; NotAssessed if none can be seen."""
    span = window(subject, max(wanted.still_s, _LOOK_S), at_end=at_end)
    end = _End(subject, wanted, span, "at the end" if at_end else "at the start", allowed)
    seen = 0
    for part in (_still, _upright, _posture, _grippers, _object):
        try:
            found = list(part(end))
        except NotAssessed:
            continue
        seen += 1
        yield from found
    if not seen:
        raise NotAssessed("no stream shows the state that the protocol asks for")


def _still(end: _End) -> Findings:
    subject, wanted, where = end.subject, end.wanted, end.where
    state = subject.state
    radians = [number for number, unit in enumerate(state.units) if unit == "rad"]
    if not wanted.still_s or not radians:
        raise NotAssessed("no stillness is asked for, or no joint is in radians")
    swing = np.ptp(state.values[slice(*end.span)][:, radians], axis=0)
    worst = int(np.nan_to_num(swing).argmax())
    if swing[worst] > end.allowed.sway_rad:
        yield Finding(
            f"the robot moves {where}: {state.names[radians[worst]]} by {swing[worst]:.2f} rad in "
            f"{wanted.still_s:g} s",
            stream=state.label,
            frames=(end.span,),
            value=float(swing[worst]),
            limit=end.allowed.sway_rad,
        )


def _upright(end: _End) -> Findings:
    subject, wanted, where = end.subject, end.wanted, end.where
    base, standing = subject.posture.base, subject.robot.standing
    if not wanted.upright or base is None or standing is None:
        raise NotAssessed("the height of the base is not known")
    height = float(np.median(base[slice(*end.span), 2])) / standing.height
    if height < end.allowed.height_share:
        yield Finding(
            f"the robot does not stand {where}: its pelvis is at {100 * height:.0f} % of standing",
            stream=subject.recording.named(roles.BASE_POSE),
            value=height,
            limit=end.allowed.height_share,
        )


def _posture(end: _End) -> Findings:
    subject, wanted, where = end.subject, end.wanted, end.where
    state = subject.state
    known = {name: number for number, name in enumerate(state.names)}
    asked = {name: angle for name, angle in wanted.posture.items() if name in known}
    if not asked:
        raise NotAssessed("no joint of the posture is in the data")
    for name, angle in asked.items():
        is_at = float(np.median(state.values[slice(*end.span), known[name]]))
        if abs(is_at - angle) > wanted.posture_tolerance:
            message = f"{name} is at {is_at:.2f} {where}; the protocol asks for {angle:.2f}"
            yield Finding(message, stream=state.label, frames=(end.span,), value=is_at, limit=angle)


def _grippers(end: _End) -> Findings:
    subject, wanted, where = end.subject, end.wanted, end.where
    grippers = subject.ending_in(roles.GRIPPER)
    if wanted.grippers == "any" or not grippers:
        raise NotAssessed("no gripper is asked for or recorded")
    for label, track in grippers.items():
        inside = track.values[end.inside(track)]
        least, widest = opening_range(track)
        if not len(inside) or widest - least < 0.02:
            continue  # this hand took no part
        opened = (float(np.median(inside)) - least) / (widest - least)
        if (opened < 0.4) if wanted.grippers == "open" else (opened > 0.6):
            message = (
                f"{label} is {100 * opened:.0f} % open {where}; the protocol asks for "
                f"{wanted.grippers}"
            )
            yield Finding(message, stream=label, value=opened, limit=0.5)


def _object(end: _End) -> Findings:
    subject, wanted, where = end.subject, end.wanted, end.where
    if not wanted.object_resting:
        raise NotAssessed("no object is asked for")
    track = subject.track(roles.OBJECT_POSE)
    inside = end.inside(track)
    if not len(inside):
        raise NotAssessed(f"{track.label} has no samples there")
    moved = float(np.ptp(track.values[inside, :3], axis=0).max())
    if moved > end.allowed.sway_m:
        yield Finding(
            f"the object moves {1000 * moved:.0f} mm {where}",
            stream=track.label,
            frames=((int(inside[0]), int(inside[-1]) + 1),),
            value=moved,
            limit=end.allowed.sway_m,
        )
