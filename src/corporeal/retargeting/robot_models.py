"""The models of one robot that measuring needs, each built when first asked for and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.engines import PinocchioModel, compile_pinocchio
from corporeal.embodiment.kinematics import Kinematics
from corporeal.retargeting.goal.soles import Soles, soles_of

_MOST = 8
_KNOWN: dict[str, RobotModels] = {}


@dataclass(frozen=True, eq=False)
class RobotModels:
    """Kinematics, soles, collision shapes and dynamics of one robot."""

    robot: Embodiment

    @cached_property
    def kinematics(self) -> Kinematics:
        """Forward kinematics."""
        return Kinematics(self.robot)

    @cached_property
    def soles(self) -> Soles:
        """The soles of its two feet."""
        return soles_of(self.robot)

    @cached_property
    def collision(self) -> CollisionModel:
        """Its shapes, and the pairs of links that must not touch."""
        return CollisionModel(self.robot)

    @cached_property
    def dynamics(self) -> PinocchioModel:
        """The robot in Pinocchio."""
        return compile_pinocchio(self.robot)


def models_of(robot: Embodiment) -> RobotModels:
    """The models of a robot, the same for every clip of it in this process."""
    key = robot.hash
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        _KNOWN[key] = RobotModels(robot)
    return _KNOWN[key]
