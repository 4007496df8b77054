"""Physical events in an episode, and the tracks in which detectors find them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import limb_of
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import Recording, Signal
from corporeal.registry import plugins
from corporeal.schema import roles
from corporeal.signal import SignalPart
from corporeal.signal.hands import SIDES as SIDES
from corporeal.signal.hands import HandOpening, hand_openings, side_of
from corporeal.signal.runs import crossing_s
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

_LEAST = 8
_ALIVE, _MOST = 0.5, 1e12


def track(recording: Recording, *names: str) -> Track | None:
    """The first of these roles that the recording has; None when there is none to use.

    Samples whose stamps do not rise and values that are no numbers are left out.
    """
    for name in names:
        label = recording.named(name)
        if label is not None and (found := _track(label, recording.signals[label])) is not None:
            return found
    return None


def sided(recording: Recording, *names: str) -> Iterator[tuple[str, Track]]:
    """The track of each side: names have {side} where left or right stands."""
    for side in SIDES:
        found = track(recording, *(name.format(side=side) for name in names))
        if found is not None:
            yield side, found


def openings(recording: Recording) -> Iterator[HandOpening]:
    """How far each hand of the recording is open, gripper or fingers."""
    names = {signal.spec.name for signal in recording.signals.values()}
    return hand_openings(partial(track, recording), names, recording.embodiment)


def _track(label: str, signal: Signal) -> Track | None:
    if signal.spec.kind != "array" or len(signal) < _LEAST:
        return None
    values = np.asarray(signal[:], np.float64).reshape(len(signal), -1)
    finite = np.isfinite(values)
    # A dead taxel must not silence the whole pad.
    alive = finite.mean(axis=0) >= _ALIVE
    good = _rising(signal.time_ns) & finite[:, alive].all(axis=1)
    if not alive.any() or good.sum() < _LEAST:
        return None
    whole = Track(label, signal.spec, signal.time_ns, values)
    columns = tuple(np.array(whole.names)[alive].tolist())
    kept = np.clip(values[np.ix_(good, alive)], -_MOST, _MOST)
    return Track(label, signal.spec, signal.time_ns[good], kept, columns)


def _rising(stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which stamps to keep so that they rise: the fewest are given up, before or after a leap."""
    forth = np.concatenate([[True], stamps[1:] > np.maximum.accumulate(stamps)[:-1]])
    ahead = np.minimum.accumulate(stamps[::-1])[::-1]
    back = np.concatenate([stamps[:-1] < ahead[1:], [True]])
    kept: NDArray[np.bool_] = forth if forth.sum() >= back.sum() else back
    return kept


