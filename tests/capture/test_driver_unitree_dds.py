"""Unitree's humanoids are read over real DDS on loopback, from another process."""

from __future__ import annotations

import runpy
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.capture.driver import Driver, DriverError, Sample, drivers, parse_options
from corporeal.capture.drivers.unitree_dds import _Ticks
from corporeal.dds.link import DdsError, configuration
from corporeal.dds.unitree_message import (
    G1_MOTORS,
    H1_2_MOTORS,
    H1_MOTORS,
    MOTORS,
    dds_types,
    read_low_cmd,
    read_low_state,
    unitree_model,
)
from corporeal.embodiment import open_robot

pytest.importorskip("cyclonedds", reason="the live extra is not installed")
PUBLISHER = Path(__file__).with_name("unitree_publisher.py")
HAS_LO = "lo" in [name for _, name in socket.if_nameindex()]
needs_loopback = pytest.mark.skipif(not HAS_LO, reason="no loopback interface called lo")


@pytest.fixture
def driver() -> Driver:
    return drivers()["unitree_dds"]


@contextmanager
def _robot(
    domain: int, seconds: float, rate_hz: float, family: str = "unitree_hg"
) -> Iterator[subprocess.Popen[bytes]]:
    """A publisher process, ended by its id whatever happens."""
    command = [sys.executable, str(PUBLISHER), str(domain), str(seconds), str(rate_hz), family]
    process = subprocess.Popen(command)
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)


def _state(types: SimpleNamespace, numbers: list[float], tick: int) -> Any:
    motors = [
        types.MotorState(
            mode=3, q=number, dq=number + 1, ddq=0.0, tau_est=-number, temperature=[motor, -motor],
            vol=48.5, sensor=[1, 2], motorstate=9, reserve=[5, 6, 7, 8],
        )
        for motor, number in enumerate(numbers)
    ]  # fmt: skip
    imu = types.IMUState(
        quaternion=[0.5, 0.5, -0.5, 0.5], gyroscope=[1.0, 2.0, 3.0],
        accelerometer=[4.0, 5.0, 6.0], rpy=[7.0, 8.0, 9.0], temperature=33,
    )  # fmt: skip
    return types.LowState(
        version=[1, 2], mode_pr=1, mode_machine=5, tick=tick, imu_state=imu, motor_state=motors,
        wireless_remote=list(range(40)), reserve=[1, 2, 3, 4], crc=0xDEADBEEF,
    )  # fmt: skip


@given(
    st.lists(st.floats(-100, 100, width=32), min_size=MOTORS, max_size=MOTORS),
    st.integers(0, 2**32 - 1),
)
def test_the_wire_layout_of_a_state_is_that_of_its_dds_type(
    numbers: list[float], tick: int
) -> None:
    data = _state(dds_types(), numbers, tick).serialize()
    assert len(data) == 2092
    state = read_low_state(data)
    np.testing.assert_array_equal(state["motor_state"]["q"], np.array(numbers, np.float32))
    np.testing.assert_array_equal(state["motor_state"]["tau_est"], -np.array(numbers, np.float32))
    np.testing.assert_array_equal(state["motor_state"]["temperature"][-1], [34, -34])
    np.testing.assert_array_equal(state["imu_state"]["quaternion"], [0.5, 0.5, -0.5, 0.5])
    np.testing.assert_array_equal(state["imu_state"]["accelerometer"], [4, 5, 6])
    np.testing.assert_array_equal(state["wireless_remote"], range(40))
    assert (int(state["tick"]), int(state["crc"])) == (tick, 0xDEADBEEF)


def test_the_wire_layout_of_a_command_is_that_of_its_dds_type() -> None:
    types = dds_types()
    motors = [
        types.MotorCmd(mode=1, q=n / 10, dq=-n / 10, tau=2.0 * n, kp=60.0, kd=1.5, reserve=n)
        for n in range(MOTORS)
    ]
    message = types.LowCmd(
        mode_pr=1, mode_machine=5, motor_cmd=motors, reserve=[1, 2, 3, 4], crc=77
    )
    command = read_low_cmd(message.serialize())
    np.testing.assert_allclose(command["motor_cmd"]["q"], np.arange(MOTORS) / 10, rtol=1e-6)
    np.testing.assert_array_equal(command["motor_cmd"]["reserve"], np.arange(MOTORS))
    assert command["crc"] == 77


