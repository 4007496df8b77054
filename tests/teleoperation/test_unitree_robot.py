"""A simulated G1 on the network is driven as a real one: over DDS, slowly, and while watched."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.dds.link import DdsLink
from corporeal.dds.unitree_message import (
    ARM_TOPIC,
    H1_MOTORS,
    LOW_STATE_TOPIC,
    MODELS,
    MotorCommand,
    blank_low_state,
    dds_types,
    is_intact,
    is_remote_pressed,
    press_remote,
    read_low_cmd,
    write_arm_command,
    write_low_state,
)
from corporeal.errors import CorporealError
from corporeal.simulation.network_robot import NetworkRobot
from corporeal.teleoperation.control_loop import (
    TICK_NS,
    AskedCommand,
    ControlLoop,
    LoopTurn,
    open_session,
)
from corporeal.teleoperation.operator_input import InputTimes, OperatorHand, OperatorInput
from corporeal.teleoperation.robot_link import LinkOptions, RobotLink, robot_drivers

pytest.importorskip("cyclonedds", reason="the live extra is not installed")
pytest.importorskip("daqp", reason="needs the extra robot")
HAS_LO = "lo" in [name for _, name in socket.if_nameindex()]
needs_loopback = pytest.mark.skipif(not HAS_LO, reason="no loopback interface called lo")
DOMAIN, H1_DOMAIN, PROCESS_DOMAIN = 61, 62, 63
SHARE = 0.3


@given(st.lists(st.floats(-100, 100, width=32), min_size=8, max_size=8), st.floats(0, 1, width=32))
def test_a_command_of_arms_is_that_of_its_dds_type_and_has_its_checksum(
    angles: list[float], weight: float
) -> None:
    for model in MODELS[:2]:
        command = MotorCommand(*(np.array(angles) + part for part in range(5)))
        data = write_arm_command(model, range(12, 20), command, weight)
        assert is_intact(data, model.family)
        whole = dds_types(model.family).LowCmd.deserialize(data)
        assert whole.motor_cmd[model.arm_weight].q == weight
        told = whole.motor_cmd[12:20]
        assert [motor.q for motor in told] == np.array(angles, np.float32).tolist()
        assert [motor.kd for motor in told] == (np.array(angles) + 4).astype(np.float32).tolist()
        broken = bytearray(data)
        broken[40] ^= 1
        assert not is_intact(bytes(broken), model.family)


def test_a_button_of_the_remote_is_told_from_all_others() -> None:
    remote = np.zeros(40, np.uint8)
    press_remote(remote, "R1")
    assert remote[2] == 1
    assert is_remote_pressed(remote, "R1")
    assert not is_remote_pressed(remote, "L1")
    press_remote(remote, "left")
    assert remote[3] == 0x80


class _Hall:
    """A simulated G1 and a loop that drives it, in one process and nobody's real time."""

    def __init__(self) -> None:
        self.held = False
        self.robot = NetworkRobot(interface="lo", domain=DOMAIN, is_switch_held=lambda: self.held)
        self.link = self._open()
        self.loop = ControlLoop(open_session(self.link, share=SHARE), self.link)
        self.now_ns, self.sequence = 1_000_000_000, 0

    def _open(self) -> RobotLink:
        seen = threading.Event()
        steps = threading.Thread(target=self._step_until, args=(seen,))
        steps.start()
        try:
            options = LinkOptions(domain=DOMAIN)
            return robot_drivers()["unitree"].open(options)
        finally:
            seen.set()
            steps.join()

    def _step_until(self, over: threading.Event) -> None:
        while not over.is_set():
            self.robot.step()

    def go(self, seconds: float, *, clutch: bool = True, up_m: float = 0.0) -> list[LoopTurn]:
        """Time goes on; the right hand rises to `up_m` over the first half of it."""
        turns, count = [], round(seconds * 100)
        for number in range(count):
            self.now_ns += TICK_NS
            self._step_robot()
            self.sequence += 1
            rise = up_m * min(1.0, 2 * number / count)
            pose = np.array([0.3, -0.2, 1.2 + rise, 1.0, 0.0, 0.0, 0.0])
            hand = OperatorHand("controller", 1, pose, clutch=clutch)
            times = InputTimes(self.now_ns, self.now_ns)
            self.loop.offer(OperatorInput(self.sequence, times, right=hand))
            turns.append(self.loop.turn(self.now_ns))
        return turns

    def _step_robot(self) -> None:
        """10 ms of the robot, and wait until its last word has arrived."""
        for _ in range(5):
            self.robot.step()
        wanted = self.robot.summary().seconds * 1000
        for _ in range(5000):
            self.link.read(self.now_ns)
            if int(self.link._state["tick"]) >= wanted - 1:  # type: ignore[attr-defined]
                return
            threading.Event().wait(0.001)
        raise AssertionError("the robot's state did not arrive")

    def close(self) -> None:
        self.link.close()
        self.robot.close()


@pytest.fixture
def hall() -> Iterator[_Hall]:
    made = _Hall()
    yield made
    made.close()


