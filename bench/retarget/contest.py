"""Everyone on one clip: ours first, then the peers on the same person with the same contacts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from bench.retarget.clips import Clip
from bench.retarget.measuring import Figures, figures_of
from bench.retarget.peers.programs import frame_by_frame, interaction_mesh
from bench.retarget.peers.published import asap, sheets
from bench.retarget.robot_motion import RobotMotion, contacts_of, resampled
from corporeal.embodiment import Embodiment
from corporeal.errors import CorporealError
from corporeal.retargeting.goal.footholds import ground_of
from corporeal.retargeting.result import ENDS, Retargeted
from corporeal.retargeting.solve import retarget_motion

OURS = "corporeal"
FRAME_BY_FRAME = "per-frame differential IK (mink), after GMR's published recipe"
ASAP = "ASAP's authors"
HOLOSOMA = "holosoma 0.1.0"
PEERS = {"mink": FRAME_BY_FRAME, "asap": ASAP, "holosoma": HOLOSOMA}
# At half a second a frame, the slow one gets a few short clips.
SLOW_CLIPS = ("cmu 12_01 walk", "asap walk level1", "asap kick level1", "asap squat level1")


def run_clip(
    clip: Clip, robot: Embodiment, peers: tuple[str, ...]
) -> Iterator[tuple[str, Figures | str]]:
    """Who, and what they made of the clip, or why a peer made nothing of it."""
    human = clip.read()
    begun = time.process_time()
    result = retarget_motion(human, robot)
    cpu_s = time.process_time() - begun
    contacts = np.asarray(result.goals.contacts, bool)
    uncut = ground_of(result.human).touches
    own, supports = ours(result, cpu_s), result.goals.supports
    yield OURS, figures_of(own, contacts, result.human, uncut=uncut, supports=supports)
    rivals: dict[str, Callable[[], RobotMotion]] = {}
    if "mink" in peers:
        rivals[FRAME_BY_FRAME] = lambda: frame_by_frame(result.human, robot)
    published = clip.published
    if "asap" in peers and published is not None:
        rivals[ASAP] = lambda: asap(published, robot)
    if "holosoma" in peers and clip.name in SLOW_CLIPS:
        rivals[HOLOSOMA] = lambda: interaction_mesh(result.human, robot)
    for who, made in rivals.items():
        try:
            motion = made()
        except CorporealError as error:
            yield who, f"{who}: {error}"
            continue
        standing, whole = (
            resampled(flags, result.rate_hz, len(motion.q), motion.rate_hz)
            for flags in (contacts, uncut)
        )
        yield who, figures_of(motion, standing, result.human, uncut=whole)


def ours(result: Retargeted, cpu_s: float) -> RobotMotion:
    """A result of ours among the others', held against the goals it had."""
    robot = result.robot
    places = {end: robot.end_effectors.get(end, "") for end in ENDS[:2]}
    places |= {end: robot.feet[end.removesuffix("_foot")] for end in ENDS[2:]}
    aims = {place: result.goals.positions[end] for end, place in places.items()}
    return RobotMotion(robot, result.rate_hz, result.q, result.base, cpu_s, aims, result.converged)


def published_alone(robot: Embodiment) -> Iterator[tuple[str, Figures]]:
    """Motions of a G1 that came without their person."""
    for name, motion in sheets(robot):
        yield name, figures_of(motion, contacts_of(motion))
