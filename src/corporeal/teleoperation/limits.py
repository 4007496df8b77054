"""What a command may never exceed, whoever gives it: a part of every session's settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from corporeal.schema import Part

Share = Annotated[float, Field(gt=0, le=1)]
Vector = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0)]


class CommandLimits(Part):
    """Bounds of commanded joints; a speed or torque is also held to the motor's own limit."""

    position_margin_rad: Annotated[float, Field(ge=0)] = Field(
        default=0.02, description="kept free before a joint's end, rad (m for a slide)"
    )
    speed_rad_s: Positive = Field(default=4.0, description="most of any joint, rad/s")
    acceleration_rad_s2: Positive = Field(default=25.0, description="most of any joint, rad/s2")
    jerk_rad_s3: Positive = Field(
        default=5000.0, description="kept to while nothing has to be avoided, rad/s3"
    )
    torque_share: Share = Field(default=0.9, description="of a motor's effort limit")
    clearance_m: Positive = Field(
        default=0.01, description="between links that must not touch, table and floor, m"
    )
    lowest_m: Vector = Field(
        default=(-0.3, -0.8, -0.6), description="corner of the hands' space in the base's axes, m"
    )
    highest_m: Vector = Field(default=(0.8, 0.8, 1.0), description="its other corner, m")

    def scaled(self, share: float) -> CommandLimits:
        """The same for a robot that is tried out: speeds at a share, accelerations with them."""
        return self.model_copy(
            update={
                "speed_rad_s": self.speed_rad_s * share,
                "acceleration_rad_s2": self.acceleration_rad_s2 * share,
                "jerk_rad_s3": self.jerk_rad_s3 * share,
            }
        )
