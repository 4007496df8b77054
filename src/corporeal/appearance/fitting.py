"""The visual meshes of a description, put on the links of a robot that we know."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from corporeal.appearance.decimation import thinned
from corporeal.appearance.mesh_file import UNPAINTED, read_mesh
from corporeal.appearance.surface import Surface, joined
from corporeal.appearance.visuals import Visual, read_visuals
from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.embodiment import Joint
from corporeal.embodiment.joints import match_joints
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import CorporealError, ModelError
from corporeal.geometry import Array

MOST_TRIANGLES = 90_000
MOST_READ = 6_000_000
MOST_FILES = 200
LARGEST_M = 20.0
APART_M, ANOTHER_M = 0.01, 0.03
_LEAST_SHARE = 0.5
_SAME_WAY = 0.9
_SUFFIXES = (".urdf", ".xml", ".mjcf")


@dataclass(frozen=True, eq=False)
class FittedMeshes:
    """What each link of `robot` looks like, from `source`; everything that is not so is said."""

    robot: Embodiment
    source: Path
    links: dict[str, Surface]
    read_triangles: int
    error_m: float
    files: int
    absent: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def triangles(self) -> int:
        """How many triangles are left of all that were read."""
        return sum(map(len, self.links.values()))


def fit_meshes(robot: Embodiment, path: Path, *, most: int = MOST_TRIANGLES) -> FittedMeshes:
    """Read the meshes of a URDF or MJCF file, or of the best one in a folder.

    Links belong together whose joints do. Meshes go along with the axes of their joint, so that a
    description with other proportions still looks whole; such links are listed in `moved`.
    Raises ModelError where nothing fits.
    """
    folder = path if path.is_dir() else path.resolve().parent.parent
    source, described = _description(robot, path)
    visuals = read_visuals(source, folder)
    seats = _seats(robot, described)
    kinematics = Kinematics(described)
    parts: dict[str, list[Surface]] = {}
    absent: dict[str, None] = {}
    refused: list[str] = []
    read: dict[Path, Surface] = {}
    left = MOST_READ
    for visual in visuals:
        seat = _seat(visual, kinematics, seats)
        if seat is None:
            continue
        if isinstance(visual.form, str):
            absent[visual.form] = None
            continue
        link, pose = seat
        try:
            surface = _surface(visual, folder, read)
        except ModelError as error:
            refused.append(str(error))
            continue
        left -= len(surface)
        if left < 0:
            raise ModelError(f"{source}: more than {MOST_READ} triangles in all. Decimate them.")
        parts.setdefault(link, []).append(surface.moved(pose, visual.scale))
    _check(parts, source, tuple(absent), refused)
    whole = [joined(each) for each in parts.values()]
    thin, error_m = thinned(whole, most)
    return FittedMeshes(
        robot=robot, source=source, links=dict(zip(parts, thin, strict=True)),
        read_triangles=sum(map(len, whole)), error_m=error_m, files=len(read),
        absent=tuple(absent),
        bare=tuple(link.name for link in robot.links if link.name not in parts),
        moved=_moved(robot, described, seats), notes=tuple(refused),
    )  # fmt: skip


def _description(robot: Embodiment, path: Path) -> tuple[Path, Embodiment]:
    """The file given, or the one in the folder that has most of the robot's joints."""
    if not path.is_dir():
        if path.suffix.lower() not in _SUFFIXES or not path.is_file():
            raise ModelError(
                f"description, got {str(path)!r}; expected a folder that is there, or a file of "
                f"one of: {', '.join(_SUFFIXES)}. Check the path."
            )
        described = open_robot(path)
        if _share(robot, described) < _LEAST_SHARE:
            raise ModelError(
                f"{path}: has {_count(robot, described)} of the {len(robot.joint_names)} joints of "
                f"{robot.name}; expected a description of it. Give that robot's own file."
            )
        return path, described
    found: list[tuple[tuple[int, int, int, str], Path, Embodiment]] = []
    problem: CorporealError | None = None
    for file in sorted(path.rglob("*"))[: 100 * MOST_FILES]:
        if file.suffix.lower() not in _SUFFIXES or not file.resolve().is_relative_to(
            path.resolve()
        ):
            continue
        if len(found) >= MOST_FILES:
            break
        try:
            described = open_robot(file)
        except ModelError as error:
            problem = problem or error
            continue
        rank = (-_count(robot, described), len(described.missing_meshes),
                abs(len(described.joints) - len(robot.joints)), file.as_posix())  # fmt: skip
        found.append((rank, file, described))
    found = [each for each in found if _share(robot, each[2]) >= _LEAST_SHARE]
    if not found:
        reason = f" The first that could not be read: {problem}" if problem else ""
        raise ModelError(
            f"{path}: no URDF or MJCF file of it describes {robot.name}; expected one with its "
            f"joints. Give the folder of the robot, or the file.{reason}"
        )
    _, file, described = min(found, key=lambda each: each[0])
    return file, described


def _count(robot: Embodiment, described: Embodiment) -> int:
    """How many joints are the same: robots call theirs alike, and have other proportions."""
    here = {joint.name: joint for joint in robot.joints}
    there = {joint.name: joint for joint in described.joints}
    pairs = _pairs(robot, described).items()
    return sum(_apart_m(there[a], here[b]) < ANOTHER_M for a, b in pairs)


