"""A process that publishes like a Unitree on loopback: DOMAIN SECONDS HZ [unitree_go]."""

from __future__ import annotations

import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from corporeal.dds.link import configuration
from corporeal.dds.unitree_message import (
    GO_MOTORS,
    LOW_CMD_TOPIC,
    LOW_STATE_TOPIC,
    MOTORS,
    dds_types,
)

IS_GO = "unitree_go" in sys.argv
T = dds_types("unitree_go" if IS_GO else "unitree_hg")
HEAD = {"head": [254, 239], "level_flag": 255, "frame_reserve": 0, "sn": [1, 2],
        "version": [3, 4], "bandwidth": 5}  # fmt: skip


def low_state(number: int, tick: int) -> object:
    """A state whose numbers tell its own place: motor m of message n has q = n + m / 100."""
    if IS_GO:
        return go_state(number, tick)
    motors = [
        T.MotorState(
            mode=1, q=number + motor / 100, dq=float(motor), ddq=0.0, tau_est=-float(motor),
            temperature=[40, 41], vol=48.0, sensor=[0, 0], motorstate=0, reserve=[0] * 4,
        )
        for motor in range(MOTORS)
    ]  # fmt: skip
    imu = T.IMUState(
        quaternion=[1.0, 0.0, 0.0, 0.0], gyroscope=[0.1, 0.2, 0.3], accelerometer=[0.0, 0.0, 9.81],
        rpy=[0.0, 0.0, 0.0], temperature=35,
    )  # fmt: skip
    return T.LowState(
        version=[1, 0], mode_pr=0, mode_machine=5, tick=tick, imu_state=imu, motor_state=motors,
        wireless_remote=list(range(40)), reserve=[0] * 4, crc=number,
    )  # fmt: skip


def low_cmd(number: int) -> object:
    """A command whose numbers tell its own place."""
    if IS_GO:
        return go_cmd(number)
    motors = [
        T.MotorCmd(
            mode=1, q=number - motor / 100, dq=0.0, tau=0.5, kp=60.0, kd=1.5, reserve=0
        )
        for motor in range(MOTORS)
    ]  # fmt: skip
    return T.LowCmd(mode_pr=0, mode_machine=5, motor_cmd=motors, reserve=[0] * 4, crc=number)


def go_state(number: int, tick: int) -> object:
    """The same of unitree_go."""
    motors = [
        T.MotorState(
            mode=1, q=number + motor / 100, dq=float(motor), ddq=0.0, tau_est=-float(motor),
            q_raw=1.0, dq_raw=2.0, ddq_raw=3.0, temperature=40 + motor, lost=motor,
            reserve=[7, 8],
        )
        for motor in range(GO_MOTORS)
    ]  # fmt: skip
    imu = T.IMUState(
        quaternion=[1.0, 0.0, 0.0, 0.0], gyroscope=[0.1, 0.2, 0.3], accelerometer=[0.0, 0.0, 9.81],
        rpy=[0.0, 0.0, 0.0], temperature=35,
    )  # fmt: skip
    battery = T.BmsState(
        version_high=1, version_low=2, status=3, soc=90, current=-1, cycle=7, bq_ntc=[1, 2],
        mcu_ntc=[3, 4], cell_vol=list(range(15)),
    )  # fmt: skip
    return T.LowState(
        **HEAD, imu_state=imu, motor_state=motors, bms_state=battery, foot_force=[1, 2, 3, 4],
        foot_force_est=[5, 6, 7, 8], tick=tick, wireless_remote=list(range(40)), bit_flag=1,
        adc_reel=0.5, temperature_ntc1=30, temperature_ntc2=31, power_v=58.5, power_a=4.5,
        fan_frequency=[1, 2, 3, 4], reserve=9, crc=number,
    )  # fmt: skip


def go_cmd(number: int) -> object:
    """The same of unitree_go."""
    motors = [
        T.MotorCmd(
            mode=1, q=number - motor / 100, dq=0.0, tau=0.5, kp=60.0, kd=1.5, reserve=[1, 2, 3]
        )
        for motor in range(GO_MOTORS)
    ]  # fmt: skip
    return T.LowCmd(
        **HEAD, motor_cmd=motors, bms_cmd=T.BmsCmd(off=0, reserve=[1, 2, 3]),
        wireless_remote=list(range(40)), led=list(range(12)), fan=[1, 2], gpio=3, reserve=4,
        crc=number,
    )  # fmt: skip


def main() -> None:
    """Publish both messages for some seconds."""
    domain, seconds, rate_hz = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    settings = Domain(domain, configuration("lo"))
    participant = DomainParticipant(domain)
    qos = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.History.KeepLast(8))
    states = DataWriter(participant, Topic(participant, LOW_STATE_TOPIC, T.LowState), qos=qos)
    commands = DataWriter(participant, Topic(participant, LOW_CMD_TOPIC, T.LowCmd), qos=qos)
    # Building 70 motors takes longer than a period: a few messages are made once and sent again.
    made = [(low_state(number, 0), low_cmd(number)) for number in range(10)]
    begin = time.monotonic()
    for number in range(round(seconds * rate_hz)):
        time.sleep(max(0.0, begin + number / rate_hz - time.monotonic()))
        state, command = made[number % len(made)]
        state.tick = 5000 + round((time.monotonic() - begin) * 1000)  # type: ignore[attr-defined]
        states.write(state)
        commands.write(command)
    del states, commands, participant, settings


if __name__ == "__main__":
    main()
