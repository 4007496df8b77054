"""The loop that drives the simulated G1, in virtual time: from input to a robot that stands."""

from __future__ import annotations

import numpy as np
import pytest
from tests.teleoperation.captures import quest_inputs

from corporeal.embodiment import collision
from corporeal.errors import CorporealError
from corporeal.signal.lag import lag
from corporeal.teleoperation.control_loop import (
    TICK_NS,
    AskedCommand,
    ControlLoop,
    LoopTurn,
    OperatorArrived,
    open_session,
    play,
)
from corporeal.teleoperation.latency import LatencyMeter
from corporeal.teleoperation.operator_input import InputTimes
from corporeal.teleoperation.operator_message import Command, JointMessage
from corporeal.teleoperation.robot_link import LinkOptions, RobotLink, robot_drivers

pytest.importorskip("daqp", reason="needs the extra robot")


@pytest.fixture(scope="module")
def link() -> RobotLink:
    return robot_drivers()["sim"].open(LinkOptions(seed=1))


@pytest.fixture
def loop(link: RobotLink) -> ControlLoop:
    link.put_back()
    return ControlLoop(open_session(link), link)


def _commands(turns: list[LoopTurn]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([turn.tick.arms.positions for turn in turns])


def test_the_same_recording_gives_the_same_commands_bit_for_bit() -> None:
    inputs = quest_inputs()[:270]
    made = []
    for _ in range(2):
        fresh = robot_drivers()["sim"].open(LinkOptions(seed=1))
        made.append(play(ControlLoop(open_session(fresh), fresh), inputs))
    first, second = (_commands(turns) for turns in made)
    assert np.ptp(first, axis=0).max() > 0.3, "it moved"
    assert (first == second).all()


def test_the_robot_follows_a_person_and_stays_upright(loop: ControlLoop, link: RobotLink) -> None:
    turns = play(loop, quest_inputs()[:270])
    base = turns[-1].body.base
    assert base[2] > 0.74
    columns = loop.session.limb.arms.columns
    measured = np.array([turn.body.joints[columns] for turn in turns])
    assert np.sqrt(np.mean((measured - _commands(turns)) ** 2)) < 0.1
    rows = np.array([turn.sent.joints for turn in turns[::10]], np.float64)
    assert collision.CollisionModel(link.robot).distances(rows).minimum_m.min() > 0.0


def test_a_stop_is_not_lost_in_a_flood_of_input(loop: ControlLoop) -> None:
    turns = play(loop, quest_inputs()[:60])
    now_ns = turns[-1].tick.time_ns
    loop.offer(AskedCommand("stop", "button on the page", now_ns))
    for given in quest_inputs()[60:900]:
        loop.offer(given)
    turn = loop.turn(now_ns + TICK_NS)
    assert (turn.tick.state, turn.tick.cause) == ("stopped", "button on the page")


def test_what_cannot_be_done_is_refused_in_words(loop: ControlLoop) -> None:
    wanted: tuple[tuple[Command, str], ...] = (
        ("start", "nothing is recorded"), ("policy", "no policy was given")
    )  # fmt: skip
    for command, words in wanted:
        loop.offer(AskedCommand(command, "", 0))
        event = loop.turn(loop.turns * TICK_NS).tick.events[-1]
        assert event.event == "refused"
        assert words in event.cause


def test_a_robot_that_keeps_its_own_legs_is_not_said_to_kneel(
    loop: ControlLoop, link: RobotLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "kneels", False, raising=False)
    loop.offer(AskedCommand("kneel", "button on the page", TICK_NS))
    tick = loop.turn(TICK_NS).tick
    assert tick.state == "inert"
    assert not tick.kneels
    assert tick.events[-1].event == "refused"
    assert "cannot be told to kneel" in tick.events[-1].cause


def test_leader_arms_are_taken_by_the_names_of_their_joints(loop: ControlLoop) -> None:
    now_ns = TICK_NS
    loop.offer(OperatorArrived(now_ns, {"leader": ("left_elbow_joint", "no_such_joint")}))
    assert "no_such_joint" in loop.turn(now_ns).tick.events[-1].cause
    names = tuple(loop.session.limb.arms.names)
    held = loop.session.limb.positions.copy()
    loop.offer(OperatorArrived(now_ns, {"leader": names}))
    turns = []
    for number in range(2, 130):
        now_ns = number * TICK_NS
        wanted = held.copy()
        wanted[names.index("left_elbow_joint")] += 0.2
        shown = held if number < 5 else wanted
        loop.offer(JointMessage(0, number, InputTimes(now_ns, now_ns), shown))
        if number == 4:
            loop.offer(AskedCommand("engage", "", now_ns))
        turns.append(loop.turn(now_ns))
    assert turns[-1].tick.state == "engaged"
    elbow = names.index("left_elbow_joint")
    path = np.array([turn.tick.arms.positions[elbow] for turn in turns])
    assert np.abs(np.diff(path)).max() < 0.005, "it is taken over gradually"
    assert turns[-1].tick.arms.positions[elbow] - held[elbow] == pytest.approx(0.2, abs=0.02)


def test_another_page_begins_anew_and_moves_nothing(loop: ControlLoop) -> None:
    turns = play(loop, quest_inputs()[:60])
    now_ns = turns[-1].tick.time_ns + TICK_NS
    loop.offer(OperatorArrived(now_ns))
    turn = loop.turn(now_ns)
    assert (turn.tick.state, turn.tick.cause) == ("inert", "another page drives")
    assert not any(turn.tick.engaged.values())
    # Its messages count from nought again.
    fresh = quest_inputs()[0]
    loop.session.receive(fresh)
    assert loop.session.tick(now_ns + TICK_NS, turn.body).input_times == fresh.times


def test_a_recording_without_frames_is_refused(loop: ControlLoop) -> None:
    with pytest.raises(CorporealError, match="no frames"):
        play(loop, [])


def test_a_leader_arm_is_followed_at_its_own_speed(loop: ControlLoop) -> None:
    names = tuple(loop.session.limb.arms.names)
    elbow, held = names.index("left_elbow_joint"), loop.session.limb.positions.copy()
    loop.offer(OperatorArrived(TICK_NS, {"leader": names}))
    asked, told, seconds = [], [], []
    for number in range(2, 1200):
        now_ns = number * TICK_NS
        wanted = held.copy()
        if number > 150:
            time_s = (number - 150) / 100
            wanted[elbow] += 0.15 * np.sin(2 * np.pi * 0.7 * time_s) * min(1.0, time_s)
            wanted[elbow] += 0.05 * np.sin(2 * np.pi * 1.9 * time_s) * min(1.0, time_s)
        loop.offer(JointMessage(0, number, InputTimes(now_ns, now_ns), wanted))
        if number == 4:
            loop.offer(AskedCommand("engage", "", now_ns))
        turn = loop.turn(now_ns)
        if number > 150:
            asked.append(wanted[elbow])
            told.append(turn.tick.arms.positions[elbow])
            seconds.append(now_ns / 1e9)
    late = lag(asked, seconds, told, seconds, band_hz=(0.2, 6.0))
    assert late.confidence > 0.9
    assert late.seconds < 0.010, "a tick, where 45 ms were without its speed"


def test_an_input_is_as_old_as_the_compared_clocks_say() -> None:
    meter = LatencyMeter()
    times = InputTimes(device_ns=5_000_000, received_ns=1_040_000_000, sent_ns=6_000_000)
    assert meter.see(times, 1_044_000_000) == pytest.approx((0.001, 0.004))
    meter.offset_ns = 1_000_000_000
    assert meter.see(times, 1_044_000_000) == pytest.approx((0.035, 0.004))
