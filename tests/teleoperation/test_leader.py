"""Leader arms: their grippers move the robot's, and one that falls silent lets it come to rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from corporeal.embodiment import open_robot
from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.clearance import Clearance, floor
from corporeal.teleoperation.leader import LeaderArm, leader_of, motion_leader
from corporeal.teleoperation.operator_input import InputTimes, OperatorHand, OperatorInput
from corporeal.teleoperation.safety_filter import SafetyFilter
from corporeal.teleoperation.session import BodyState, PolicyAction, TeleoperationSession, Tick

pytest.importorskip("daqp", reason="needs the extra robot")

TICK_NS = 10_000_000


@pytest.fixture(scope="module")
def limb() -> SafetyFilter:
    arms = ArmModel(open_robot("g1"))
    return SafetyFilter(arms, Clearance(arms, [floor()]))


@dataclass
class _Led:
    """A session that leader arms lead, each still and where the robot is."""

    limb: SafetyFilter
    leaders: dict[str, LeaderArm]
    now_ns: int = 1_000_000_000
    grips: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.limb.start_at(self.limb.arms.body[self.limb.arms.columns])
        self.session = TeleoperationSession(self.limb, leaders=self.leaders)
        self.body = BodyState(0, self.limb.arms.body, self.limb.arms.base)

    def sample(self, name: str) -> Array:
        leader = self.leaders[name]
        joints = np.full(leader.width, self.grips.get(name, 1.0))
        joints[leader.chosen] = self.limb.arms.body[self.limb.arms.columns][leader.columns]
        return joints

    def go(self, seconds: float, *names: str, **tick: PolicyAction) -> Tick:
        for _ in range(round(seconds * 100)):
            self.now_ns += TICK_NS
            for name in names or self.leaders:
                self.session.receive_joints(name, self.sample(name), self.now_ns)
            last = self.session.tick(self.now_ns, self.body, **tick)  # type: ignore[arg-type]
        return last

    def engage(self) -> None:
        self.go(0.02)
        for leader in self.leaders.values():
            leader.align(self.limb.positions)
        self.session.ask("engage", self.now_ns)


def _leaders(limb: SafetyFilter) -> dict[str, LeaderArm]:
    named = limb.arms.names
    return {
        side: leader_of([*(name for name in named if name.startswith(side)), f"{side}_gripper"],
                        named)
        for side in ("left", "right")
    }  # fmt: skip


def test_a_leaders_gripper_shuts_the_robots_hand_once_it_is_engaged(limb: SafetyFilter) -> None:
    led = _Led(limb, _leaders(limb), grips={"right": 0.0, "left": 0.6})
    assert led.go(0.5).openings == {"left": 1.0, "right": 1.0}, "nobody is followed yet"
    led.engage()
    assert led.go(0.1).openings["right"] == pytest.approx(0.6), "no faster than a gripper shuts"
    tick = led.go(0.6)
    assert tick.state == "engaged"
    assert tick.openings == {"left": pytest.approx(0.6), "right": 0.0}
    led.session.ask("stop", led.now_ns)
    led.grips["right"] = 1.0
    assert led.go(0.5).openings["right"] == 0.0, "a stopped robot drops nothing"


def test_the_trigger_in_a_leaders_hand_shuts_what_the_leader_has_no_gripper_for(
    limb: SafetyFilter,
) -> None:
    names = [name for name in limb.arms.names if name.startswith("right")]
    led = _Led(limb, {"arm": leader_of(names, limb.arms.names)})
    led.engage()
    times = InputTimes(led.now_ns, led.now_ns)
    held = OperatorHand("controller", 1, buttons=np.ones(1), pressed=np.ones(1, np.bool_))
    led.session.receive(OperatorInput(1, times, right=held))
    assert led.go(0.5).openings == {"left": 1.0, "right": 0.0}


def test_a_glove_that_has_no_place_in_the_room_shuts_a_led_hand(limb: SafetyFilter) -> None:
    names = [name for name in limb.arms.names if name.startswith("right")]
    led = _Led(limb, {"arm": leader_of(names, limb.arms.names)})
    led.engage()
    fist = OperatorHand("hand", 1, joints=np.tile([0.0, 0, 0, 1, 0, 0, 0, 0.01], (26, 1)))
    led.session.receive(OperatorInput(1, InputTimes(led.now_ns, led.now_ns), right=fist))
    assert led.go(0.5).openings == {"left": 1.0, "right": 0.0}


def test_what_a_policy_holds_is_not_dropped_when_a_leader_takes_over(limb: SafetyFilter) -> None:
    led = _Led(limb, _leaders(limb))
    led.engage()
    led.session.ask("policy", led.now_ns)
    wish = PolicyAction(np.full(len(limb.positions), np.nan), {"right": 0.1})
    assert led.go(0.5, policy=wish).openings["right"] == pytest.approx(0.1)
    led.session.ask("engage", led.now_ns)
    tick = led.go(0.5, policy=wish)
    assert tick.driver == "human"
    assert tick.openings["right"] == pytest.approx(0.1)
    led.grips["right"] = 0.1
    led.go(0.3)
    led.grips["right"] = 1.0
    assert led.go(0.5).openings["right"] == 1.0


def test_one_of_two_leaders_that_falls_silent_holds_the_robot(limb: SafetyFilter) -> None:
    led = _Led(limb, _leaders(limb))
    led.engage()
    assert led.go(0.3).state == "engaged"
    tick = led.go(0.1, "left")
    assert (tick.state, tick.cause) == ("hold", "no input of right for 0.1 s")


def test_the_grippers_of_a_motion_are_in_metres_and_those_of_a_leader_shares() -> None:
    motion = motion_leader(["left_gripper", "elbow", "knee"], ["elbow"], opening_m=0.1)
    motion.update(np.array([0.03, 1.0, 2.0]), 1)
    assert motion.openings == {"left": pytest.approx(0.3)}
    assert motion.angles.tolist() == [1.0]
    without = motion_leader(["left_gripper", "elbow"], ["elbow"])
    without.update(np.array([0.03, 1.0]), 1)
    assert without.openings == {}, "a robot without grippers"
    with pytest.raises(UnknownNameError, match="left_gripper"):
        leader_of(["left_griper"], ["elbow"])
    pinch = leader_of(["elbow", "left_gripper"], ["elbow"])
    pinch.update(np.array([1.0, 7.0]), 1)
    assert pinch.openings == {"left": 1.0}
    pinch.update(np.array([1.0, np.nan]), 2)
    assert pinch.openings == {"left": 1.0}, "what is no number changes nothing"
