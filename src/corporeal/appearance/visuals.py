"""What a description (URDF, MJCF) shows of each body: mesh files and plain solids, in colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from corporeal.appearance.surface import Surface, solid
from corporeal.embodiment.engines import import_mujoco
from corporeal.errors import ModelError
from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_rpy
from corporeal.xml_text import inside, parse_xml, read_bytes, read_numbers

MOST_VISUALS = 2000
_SOLIDS = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"),
           "capsule": ("radius", "length")}  # fmt: skip
_GREY = (0.5, 0.5, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Visual:
    """Something seen of a body: `form` is a file of triangles or the triangles, `pose` is 4x4.

    Without a colour of the description the mesh has its own; a file that is absent is a name.
    """

    body: str
    form: Path | Surface | str
    pose: Array
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    colour: tuple[float, ...] | None = None


def read_visuals(path: Path, folder: Path) -> list[Visual]:
    """All that a file shows; mesh files are looked for in `folder` and nowhere else.

    The file must have been read as a robot before: that is where it was checked.
    """
    root = parse_xml(read_bytes(path), source=str(path))
    read = _urdf_visuals(root, path, folder) if root.tag == "robot" else _mjcf_visuals(path, folder)
    found: list[Visual] = []
    for visual in read:
        found.append(visual)
        if len(found) > MOST_VISUALS:
            raise ModelError(
                f"{path}: shows more than {MOST_VISUALS} things; expected a robot. Remove some."
            )
    return found


def _urdf_visuals(root: Element, path: Path, folder: Path) -> Iterator[Visual]:
    named = {
        material.get("name", ""): colour
        for material in root.iter("material")
        if (colour := _rgba(material, path)) is not None
    }
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            where = f"{path}: link {link.get('name')!r}: visual"
            geometry, material = visual.find("geometry"), visual.find("material")
            colour = None
            if material is not None:
                colour = _rgba(material, path) or named.get(material.get("name", ""))
            for element in () if geometry is None else geometry:
                scale: tuple[float, ...] = (1.0, 1.0, 1.0)
                form: Path | Surface | str | None = _urdf_solid(element, where)
                if element.tag == "mesh":
                    form = _urdf_mesh(element.get("filename", ""), path, folder)
                    scale = read_numbers(element.get("scale", "1 1 1"), 3, where=f"{where} scale")
                if form is not None:
                    yield Visual(link.get("name", ""), form, _origin(visual, where), scale, colour)


def _rgba(material: Element, path: Path) -> tuple[float, ...] | None:
    colour = material.find("color")
    text = None if colour is None else colour.get("rgba")
    return None if text is None else read_numbers(text, 4, where=f"{path}: color")


def _origin(element: Element, where: str) -> Array:
    pose = np.eye(4)
    origin = element.find("origin")
    if origin is not None:
        pose[:3, 3] = read_numbers(origin.get("xyz", "0 0 0"), 3, where=f"{where} xyz")
        rpy = read_numbers(origin.get("rpy", "0 0 0"), 3, where=f"{where} rpy")
        pose[:3, :3] = matrix_from_rpy(rpy)
    return pose


def _urdf_solid(element: Element, where: str) -> Surface | None:
    keys = _SOLIDS.get(element.tag)
    if keys is None:
        return None
    count = 3 if element.tag == "box" else 1
    read = [read_numbers(element.get(key, ""), count, where=f"{where} {key}") for key in keys]
    return solid(element.tag, sum(read, ()))


def _urdf_mesh(name: str, path: Path, folder: Path) -> Path | str:
    beside = path.parent
    if name.startswith("package://"):
        _, _, within = name.removeprefix("package://").partition("/")
        return _first([beside / within, beside.parent / within, folder / within], name, folder)
    return _first([beside / name.removeprefix("file://"), folder / Path(name).name], name, folder)


def _first(places: list[Path], name: str, folder: Path) -> Path | str:
    """The first of these that is a file in the folder; else what it is called."""
    return next((place for place in places if inside(folder, place)), Path(name).name or name)


def _mjcf_visuals(path: Path, folder: Path) -> Iterator[Visual]:
    """As MuJoCo places them: every shown mesh stands in the file as a small ball meanwhile."""
    mujoco = import_mujoco()
    spec = mujoco.MjSpec.from_file(str(path))
    meshes = {mesh.name: mesh for mesh in spec.meshes}
    shown = [geom for body in spec.bodies[1:] for geom in body.geoms if _is_shown(geom, mujoco)]
    forms: dict[str, tuple[Any, Path | str]] = {}
    for number, geom in enumerate(shown):
        geom.name = f"visual-{number}"
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            mesh = meshes[geom.meshname]
            forms[geom.name] = mesh, _mjcf_mesh(spec, mesh, path, folder)
            geom.type, geom.meshname, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, "", [1e-3, 0, 0]
    model = _compiled(mujoco, spec, {geom.name for geom in shown}, path)
    for geom in range(model.ngeom):
        name = model.geom(geom).name
        if not name.startswith("visual-") or model.geom_rgba[geom][3] < 0.05:
            continue
        body = int(model.geom_bodyid[geom])
        pose = _anchored(model, body) @ _placed(model.geom_pos[geom], model.geom_quat[geom])
        colour = tuple(model.geom_rgba[geom].tolist())
        material = int(model.geom_matid[geom])
        if material >= 0 and np.allclose(colour, _GREY):
            colour = tuple(model.mat_rgba[material].tolist())
        if name in forms:
            mesh, file = forms[name]
            back = np.linalg.inv(_placed(mesh.refpos, mesh.refquat))
            yield Visual(model.body(body).name, file, pose @ back, tuple(mesh.scale), colour)
        elif (form := _mjcf_solid(model, geom)) is not None:
            yield Visual(model.body(body).name, form, pose, colour=colour)


def _is_shown(geom: Any, mujoco: Any) -> bool:
    """What is seen and does not collide; meshes also where the robot collides as it looks."""
    if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
        return bool(geom.meshname) and geom.group != 3
    return not geom.contype and not geom.conaffinity and geom.group < 3


def _mjcf_mesh(spec: Any, mesh: Any, path: Path, folder: Path) -> Path | str:
    file = Path(mesh.file)
    if file.is_relative_to(path.parent):
        file = file.relative_to(path.parent)
    if spec.strippath:
        file = Path(file.name)
    beside = path.parent
    places = [beside / mesh.compiler.meshdir / file, beside / file]
    return _first(places, file.as_posix(), folder)


def _compiled(mujoco: Any, spec: Any, kept: set[str], path: Path) -> Any:
    """The bodies with what is shown of them, and without anything that needs a file."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
    for number, body in enumerate(spec.bodies):
        body.name = body.name or f"body{number}"
        for geom in list(body.geoms):
            if geom.name not in kept:
                spec.delete(geom)
        if number:
            body.explicitinertial = True
            body.mass, body.inertia = 1.0, [1.0] * 3
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for elements in (spec.meshes, spec.textures, spec.skins, spec.hfields, spec.flexes,
                     spec.sensors, spec.keys, spec.pairs, spec.tuples, spec.excludes):  # fmt: skip
        for element in list(elements):
            spec.delete(element)
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError, RuntimeError, MemoryError) as error:
        reason = " ".join(str(error).split()).rstrip(".") or "no reason given"
        raise ModelError(f"{path}: MuJoCo cannot use it: {reason}. Correct the file.") from None


def _placed(position: Any, quaternion: Any) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = position
    pose[:3, :3] = matrix_from_quaternion(np.asarray(quaternion, np.float64))
    return pose


def _anchored(model: Any, body: int) -> Array:
    """A body in the frame of its link, which lies at the anchor of its joint."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    pose = np.eye(4)
    for joint in range(first, first + count):
        if int(model.jnt_type[joint]) == 3:
            pose[:3, 3] = -np.asarray(model.jnt_pos[joint])
    return pose


def _mjcf_solid(model: Any, geom: int) -> Surface | None:
    kind = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}.get(int(model.geom_type[geom]))
    if kind is None:
        return None
    a, b, c = (float(value) for value in model.geom_size[geom])
    return solid(kind, {"sphere": (a,), "box": (2 * a, 2 * b, 2 * c)}.get(kind, (a, 2 * b)))
