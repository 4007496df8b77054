"""A person who picks an object up: poses, trigger and clutch of a controller, by what pages show.

Not a recording: it looks at the state that the robot's side sends to every page, moves its hand on
a person's paths with a person's tremor, looks again and corrects. For bench, tests and tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corporeal.geometry import Array, matrix_from_quaternion, quaternion_from_matrix
from corporeal.simulation.arm_motion import HandPose, between, minimum_jerk
from corporeal.simulation.grasping import LIFT_M, UP, grasp_pose, level
from corporeal.simulation.gripper import GRASP_M
from corporeal.simulation.variation import SceneObject
from corporeal.teleoperation.operator_input import InputTimes, OperatorHand, OperatorInput, Side
from corporeal.teleoperation.webxr import from_webxr

FRAME_S = 1 / 90
# The palm that is told is this far behind the point between the pads, m along the hand.
PALM_M = GRASP_M - 0.08
HEAD = np.array([0.0, 0.0, 1.6, 1.0, 0.0, 0.0, 0.0])
# People look for as long before they correct, s, and are content with this much, m and rad.
LOOK_S, CONTENT_M, CONTENT_RAD = 0.2, 0.006, 0.08
# A hand at rest: slow sway and fast tremor (m, rad), and the tracker's own noise (m).
SWAY_M, TREMOR_M, TREMOR_RAD, NOISE_M = 0.0015, 0.0003, 0.003, 0.0003


@dataclass
class ScriptedOperator:
    """One person with one controller; `act` gives a frame 90 times a second.

    `scene` is what a person sees: the object, which hand takes it and from where, and the mark.
    `commands` are buttons of the page that were pressed since they were last taken.
    """

    scene: Mapping[str, Any]
    seed: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    lifted_s: float | None = None
    is_done: bool = False

    def __post_init__(self) -> None:
        self.side: Side = self.scene["hand"]
        self.rng = np.random.default_rng(self.seed)
        self.place = np.array([0.35, -0.2 if self.side == "right" else 0.2, 1.1])
        self.turn, self.trigger, self.clutch = np.eye(3), 0.0, False
        self.frames, self.begun_s = 0, 0.0
        self._phases = self.rng.uniform(0, 6.28, (3, 3))
        self._script = self._perform()

    def act(self, device_ns: int, sent_ns: int) -> OperatorInput:
        """The next frame, on the device's clock."""
        if next(self._script, None) is None:
            self.is_done = True
        self.frames += 1
        hertz = np.array([[0.25], [0.7], [9.0]])
        time_s = self.frames * FRAME_S
        waves = np.sin(6.283 * hertz * time_s + self._phases)
        shaken = SWAY_M * (waves[0] + waves[1]) + TREMOR_M * waves[2]
        pose = np.empty(7)
        pose[:3] = self.place + shaken + self.rng.normal(0, NOISE_M, 3)
        wobble = _small_turn(TREMOR_RAD * waves[2])
        pose[3:] = quaternion_from_matrix(wobble @ self.turn)
        squeezed = np.array([self.trigger, float(self.clutch)])
        hand = OperatorHand("controller", 1, pose, buttons=squeezed, pressed=squeezed > 0.5,
                            clutch=self.clutch)  # fmt: skip
        times = InputTimes(device_ns, 0, predicted_ns=device_ns + 20_000_000, sent_ns=sent_ns)
        hands = {self.side: hand}
        return OperatorInput(self.frames, times, head=HEAD, left=hands.get("left"),
                             right=hands.get("right"))  # fmt: skip

    def _perform(self) -> Iterator[bool]:
        thing, mark = self._thing(), np.array(self.scene["goal"])
        yield from self._wait(0.5)
        self.commands.append("start")
        yield from self._wait(0.3)
        self.begun_s = self.frames * FRAME_S
        self.clutch = True
        pose = grasp_pose(thing, self._object(), self.side, self.scene["approach"])
        ahead = pose.rotation[:, 0]
        back = -0.09 * ahead if self.scene["approach"] == "side" else -0.10 * ahead + 0.05 * UP
        yield from self._bring(pose.moved(back + 0.06 * UP), 0.25)
        yield from self._bring(pose.moved(back), 0.2)
        yield from self._bring(pose, 0.12, tries=4)
        yield from self._squeeze(1.0)
        first_m = float(self._object()[2])
        raised = HandPose(pose.position + LIFT_M * UP, level(pose))
        yield from self._bring(raised, 0.16)
        if self._object()[2] - first_m > 0.15:
            self.lifted_s = self.frames * FRAME_S
        over = raised.moved((mark - self._object()) * np.array([1.0, 1.0, 0.0]))
        yield from self._bring(over, 0.18)
        for left_m in (0.06, 0.02, 0.004):
            yield from self._look()
            now = self._hand()
            down = now.moved(mark + left_m * UP - self._object())
            rotation = pose.rotation if left_m < 0.05 else now.rotation
            yield from self._bring(HandPose(down.position, rotation), 0.1, tries=2)
        yield from self._squeeze(0.0)
        yield from self._look()
        here = self._hand()
        yield from self._bring(here.moved(-0.09 * here.rotation[:, 0] + 0.03 * UP), 0.15)
        self.clutch = False
        yield from self._wait(0.5)
        self.commands.append("end")
        yield from self._wait(0.3)

    def _wait(self, seconds: float) -> Iterator[bool]:
        for _ in range(max(1, round(seconds / FRAME_S))):
            yield True

    def _look(self) -> Iterator[bool]:
        """Hold still until the page has shown what came of it; take the clutch up where it held."""
        yield from self._wait(LOOK_S)
        seen = self.state.get("time_ns", 0)
        for _ in range(round(20 / FRAME_S)):
            if self.state.get("time_ns", 0) > seen:
                break
            yield True
        while self.clutch and self.state.get("state") == "hold":
            self.clutch = False
            yield from self._wait(0.1)
            self.commands.append("engage")
            yield from self._wait(0.2)
            self.clutch = True
            yield from self._wait(LOOK_S)

    def _bring(self, goal: HandPose, speed_m_s: float, *, tries: int = 3) -> Iterator[bool]:
        """Move until the robot's hand is where it is wanted, looking in between."""
        for _ in range(tries):
            yield from self._look()
            now = self._hand()
            palm, wanted = _palm(now), _palm(goal)
            way, turned = wanted - palm, goal.rotation @ now.rotation.T
            far_m = float(np.linalg.norm(way))
            if far_m < CONTENT_M and _angle(turned) < CONTENT_RAD:
                return
            start = HandPose(self.place.copy(), self.turn.copy())
            end = HandPose(start.position + way, turned @ start.rotation)
            seconds = max(far_m / speed_m_s, _angle(turned) / 0.8, 0.25)
            steps = round(seconds / FRAME_S)
            for step in range(1, steps + 1):
                here = between(start, end, minimum_jerk(step / steps))
                self.place, self.turn = here.position, here.rotation
                yield True

    def _squeeze(self, trigger: float, seconds: float = 0.5) -> Iterator[bool]:
        start, steps = self.trigger, round(seconds / FRAME_S)
        for step in range(1, steps + 1):
            self.trigger = start + (trigger - start) * step / steps
            yield True
        yield from self._wait(0.3)

    def _hand(self) -> HandPose:
        """Where the page shows the robot's fingertips, in the world."""
        base = from_webxr(self.state["base"])
        turn = matrix_from_quaternion(base[3:])
        palm = from_webxr(self.state["hands"][self.side]["measured"])
        rotation = turn @ matrix_from_quaternion(palm[3:])
        return HandPose(base[:3] + turn @ palm[:3] + PALM_M * rotation[:, 0], rotation)

    def _object(self) -> Array:
        thing = next(thing for thing in self.state["things"] if thing["name"] == "object")
        return np.asarray(from_webxr(thing["pose"])[:3])

    def _thing(self) -> SceneObject:
        thing = self.scene["things"][0]
        return thing if isinstance(thing, SceneObject) else SceneObject(**thing)


def _palm(pose: HandPose) -> Array:
    return np.asarray(pose.position - PALM_M * pose.rotation[:, 0])


def _angle(turn: Array) -> float:
    return float(np.arccos(np.clip((np.trace(turn) - 1.0) / 2.0, -1.0, 1.0)))


def _small_turn(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]])