def test_a_message_of_another_size_is_refused() -> None:
    for data in (b"", b"\0\1\0\0", bytes(2000), b"\0\7\0\0" + bytes(2088)):
        with pytest.raises(DdsError, match="expected 2092"):
            read_low_state(data)


def test_the_counter_of_milliseconds_may_wrap() -> None:
    ticks = _Ticks()
    assert ticks.to_ns(2**32 - 2) == (2**32 - 2) * 10**6
    assert ticks.to_ns(3) == (2**32 + 3) * 10**6
    assert ticks.to_ns(5) == (2**32 + 5) * 10**6


def test_the_streams_are_known_without_a_robot(driver: Driver) -> None:
    for name, count in (("g1", 29), ("g1_23dof", 23)):
        rig = driver.describe(parse_options(driver, {"robot": name, "extras": True}))
        stream = rig.schema.stream("observations/joint_position")
        assert stream.shape == (count,)
        assert stream.components == open_robot(name).joint_names
        assert rig.source("actions/joint_position_target") == "command"
        assert rig.source("observations/pelvis_imu") == "robot"
    assert open_robot("g1").joint_names == G1_MOTORS


def test_a_robot_with_other_joints_is_refused(driver: Driver) -> None:
    with pytest.raises(DdsError, match="joints of a Unitree G1, H1, H1-2"):
        driver.describe(parse_options(driver, {"robot": "gr1"}))


def test_an_h1_has_20_places_and_its_imu_in_the_torso(driver: Driver) -> None:
    rig = driver.describe(parse_options(driver, {"robot": "h1", "extras": True}))
    assert rig.schema.stream("observations/joint_position").shape == (19,)
    assert rig.schema.stream("observations/torso_imu").frame == "imu_link"
    assert rig.schema.stream("debug/battery").components == ("voltage", "current")
    assert set(open_robot("h1").joint_names) == set(H1_MOTORS) - {""}
    assert len(H1_MOTORS) == 20
    assert H1_MOTORS.index("right_knee_joint") == 2
    assert H1_MOTORS.index("left_ankle_joint") == 10
    assert H1_MOTORS.index("left_elbow_joint") == 19


def test_an_h1_2_is_told_from_its_joints() -> None:
    joints = H1_2_MOTORS
    assert len(joints) == 27
    assert (joints.index("torso_joint"), joints.index("right_wrist_yaw_joint")) == (12, 26)
    titles = {names: unitree_model("x", names).title
              for names in (joints, G1_MOTORS, open_robot("h1").joint_names)}  # fmt: skip
    assert list(titles.values()) == ["H1-2", "G1", "H1"]


def test_the_wire_layout_of_unitree_go_is_that_of_its_dds_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["publisher", "unitree_go"])
    publisher = runpy.run_path(str(PUBLISHER))
    data = publisher["low_state"](5, 123456).serialize()
    state = read_low_state(data, "unitree_go")
    np.testing.assert_allclose(state["motor_state"]["q"], 5 + np.arange(20) / 100, rtol=1e-6)
    np.testing.assert_array_equal(state["motor_state"]["tau_est"], -np.arange(20))
    np.testing.assert_array_equal(state["motor_state"]["temperature"], 40 + np.arange(20))
    np.testing.assert_array_equal(state["motor_state"]["lost"], np.arange(20))
    np.testing.assert_allclose(state["imu_state"]["accelerometer"], [0, 0, 9.81], rtol=1e-6)
    np.testing.assert_array_equal(state["wireless_remote"], range(40))
    assert (int(state["tick"]), int(state["crc"])) == (123456, 5)
    assert (float(state["power_v"]), float(state["power_a"])) == (58.5, 4.5)
    command = read_low_cmd(publisher["low_cmd"](5).serialize(), "unitree_go")
    np.testing.assert_allclose(command["motor_cmd"]["q"], 5 - np.arange(20) / 100, rtol=1e-6)
    np.testing.assert_array_equal(command["motor_cmd"]["kd"], np.full(20, 1.5))
    assert command["crc"] == 5
    with pytest.raises(DdsError, match="speaks unitree_hg: G1, H1-2"):
        read_low_state(data)
    with pytest.raises(DdsError, match="speaks unitree_go: H1"):
        read_low_state(data[:-8], "unitree_go")


