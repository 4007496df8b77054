"""Names of joints fit the robot and the values."""

from collections import Counter
from collections.abc import Mapping
from functools import cache

import numpy as np

from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.embodiment.embodiment import Joint
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track
from corporeal.words import some_of


def find(subject: Subject, *, min_joints: int = 2, margin: float = 0.05) -> Findings:
    """Yield streams with a name twice, with another robot's names, or whose values fit better
    under another customary order of the joints.

    At least `min_joints` must be beyond their limits by `margin` of the range as they are named,
    and none in the other order: breadth first (as in Isaac Lab), sides exchanged, alphabetical.

    Why: everything that is done by joint name is done to the wrong joint.
    Fix: put the names in the order of the data, as the finding says.
    """
    if not subject.joint_tracks:
        raise NotAssessed("no state or action")
    robot = subject.recording.embodiment
    for track in subject.joint_tracks:
        yield from _twice(track)
        if robot is not None:
            yield from _another_robot(track, robot)
            yield from _another_order(track, robot, min_joints, margin)


def _twice(track: Track) -> Findings:
    counts = Counter(track.names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        message = f"{track.label} has {len(twice)} names more than once: {some_of(twice)}"
        yield Finding(
            message, stream=track.label, columns=tuple(twice), value=float(len(twice)), limit=0.0
        )


def _another_robot(track: Track, robot: Embodiment) -> Findings:
    """Names that all belong to one other robot, and hardly any to this one."""
    own = set(robot.joint_names)
    mine = sum(name in own for name in track.names)
    if 2 * mine >= len(track.names):
        return
    for other, known in _known_robots().items():
        theirs = sum(name in known for name in track.names)
        if other != robot.name and theirs > max(4, 2 * mine) and theirs > 0.8 * len(known):
            message = (
                f"{theirs} of {len(track.names)} columns of {track.label} have names of {other}, "
                f"{mine} of {robot.name}"
            )
            yield Finding(message, stream=track.label, value=float(theirs), limit=float(mine))
            return


@cache
def _known_robots() -> dict[str, frozenset[str]]:
    """Joint names of every built-in robot."""
    return {name: frozenset(open_robot(name).joint_names) for name in robot_names()}


def _another_order(track: Track, robot: Embodiment, min_joints: int, margin: float) -> Findings:
    joints = {joint.name: joint for joint in robot.actuated}
    columns = [column for column, name in enumerate(track.names) if name in joints]
    if len(columns) < min_joints or not len(track):
        return
    names = [track.names[column] for column in columns]
    ends = np.quantile(bridge_gaps(track.values[:, columns]), (0.01, 0.99), axis=0)
    # Far beyond any joint is another unit, not another order.
    if np.abs(ends).max() > 2 * np.pi:
        return
    stated = _outside(ends, names, joints, margin)
    if len(stated) < min_joints:
        return
    for what, order in _orders(robot, names).items():
        if not _outside(ends, order, joints, margin):
            yield Finding(
                f"{some_of(stated)} of {track.label} are beyond their limits as they are named, "
                f"and within them if the columns are {what}",
                stream=track.label,
                columns=tuple(stated),
                value=float(len(stated)),
                limit=float(min_joints),
            )
            return


def _outside(
    ends: Array, names: list[str], joints: Mapping[str, Joint], margin: float
) -> list[str]:
    found = []
    for name, low, high in zip(names, ends[0], ends[1], strict=True):
        lower, upper = joints[name].lower, joints[name].upper
        if lower is None or upper is None:
            continue
        allowed = margin * (upper - lower)
        if low < lower - allowed or high > upper + allowed:
            found.append(name)
    return found


def _orders(robot: Embodiment, names: list[str]) -> dict[str, list[str]]:
    """Other orders of the same names that exporters use."""
    sides = {"left": "right", "right": "left"}
    mirrored = []
    for name in names:
        side = next((side for side in sides if side in name), None)
        mirrored.append(name.replace(side, sides[side]) if side else name)
    orders = {
        "breadth first": [name for name in _breadth_first(robot) if name in names],
        "of the other side": mirrored,
        "in alphabetical order": sorted(names),
        "in the robot's own order": [name for name in robot.joint_names if name in names],
    }
    return {what: order for what, order in orders.items() if sorted(order) == sorted(names)}


def _breadth_first(robot: Embodiment) -> list[str]:
    """Joints level by level from the base, as simulators that sort by depth list them."""
    depth = {robot.base: 0}
    left = list(robot.joints)
    while left:
        ready = [joint for joint in left if joint.parent in depth]
        if not ready:
            break
        for joint in ready:
            depth[joint.child] = depth[joint.parent] + 1
        left = [joint for joint in left if joint.child not in depth]
    order = sorted(robot.actuated, key=lambda joint: depth.get(joint.child, 0))
    return [joint.name for joint in order]


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    rests_on=("robot",),
    unit="joints",
    explains=("joint_beyond_limit",),
    formerly=("joint_names",),
)
