"""A process that publishes like a Unitree G1 on loopback; arguments: DOMAIN SECONDS HZ."""

from __future__ import annotations

import sys
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from corporeal.capture.dds import configuration
from corporeal.capture.unitree_message import LOW_CMD_TOPIC, LOW_STATE_TOPIC, MOTORS, dds_types

T = dds_types()


def low_state(number: int, tick: int) -> object:
    """A state whose numbers tell its own place: motor m of message n has q = n + m / 100."""
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
    motors = [
        T.MotorCmd(
            mode=1, q=number - motor / 100, dq=0.0, tau=0.5, kp=60.0, kd=1.5, reserve=0
        )
        for motor in range(MOTORS)
    ]  # fmt: skip
    return T.LowCmd(mode_pr=0, mode_machine=5, motor_cmd=motors, reserve=[0] * 4, crc=number)


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
