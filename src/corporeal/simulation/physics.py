"""The stepping loop: joint targets at 50 Hz in, physics at 500 Hz, a log of everything out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array
from corporeal.simulation.gripper import PAD_LENGTH_M, PAD_WIDTH_M, SIDES
from corporeal.simulation.run import Touch
from corporeal.simulation.world import STEP_S, Indices, World

OTHER, FLOOR, TABLE, OBJECT, OBSTACLE, BODY, HAND, PAD = range(8)


@dataclass(frozen=True)
class Contacts:
    """What touched at one instant.

    `pads` (2, 2) is whether the object touches the pads of [hand][finger]; `hands` (2,) whether
    any part of that hand does. `bump_n` is the greatest force between the robot
    and table, wall or obstacle, and `bumped` what it hit.
    """

    pads: Indices
    hands: Indices
    on_table: bool
    on_floor: bool
    bump_n: float
    bumped: str


class ContactSorter:
    """Sorts the contacts of a world; made once per run."""

    def __init__(self, world: World) -> None:
        self.world = world
        model = world.model
        self.kind = np.full(model.ngeom, OTHER)
        self.hand = np.full(model.ngeom, -1)
        robot = int(model.body("pelvis").id)
        for geom in range(model.ngeom):
            name, body = model.geom(geom).name, int(model.geom_bodyid[geom])
            self.kind[geom] = self._kind_of(name, int(model.body_rootid[body]) == robot)
            for hand, side in enumerate(SIDES):
                if name.startswith((f"{side}_pad", f"{side}_gripper", f"{side}_palm_box")):
                    self.hand[geom] = hand
                    self.kind[geom] = PAD if geom in world.pads else HAND
        self._force = np.zeros(6)

    def _kind_of(self, name: str, robot: bool) -> int:
        if robot:
            return BODY
        if name == "floor":
            return FLOOR
        if name == "table":
            return TABLE
        if self.world.objects and name.startswith(self.world.objects[0]):
            return OBJECT
        return OBSTACLE if name.startswith(("obstacle", "table_leg", "wall")) else OTHER

    def sort(self, data: Any) -> Contacts:
        """The contacts of this instant."""
        pads, hands = np.zeros((2, 2), np.int64), np.zeros(2, np.int64)
        on_table = on_floor = False
        bump, bumped = 0.0, ""
        pairs = data.contact.geom
        for index in np.flatnonzero(self._matters(pairs)):
            one, two = (int(geom) for geom in pairs[index])
            if self.kind[one] > self.kind[two]:
                one, two = two, one
            first, second = self.kind[one], self.kind[two]
            if OBJECT in (first, second):
                other = one if second == OBJECT else two
                if self.hand[other] >= 0:
                    hands[self.hand[other]] = 1
                    if other in self.world.pads:
                        pads[self.world.pads[other]] = 1
                on_table |= bool(self.kind[other] == TABLE)
                on_floor |= bool(self.kind[other] == FLOOR)
            elif first in (TABLE, OBSTACLE) and second in (BODY, HAND, PAD):
                force = self._normal_force(data, int(index))
                if force > bump:
                    bump, bumped = force, self.world.model.geom(one).name
        return Contacts(pads, hands, on_table, on_floor, bump, bumped)

    def touches(self, data: Any) -> list[tuple[int, int, float, float, float]]:
        """Contacts on the pads: hand, finger, place across and along in -1..1, force in N."""
        pairs = data.contact.geom
        if not len(pairs):
            return []
        rows = []
        on_pad = (self.kind[pairs] == PAD).any(axis=1)
        for index in np.flatnonzero(on_pad):
            force = self._normal_force(data, int(index))
            for geom in (int(geom) for geom in pairs[index]):
                if geom in self.world.pads and force > 1e-6:
                    hand, finger = self.world.pads[geom]
                    place = self._place(data, geom, data.contact.pos[index])
                    rows.append((hand, finger, place[0], place[1], force))
        return rows

    def _matters(self, pairs: Any) -> Any:
        kinds = self.kind[pairs].reshape(-1, 2)
        robot = (kinds >= BODY).any(axis=1) & np.isin(kinds, (TABLE, OBSTACLE)).any(axis=1)
        return robot | (kinds == OBJECT).any(axis=1)

    def _normal_force(self, data: Any, index: int) -> float:
        import_mujoco().mj_contactForce(self.world.model, data, index, self._force)
        return float(self._force[0])

    def _place(self, data: Any, geom: int, point: Array) -> tuple[float, float]:
        local = data.geom_xmat[geom].reshape(3, 3).T @ (point - data.geom_xpos[geom])
        across, along = local[2] / (PAD_WIDTH_M / 2), local[0] / (PAD_LENGTH_M / 2)
        return float(np.clip(across, -1, 1)), float(np.clip(along, -1, 1))


TICK_S = 0.02
STEPS_PER_ROW = 2
LOG_S = STEPS_PER_ROW * STEP_S
ROWS_PER_TICK = round(TICK_S / LOG_S)


@dataclass
class PhysicsLog:
    """What was seen, row by row; `ticks_s`, `contacts` and `hands` (2, 3) once per tick."""

    time_s: list[float] = field(default_factory=list)
    qpos: list[Array] = field(default_factory=list)
    qvel: list[Array] = field(default_factory=list)
    qacc: list[Array] = field(default_factory=list)
    sensordata: list[Array] = field(default_factory=list)
    torque: list[Array] = field(default_factory=list)
    target: list[Array] = field(default_factory=list)
    gripper_target: list[Array] = field(default_factory=list)
    base_velocity: list[Array] = field(default_factory=list)
    touches: list[tuple[int, int, int, float, float, float]] = field(default_factory=list)
    ticks_s: list[float] = field(default_factory=list)
    contacts: list[Contacts] = field(default_factory=list)
    hands: list[Array] = field(default_factory=list)

    def touch(self) -> Touch:
        """The contacts on the pads as arrays."""
        rows = np.array(self.touches, np.float64).reshape(-1, 6)
        whole = rows[:, :3].astype(np.int64)
        return Touch(whole[:, 0], whole[:, 1], rows[:, 3:5], rows[:, 5], whole[:, 2])


class Physics:
    """A world in motion; `act` moves it on by one tick."""

    def __init__(self, world: World, start: Array) -> None:
        mujoco = import_mujoco()
        self.world = world
        self.data: Any = mujoco.MjData(world.model)
        self.data.qpos[:] = start
        mujoco.mj_forward(world.model, self.data)
        self.log = PhysicsLog()
        self._steps = 0
        self.sorter = ContactSorter(world)
        self.last = np.asarray(start[world.joint_qpos], np.float64).copy()
        self.gripper = 2.0 * np.asarray(start[world.gripper_qpos], np.float64)
        self.stiffness = world.model.actuator_gainprm[world.servos, 0].copy()
        self._torso = int(world.model.body("torso_link").id)
        self._grasps = [int(world.model.site(f"{side}_grasp").id) for side in SIDES]

    @property
    def time_s(self) -> float:
        """Seconds since the start."""
        return float(self.data.time)

    def set_gains(self, stiffness: Array, damping: Array) -> None:
        """Give the joint servos other gains (J,), in Nm/rad and Nms/rad."""
        servos, model = self.world.servos, self.world.model
        model.actuator_gainprm[servos, 0] = stiffness
        model.actuator_biasprm[servos, 1] = -stiffness
        model.actuator_biasprm[servos, 2] = -damping
        self.stiffness = np.asarray(stiffness, np.float64).copy()

    def act(
        self,
        target: Array,
        gripper: Array,
        *,
        torque: Array | None = None,
        base_velocity: Array | None = None,
        smooth: bool = True,
    ) -> Contacts:
        """One tick towards joint targets (J,) and openings (2,); `torque` (J,) comes on top.

        With `smooth` the servos glide from the last target to this one. The torques stay within
        the effort limits of the joints, the added part included.
        """
        added = np.zeros(len(target)) if torque is None else torque / self.stiffness
        moving = np.zeros(3) if base_velocity is None else base_velocity
        for row in range(ROWS_PER_TICK):
            part = (row + 1) / ROWS_PER_TICK if smooth else 1.0
            self._set(self.last + part * (target - self.last) + added,
                      self.gripper + part * (gripper - self.gripper))  # fmt: skip
            for _ in range(STEPS_PER_ROW):
                self._step_and_log(target, gripper, moving)
        self.last, self.gripper = target.copy(), gripper.copy()
        return self._see_contacts()

    def glide(
        self,
        target: Array,
        gripper: Array,
        *,
        steps: int,
        torque: Array | None = None,
        base_velocity: Array | None = None,
    ) -> Contacts | None:
        """As `act`, for whoever commands more often than a tick: on by so many steps of physics.

        Contacts are seen at the end of every whole tick; None in between.
        """
        added = np.zeros(len(target)) if torque is None else torque / self.stiffness
        moving = np.zeros(3) if base_velocity is None else base_velocity
        seen: Contacts | None = None
        for step in range(steps):
            part = (step + 1) / steps
            self._set(self.last + part * (target - self.last) + added,
                      self.gripper + part * (gripper - self.gripper))  # fmt: skip
            self._step_and_log(target, gripper, moving)
            if self._steps % (ROWS_PER_TICK * STEPS_PER_ROW) == 0:
                seen = self._see_contacts()
        self.last, self.gripper = target.copy(), gripper.copy()
        return seen

    def forget(self) -> None:
        """Begin a new log; only at the end of a whole tick."""
        self.log = PhysicsLog()

    def _set(self, angles: Array, openings: Array) -> None:
        self.data.ctrl[self.world.servos] = angles
        self.data.ctrl[self.world.gripper_servos] = openings / 2

    def _see_contacts(self) -> Contacts:
        contacts = self.sorter.sort(self.data)
        self.log.ticks_s.append(self.log.time_s[-1])
        self.log.contacts.append(contacts)
        self.log.hands.append(self.data.site_xpos[self._grasps])
        return contacts

    def push(self, force_n: Array) -> None:
        """A force (3,) on the torso from now on, in the world's axes; zeros end it."""
        self.data.xfrc_applied[self._torso, :3] = force_n

    def _step_and_log(self, target: Array, gripper: Array, base_velocity: Array) -> None:
        model, data, log = self.world.model, self.data, self.log
        import_mujoco().mj_step(model, data)
        self._steps += 1
        # A step leaves forces and sensors of the state before it: keep that state beside them.
        if self._steps % STEPS_PER_ROW:
            log.time_s.append(data.time)
            log.qpos.append(data.qpos.copy())
            log.qvel.append(data.qvel.copy())
            return
        log.qacc.append(data.qacc.copy())
        log.sensordata.append(data.sensordata.copy())
        log.torque.append(data.actuator_force[self.world.servos])
        log.target.append(target)
        log.gripper_target.append(gripper)
        log.base_velocity.append(base_velocity)
        row = len(log.time_s) - 1
        for hand, finger, across, along, force in self.sorter.touches(data):
            log.touches.append((row, hand, finger, across, along, force))
