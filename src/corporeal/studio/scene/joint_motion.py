"""Which streams of an episode move the figure of its robot, and what is missing for it."""

from __future__ import annotations

from pydantic import BaseModel

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import match_joints
from corporeal.episode import Episode
from corporeal.schema import Stream, roles

_BASES = (roles.BASE_POSE, "pelvis_pose", "root_pose", "base")
_FACTOR = {"rad": 1.0, "m": 1.0, "1": 1.0, "deg": 0.017453292519943295, "mm": 0.001}
_NAMED = 6


class JointColumn(BaseModel):
    """A column of a stream that is a joint of the robot; times `factor` it is in rad or m."""

    column: int
    joint: str
    factor: float


class SceneStream(BaseModel):
    """A stream that something in the scene follows."""

    stream: str
    rate_hz: float | None
    samples: int


class JointMotion(SceneStream):
    """A stream that moves joints."""

    width: int
    columns: list[JointColumn]


class PoseTrack(SceneStream):
    """A stream of poses: where x y z and qw qx qy qz stand in it."""

    name: str
    frame: str | None
    width: int
    position: tuple[int, int, int]
    quaternion: tuple[int, int, int, int]


class GripperOpening(SceneStream):
    """A stream with the opening of a gripper, m, and the place on the robot that carries it."""

    place: str


def find_drive(
    episode: Episode, robot: Embodiment, group: str, names: tuple[str, ...], missing: list[str]
) -> JointMotion | None:
    """The first stream with one of these names that has columns of the robot's joints.

    What a person would miss is added to `missing`, in sentences.
    """
    word = "measured" if group == "observations" else "commanded"
    path = next((f"{group}/{name}" for name in names if f"{group}/{name}" in episode), None)
    if path is None:
        missing.append(f"No {word} joint positions: there is no stream {group}/{names[0]}.")
        return None
    spec = episode[path].spec
    named = spec.names
    if not named or len(spec.shape) != 1:
        missing.append(f"{path} does not name its columns, so no joint can be told from it.")
        return None
    columns = _columns(spec, named, robot)
    if not columns:
        missing.append(
            f"{path} has no joint of {robot.name}: its columns are {_few(named)}. "
            "Import it again with --robot, or with a recipe that names the columns."
        )
        return None
    moved = {each.joint for each in columns}
    still = [joint.name for joint in robot.actuated if joint.name not in moved]
    if still:
        missing.append(
            f"{path} moves {len(moved)} of {len(moved) + len(still)} joints; "
            f"at rest are drawn: {_few(still)}."
        )
    return JointMotion(
        stream=path, rate_hz=spec.rate_hz, width=len(named), samples=len(episode[path]),
        columns=columns,
    )  # fmt: skip


def _columns(spec: Stream, named: tuple[str, ...], robot: Embodiment) -> list[JointColumn]:
    joints = {joint.name for joint in robot.joints}
    exact = [name if name in joints else None for name in named]
    # A name of the robot is taken at its word; other spellings only where there is none at all.
    found = exact if any(exact) else match_joints(named, robot)
    return [
        JointColumn(column=place, joint=joint, factor=_FACTOR.get(spec.units[place], 1.0))
        for place, joint in enumerate(found)
        if joint is not None
    ]


def find_tracks(episode: Episode) -> tuple[PoseTrack | None, list[PoseTrack]]:
    """The pose of the base, if there is one, and the poses of objects in the world."""
    tracks = [
        track
        for path in episode
        if episode[path].spec.group != "actions" and (track := _track(episode, path)) is not None
    ]
    base = next((each for name in _BASES for each in tracks if each.name == name), None)
    others = [each for each in tracks if each is not base and each.frame in (None, "world")]
    return base, others


def _track(episode: Episode, path: str) -> PoseTrack | None:
    spec = episode[path].spec
    turned, named = spec.quaternion_columns, spec.names
    if turned is None or len(spec.shape) != 1:
        return None
    if any(named.count(axis) != 1 for axis in "xyz") or not len(episode[path]):
        return None
    return PoseTrack(
        stream=path, name=spec.name, frame=spec.frame, rate_hz=spec.rate_hz, width=len(named),
        samples=len(episode[path]),
        position=(named.index("x"), named.index("y"), named.index("z")), quaternion=turned,
    )  # fmt: skip


def find_openings(episode: Episode, robot: Embodiment) -> list[GripperOpening]:
    """The grippers, told by `left_gripper` and `right_gripper` with one value in metres."""
    openings = []
    for side in ("left", "right"):
        path = f"observations/{side}_gripper"
        place = robot.end_effectors.get(f"{side}_hand")
        if path not in episode or place is None:
            continue
        spec = episode[path].spec
        if spec.kind == "array" and spec.shape == (1,) and spec.unit in ("m", ("m",)):
            openings.append(GripperOpening(stream=path, place=place, rate_hz=spec.rate_hz,
                                           samples=len(episode[path])))  # fmt: skip
    return openings


def _few(names: list[str] | tuple[str, ...]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
