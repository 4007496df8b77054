"""What a session does when streams die, clutches are taken up, and somebody presses stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.geometry import Array
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.clearance import Clearance, floor
from corporeal.teleoperation.clutch import Clutch, heading_of
from corporeal.teleoperation.leader import leader_of
from corporeal.teleoperation.operator_input import (
    SIDES,
    InputError,
    InputTimes,
    OperatorHand,
    OperatorInput,
    read_inputs,
)
from corporeal.teleoperation.pose_filter import MovingPose, PoseFilter
from corporeal.teleoperation.safety_filter import SafetyFilter
from corporeal.teleoperation.session import BodyState, PolicyAction, TeleoperationSession, Tick

pytest.importorskip("daqp", reason="needs the extra robot")

TICK_NS = 10_000_000
HOME = np.array([0.3, 0.2, 1.2, 1.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def limb() -> SafetyFilter:
    arms = ArmModel(open_robot("g1"))
    return SafetyFilter(arms, Clearance(arms, [floor()]))


class _Run:
    """A session in virtual time, with an operator whose right hand moves on a circle."""

    def __init__(self, limb: SafetyFilter) -> None:
        limb.start_at(limb.arms.body[limb.arms.columns])
        self.session = TeleoperationSession(limb)
        self.body = BodyState(0, limb.arms.body, limb.arms.base)
        self.now_ns = 1_000_000_000
        self.sequence = 0
        self.ticks: list[Tick] = []

    def given(self, **changes: object) -> OperatorInput:
        self.sequence += 1
        phase = 2 * np.pi * 0.5 * self.now_ns / 1e9
        pose = HOME + np.array([0.05 * np.sin(phase), 0, 0.05 * np.cos(phase), 0, 0, 0, 0])
        hand = OperatorHand("controller", 1, pose, clutch=True)
        times = InputTimes(self.now_ns - 5_000_000, self.now_ns, sent_ns=self.now_ns - 3_000_000)
        made = OperatorInput(self.sequence, times, right=hand)
        return replace(made, **changes)  # type: ignore[arg-type]

    def go(
        self, seconds: float, make: Callable[[], OperatorInput | None] | None = None
    ) -> list[Tick]:
        ticks = []
        for _ in range(round(seconds * 100)):
            self.now_ns += TICK_NS
            given = (make or self.given)()
            if given is not None:
                self.session.receive(given)
            ticks.append(self.session.tick(self.now_ns, self.body))
        self.ticks += ticks
        return ticks


@pytest.fixture
def run(limb: SafetyFilter) -> _Run:
    return _Run(limb)


def _moves(ticks: list[Tick]) -> float:
    return float(np.abs([tick.arms.rates for tick in ticks]).max())


def test_the_robot_follows_while_the_clutch_is_held(run: _Run) -> None:
    ticks = run.go(1.0)
    assert ticks[-1].state == "engaged"
    assert ticks[-1].engaged == {"left": False, "right": True}
    assert _moves(ticks) > 0.1


def test_nothing_lurches_when_the_clutch_is_taken_up(run: _Run) -> None:
    before = run.session.limb.positions.copy()
    (first,) = run.go(0.01)
    assert np.abs(first.arms.positions - before).max() < 1e-6
    run.go(1.0)
    released = run.go(0.5, lambda: run.given(right=None))
    assert released[-1].state == "inert"
    assert np.abs(released[-1].arms.rates).max() == 0.0
    again = run.go(0.01)
    assert np.abs(again[0].arms.positions - released[-1].arms.positions).max() < 1e-6


def test_another_device_takes_over_without_a_step(run: _Run) -> None:
    run.go(0.5, lambda: run.given(right=OperatorHand("controller", 1, HOME, clutch=True)))
    still = run.go(0.5, lambda: run.given(right=OperatorHand("controller", 1, HOME, clutch=True)))
    other = HOME + np.array([0.4, -0.3, 0.2, 0, 0, 0, 0])
    after = run.go(0.3, lambda: run.given(right=OperatorHand("hand", 2, other, clutch=True)))
    assert np.abs(after[0].arms.positions - still[-1].arms.positions).max() < 1e-6
    assert after[-1].state == "engaged"


def test_a_lost_stream_is_held_within_a_tenth_of_a_second_and_stays(run: _Run) -> None:
    run.go(1.0)
    lost = run.go(1.0, lambda: None)
    held = next(number for number, tick in enumerate(lost) if tick.state == "hold")
    assert held * 0.01 <= 0.1
    rested = next(n for n, tick in enumerate(lost) if np.abs(tick.arms.rates).max() == 0.0)
    assert rested * 0.01 <= 0.4
    back = run.go(0.5)
    assert {tick.state for tick in back} == {"hold"}, "until it is asked for anew"
    assert _moves(back) == 0.0
    run.session.ask("engage", run.now_ns)
    assert run.go(0.5)[-1].state == "engaged"


@pytest.mark.parametrize("how", ["asked", "sticks", "fall"])
def test_a_stop_comes_within_a_tick_and_is_latched(run: _Run, how: str) -> None:
    run.go(0.5)
    if how == "asked":
        run.session.ask("stop", run.now_ns, "button on the page")
        (tick,) = run.go(0.01)
    elif how == "sticks":
        pressed = np.array([False, False, False, True])
        hands = {
            side: OperatorHand("controller", 1, HOME, pressed=pressed, clutch=True)
            for side in SIDES
        }
        (tick,) = run.go(0.01, lambda: run.given(**hands))
    else:
        upright = run.body
        run.body = replace(run.body, base=np.array([0, 0, 0.3, 1.0, 0, 0, 0]))
        (tick,) = run.go(0.01)
        run.body = upright
    assert tick.state == "stopped"
    assert tick.events[-1].event == "stopped"
    assert tick.cause
    assert run.go(0.5)[-1].state == "stopped"
    run.session.ask("engage", run.now_ns)
    run.session.ask("reset", run.now_ns)
    assert run.go(0.1)[-1].state == "stopped", "the clutch is still held"
    run.go(0.1, lambda: run.given(right=None))
    run.session.ask("reset", run.now_ns)
    assert run.go(0.1, lambda: run.given(right=None))[-1].state == "inert"


@pytest.mark.parametrize(
    ("change", "state"), [({"is_visible": False}, "hold"), ({"origin": 1}, "inert")]
)
def test_a_menu_or_a_new_origin_lets_the_robot_go(
    run: _Run, change: dict[str, object], state: str
) -> None:
    run.go(0.5)
    ticks = run.go(0.5, lambda: run.given(**change))
    assert ticks[-1].state == state
    assert np.abs(ticks[-1].arms.rates).max() == 0.0


def test_a_person_takes_over_from_a_policy_without_a_step(run: _Run) -> None:
    session = run.session
    session.ask("policy", run.now_ns)
    wanted = session.limb.positions.copy()
    for _ in range(50):
        run.now_ns += TICK_NS
        wanted = wanted + 0.002
        tick = session.tick(run.now_ns, run.body, policy=PolicyAction(wanted, {}))
    assert tick.driver == "policy"
    assert tick.asked is not None
    assert np.abs(tick.arms.rates).max() > 0.02
    session.ask("human", run.now_ns, "it misses the block")
    run.now_ns += TICK_NS
    after = session.tick(run.now_ns, run.body, policy=PolicyAction(wanted, {}))
    step = np.abs(after.arms.rates - tick.arms.rates).max()
    assert step <= session.limb.acceleration.max() * 0.0101
    assert after.driver == "human"
    assert [event.event for event in after.events][-2:] == ["human drives", "hold"], (
        "nobody is there"
    )


def test_the_same_inputs_give_the_same_commands(limb: SafetyFilter) -> None:
    first, second = (_Run(limb).go(1.0) for _ in range(2))
    assert all(
        np.array_equal(a.arms.positions, b.arms.positions)
        for a, b in zip(first, second, strict=True)
    )


def test_a_real_headset_moves_the_arms_smoothly(limb: SafetyFilter, shared_data: Path) -> None:
    capture = shared_data / "teleop/webxr_quest3_capture/capture.json"
    run = _Run(limb)
    inputs = list(read_inputs(capture))[:900]
    first_ns = inputs[0].times.device_ns
    positions = []
    for given in inputs:
        now_ns = given.times.device_ns - first_ns + 10**9
        times = InputTimes(now_ns, now_ns)
        left, right = (
            None if hand is None else replace(hand, clutch=True)
            for hand in (given.left, given.right)
        )
        run.session.receive(replace(given, times=times, left=left, right=right))
        positions.append(run.session.tick(now_ns, run.body).arms.positions)
    jerk = np.diff(np.array(positions), 3, axis=0) * 90**3
    assert np.sqrt((jerk**2).mean()) <= 1500
    assert np.ptp(positions, axis=0).max() > 0.5


def test_the_heading_of_the_operator_is_the_robots(run: _Run) -> None:
    half = np.sqrt(0.5)
    looks_left = np.array([0, 0, 1.6, half, 0, 0, half])
    ahead = heading_of(looks_left) @ np.array([0.0, 1.0, 0.0])
    assert np.allclose(ahead, [1, 0, 0])


def test_a_clutch_scales_the_way() -> None:
    clutch, robot = Clutch(scale=0.5), (np.zeros(3), np.eye(3))
    clutch.follow(MovingPose(np.zeros(3), np.eye(3)), 1, robot, np.eye(3))
    goal = clutch.follow(MovingPose(np.ones(3), np.eye(3)), 1, robot, np.eye(3))
    assert np.allclose(goal.position, 0.5)


def test_a_pose_filter_doubts_a_leap_and_then_believes_it() -> None:
    seen = PoseFilter()
    for step in range(20):
        seen.update(HOME, step / 90)
    away = HOME + np.array([1.0, 0, 0, 0, 0, 0, 0])
    seen.update(away, 20 / 90)
    first = seen.at(20 / 90)
    assert first is not None
    assert np.allclose(first.position, HOME[:3])
    for step in range(21, 40):
        seen.update(away, step / 90)
    later = seen.at(39 / 90)
    assert later is not None
    assert np.allclose(later.position, away[:3])
    assert seen.jumps == 1


def test_a_leader_arm_finds_its_quarter_turns_and_refuses_another_pose(limb: SafetyFilter) -> None:
    names = [name for name in limb.arms.names if name.startswith("left")]
    leader = leader_of(names, limb.arms.names, reversed_joints=names[:1])
    robot: Array = limb.positions
    with pytest.raises(InputError, match="no sample yet"):
        leader.align(robot)
    turned = leader.signs * (robot[leader.columns] - np.pi / 2) + 0.05
    leader.update(turned, 0)
    leader.align(robot)
    asked = robot.copy()
    leader.lead(asked, np.zeros(len(asked)))
    assert np.abs(asked - robot).max() < 0.06
    leader.update(turned + 0.6, 0)
    with pytest.raises(InputError, match="degrees"):
        leader.align(robot)


def test_an_embodiment_without_arms_is_refused(limb: SafetyFilter) -> None:
    robot: Embodiment = limb.arms.robot
    legs = robot.model_copy(update={"groups": {"left_leg": robot.groups["left_leg"]}})
    with pytest.raises(Exception, match="no arm to be driven"):
        ArmModel(legs)
