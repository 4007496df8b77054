"""What was recorded to calibrate a station: a document that says which pictures are of what."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from corporeal.calibration.lens import LensModel
from corporeal.errors import CorporealError
from corporeal.schema import Document, Part
from corporeal.schema.document import Name

FILE = "recordings.yaml"


class HandRecording(Part):
    """Pictures taken while the robot stood still, and where its hand was in each."""

    mount: Literal["in-hand", "to-hand"]
    pictures: str = Field(description="folder beside this document")
    poses: str = Field(description="table: name of the picture, effector_x ... effector_qz")
    frame: str = Field(default="world", description="link that the camera sits on, or world")


class BesideRecording(Part):
    """Pictures of one moment in another camera and in this one, with the same names."""

    camera: Name = Field(description="the other camera, whose pose is known or solved")
    pictures: str
    others: str = Field(description="folder with the other camera's pictures")


class CameraRecording(Part):
    """What was recorded of one camera."""

    name: Name
    pictures: str = Field(description="folder or movie of the board, for the lens")
    lens: LensModel = "pinhole"
    every: int = Field(default=15, ge=1, description="of a movie, every so many pictures")
    distance_m: float | None = Field(default=None, gt=0, description="where it is used")
    hand: HandRecording | None = None
    beside: BesideRecording | None = None


class ForceRecording(Part):
    """Rests of one force sensor."""

    name: Name
    rests: str = Field(description="table: qw qx qy qz fx fy fz tx ty tz")


class RigRecordings(Document):
    """Recordings that calibrate a whole station with one command."""

    kind: ClassVar[str] = "recordings"

    board: str = Field(description="ready board, or a document beside this one")
    cameras: tuple[CameraRecording, ...]
    force_sensors: tuple[ForceRecording, ...] = ()

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        names = [*(each.name for each in self.cameras), *(each.name for each in self.force_sensors)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is listed twice; expected once")
        for camera in self.cameras:
            others = {other.name for other in self.cameras} - {camera.name}
            if camera.beside is not None and camera.beside.camera not in others:
                raise ValueError(f"{camera.name!r} is beside {camera.beside.camera!r}; expected "
                                 "another camera of this document")  # fmt: skip
        if not names:
            raise ValueError("no recordings; expected cameras or force_sensors")
        self.cameras_beside()
        return self

    def cameras_beside(self) -> list[CameraRecording]:
        """The cameras that stand beside another, each after the one that it stands beside."""
        waiting = [camera for camera in self.cameras if camera.beside is not None]
        ordered: list[CameraRecording] = []
        while waiting:
            names = {camera.name for camera in waiting if camera.hand is None}
            ready = [camera for camera in waiting if _other(camera) not in names]
            if not ready:
                raise ValueError(f"{', '.join(sorted(names))} stand beside each other in a circle; "
                                 "expected one whose place something else says")  # fmt: skip
            ordered += ready
            waiting = [camera for camera in waiting if camera not in ready]
        return ordered


def _other(camera: CameraRecording) -> str | None:
    return None if camera.beside is None else camera.beside.camera


def find_recordings(path: Path) -> tuple[RigRecordings, Path]:
    """The document of a folder, or one by its path, and the folder that its names are beside."""
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise CorporealError(
            f"{file} does not exist; expected a document of kind recordings, or a folder with "
            f"{FILE}. Make an example: corporeal calibrate simulate FOLDER."
        )
    return RigRecordings.load(file), file.parent