def _apart_m(a: Joint, b: Joint) -> float:
    """How much farther a joint is from its parent's joint than another one."""
    return abs(float(np.linalg.norm(a.xyz)) - float(np.linalg.norm(b.xyz)))


def _share(robot: Embodiment, described: Embodiment) -> float:
    return _count(robot, described) / max(1, len(robot.joint_names))


def _pairs(robot: Embodiment, described: Embodiment) -> dict[str, str]:
    """The robot's joint for each joint of the description that is the same one."""
    own = {joint.name for joint in robot.joints}
    names = [joint.name for joint in described.joints]
    exact = {name: name for name in names if name in own}
    if len(exact) >= _LEAST_SHARE * len(robot.joint_names):
        return exact
    told = match_joints(names, robot)
    found = {name: joint for name, joint in zip(names, told, strict=True) if joint is not None}
    return found | _like_limbs(robot, described, found)


def _like_limbs(robot: Embodiment, described: Embodiment, known: dict[str, str]) -> dict[str, str]:
    """Limbs of which no joint is known by name: one by one, where all turn about like axes."""
    here, there = _axes(robot), _axes(described)
    found: dict[str, str] = {}
    for group, names in described.groups.items():
        own = robot.groups.get(group, ())
        if len(own) != len(names) or any(name in known for name in names):
            continue
        if all(here[a] @ there[b] > _SAME_WAY for a, b in zip(own, names, strict=True)):
            found |= dict(zip(names, own, strict=True))
    return found


def _axes(robot: Embodiment) -> dict[str, Array]:
    """Which way every joint turns, seen from the base, with all joints at zero."""
    turned = _zero(robot)
    return {joint.name: turned[joint.child] @ np.array(joint.axis) for joint in robot.joints}


def _seats(robot: Embodiment, described: Embodiment) -> dict[str, tuple[str, Array]]:
    """For each link of the description the robot's link, and how its axes stand in that.

    Both are laid on each other at joint position zero; a link begins at its joint in either.
    """
    child = {joint.name: joint.child for joint in robot.joints}
    child_there = {joint.name: joint.child for joint in described.joints}
    pairs = {described.base: robot.base}
    pairs |= {child_there[a]: child[b] for a, b in _pairs(robot, described).items()}
    here, there = _zero(robot), _zero(described)
    seats = {}
    for other, link in pairs.items():
        turn = np.eye(4)
        turn[:3, :3] = here[link].T @ there[other]
        seats[other] = (link, turn)
    return seats


def _zero(robot: Embodiment) -> dict[str, Array]:
    """How every link is turned with all joints at zero (3x3)."""
    poses = Kinematics(robot).link_poses(np.zeros((1, len(robot.joint_names))))
    return {link.name: poses.rotation(link.name)[0] for link in robot.links}


def _seat(
    visual: Visual, kinematics: Kinematics, seats: dict[str, tuple[str, Array]]
) -> tuple[str, Array] | None:
    """The robot's link and the pose on it; None for what is on no link of the robot."""
    try:
        number, offset = kinematics.place(visual.body)
    except CorporealError:
        return None
    seat = seats.get(kinematics.names[number])
    placed = np.eye(4)
    placed[:3] = offset
    return None if seat is None else (seat[0], seat[1] @ placed @ visual.pose)


def _surface(visual: Visual, folder: Path, read: dict[Path, Surface]) -> Surface:
    form = visual.form
    if isinstance(form, Path):
        if form not in read:
            read[form] = read_mesh(form, folder)
        surface = read[form]
        if visual.colour is None or not np.allclose(surface.colours, UNPAINTED):
            return surface
    else:
        assert isinstance(form, Surface)
        surface = form
    return surface if visual.colour is None else surface.painted(np.clip(visual.colour[:3], 0, 1))


def _check(
    parts: dict[str, list[Surface]], source: Path, absent: tuple[str, ...], refused: list[str]
) -> None:
    if not parts:
        why = f" {refused[0]}" if refused else ""
        if absent:
            why = (
                f" {len(absent)} mesh files are not in the folder, such as {absent[0]}: put them "
                "where the description says."
            )
        raise ModelError(f"{source}: shows no mesh that can be read.{why or ' It has none.'}")
    for link, surfaces in parts.items():
        reach = max(float(np.abs(each.corners).max()) for each in surfaces)
        if reach > LARGEST_M:
            raise ModelError(
                f"{source}: the mesh of {link} reaches {reach:.0f} m; expected metres. "
                "State its scale, such as 0.001 for millimetres."
            )


def _moved(
    robot: Embodiment, described: Embodiment, seats: dict[str, tuple[str, Array]]
) -> tuple[str, ...]:
    """Links whose joint lies elsewhere on its parent than in the description."""
    here = {joint.child: joint for joint in robot.joints}
    there = {joint.child: joint for joint in described.joints}
    apart = []
    for other, (link, _) in seats.items():
        if link not in here or other not in there:
            continue
        if _apart_m(here[link], there[other]) > APART_M:
            apart.append(link)
    return tuple(apart)
