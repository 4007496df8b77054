"""A simulated G1 on the network: it stands by itself, and its arms are commanded over DDS."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from corporeal.dds.link import DdsLink
from corporeal.dds.unitree_message import (
    ARM_TOPIC,
    LOW_STATE_TOPIC,
    MODELS,
    blank_low_state,
    dds_types,
    is_intact,
    press_remote,
    read_low_cmd,
    write_low_state,
)
from corporeal.simulation.balance import Balance, standing_start
from corporeal.simulation.physics import ROWS_PER_TICK, STEPS_PER_ROW, TICK_S, Physics
from corporeal.simulation.variation import FIXED, SceneLayout, vary
from corporeal.simulation.world import STEP_S, build_world

SWITCH: Final = "R1"
_STEPS_PER_TICK = ROWS_PER_TICK * STEPS_PER_ROW
# Without a command for so long the robot takes its arms back, at this rate.
_SILENT_S, _BACK_HZ = 0.5, 1.0
# Once so far behind real time, what was missed is left out.
_LATE_S = 0.1
_LOG_TICKS = 50
_FALLEN_M = 0.5
_MACHINE_29DOF = 5


@dataclass(frozen=True)
class NetworkSummary:
    """What became of it: seconds simulated, messages, how it stands, how far it leaned at most."""

    seconds: float
    states: int
    commands: int
    broken: int
    pelvis_m: float
    lowest_m: float
    arm_share: float

    @property
    def stands(self) -> bool:
        """Whether it never fell."""
        return self.lowest_m > _FALLEN_M


class NetworkRobot:
    """LowState out at `rate_hz`, commands of the arms in; a step is 2 ms of physics.

    `is_switch_held` is whether somebody holds R1 of its remote. A command whose checksum is wrong
    is not taken. A resource: use it with `with`.
    """

    def __init__(
        self,
        *,
        interface: str,
        domain: int,
        rate_hz: float = 500.0,
        is_switch_held: Callable[[], bool] = lambda: False,
    ) -> None:
        (self._model,) = (model for model in MODELS if model.title == "G1")
        layout = SceneLayout(table=False, objects=False)
        self._world = build_world(vary(layout, 1, ranges=FIXED))
        start = standing_start(self._world)
        self._physics, self._balance = Physics(self._world, start), Balance(self._world)
        names = self._world.embodiment.joint_names
        self._motors = np.array([self._model.motors.index(name) for name in names])
        self._arms = np.concatenate(
            [self._world.joints("left_arm"), self._world.joints("right_arm")]
        )
        self._own = (
            self._physics.stiffness,
            -self._world.model.actuator_biasprm[self._world.servos, 2].copy(),
        )
        self._is_held = is_switch_held
        self._every = max(1, round(1.0 / (rate_hz * STEP_S)))
        self._steps = self._states = self._commands = self._broken = 0
        self._share, self._silent_s, self._lowest_m = 0.0, np.inf, np.inf
        self._told: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None
        self._body = start[self._world.joint_qpos].copy()
        self._torque = np.zeros(len(names))
        types = dds_types(self._model.family)
        self._link = DdsLink(
            {ARM_TOPIC: types.LowCmd},
            domain=domain,
            interface=interface,
            written={LOW_STATE_TOPIC: types.LowState},
        )

    def run(self, seconds: float | None, is_over: Callable[[], bool]) -> NetworkSummary:
        """Go on in real time for so long, or until somebody says that it is over."""
        due_s = begun_s = time.monotonic()
        while not is_over() and (seconds is None or due_s - begun_s < seconds):
            now_s = time.monotonic()
            if now_s < due_s:
                time.sleep(due_s - now_s)
            elif now_s - due_s > _LATE_S:
                begun_s += now_s - due_s
                due_s = now_s
            self.step()
            due_s += STEP_S
        return self.summary()

    def step(self) -> None:
        """2 ms on."""
        data = self._physics.data
        self._listen()
        if self._steps % _STEPS_PER_TICK == 0:
            self._body = self._balance.targets(data, TICK_S)
            self._torque = self._balance.support_torque(data)
            self._lowest_m = min(self._lowest_m, float(data.qpos[self._world.base_qpos + 2]))
        target, torque = self._blend()
        opening = np.asarray(self._physics.gripper)
        self._physics.glide(target, opening, steps=1, torque=torque)
        self._steps += 1
        if self._steps % (_LOG_TICKS * _STEPS_PER_TICK) == 0:
            self._physics.forget()
        if self._steps % self._every == 0:
            self._publish()

    def summary(self) -> NetworkSummary:
        """How it stands so far."""
        height = float(self._physics.data.qpos[self._world.base_qpos + 2])
        return NetworkSummary(
            self._steps * STEP_S, self._states, self._commands, self._broken, height,
            min(self._lowest_m, height), self._share,
        )  # fmt: skip

    def close(self) -> None:
        """Leave the network."""
        self._link.close()

    def __enter__(self) -> NetworkRobot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        self._silent_s += STEP_S
        for wire in self._link.take(0.0):
            if not is_intact(wire.data, self._model.family):
                self._broken += 1
                continue
            rows = read_low_cmd(wire.data, self._model.family)["motor_cmd"]
            assert self._model.arm_weight is not None
            self._share = float(np.clip(rows["q"][self._model.arm_weight], 0.0, 1.0))
            names = ("q", "dq", "tau", "kp", "kd")
            arms = rows[self._motors[self._arms]]
            self._told = np.array([arms[name] for name in names], np.float64)
            self._commands += 1
            self._silent_s = 0.0
        if self._silent_s > _SILENT_S:
            self._share = max(0.0, self._share - _BACK_HZ * STEP_S)

    def _blend(self) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], ...]:
        """Targets and torques (J,): the robot's own, and of the arms the share that is told."""
        target, torque = self._body.copy(), self._torque.copy()
        stiffness, damping = (each.copy() for each in self._own)
        share = self._share
        if self._told is not None and share > 0 and np.isfinite(self._told).all():
            q, dq, tau, kp, kd = self._told
            arms = self._arms
            target[arms] += share * (q - target[arms])
            stiffness[arms] += share * (kp - stiffness[arms])
            damping[arms] += share * (kd - damping[arms])
            torque[arms] = (1.0 - share) * torque[arms] + share * (tau + kd * dq)
        np.maximum(stiffness, 1e-3, out=stiffness)
        if np.abs(stiffness - self._physics.stiffness).max() > 1e-9:
            self._physics.set_gains(stiffness, damping)
        return target, torque

    def _publish(self) -> None:
        world, data = self._world, self._physics.data
        state = blank_low_state(self._model.family)
        state["tick"] = round(self._steps * STEP_S * 1000)
        state["mode_machine"] = _MACHINE_29DOF
        rows = state["motor_state"]
        rows["q"][self._motors] = data.qpos[world.joint_qpos]
        rows["dq"][self._motors] = data.qvel[world.joint_qvel]
        rows["tau_est"][self._motors] = data.actuator_force[world.servos]
        imu = state["imu_state"]
        imu["quaternion"] = data.qpos[world.base_qpos + 3 : world.base_qpos + 7]
        imu["accelerometer"] = data.sensordata[world.sensors["pelvis_imu_acc"]]
        imu["gyroscope"] = data.sensordata[world.sensors["pelvis_imu_gyro"]]
        if self._is_held():
            press_remote(state["wireless_remote"], SWITCH)
        self._link.write(LOW_STATE_TOPIC, write_low_state(state))
        self._states += 1
