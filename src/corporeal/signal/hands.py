"""How far each hand is open, gripper or fingers, in a stream of its own or among the joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import is_hand, words_in_name
from corporeal.schema import roles
from corporeal.signal.filters import estimate_noise
from corporeal.signal.track import Array, Track

SIDES = ("left", "right")
Tracks = Callable[..., Track | None]
"""The track of the first of some roles that there is."""

_WORDS = {"left": frozenset(["left", "l"]), "right": frozenset(["right", "r"])}
_CLOSED = frozenset(["closed", "closedness", "closure"])
_OTHERWISE = frozenset(
    ["qvel", "vel", "velocity", "speed", "force", "torque", "effort", "wrench", "tactile", "pose",
     "pos", "quat", "rotation", "target", "command", "cmd", "action", "goal", "imu", "camera",
     "image", "images", "rgb", "depth", "landmarks", "keypoints", "points", "temperature",
     "current", "voltage", "to"]
)  # fmt: skip
"""Words of streams that tell something else of a hand than how far it is open."""
_TOLD = ("_target", "_command", "_cmd")
_FINGERS = 3
"""What has fewer moving parts than this is a gripper."""
_LEAST_M, _LEAST_SHARE = 1e-4, 0.1
_UNIT_INTERVAL, _SLIDE_M, _STILL, _INSIDE = 1.1, 0.2, 0.03, 0.1
_ASSUMED = 0.75
"""How sure it is which way is open where nothing but a custom of the makers of hands tells."""


@dataclass(frozen=True, eq=False)
class HandOpening:
    """How far one hand is open: `opening` (T, 1) and the same of what was told, wider is greater.

    A gripper is in its own unit, `is_gripper`; fingers run from 0, closed, to 1, open. `sure` is 1
    where the source says which way is open.
    """

    side: str
    opening: Track
    target: Track | None
    is_gripper: bool
    sure: float
    least_stroke: float
    """What it must open and close by before it moves at all."""

    @property
    def moves(self) -> bool:
        """Whether it opens and closes by more than its noise and a jitter of its fingers."""
        width = self.opening.smooth(0.02).values[:, 0]
        jitter = 12 * estimate_noise(self.opening.values[:, 0])
        return float(np.ptp(width)) >= max(self.least_stroke, jitter)


def hand_openings(
    tracks: Tracks, names: Iterable[str], robot: Embodiment | None = None
) -> Iterator[HandOpening]:
    """Every hand of a recording: by a stream of its own, else by its columns among the joints.

    `names` are those of the streams. A hand of which nobody says whether it is left or right is
    called right.
    """
    own = {hand.side: hand for side in SIDES if (hand := _by_role(tracks, side)) is not None}
    for name in sorted(names):
        side = side_of(name)
        if side not in own and _names_opening(name):
            stream = tracks(name)
            target = next((tracks(f"{name}{end}") for end in _TOLD if tracks(f"{name}{end}")), None)
            if stream is not None:
                own[side] = _scaled(side, stream, _alike(target, stream))
    state, action = tracks(*roles.MEASURED), tracks(*roles.COMMANDED)
    body = state or action
    for side, fingers in _fingers(body.names, robot).items() if body is not None else ():
        if side not in own:
            own[side] = _by_columns(side, fingers, state, action)
    yield from own.values()


def side_of(name: str) -> str:
    """The side that a name says; right where it says none."""
    words = words_in_name(name)
    return next((side for side in SIDES if words & _WORDS[side]), "right")


def _names_opening(name: str) -> bool:
    """Whether a stream holds how far a hand is open: qpos of a gripper, not its speed or pose."""
    return is_hand(name) and not words_in_name(name) & _OTHERWISE


def _by_role(tracks: Tracks, side: str) -> HandOpening | None:
    gripper = tracks(f"{side}{roles.GRIPPER}")
    if gripper is None:
        fingers = tracks(f"{side}{roles.HAND_POSITION}", f"{side}_hand")
        told = tracks(f"{side}_hand_target", f"{side}_hand_position_target")
        return None if fingers is None else _scaled(side, fingers, _alike(told, fingers))
    target = _alike(tracks(f"{side}{roles.GRIPPER_TARGET}"), gripper)
    told = None if target is None else _averaged(target)
    return HandOpening(side, _averaged(gripper), told, True, 1.0, _LEAST_M)


def _alike(target: Track | None, stream: Track) -> Track | None:
    same = target is not None and target.values.shape[1] == stream.values.shape[1]
    return target if same else None


def _averaged(gripper: Track) -> Track:
    return replace(gripper, values=gripper.values.mean(axis=1, keepdims=True), columns=("opening",))


def _fingers(names: Sequence[str], robot: Embodiment | None) -> dict[str, list[str]]:
    """The columns of each hand."""
    sides: dict[str, list[str]] = {}
    for name in names:
        if is_hand(name, robot):
            sides.setdefault(side_of(name), []).append(name)
    return sides


def _by_columns(
    side: str, names: Sequence[str], state: Track | None, action: Track | None
) -> HandOpening:
    parts = [_columns(track, names) for track in (state, action)]
    body = parts[0] or parts[1]
    assert body is not None, "the names are those of one of the two"
    return _scaled(side, body, parts[1] if parts[0] is not None else None)


def _columns(track: Track | None, names: Sequence[str]) -> Track | None:
    if track is None or not set(names) <= set(track.names):
        return None
    return track.select([track.names.index(name) for name in names])


def _scaled(side: str, fingers: Track, target: Track | None) -> HandOpening:
    """Fingers as one number, 0 closed to 1 open: the middle one of them, which no odd one moves."""
    told = None if target is None else target.at(fingers.time_ns)
    largest = float(np.abs(fingers.values).max())
    openings, asked, sures = [], [], []
    for column, name in enumerate(fingers.names):
        finger = fingers.values[:, column]
        command = None if told is None else told[:, column]
        closed, opened, sure = _ends(finger, command, name, largest)
        scale = opened - closed or 1.0
        openings.append(np.clip((finger - closed) / scale, 0.0, 1.0))
        sures.append(sure)
        if command is not None:
            asked.append(np.clip((command - closed) / scale, 0.0, 1.0))
    opening = _middle(fingers, openings, fingers.time_ns)
    goal = _middle(target, asked, fingers.time_ns) if target is not None and asked else None
    plain = len(fingers.names) < _FINGERS
    return HandOpening(side, opening, goal, plain, float(np.median(sures)), _LEAST_SHARE)


def _middle(track: Track, columns: Sequence[Array], time_ns: NDArray[np.int64]) -> Track:
    middle = np.median(np.stack(columns, axis=1), axis=1, keepdims=True)
    return replace(track, time_ns=time_ns, values=middle, columns=("opening",))


def _ends(
    finger: Array, command: Array | None, name: str, largest: float
) -> tuple[float, float, float]:
    """The values of a finger that is closed and open, and how sure that is.

    `largest` is the greatest value of any finger of the hand.
    """
    bends = 1.0 if finger.max() > -finger.min() else -1.0
    if words_in_name(name) & _CLOSED:
        return max(1.0, largest), 0.0, 1.0
    if largest > _UNIT_INTERVAL:
        # Angles: a finger at zero is straight, and one that is bent most is closed.
        return bends * largest, 0.0, 1.0
    if largest < _SLIDE_M:
        return 0.0, bends * largest, 1.0
    closes_up = _is_stopped_below(finger, command)
    if closes_up is None:
        return 0.0, 1.0, _ASSUMED
    return (1.0, 0.0, 1.0) if closes_up else (0.0, 1.0, 1.0)


def _is_stopped_below(finger: Array, command: Array | None) -> bool | None:
    """Whether fingers that something stops are told to go higher; None where nothing stops them.

    What a hand closes on keeps it inside of its range although its command is at an end of it.
    """
    if command is None or float(np.ptp(command)) < 1.0 - 2 * _INSIDE:
        return None
    still = np.abs(np.gradient(finger)) < _STILL
    inside = (finger > _INSIDE) & (finger < 1.0 - _INSIDE)
    above = int((still & inside & (command > 1.0 - _INSIDE / 2)).sum())
    below = int((still & inside & (command < _INSIDE / 2)).sum())
    if above == below or max(above, below) < 3:
        return None
    return above > below
