"""The calibration document: where the cameras of a station are, what they see, how sure that is."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from corporeal.protocol.protocol import NotNegative, Positive, Vector
from corporeal.protocol.verification import VerificationPlan
from corporeal.schema import Document, Part
from corporeal.schema.document import Name

LensName = Literal["pinhole", "rational", "fisheye"]
# What a calibration that governs episodes should know a camera to, one sigma.
UNSURE_PX, UNSURE_M, UNSURE_RAD = 1.0, 0.005, 0.01745


class Unsure(NamedTuple):
    """What a calibration does not know well enough: in words, how well, and the limit."""

    words: str
    sigma: float
    limit: float


class CameraCalibration(Part):
    """One camera: pinhole numbers in pixels, and its pose in `frame` in metres and radians."""

    name: Name = Field(description="of its stream, such as head_left")
    serial: str | None = None
    width: int | None = Field(default=None, gt=0)
    height: int | None = Field(default=None, gt=0)
    focal_px: tuple[Positive, Positive] | None = Field(default=None, description="fx, fy")
    centre_px: tuple[float, float] | None = Field(default=None, description="cx, cy")
    distortion: tuple[float, ...] = Field(
        default=(), description="k1 k2 p1 p2 k3 (rational: k4 k5 k6; fisheye: k1 to k4)"
    )
    reprojection_px: NotNegative | None = None
    lens: LensName | None = Field(default=None, description="pinhole where nothing is said")
    uncertainty_px: NotNegative | None = Field(
        default=None, description="mean spread of a pixel at distance_m, one sigma"
    )
    distance_m: Positive | None = Field(default=None, description="where it is that sure")
    views: int | None = Field(default=None, ge=0, description="pictures it was solved from")
    board: str | None = Field(default=None, description="name@version of the board")
    frame: str | None = Field(default=None, description="link or world that the pose is in")
    xyz: Vector | None = None
    rpy: Vector | None = None
    position_sigma_m: Vector | None = Field(default=None, description="one sigma of xyz")
    rotation_sigma_rad: Vector | None = Field(default=None, description="one sigma about x, y, z")


class ForceCalibration(Part):
    """One force and torque sensor: the tool behind it, its bias, and how it is mounted."""

    name: Name = Field(description="of its stream, such as right_wrist_wrench")
    mass_kg: NotNegative
    centre_m: Vector = Field(description="middle of the tool's mass in the sensor's frame")
    force_bias_n: Vector
    torque_bias_nm: Vector
    mounting_rpy: Vector = Field(description="turns the flange into the sensor")
    sign: Literal[-1, 1] = Field(description="-1: it reports the force that its other side feels")
    mass_sigma_kg: NotNegative | None = None
    force_rms_n: NotNegative | None = Field(default=None, description="of poses left out")
    torque_rms_nm: NotNegative | None = Field(default=None, description="of poses left out")


class VolumeRest(Part):
    """A low marker while a foot stood."""

    label: str
    xyz: Vector


class VolumeDistance(Part):
    """Two markers on one bone, and how their distance differs within the reference clip."""

    first: str
    second: str
    length_m: Positive
    sigma_m: Positive


class VolumeCalibration(Part):
    """A mocap volume: how long its wand was in it, and the session's reference clip."""

    wand_m: Positive | None = Field(default=None, description="the wand's true length")
    rms_m: NotNegative | None = Field(default=None, description="of the wand's length")
    scale: float | None = Field(default=None, description="0.001: a metre reads 1.001")
    scale_sigma: NotNegative | None = None
    extent_m: Vector | None = Field(default=None, description="where the wand's middle was")
    rests: tuple[VolumeRest, ...] = Field(default=(), max_length=500)
    distances: tuple[VolumeDistance, ...] = Field(default=(), max_length=500)


class Calibration(Document):
    """What was measured of a station before episodes were recorded there.

    The errors are those of its last verification, against a marker at a known pose.
    """

    kind: ClassVar[str] = "calibration"

    measured: str = Field(
        pattern=r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$", description="a day, such as 2026-11-18"
    )
    cameras: tuple[CameraCalibration, ...] = ()
    force_sensors: tuple[ForceCalibration, ...] | None = None
    volume: VolumeCalibration | None = Field(default=None, description="of motion capture")
    position_error_m: NotNegative | None = None
    rotation_error_rad: NotNegative | None = None
    sensor_serials: dict[str, str] = Field(default={}, description="sensor: number")
    verification: VerificationPlan | None = Field(
        default=None, description="the markers that show whether it still holds, and how often"
    )

    @model_validator(mode="after")
    def _names_each_camera_once(self) -> Self:
        names = [camera.name for camera in self.cameras]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"camera {twice[0]!r} is listed twice; expected once")
        for marker in self.verification.markers if self.verification is not None else ():
            if marker.camera not in names:
                known = ", ".join(names) or "none"
                raise ValueError(
                    f"marker {marker.name!r} is of {marker.camera!r}; expected {known}"
                )
        return self

    def find_unsure(
        self, *, max_uncertainty_px: float = UNSURE_PX, max_position_sigma_m: float = UNSURE_M,
        max_rotation_sigma_rad: float = UNSURE_RAD,
    ) -> list[Unsure]:  # fmt: skip
        """What the document itself does not know as well as these limits, one sigma, by camera."""
        unsure = []
        for camera in self.cameras:
            pixel = camera.uncertainty_px or 0.0
            place, turn = (math.hypot(*(sigma or ())) for sigma in
                           (camera.position_sigma_m, camera.rotation_sigma_rad))  # fmt: skip
            if pixel > max_uncertainty_px:
                words = f"the pixels of {camera.name} are known to {pixel:.2g} px only"
                unsure.append(Unsure(words, pixel, max_uncertainty_px))
            if place > max_position_sigma_m:
                words = f"the place of {camera.name} is known to {place * 1e3:.2g} mm only"
                unsure.append(Unsure(words, place, max_position_sigma_m))
            if turn > max_rotation_sigma_rad:
                words = (
                    f"the turn of {camera.name} is known to {math.degrees(turn):.2g} degrees only"
                )
                unsure.append(Unsure(words, turn, max_rotation_sigma_rad))
        return unsure

    def facts(self) -> dict[str, Any]:
        """What an episode made with it says: calibration, poses of cameras, serials."""
        errors = {"position_error_m": self.position_error_m,
                  "rotation_error_rad": self.rotation_error_rad}  # fmt: skip
        start = {name: value for name, value in errors.items() if value is not None}
        poses = {
            camera.name: {"xyz": list(camera.xyz), "rpy": list(camera.rpy or (0.0, 0.0, 0.0))}
            for camera in self.cameras
            if camera.xyz is not None
        }
        serials = {camera.name: camera.serial for camera in self.cameras if camera.serial}
        facts: dict[str, Any] = {"calibration": {"name": self.reference}}
        if start:
            facts["calibration"]["start"] = {"id": self.reference, **start}
        if poses:
            facts["cameras"] = poses
        if serials or self.sensor_serials:
            facts["sensor_serials"] = {**serials, **self.sensor_serials}
        return facts
