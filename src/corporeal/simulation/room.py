"""The room around the robot: floor, walls, lamps, a table and the objects on it."""

from __future__ import annotations

from math import cos, sin
from xml.etree import ElementTree

import numpy as np

from corporeal.simulation.variation import COLOURS, Colour, SceneObject, Variation

Element = ElementTree.Element

TABLE_EDGE_M, TABLE_DEPTH_M, TABLE_WIDTH_M, TABLE_THICKNESS_M = 0.21, 0.55, 1.20, 0.03
HALF_ROOM_M, WALL_HEIGHT_M = 3.5, 2.6
# A crate's handle: along x, thick, high.
HANDLE_M = (0.09, 0.022, 0.075)


def add_room(root: Element, variation: Variation) -> None:
    """Add floor, walls, lamps and, where the variation has them, table, objects and obstacle."""
    world = root.find("worldbody")
    assert world is not None
    _add_materials(root, variation)
    _add_shell(world, variation)
    _add_lamps(world, variation)
    if variation.table_height_m is not None:
        _add_table(world, variation.table_height_m)
        if variation.mark:
            _add_goal(world, variation)
    for thing in variation.things:
        _add_thing(world, thing)
    if variation.obstacle is not None:
        x, y, z = variation.obstacle
        _geom(world, "obstacle", "cylinder", (0.012, 0.11), (x, y, z + 0.11), material="obstacle")


def _add_materials(root: Element, variation: Variation) -> None:
    asset = ElementTree.SubElement(root, "asset")
    floor, wall, table, light, dark = variation.palette
    sky = {"type": "skybox", "builtin": "gradient", "width": "32", "height": "32"}
    colours = {"rgb1": "0.75 0.82 0.9", "rgb2": "0.9 0.93 0.96"}
    ElementTree.SubElement(asset, "texture", {**sky, **colours})
    _texture(asset, "floor", floor, builtin="checker", repeat="7 7", shade=0.88)
    _texture(asset, "wall", wall, builtin="flat", repeat="3 3", shade=0.97)
    _texture(asset, "table", table, builtin="gradient", repeat="1 6", shade=0.80)
    for name, colour in (("robot_light", light), ("robot_dark", dark)):
        _material(asset, name, colour)
    _material(asset, "pad", (0.12, 0.12, 0.13))
    _material(asset, "obstacle", (0.55, 0.57, 0.60))
    for thing in variation.things:
        _material(asset, f"colour_{thing.name}", COLOURS[thing.colour])


def _texture(
    asset: Element, name: str, colour: Colour, *, builtin: str, repeat: str, shade: float
) -> None:
    darker: Colour = (colour[0] * shade, colour[1] * shade, colour[2] * shade)
    size = {"width": "256", "height": "256"}
    look = {"builtin": builtin, "rgb1": _text(*colour), "rgb2": _text(*darker)}
    marks = {"mark": "random", "markrgb": _text(*(0.9 * part for part in colour)), "random": "0.02"}
    fields = {"name": name, "type": "2d", **size, **look, **marks}
    ElementTree.SubElement(asset, "texture", fields)
    shine = {"specular": "0.1", "shininess": "0.1"}
    fields = {"name": name, "texture": name, "texrepeat": repeat, **shine}
    ElementTree.SubElement(asset, "material", fields)


def _material(asset: Element, name: str, colour: Colour) -> None:
    rgba = _text(*colour, 1.0)
    ElementTree.SubElement(asset, "material", name=name, rgba=rgba, specular="0.3", shininess="0.4")


def _add_shell(world: Element, variation: Variation) -> None:
    half, high = HALF_ROOM_M, WALL_HEIGHT_M / 2
    floor = _geom(world, "floor", "plane", (half, half, 0.1), (0.0, 0.0, 0.0), material="floor")
    floor.set("friction", _text(variation.floor_friction, 0.01, 0.001))
    # The floor decides the friction under the soles, whatever the sole itself would give.
    floor.set("priority", "2")
    for name, x, y in (("front", 1, 0), ("back", -1, 0), ("left", 0, 1), ("right", 0, -1)):
        size = (0.05, half, high) if x else (half, 0.05, high)
        place = (x * (half + 0.05), y * (half + 0.05), high)
        _geom(world, f"wall_{name}", "box", size, place, material="wall")
    # A skirting and a poster give cameras something to see.
    _geom(world, "poster", "box", (0.01, 0.5, 0.35), (half - 0.01, 0.6, 1.5), material="table")
    _geom(
        world, "skirting", "box", (0.01, half, 0.05), (half - 0.01, 0, 0.05), material="robot_dark"
    )


