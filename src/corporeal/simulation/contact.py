"""Who touches whom: contacts of the physics, sorted by what they mean for a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array
from corporeal.simulation.gripper import PAD_LENGTH_M, PAD_WIDTH_M, SIDES
from corporeal.simulation.world import Indices, World

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