@needs_loopback
@pytest.mark.slow
def test_the_arms_follow_only_while_somebody_holds_the_switch(hall: _Hall) -> None:
    waiting = hall.go(0.3)
    assert waiting[-1].tick.state == "inert"
    assert "R1 of the robot's remote" in waiting[-1].tick.cause
    assert np.abs([turn.tick.arms.rates for turn in waiting]).max() == 0.0
    hall.go(2.0, clutch=False)  # The arms are taken from the robot's own controller.
    hall.held = True
    hall.go(0.1, clutch=False)
    driven = hall.go(3.0, up_m=0.15)
    assert driven[-1].tick.state == "engaged"
    rates = np.abs([turn.tick.arms.rates for turn in driven])
    assert 0.1 < rates.max() <= SHARE * 4.0 + 1e-9
    right = slice(7, 14)
    told = driven[-1].tick.arms.positions[right]
    was = np.array([turn.body.joints[turn.columns][right] for turn in driven])
    assert np.abs(was[-1] - was[0]).max() > 0.15, "it moved"
    assert np.abs(was[-1] - told).max() < 0.08, "and is where it was told to be"
    hall.held = False
    let_go = hall.go(0.5, up_m=-0.2)
    assert [turn.tick.state for turn in let_go[:4]].count("hold") >= 2
    assert "live-man switch is not held" in let_go[-1].tick.cause
    assert np.abs(let_go[-1].tick.arms.rates).max() == 0.0
    summary = hall.robot.summary()
    assert summary.stands
    assert summary.broken == 0
    assert summary.arm_share == 1.0


@needs_loopback
@pytest.mark.slow
def test_a_robot_that_falls_silent_is_held_and_a_broken_command_is_left_out(hall: _Hall) -> None:
    hall.held = True
    hall.go(0.1, clutch=False)
    assert hall.go(0.3)[-1].tick.state == "engaged"
    for _ in range(12):
        hall.now_ns += TICK_NS
        hall.sequence += 1
        hand = OperatorHand("controller", 1, np.array([0.3, -0.2, 1.2, 1, 0, 0, 0]), clutch=True)
        times = InputTimes(hall.now_ns, hall.now_ns)
        hall.loop.offer(OperatorInput(hall.sequence, times, right=hand))
        turn = hall.loop.turn(hall.now_ns)
    assert (turn.tick.state, turn.tick.cause) == ("hold", "the robot was not heard for 0.1 s")
    before = hall.robot.summary()
    command = MotorCommand(*(np.ones(1) for _ in range(5)))
    data = bytearray(write_arm_command(MODELS[0], [15], command, 1.0))
    data[60] ^= 4
    hall.link._link.write(ARM_TOPIC, bytes(data))  # type: ignore[attr-defined]
    for _ in range(2000):
        hall.robot.step()
        if hall.robot.summary().broken:
            break
        threading.Event().wait(0.001)
    assert hall.robot.summary().broken == before.broken + 1
    hall.loop.offer(AskedCommand("stop", "button", hall.now_ns))
    hall.now_ns += TICK_NS
    assert hall.loop.turn(hall.now_ns).tick.state == "stopped"


@needs_loopback
def test_an_h1_is_told_its_own_motors() -> None:
    types = dds_types("unitree_go")
    state = blank_low_state("unitree_go")
    state["motor_state"]["q"] = np.arange(20) / 100
    with DdsLink({ARM_TOPIC: types.LowCmd}, domain=H1_DOMAIN, interface="lo",
                 written={LOW_STATE_TOPIC: types.LowState}) as robot:  # fmt: skip
        seen = threading.Event()

        def speak() -> None:
            while not seen.wait(0.01):
                robot.write(LOW_STATE_TOPIC, write_low_state(state))

        speaker = threading.Thread(target=speak)
        speaker.start()
        try:
            link = robot_drivers()["unitree"].open(LinkOptions(robot="h1", domain=H1_DOMAIN))
        finally:
            seen.set()
            speaker.join()
        session = open_session(link, share=SHARE)
        elbow = link.robot.joint_names.index("left_elbow_joint")
        assert link.read(0).joints[elbow] == pytest.approx(
            H1_MOTORS.index("left_elbow_joint") / 100
        )
        loop = ControlLoop(session, link)
        rows = None
        for number in range(1, 500):
            loop.turn(number * TICK_NS)
            wires = robot.take(0.02)
            if wires:
                assert is_intact(wires[-1].data, "unitree_go")
                rows = read_low_cmd(wires[-1].data, "unitree_go")["motor_cmd"]
                break
        assert rows is not None
        place = H1_MOTORS.index("left_elbow_joint")
        assert rows["q"][place] == pytest.approx(place / 100, abs=0.02)
        assert 0 < rows["q"][9] <= 1, "the share stands where an H1 has no motor"
        assert not rows["kp"][: H1_MOTORS.index("right_shoulder_pitch_joint")].any(), "no leg"
        link.close()


def test_no_robot_is_moved_by_a_forgotten_word() -> None:
    for arguments, words in (
        (["--driver", "unitree"], "--hardware"),
        (["--hardware"], "with the simulation"),
        (["--driver", "unitree", "--hardware", "--robot", "gr1"], "gr1"),
    ):
        result = CliRunner().invoke(program(), ["teleoperate", *arguments])
        assert isinstance(result.exception, CorporealError)
        assert words in str(result.exception)


@needs_loopback
@pytest.mark.slow
def test_the_simulated_robot_is_a_process_of_its_own(tmp_path: Path) -> None:
    said = tmp_path / "said.json"
    command = [sys.executable, "-m", "corporeal", "simulate-robot", "--domain",
               str(PROCESS_DOMAIN), "--switch-held", "--json", "--seconds", "120"]  # fmt: skip
    with said.open("w") as out:
        process = subprocess.Popen(command, stdout=out)
    try:
        link = None
        while link is None:
            try:
                link = robot_drivers()["unitree"].open(LinkOptions(domain=PROCESS_DOMAIN))
            except CorporealError:
                assert process.poll() is None, "it ended"
        loop = ControlLoop(open_session(link, share=SHARE), link)
        for number in range(1, 60):
            loop.turn(number * TICK_NS)
            threading.Event().wait(0.01)
        link.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait(timeout=60)
    summary = json.loads(said.read_text())
    assert summary["stands"]
    assert summary["commands"] > 10
    assert summary["broken"] == 0
