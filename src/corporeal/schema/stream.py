"""One stream of a rig: what it is called, what it holds, how often, in which unit and frame."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from corporeal.errors import UnknownNameError
from corporeal.schema import roles
from corporeal.schema.document import Name, Part
from corporeal.units import check_unit

Group = Literal["observations", "actions", "debug"]
Kind = Literal["array", "video", "depth", "points", "text"]
Method = Literal["hold", "linear", "slerp", "nearest"]
DType = Literal[
    "float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
    "bool",
]  # fmt: skip

GROUPS: tuple[Group, ...] = ("observations", "actions", "debug")
MAX_VALUES = 1 << 26
_SLIDING_UNIT = {"rad": "m", "rad/s": "m/s", "N m": "N"}

Size = Annotated[int, Field(gt=0, le=MAX_VALUES)]


class DepthError(Part):
    """How far a stored depth `z` may be from the measured one: `constant + quadratic * z**2`.

    In the counts of the stream, which are millimetres as a rule. Stereo errs with the square of the
    distance: `quadratic` is its error of disparity in pixels by focal length (px) and baseline.
    """

    constant: float = Field(default=0.0, ge=0, le=65535, allow_inf_nan=False)
    quadratic: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)

    def at(self, depth: float) -> float:
        """The most that this depth may be off."""
        return self.constant + self.quadratic * depth * depth


class Stream(Part):
    """A named signal with its own clock.

    `shape` is that of one sample; the word `joints` stands for the number of actuated joints.
    A point cloud's shape is that of one point; text has none. `components` names the entries of
    the last axis: `joints`, or a list, in which qw qx qy qz mark a quaternion. `depth_error` allows
    the file to round depth, which it stores exactly otherwise.
    """

    name: Name
    group: Group
    kind: Kind = "array"
    dtype: DType = "float32"
    shape: tuple[Size | Literal["joints"], ...] = ()
    rate_hz: float | None = Field(default=None, gt=0, le=1e6, description="none: events")
    unit: str | tuple[str, ...] = "1"
    frame: str | None = Field(default=None, description="link, camera, world, ...")
    components: Literal["joints"] | tuple[str, ...] | None = None
    interpolation: Method | None = Field(default=None, description="how to align it")
    depth_error: DepthError | None = Field(default=None, description="none: depth is lossless")
    placement: Literal["robot", "external"] = "robot"
    optional: bool | None = None
    description: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _dtype_follows_kind(cls, values: object) -> object:
        natural = {"video": "uint8", "depth": "uint16", "text": "uint8"}
        kind = values.get("kind") if isinstance(values, dict) else None
        if isinstance(values, dict) and "dtype" not in values and isinstance(kind, str):
            return {**values, "dtype": natural[kind]} if kind in natural else values
        return values

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        self._check_kind()
        self._check_units()
        texts = (self.frame or "", self.description or "", *self.names)
        if any("\0" in text for text in texts):
            raise ValueError(f"stream {self.name!r} has a NUL character; expected plain text")
        if self.group != "debug" and (self.placement == "external" or self.frame == "world"):
            reason = "external" if self.placement == "external" else "in the world frame"
            raise ValueError(
                f"stream {self.name!r} is {reason}, which a deployed policy does not have; "
                f"expected group debug, got {self.group}"
            )
        if self.interpolation == "slerp" and self.quaternion_columns is None:
            raise ValueError(
                f"stream {self.name!r} asks for slerp; expected components that name qw qx qy qz"
            )
        return self

    def _check_kind(self) -> None:
        wanted = {"video": (3, "uint8"), "depth": (2, "uint16"), "text": (0, "uint8")}
        if self.kind in wanted:
            axes, dtype = wanted[self.kind]
            if len(self.shape) != axes or self.dtype != dtype:
                what = {"video": "[height, width, 3]", "depth": "[height, width]", "text": "[]"}
                raise ValueError(
                    f"{self.kind} stream {self.name!r} has shape {list(self.shape)} of "
                    f"{self.dtype}; expected {what[self.kind]} of {dtype}"
                )
        if self.kind == "video" and (self.shape[2] != 3 or any(n % 2 for n in self._numbers()[:2])):
            raise ValueError(f"video {self.name!r} has shape {list(self.shape)}; "
                             "expected [height, width, 3], both even")  # fmt: skip
        if self.depth_error is not None and self.kind != "depth":
            raise ValueError(
                f"{self.kind} stream {self.name!r} has a depth_error; expected one of kind depth"
            )
        if self.kind == "points" and len(self.shape) != 1:
            raise ValueError(
                f"points {self.name!r} has shape {list(self.shape)}; expected [columns]"
            )
        if len(self.shape) > 8:
            raise ValueError(f"stream {self.name!r} has {len(self.shape)} axes; expected at most 8")
        if math.prod(self._numbers()) > MAX_VALUES:
            raise ValueError(
                f"stream {self.name!r} has shape {list(self.shape)}; "
                f"expected at most {MAX_VALUES} values in a sample"
            )
        if isinstance(self.components, tuple) and (
            not self.shape or self.shape[-1] != len(self.components)
        ):
            raise ValueError(
                f"stream {self.name!r} has {len(self.components)} components for shape "
                f"{list(self.shape)}; expected as many as its last axis"
            )
        if self.components == "joints" and self.shape[-1:] != ("joints",):
            raise ValueError(f"stream {self.name!r} has components joints; expected shape [joints]")

    def _check_units(self) -> None:
        if isinstance(self.unit, tuple) and self.shape[-1:] != (len(self.unit),):
            raise ValueError(
                f"stream {self.name!r} has {len(self.unit)} units for shape {list(self.shape)}; "
                "expected one, or one for each entry of the last axis"
            )
        for unit in (self.unit,) if isinstance(self.unit, str) else self.unit:
            try:
                check_unit(unit)
            except UnknownNameError as error:
                raise ValueError(str(error).rstrip(".")) from None

    def _numbers(self) -> tuple[int, ...]:
        return tuple(size for size in self.shape if isinstance(size, int))

    @property
    def path(self) -> str:
        """`group/name`: the address of the stream in the episode file."""
        return f"{self.group}/{self.name}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape of one sample, where `joints` is a number already."""
        return tuple(int(size) for size in self.shape)

    @property
    def width(self) -> int:
        """How many values a sample has."""
        return math.prod(self.sizes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries of the last axis; none where nobody gave any."""
        return self.components if isinstance(self.components, tuple) else ()

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each entry of the last axis."""
        return (self.unit,) * (self.sizes or (1,))[-1] if isinstance(self.unit, str) else self.unit

    @property
    def quaternion_columns(self) -> tuple[int, int, int, int] | None:
        """Where qw, qx, qy, qz stand in the last axis, if the components name them."""
        if any(self.names.count(part) != 1 for part in roles.QUATERNION):
            return None
        w, x, y, z = (self.names.index(part) for part in roles.QUATERNION)
        return w, x, y, z

    @property
    def method(self) -> Method:
        """How the stream is put on a grid: as it says, or as its kind suggests."""
        if self.interpolation is not None:
            return self.interpolation
        if self.kind == "text" or (self.kind == "array" and self.group == "actions"):
            return "hold"
        if self.kind != "array" or not self.dtype.startswith("float"):
            return "nearest"
        return "slerp" if self.quaternion_columns is not None else "linear"

    def resolve(self, joint_names: tuple[str, ...], sliding: Collection[str] = ()) -> Stream:
        """The same stream with `joints` replaced by the robot's own.

        Joints that slide instead of turning are in metres: their entries get units of their own.
        """
        if "joints" not in self.shape and self.components != "joints":
            return self
        values = self.model_dump()
        values["shape"] = tuple(
            len(joint_names) if size == "joints" else size for size in self.shape
        )
        if self.components == "joints":
            values["components"] = joint_names
            if sliding and isinstance(self.unit, str) and self.unit in _SLIDING_UNIT:
                values["unit"] = tuple(
                    _SLIDING_UNIT[self.unit] if name in sliding else self.unit
                    for name in joint_names
                )
        return Stream.model_validate(values)
