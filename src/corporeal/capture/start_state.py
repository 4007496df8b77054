"""Whether an episode begins as its protocol says, told at the moment that it begins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from math import cos, degrees, pi, sin, sqrt
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.driver import Rig, Sample
from corporeal.protocol import Protocol
from corporeal.schema import roles
from corporeal.units import SECOND_NS

# Who stands still sways by so much; upright is above this share of the standing height.
_SWAY_RAD, _SWAY_M, _UPRIGHT = 0.08, 0.005, 0.8
# A window of stillness holds at most so many samples, whatever the rate.
_MOST_SAMPLES = 4096
_LEAST_S = 0.25
_LEAST_TRAVEL_M = 0.02
# So far from where it was asked to lie the check that follows (randomisation_off_protocol) allows.
_ASKED_M = 0.02

Window = deque[tuple[int, NDArray[np.float64]]]


class StartWatch:
    """Keeps the last moments of the streams that show the start state, and says what is off.

    It also draws where the object is to lie next, within the protocol's range: `asked`.
    """

    def __init__(self, protocol: Protocol | None, rig: Rig, *, seed: int | None = None) -> None:
        self._protocol, self._robot = protocol, rig.embodiment
        self._random = Random(seed)
        self._windows: dict[str, Window] = {}
        self._ranges: dict[str, tuple[float, float]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        if protocol is not None:
            wanted = (roles.JOINT_POSITION, roles.BASE_POSE, roles.OBJECT_POSE)
            for stream in rig.resolve().streams:
                is_hand = stream.name.endswith(roles.GRIPPER)
                is_shown = stream.group != "actions" and (stream.name in wanted or is_hand)
                if stream.kind == "array" and is_shown:
                    self._windows[stream.path] = deque(maxlen=_MOST_SAMPLES)
                    self._names[stream.path] = tuple(stream.components or ())
        self.asked = self._draw()
        self._by_card: dict[str, Any] | None = None

    def see(self, sample: Sample) -> None:
        """Keep a sample, if it shows the state."""
        window = self._windows.get(sample.stream)
        if window is None or self._protocol is None:
            return
        values = np.atleast_1d(np.asarray(sample.value, np.float64))
        window.append((sample.arrival_ns, values))
        span_ns = max(self._protocol.start.still_s, _LEAST_S) * SECOND_NS
        while len(window) > 1 and sample.arrival_ns - window[0][0] > span_ns:
            window.popleft()
        if sample.stream.endswith(roles.GRIPPER) and np.isfinite(values[0]):
            low, high = self._ranges.get(sample.stream, (values[0], values[0]))
            self._ranges[sample.stream] = min(low, values[0]), max(high, values[0])

    def expect(self, asked: Mapping[str, Any] | None) -> None:
        """A card says where the object is to lie next, or nothing of it."""
        self.asked = self._by_card = None if asked is None else dict(asked)

    def begin(self, metadata: dict[str, Any], elapsed_s: float) -> tuple[str, ...]:
        """What is off as an episode begins. Its metadata get where the object was asked to lie."""
        warnings = tuple(self._warnings(metadata.get("operator"), elapsed_s))
        if self.asked is not None:
            metadata["asked"] = self.asked
        self.asked, self._by_card = self._draw(), None
        return warnings

    def asks(self) -> tuple[str, ...]:
        """What the operator is to do before the next episode."""
        if self.asked is None:
            return ()
        x, y, _ = self.asked["object_xyz"]
        turn = degrees(self.asked["object_yaw_rad"])
        return (f"put the object at x {x:.3f} m, y {y:.3f} m, turned by {turn:.0f} degrees",)

    def _warnings(self, operator: str | None, elapsed_s: float) -> Iterator[str]:
        if self._protocol is None:
            return
        yield from self._problems()
        limit = self._protocol.operators.rotation_min
        if elapsed_s > 60 * limit:
            yield (
                f"{operator or 'one operator'} has recorded for {elapsed_s / 60:.0f} min; the "
                f"protocol rotates after {limit:g} min"
            )

    def _problems(self) -> Iterator[str]:
        for path, window in self._windows.items():
            if len(window) < 2:
                continue
            values = np.array([value for _, value in window])
            name = path.partition("/")[2]
            if name == roles.JOINT_POSITION:
                yield from self._joints(values, self._names[path])
            elif name == roles.BASE_POSE:
                yield from self._base(values)
            elif name == roles.OBJECT_POSE:
                yield from self._object(values)
            else:
                yield from self._gripper(path, name, float(values[-1, 0]))

    def _joints(self, values: NDArray[np.float64], names: tuple[str, ...]) -> Iterator[str]:
        assert self._protocol is not None
        wanted, spread = self._protocol.start, self._protocol.randomisation.joint_rad
        swing = np.nan_to_num(np.ptp(values, axis=0))
        worst = int(swing.argmax())
        if wanted.still_s and swing[worst] > _SWAY_RAD:
            joint = names[worst] if worst < len(names) else f"joint {worst}"
            yield f"the robot moves: {joint} by {swing[worst]:.2f} rad in {wanted.still_s:g} s"
        room = wanted.posture_tolerance if spread is None else spread
        for joint, angle in wanted.posture.items():
            at = float(np.median(values[:, names.index(joint)])) if joint in names else angle
            if abs(at - angle) > room:
                yield f"{joint} is at {at:.2f}; the protocol asks for {angle:.2f} +- {room:.2f}"

    def _base(self, values: NDArray[np.float64]) -> Iterator[str]:
        assert self._protocol is not None
        standing = self._robot.standing if self._robot is not None else None
        if self._protocol.start.upright and standing is not None and values.shape[1] > 2:
            share = float(np.median(values[:, 2])) / standing.height
            if share < _UPRIGHT:
                yield f"the robot does not stand: its pelvis is at {100 * share:.0f} % of standing"

    def _object(self, values: NDArray[np.float64]) -> Iterator[str]:
        assert self._protocol is not None
        moved = float(np.ptp(values[:, :3], axis=0).max())
        if self._protocol.start.object_resting and moved > _SWAY_M:
            yield f"the object moves by {1000 * moved:.0f} mm"
        here, asked = np.median(values[:, :2], axis=0), self._protocol.randomisation
        if self._by_card is not None:
            off = float(np.linalg.norm(here - np.asarray(self._by_card["object_xyz"][:2])))
            if off > _ASKED_M:
                yield f"the object lies {100 * off:.0f} cm from where it was asked to"
        elif asked.object_xyz is not None:
            away = float(np.linalg.norm(here - np.asarray(asked.object_xyz[:2])))
            if away > asked.object_position_m + _SWAY_M:
                yield (
                    f"the object lies {100 * away:.0f} cm from the middle; the protocol asks for "
                    f"{100 * asked.object_position_m:.0f} cm at most"
                )

    def _gripper(self, path: str, name: str, opening: float) -> Iterator[str]:
        assert self._protocol is not None
        wanted = self._protocol.start.grippers
        low, high = self._ranges.get(path, (0.0, 0.0))
        if wanted == "any" or high - low < _LEAST_TRAVEL_M:
            return  # How far it opens is not known before it has moved.
        share = (opening - low) / (high - low)
        if (share < 0.4) if wanted == "open" else (share > 0.6):
            yield f"{name} is {100 * share:.0f} % open; the protocol asks for {wanted}"

    def _draw(self) -> dict[str, Any] | None:
        if self._protocol is None or self._protocol.randomisation.object_xyz is None:
            return None
        asked = self._protocol.randomisation
        assert asked.object_xyz is not None
        x, y, z = asked.object_xyz
        away = asked.object_position_m * sqrt(self._random.random())
        angle = self._random.uniform(-pi, pi)
        turn = self._random.uniform(-asked.object_yaw_rad, asked.object_yaw_rad)
        return {
            "object_xyz": [round(x + away * cos(angle), 4), round(y + away * sin(angle), 4), z],
            "object_yaw_rad": round(turn, 3),
        }
