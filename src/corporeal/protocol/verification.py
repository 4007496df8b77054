"""How a station's calibration is verified: against which markers, how often, within what limits."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from corporeal.protocol.protocol import Positive, Vector
from corporeal.schema import Part
from corporeal.schema.document import Name

Sigmas = tuple[Positive, Positive, Positive]


class MarkerReference(Part):
    """Where a camera saw a marker when the calibration was known to be right.

    The sigmas are those of one check, along and about x, y and z of the camera: how well the same
    marker is told again when nothing has moved.
    """

    name: Name
    camera: Name = Field(description="of the calibration, such as head_left")
    board: dict[str, Any] = Field(description="the marker or board, as its document has it")
    frame: str = Field(description="world, a link, or camera: what the pose is in")
    xyz: Vector
    rpy: Vector
    camera_rpy: Vector = Field(description="how the camera was turned in that frame")
    position_sigma_m: Sigmas
    rotation_sigma_rad: Sigmas


class VerificationPlan(Part):
    """When the markers are looked at again, and what stops collection.

    A check is due at the start, at the end and every `every_min` minutes in between; it is overdue
    `grace_min` later.
    """

    markers: tuple[MarkerReference, ...]
    every_min: Annotated[float, Field(ge=1, le=480)] = 45.0
    grace_min: Annotated[float, Field(ge=0, le=60)] = 15.0
    max_position_m: Positive = 0.003
    max_rotation_rad: Positive = 0.017453
    frames: Annotated[int, Field(ge=3, le=200)] = 30

    @model_validator(mode="after")
    def _names_each_marker_once(self) -> Self:
        seen = [(marker.camera, marker.name) for marker in self.markers]
        twice = sorted({pair for pair in seen if seen.count(pair) > 1})
        if twice:
            camera, marker = twice[0]
            raise ValueError(f"marker {marker!r} of {camera} is listed twice; expected once")
        if not self.markers:
            raise ValueError("no markers; expected one or more")
        return self
