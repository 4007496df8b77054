"""The robot of an episode as the page draws it: links, joints, and what moves them."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel

from corporeal.appearance import KeptMeshes, find_meshes, load_meshes
from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import RobotModel, robot_model
from corporeal.episode import Episode
from corporeal.errors import DocumentError, EpisodeError, UnknownNameError
from corporeal.schema import roles
from corporeal.studio.authentication import Anyone, Reader
from corporeal.studio.binary import packed
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.scene.borrowed_forms import formed
from corporeal.studio.scene.camera_places import CameraPlace, find_cameras
from corporeal.studio.scene.fall import RobotFall, find_fall
from corporeal.studio.scene.joint_motion import (
    GripperOpening,
    JointMotion,
    PoseTrack,
    find_drive,
    find_openings,
    find_tracks,
)
from corporeal.studio.scene.person import HumanFigure, find_person
from corporeal.studio.scene.person_hands import HandsInScene, find_hands
from corporeal.studio.scene.surroundings import Surroundings, surroundings

ROUTER = APIRouter(tags=["robot"])
_SCANNERS = ("lidar", "mid360", "laser", "livox", "velodyne", "scanner")
_MOST_LINKS = 400


class PointCloudStream(BaseModel):
    """A stream of scans, and where its sensor sits: in the pose (xyz, rpy) on a link."""

    stream: str
    samples: int
    link: str | None
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]


class LinkMesh(BaseModel):
    """The part of the meshes that is a link's: vertices and numbers of the index."""

    link: str
    first_vertex: int
    vertices: int
    first_index: int
    indices: int


class RobotMeshes(BaseModel):
    """Meshes that somebody gave with `corporeal robot meshes`; fetched by their hash."""

    hash: str
    source: str
    links: list[LinkMesh]


class RobotFacts(BaseModel):
    """All that the scene needs; `missing` says in sentences what cannot be shown, and why."""

    model: RobotModel | None
    measured: JointMotion | None
    commanded: JointMotion | None
    base: PoseTrack | None
    person: HumanFigure | None
    hands: HandsInScene | None
    objects: list[PoseTrack]
    grippers: list[GripperOpening]
    clouds: list[PointCloudStream]
    surroundings: Surroundings
    meshes: RobotMeshes | None
    fall: RobotFall | None
    cameras: list[CameraPlace]
    missing: list[str]


@ROUTER.get("/episodes/{episode_id}/robot")
def robot(episode_id: str, studio: StudioDep, _: Reader) -> RobotFacts:
    """The robot, the streams that move it, and what stands around it."""
    with studio.shelf.episode(episode_id) as episode:
        missing: list[str] = []
        embodiment = _embodiment(episode, missing)
        base, objects = find_tracks(episode)
        hands = find_hands(episode, objects)
        measured = commanded = None
        grippers: list[GripperOpening] = []
        if embodiment is not None:
            measured = find_drive(episode, embodiment, "observations", roles.MEASURED, missing)
            commanded = find_drive(episode, embodiment, "actions", roles.COMMANDED, missing)
            grippers = find_openings(episode, embodiment)
            if base is None and embodiment.floating:
                missing.append("No pose of the base was recorded: the robot is drawn standing.")
        return RobotFacts(
            model=None if embodiment is None else robot_model(formed(embodiment)),
            measured=measured,
            commanded=commanded,
            base=base,
            person=find_person(episode, embodiment, base),
            hands=hands,
            objects=objects,
            grippers=grippers,
            clouds=_clouds(episode, embodiment, missing),
            surroundings=surroundings(episode.metadata, [each.stream for each in objects]),
            cameras=find_cameras(episode, embodiment, on_head=hands is not None),
            fall=find_fall(episode, embodiment, base),
            meshes=_meshes(studio, embodiment, missing),
            missing=missing,
        )


@ROUTER.get("/robots/meshes/{name}", response_class=Response)
def meshes(name: str, studio: StudioDep, _: Anyone) -> Response:
    """All triangles of a robot by their hash; which are whose says the robot of an episode."""
    return packed(load_meshes(name, studio.workspace.root))


def _meshes(studio: Studio, robot: Embodiment | None, missing: list[str]) -> RobotMeshes | None:
    if robot is None:
        return None
    kept, reason = find_meshes(robot, studio.workspace.root)
    if reason is not None:
        missing.append(reason)
    return None if kept is None else _shown(kept)


def _shown(kept: KeptMeshes) -> RobotMeshes:
    links = [
        LinkMesh(link=link, first_vertex=a, vertices=b, first_index=c, indices=d)
        for link, (a, b, c, d) in kept.links.items()
    ]
    return RobotMeshes(hash=kept.hash, source=kept.source, links=links)


def _embodiment(episode: Episode, missing: list[str]) -> Embodiment | None:
    """The robot's document; None, with the reason in `missing`, where it cannot be drawn."""
    try:
        found = episode.embodiment
    except UnknownNameError:
        missing.append(
            "This episode does not say which robot it was recorded with. "
            "Import it again with --robot and a name that corporeal robot list has."
        )
        return None
    except (DocumentError, EpisodeError) as error:
        missing.append(f"The robot's description cannot be read: {error}")
        return None
    if len(found.links) > _MOST_LINKS:
        missing.append(f"{found.name} has {len(found.links)} links; up to {_MOST_LINKS} are drawn.")
        return None
    if not found.joints:
        missing.append(
            f"{found.name} has no joints in this episode's description of it. "
            "Import it again with --robot."
        )
        return None
    return found


def _clouds(
    episode: Episode, robot: Embodiment | None, missing: list[str]
) -> list[PointCloudStream]:
    found = []
    for path in episode:
        reader = episode[path]
        if reader.spec.kind != "points" or not len(reader):
            continue
        link, place = _seat(reader.spec.frame, robot)
        if place is None and reader.spec.frame != "world":
            missing.append(
                f"{path} is in the frame {reader.spec.frame}, which the robot's description "
                f"does not have: it is drawn {f'level at {link}' if link else 'as it is'}."
            )
        frame = robot and next((each for each in robot.frames if each.name == link), None)
        # Where only the place of a scanner is known, its axes are taken to be those of its link.
        found.append(PointCloudStream(
            stream=path, samples=len(reader),
            link=frame.link if frame else link,
            xyz=frame.xyz if frame else (0.0, 0.0, 0.0),
            rpy=frame.rpy if frame and place else (0.0, 0.0, 0.0),
        ))  # fmt: skip
    return found


def _seat(name: str | None, robot: Embodiment | None) -> tuple[str | None, str | None]:
    """The link or frame a sensor is drawn on; once more where it is the one that it names."""
    if robot is None or name == "world":
        return None, None
    known = [*(frame.name for frame in robot.frames), *(link.name for link in robot.links)]
    if name in known:
        return name, name
    return next((each for word in _SCANNERS for each in known if word in each), robot.base), None