@pytest.mark.slow
@needs_loopback
def test_an_h1_is_heard_over_dds(driver: Driver) -> None:
    options = parse_options(driver, {"domain": 125, "give_up_s": 20.0, "robot": "h1",
                                     "extras": True})  # fmt: skip
    streams = {stream.path: stream for stream in driver.describe(options).resolve().streams}
    items = driver.read(options)
    with _robot(125, 60, 100, "unitree_go"):
        taken = [item for item in islice(items, 50 * len(streams)) if isinstance(item, Sample)]
        items.close()  # type: ignore[attr-defined]
    assert {sample.stream for sample in taken} == set(streams)
    assert all(np.shape(sample.value) == streams[sample.stream].shape for sample in taken)
    names = open_robot("h1").joint_names
    state = next(one.value for one in taken if one.stream == "observations/joint_position")
    places = np.array([H1_MOTORS.index(name) for name in names])
    np.testing.assert_allclose(state - np.floor(state[0]), places / 100, atol=1e-5)


def test_an_interface_that_is_not_there_is_refused(driver: Driver) -> None:
    options = parse_options(driver, {"interface": "eth99"})
    with pytest.raises(DdsError, match="network interface, got 'eth99'"):
        next(iter(driver.read(options)))
    with pytest.raises(DriverError, match="interface"):
        parse_options(driver, {"interface": 'lo"/><x'})


@pytest.mark.slow
@needs_loopback
def test_500_hz_of_a_publishing_process_arrive_whole(driver: Driver) -> None:
    options = parse_options(driver, {"domain": 121, "give_up_s": 20.0, "extras": True})
    rig = driver.describe(options)
    streams = {stream.path: stream for stream in rig.schema.streams}
    items = driver.read(options)
    with _robot(121, 60, 500):
        taken = list(islice(items, 1000 * len(streams)))
        items.close()  # type: ignore[attr-defined]
    samples = [item for item in taken if isinstance(item, Sample)]
    counts = Counter(sample.stream for sample in samples)
    assert set(counts) == set(streams)
    assert min(counts.values()) > 950
    assert all(np.shape(sample.value) == streams[sample.stream].shape for sample in samples)
    states = [sample for sample in samples if sample.stream == "observations/joint_position"]
    stamps = np.array([sample.source_ns for sample in states])
    arrivals = np.array([sample.arrival_ns for sample in states])
    assert (np.diff(stamps) >= 0).all()
    assert (np.diff(arrivals) >= 0).all()
    assert np.median(np.diff(stamps)) == 2_000_000
    values = np.array([sample.value for sample in states])
    np.testing.assert_allclose(values[:, 28] - values[:, 0], 0.28, atol=1e-5)
    # The publisher counts to ten and starts again: none was lost.
    assert set(np.diff(np.rint(values[:, 0])) % 10) == {1.0}


@pytest.mark.slow
@needs_loopback
def test_a_robot_that_dies_is_waited_for_and_heard_again(driver: Driver) -> None:
    options = parse_options(driver, {"domain": 122, "commands": False, "give_up_s": 20.0})
    items = driver.read(options)
    with _robot(122, 60, 100) as process:
        before = [item.source_ns for item in islice(items, 100) if isinstance(item, Sample)]
        process.kill()
        process.wait(timeout=10)
    with _robot(122, 60, 100):
        # What was under way when it died comes first, then its successor's ticks, from the start.
        begin = time.monotonic()
        ticks = [item.source_ns for item in islice(items, 400) if isinstance(item, Sample)]
    assert time.monotonic() - begin < 30
    assert len(before) == 100
    assert (np.diff([*before, *ticks]) < 0).sum() == 1
    items.close()  # type: ignore[attr-defined]


@pytest.mark.slow
@needs_loopback
def test_closing_leaves_the_domain(driver: Driver) -> None:
    from cyclonedds.domain import Domain

    with _robot(123, 30, 100):
        for _ in range(3):
            items = driver.read(parse_options(driver, {"domain": 123, "give_up_s": 20.0}))
            next(items)
            items.close()  # type: ignore[attr-defined]
    # Only a domain that nobody of this process is in can be set up.
    settings = Domain(123, configuration("lo"))
    del settings


@pytest.mark.slow
@needs_loopback
def test_silence_ends_only_when_that_was_asked_for(driver: Driver) -> None:
    begin = time.monotonic()
    assert list(driver.read(parse_options(driver, {"domain": 124, "give_up_s": 0.5}))) == []
    assert 0.5 <= time.monotonic() - begin < 5