def at_ns(time_s: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(time_s * SECOND_NS)


def run_events(
    names: tuple[str, str], track: Track, values: Array, level: float, run: tuple[int, int], *,
    side: str = "", confidence: float, uncertainty_s: float, facts: dict[str, Any] | None = None,
) -> Iterator[PhysicalEvent]:  # fmt: skip
    """The events at both ends of a run of samples beyond a level, at the moments of crossing.

    An end at which the recording begins or stops is none.
    """
    for name, place in zip(names, run, strict=True):
        if 0 < place < len(values):
            yield PhysicalEvent(
                at_ns(crossing_s(track.seconds, values, place, level)), name, side, track.label,
                confidence, at_ns(uncertainty_s), facts or {},
            )  # fmt: skip


PACKAGE = "corporeal.labelling.detectors"
_WINDOW_NS, _OVERLAP_NS, _MOST_WINDOWS = 900 * SECOND_NS, 30 * SECOND_NS, 1000


@dataclass(frozen=True)
class PhysicalEvent:
    """Something that happened at `time_ns` since the epoch, between two samples as a rule.

    `name` is the detector's word (grasp_closes, contact_begins, ...), `side` left, right or empty,
    `confidence` 0 to 1, `uncertainty_ns` how far it may be off.
    """

    time_ns: int
    name: str
    side: str = ""
    stream: str = ""
    confidence: float = 1.0
    uncertainty_ns: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EventDetector:
    """Finds events of `names` in a recording; limits are keyword-only arguments of `find`."""

    find: Callable[[Recording], Iterator[PhysicalEvent]]
    names: tuple[str, ...]


@cache
def detectors() -> dict[str, EventDetector]:
    """Every detector by name."""
    return plugins(PACKAGE, "DETECTOR", EventDetector)


def detect(recording: Recording) -> tuple[PhysicalEvent, ...]:
    """All events of all detectors, in order of time.

    A long recording is looked at in windows that overlap, so that memory stays bounded.
    """
    events = {
        (event.time_ns, event.name, event.side): event
        for window, first_ns, stop_ns in _windows(recording)
        for detector in detectors().values()
        for event in detector.find(window)
        if first_ns <= event.time_ns < stop_ns
    }
    return tuple(events[key] for key in sorted(events))


def _windows(recording: Recording) -> Iterator[tuple[Recording, float, float]]:
    """What is looked at together, and from when to before when its events count."""
    stamps = [
        signal.time_ns
        for signal in recording.signals.values()
        if signal.spec.kind == "array" and len(signal)
    ]
    if not stamps:
        return
    # A stray stamp far away would ask for windows without end: the bulk of them decides.
    begin = min(float(np.quantile(each, 0.001)) for each in stamps)
    end = max(float(np.quantile(each, 0.999)) for each in stamps)
    if end - begin <= _WINDOW_NS:
        yield recording, -math.inf, math.inf
        return
    count = min(math.ceil((end - begin) / _WINDOW_NS), _MOST_WINDOWS)
    edges = np.linspace(begin, end, count + 1)
    edges[0], edges[-1] = -math.inf, math.inf
    for first, stop in pairwise(edges.tolist()):
        signals: dict[str, Signal] = {
            label: _excerpt(signal, first - _OVERLAP_NS, stop + _OVERLAP_NS)
            for label, signal in recording.signals.items()
            if signal.spec.kind == "array" and len(signal)
        }
        yield replace(recording, signals=signals), first, stop


def _excerpt(signal: Signal, first_ns: float, stop_ns: float) -> SignalPart:
    inside = np.flatnonzero((signal.time_ns >= first_ns) & (signal.time_ns < stop_ns))
    if not len(inside):
        return SignalPart(signal, 0, 0)
    return SignalPart(signal, int(inside[0]), int(inside[-1]) + 1)


def hand_tracks(
    recording: Recording, joints_name: str = roles.JOINT_POSITION, *, in_world: bool = True
) -> dict[str, Track]:
    """The position (T, 3) of each hand in the world, or against the base where that is unknown.

    From kinematics, else as a source without a robot states them. Empty where nothing can tell, as
    where joints of an arm are missing; other joints that are missing are taken to stand at zero.
    """
    robot = recording.embodiment
    joints = track(recording, joints_name)
    if joints is None or robot is None:
        return _stated_hands(recording) if joints_name == roles.JOINT_POSITION else {}
    positions = _whole_body(joints, robot)
    if positions is None:
        return {}
    base = _base_at(recording, joints) if in_world else None
    poses = Kinematics(robot).end_effectors(positions, base)
    return {
        side: Track(
            f"{joints.label}:{name}",
            joints.spec,
            joints.time_ns,
            poses.position(name),
            roles.POSITION,
        )
        for side, name in hand_names(robot).items()
    }


_END_EFFECTOR = re.compile(r"(robot\d_)?((left|right)_)?(eef?|end_effector|tcp|hand)_pos(ition|e)?")


def _stated_hands(recording: Recording) -> dict[str, Track]:
    """Positions of hands that the source gives in metres, as streams or as columns of its state."""
    hands: dict[str, Track] = {}
    for name in sorted(signal.spec.name for signal in recording.signals.values()):
        if _END_EFFECTOR.fullmatch(name):
            position = track(recording, name)
            if position is not None and position.values.shape[1] in (3, 7):
                hands.setdefault(side_of(name), position.select(range(3)))
    state = track(recording, *roles.MEASURED)
    if not hands and state is not None and set(roles.POSITION) <= set(state.names):
        hands["right"] = state.select([state.names.index(axis) for axis in roles.POSITION])
    return hands


def _whole_body(joints: Track, robot: Embodiment) -> Array | None:
    """Positions (T, joints of the robot) in its order; None where joints of an arm are missing."""
    if joints.names == robot.joint_names:
        return joints.values
    columns = {name: place for place, name in enumerate(joints.names)}
    arms = {name for name in robot.joint_names if limb_of(name, robot) == "arm"}
    if not arms or not arms <= columns.keys():
        return None
    whole = np.zeros((len(joints), len(robot.joint_names)))
    for place, name in enumerate(robot.joint_names):
        if name in columns:
            whole[:, place] = joints.values[:, columns[name]]
    return whole


def hand_names(robot: Embodiment) -> dict[str, str]:
    """The end effector of each side; a robot with one arm has it on the side called `right`."""
    sided = {side: name for side in SIDES for name in robot.end_effectors if name.startswith(side)}
    alone = tuple(robot.end_effectors)
    return sided or ({"right": alone[0]} if alone else {})


def _base_at(recording: Recording, joints: Track) -> Array | None:
    """The pose of the base at the times of the joints: the last one known."""
    base = track(recording, roles.BASE_POSE)
    if base is None or base.values.shape[1] != 7:
        return None
    place = np.searchsorted(base.seconds, joints.seconds, side="right") - 1
    held: Array = base.values[np.maximum(place, 0)]
    return held


def arm_joints(recording: Recording) -> Track | None:
    """Angles of the arms as measured, else as commanded; of all joints where nobody says which."""
    joints = track(
        recording, roles.JOINT_POSITION, roles.JOINT_POSITION_TARGET, roles.STATE, roles.ACTION
    )
    if joints is None:
        return None
    chosen = arm_columns(recording.embodiment, joints.names) or range(joints.values.shape[1])
    return joints.select(chosen)


def arm_columns(robot: Embodiment | None, columns: tuple[str, ...]) -> list[int]:
    """The columns of arm and hand joints; none where the robot does not say."""
    if robot is None:
        return []
    return [place for place, name in enumerate(columns) if limb_of(name, robot) in ("arm", "hand")]


BEGINS = ("contact_begins", "grip_bears", "hand_holds")
ENDS = ("contact_ends", "grip_frees", "hand_releases")
FOREVER_NS = 2**53
_DETECTORS = ("finger_contact", "grip_shortfall", "hand_hold")


@dataclass(frozen=True)
class Hold:
    """A hand that holds something from one event to the other."""

    side: str
    begin: PhysicalEvent
    end: PhysicalEvent | None = None
    """None where it still holds when the recording ends."""

    @property
    def confidence(self) -> float:
        """That of the weaker event."""
        return min(self.begin.confidence, 1.0 if self.end is None else self.end.confidence)

    @property
    def is_felt(self) -> bool:
        """Whether pads or a gripper that something stops show it, not fingers that closed alone."""
        return self.begin.name != BEGINS[-1]

    @property
    def begin_ns(self) -> int:
        """When it takes hold."""
        return self.begin.time_ns

    @property
    def end_ns(self) -> int:
        """When it lets go; far away where it never does."""
        return FOREVER_NS if self.end is None else self.end.time_ns


def holds(recording: Recording) -> tuple[Hold, ...]:
    """Every hold of each hand, in order of time; by its pads where it has any."""
    known = detectors()
    events = [event for name in _DETECTORS for event in known[name].find(recording)]
    return holds_in(sorted(events, key=lambda event: event.time_ns))


def holds_in(events: Sequence[PhysicalEvent]) -> tuple[Hold, ...]:
    """The holds that events tell of; pads are believed before grippers, and these before hands."""
    kinds: dict[str, int] = {}
    for event in events:
        if event.name in BEGINS:
            kind = BEGINS.index(event.name)
            kinds[event.side] = min(kind, kinds.get(event.side, kind))
    spans = [hold for side, kind in kinds.items() for hold in _of(events, side, kind)]
    return tuple(sorted(spans, key=lambda hold: hold.begin_ns))


def _of(events: Sequence[PhysicalEvent], side: str, kind: int) -> Iterator[Hold]:
    begin: PhysicalEvent | None = None
    for event in events:
        if event.side != side:
            continue
        if event.name == BEGINS[kind] and begin is None:
            begin = event
        elif event.name == ENDS[kind] and begin is not None:
            yield Hold(side, begin, event)
            begin = None
    if begin is not None:
        yield Hold(side, begin)