def _add_lamps(world: Element, variation: Variation) -> None:
    bright, tilt = variation.light, variation.light_angle_rad
    for number, (x, y, share) in enumerate(((-0.4, 0.5, 0.55), (0.9, -0.8, 0.35))):
        ElementTree.SubElement(
            world, "light", name=f"lamp_{number}", pos=_text(x, y, 2.5), type="directional",
            dir=_text(-0.3 * x + sin(tilt), -0.4 * y, -cos(tilt)), castshadow="false",
            diffuse=_text(*(share * bright,) * 3), specular="0.15 0.15 0.15",
        )  # fmt: skip


def _add_table(world: Element, height: float) -> None:
    x = TABLE_EDGE_M + TABLE_DEPTH_M / 2
    half = (TABLE_DEPTH_M / 2, TABLE_WIDTH_M / 2, TABLE_THICKNESS_M / 2)
    _geom(world, "table", "box", half, (x, 0, height - half[2]), material="table")
    leg = height - TABLE_THICKNESS_M
    for number, (a, b) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1))):
        place = (x + a * (half[0] - 0.04), b * (half[1] - 0.04), leg / 2)
        size = (0.02, 0.02, leg / 2)
        _geom(world, f"table_leg_{number}", "box", size, place, material="robot_dark")


def _add_goal(world: Element, variation: Variation) -> None:
    # A flat mark on the table, or a floating ring for a target in the air: seen, never touched.
    on_table = bool(variation.things)
    x, y, z = variation.goal
    height = (variation.table_height_m or 0.0) + 0.0008 if on_table else z
    shape = ("cylinder", (0.045, 0.0006)) if on_table else ("sphere", (0.018,))
    mark = _geom(world, "goal", shape[0], shape[1], (x, y, height))
    for key, value in (("contype", "0"), ("conaffinity", "0"), ("rgba", "0.1 0.75 0.65 0.9")):
        mark.set(key, value)


def _add_thing(world: Element, thing: SceneObject) -> None:
    turn = (cos(thing.yaw_rad / 2), 0.0, 0.0, sin(thing.yaw_rad / 2))
    place = {"pos": _text(*thing.position), "quat": _text(*turn)}
    body = ElementTree.SubElement(world, "body", {"name": thing.name, **place})
    ElementTree.SubElement(body, "freejoint", name=f"{thing.name}_joint")
    width, depth, height = (extent / 2 for extent in thing.size)
    kind, size = {
        "box": ("box", (width, depth, height)),
        "cylinder": ("cylinder", (width, height)),
        "ball": ("sphere", (width,)),
        "crate": ("box", (width, depth, height)),
    }[thing.shape]
    material = f"colour_{thing.name}"
    geoms = [_geom(body, thing.name, kind, size, (0.0, 0.0, 0.0), material=material)]
    if thing.shape == "crate":
        for name, sign in (("left", 1.0), ("right", -1.0)):
            place_of = (0.0, sign * (depth - HANDLE_M[1] / 2), height + HANDLE_M[2] / 2)
            halves = (HANDLE_M[0] / 2, HANDLE_M[1] / 2, HANDLE_M[2] / 2)
            title = f"{thing.name}_{name}_handle"
            geoms.append(_geom(body, title, "box", halves, place_of, material="robot_light"))
    for number, geom in enumerate(geoms):
        _set_contact(geom, thing, thing.mass_kg if number == 0 else 0.03)


def _set_contact(geom: Element, thing: SceneObject, mass_kg: float) -> None:
    # The object decides the friction of its contacts, so that a slippery one is slippery.
    rolling = 0.002 if thing.shape == "ball" else 0.0005
    fields = {
        "mass": str(mass_kg),
        "priority": "1",
        "condim": "6" if thing.shape == "ball" else "4",
        "friction": _text(thing.friction, 0.02 * thing.friction, rolling),
        "solref": "0.01 1",
        "solimp": "0.9 0.97 0.002",
    }
    for key, value in fields.items():
        geom.set(key, value)


def _geom(
    parent: Element,
    name: str,
    kind: str,
    size: tuple[float, ...],
    place: tuple[float, float, float],
    *,
    material: str | None = None,
) -> Element:
    fields = {"name": name, "type": kind, "size": _text(*size), "pos": _text(*place)}
    if material is not None:
        fields["material"] = material
    return ElementTree.SubElement(parent, "geom", fields)


def _text(*numbers: float) -> str:
    return " ".join(f"{float(np.float64(number)):.6g}" for number in numbers)
