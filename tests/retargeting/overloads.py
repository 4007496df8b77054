"""Motions that ask more of a robot's motors than they have, made on the spot."""

from __future__ import annotations

from functools import cache

import numpy as np
from tests.retargeting.made_results import RATE_HZ, result_of, standing
from tests.retargeting.people import walking_person
from tests.retargeting.solver.test_chain import chain_of

from corporeal.geometry import Array, matrix_from_rpy, quaternion_from_matrix
from corporeal.retargeting.goal.footholds import Footholds
from corporeal.retargeting.goal.soles import sole_points
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.settings import RetargetSettings
from corporeal.retargeting.solve import retarget_motion
from corporeal.retargeting.solver.chain import Chain, MotionState
from corporeal.retargeting.solver.tasks import ClipTasks

# Far enough forward for more than G1's ankles can hold, rad.
TOO_FAR = 0.25
WALK_HZ = 30.0


@cache
def walked(name: str = "g1", *, ease: bool = False, frames: int = 60) -> Retargeted:
    """The walk of a made-up person on a robot; without easing its ankles are overloaded."""
    person = walking_person(frames, WALK_HZ)
    return retarget_motion(person, chain_of(name).robot, RetargetSettings(ease=ease))


def leaning(frames: int, *spans: tuple[int, int], far: float = TOO_FAR) -> MotionState:
    """A G1 on both feet that leans forward and comes back in every span of frames.

    Only the ankles turn, so the soles stay where they are.
    """
    chain = chain_of("g1")
    q, base = standing(frames)
    q[:] = q[0]
    lean = np.zeros(frames)
    for first, stop in spans:
        share = np.linspace(0, 1, stop - first)
        lean[first:stop] = far * (1 - np.cos(2 * np.pi * share)) / 2
    for number, name in enumerate(chain.robot.robot.joint_names):
        if "ankle_pitch" in name:
            q[:, number] -= lean
    rotation = np.stack([np.zeros(frames), lean, np.zeros(frames)], axis=1)
    base[:, 3:] = quaternion_from_matrix(matrix_from_rpy(rotation))
    heel = _soles_of(chain, MotionState(base, q))[:, 0, 0]
    base[:, :3] += heel[0] - heel
    return MotionState(base, q)


def tasks_of(state: MotionState) -> ClipTasks:
    """Tasks of a G1 that are where its hands and feet are; both feet stand all the time."""
    chain = chain_of("g1")
    frames, soles = len(state), chain.robot.soles
    posed = chain.posed(state)
    made = result_of(state.q, state.base)
    points = _soles_of(chain, state)
    rotations = [
        posed.rotation(int(link)) @ rotation
        for link, rotation in zip(soles.link, soles.rotations, strict=True)
    ]
    centre = np.stack([made.goals.positions[f"{side}_foot"] for side in ("left", "right")], axis=1)
    footholds = Footholds(
        centre,
        np.stack(rotations, axis=1),
        points[:, :, 0],
        points[:, :, 1],
        np.ones((frames, 2, 2), bool),
    )
    assert made.rate_hz == RATE_HZ
    return ClipTasks(chain, made.human, made.goals, footholds)


def _soles_of(chain: Chain, state: MotionState) -> Array:
    """Heels and toes (T, 2, 2, 3)."""
    poses = chain.kinematics.transforms(state.q, state.base)
    return sole_points(chain.robot.soles, poses)
