"""What stands around the robot, where the episode says so: table, objects, target."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import BaseModel

from corporeal.simulation.room import TABLE_DEPTH_M, TABLE_EDGE_M, TABLE_THICKNESS_M, TABLE_WIDTH_M

_MOST_THINGS = 64
_REACH_M = 100.0

Form = Literal["box", "ball", "cylinder"]
_FORMS: dict[str, Form] = {"box": "box", "crate": "box", "ball": "ball", "cylinder": "cylinder"}


class SceneThing(BaseModel):
    """An object: `size` are its full extents, m; `track` is the stream of its pose, if any."""

    name: str
    form: Form
    size: tuple[float, float, float]
    position: tuple[float, float, float]
    yaw_rad: float
    colour: str | None
    track: str | None


class TableTop(BaseModel):
    """A table top: the middle of its upper side, and its extents, m."""

    position: tuple[float, float, float]
    size: tuple[float, float, float]


class Surroundings(BaseModel):
    """What the metadata of the episode tells about the room."""

    things: list[SceneThing]
    table: TableTop | None
    target: tuple[float, float, float] | None


def surroundings(metadata: dict[str, Any], tracked: list[str]) -> Surroundings:
    """The room in which an episode was simulated; `tracked` are the names with a stream of poses.

    Metadata comes from files of others: whatever is not as expected is left out.
    """
    variation = metadata.get("variation")
    said = variation if isinstance(variation, dict) else {}
    listed = said.get("things")
    things = [
        thing
        for each in (listed if isinstance(listed, list) else [])[:_MOST_THINGS]
        if (thing := _thing(each, tracked)) is not None
    ]
    height = _number(said.get("table_height_m"))
    table = None
    if height is not None and 0 < height < 3:
        table = TableTop(
            position=(TABLE_EDGE_M + TABLE_DEPTH_M / 2, 0.0, height),
            size=(TABLE_DEPTH_M, TABLE_WIDTH_M, TABLE_THICKNESS_M),
        )
    target = _triple(said.get("goal")) if said.get("mark") is True else None
    if target is not None and things and height is not None:
        target = (target[0], target[1], height)
    return Surroundings(things=things, table=table, target=target)


def _thing(said: Any, tracked: list[str]) -> SceneThing | None:
    if not isinstance(said, dict):
        return None
    name, colour = said.get("name"), said.get("colour")
    form = _FORMS.get(str(said.get("shape")))
    size, position = _triple(said.get("size")), _triple(said.get("position"))
    if not isinstance(name, str) or form is None or size is None or position is None:
        return None
    if min(size) <= 0:
        return None
    return SceneThing(
        name=name[:80], form=form, size=size, position=position,
        yaw_rad=_number(said.get("yaw_rad")) or 0.0,
        colour=colour[:40] if isinstance(colour, str) else None,
        track=next((path for path in tracked if path.endswith(f"/{name}_pose")), None),
    )  # fmt: skip


def _triple(said: Any) -> tuple[float, float, float] | None:
    if not isinstance(said, list | tuple) or len(said) != 3:
        return None
    x, y, z = (_number(each) for each in said)
    return None if x is None or y is None or z is None else (x, y, z)


def _number(said: Any) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return float(said) if math.isfinite(said) and abs(said) <= _REACH_M else None
