"""Where on the robot a sensor sits, from the frame and the name of its stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics, Poses, placement_of
from corporeal.errors import NotAssessed
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import Stream, roles
from corporeal.signal.track import Array

# What a stream of a sensor ends in, and what its place on the robot is called without it.
SENSORS = (roles.IMU, roles.WRENCH, roles.TACTILE)
# Words for the link that floats, whatever the robot's own document calls it.
BASE_WORDS = ("pelvis", "base", "trunk", "body", "imu", "root")


@dataclass(frozen=True, eq=False)
class Mount:
    """The link that a sensor is fixed to, and its axes (3, 3) and place (3,) on that link.

    `exact` says that the robot's document has this very frame; else the axes are the link's.
    """

    link: str
    axes: Array
    place: Array
    exact: bool


def mount_of(robot: Embodiment, spec: Stream) -> Mount | None:
    """Where the sensor of a stream sits; None when the robot has no such place."""
    frames = {frame.name: frame for frame in robot.frames}
    links = [link.name for link in robot.links]
    for name in (spec.frame, spec.name):
        if name in frames:
            placed = placement_of(frames[name])
            return Mount(frames[name].link, placed[:, :3], placed[:, 3], True)
        if name in links:
            return Mount(name, np.eye(3), np.zeros(3), True)
    for stem in dict.fromkeys((_stem(spec.frame or ""), _stem(spec.name))):
        link = _named_after(robot, stem) if stem else None
        if link is not None:
            return Mount(link, np.eye(3), np.zeros(3), False)
    return None


@once_per_subject
def poses_in_base(subject: Subject) -> Poses:
    """Every link on the state's clock as seen from the base, whatever the base does."""
    require_finite(subject)
    return subject.kinematics.link_poses(subject.posture.q)


def require_finite(subject: Subject) -> None:
    """Raise NotAssessed where there is no frame with all joints, and the base if it is recorded."""
    posture = subject.posture
    whole = np.isfinite(posture.q).all(axis=1)
    if posture.base is not None:
        whole &= np.isfinite(posture.base).all(axis=1)
    if not whole.any():
        raise NotAssessed(f"no sample of {posture.label} is complete")


def foot_links(subject: Subject) -> dict[str, tuple[str, Array]]:
    """The link of every foot and where the sole is on it (3, 4), for the feet the data moves."""
    kinematics = subject.kinematics
    found = {}
    for name, place in subject.robot.feet.items():
        number, placement = kinematics.place(place)
        if has_chain(subject, kinematics.names[number]):
            found[name] = (kinematics.names[number], placement)
    if not found:
        raise NotAssessed(f"the legs of {subject.robot.name} are not in {subject.posture.label}")
    return found


def ancestors(robot: Embodiment, link: str) -> tuple[str, ...]:
    """The joints between the base and a link, from the base outwards."""
    above = {joint.child: joint for joint in robot.joints}
    chain = []
    while link in above:
        chain.append(above[link].name)
        link = above[link].parent
    return tuple(reversed(chain))


def outward(kinematics: Kinematics, link: str) -> list[int]:
    """Numbers of a link and of all that hangs on it."""
    found = [kinematics.names.index(link)]
    for step in kinematics.steps:
        if step.parent in found:
            found.append(step.child)
    return found


def names_outward(kinematics: Kinematics, link: str) -> list[str]:
    """Names of a link and of all that hangs on it."""
    return [kinematics.names[number] for number in outward(kinematics, link)]


def beyond_kg(subject: Subject, link: str) -> float:
    """Mass of a link and of all that hangs on it."""
    masses, _, _ = subject.kinematics.inertias
    return float(masses[outward(subject.kinematics, link)].sum())


def has_chain(subject: Subject, link: str, *, until: str | None = None) -> bool:
    """Whether the data has every joint between a link and the base, or another link inwards."""
    robot = subject.robot
    present = dict(zip(robot.joint_names, subject.posture.present.tolist(), strict=True))
    leaders = {joint.name: joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    shared = set() if until is None else set(ancestors(robot, until))
    chain = [name for name in ancestors(robot, link) if name not in shared]
    return all(present.get(leaders.get(name, name), False) for name in chain)


def _stem(name: str) -> str:
    for ending in SENSORS:
        name = name.removesuffix(ending)
    return name.lower()


def _named_after(robot: Embodiment, stem: str) -> str | None:
    """The outermost link whose name begins with the stem, or the link of such a frame."""
    depth = {link.name: len(ancestors(robot, link.name)) for link in robot.links}
    links = [name for name in depth if name.lower().startswith(stem)]
    if links:
        return max(links, key=lambda name: depth[name])
    for frame in robot.frames:
        if frame.name.lower().startswith(stem):
            return frame.link
    return robot.base if stem in BASE_WORDS else None
