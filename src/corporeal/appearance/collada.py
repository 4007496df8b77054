"""COLLADA (.dae): triangles with the colours of their materials, in metres and z up."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from corporeal.appearance.surface import Surface, joined
from corporeal.errors import ModelError
from corporeal.geometry import Array
from corporeal.xml_text import parse_xml, read_numbers

Whole = NDArray[np.int64]
MOST_INSTANCES = 2000
# Of nodes, primitives and lists of faces; a mesh of a link has some dozens of each.
MOST_PARTS = 20_000
MOST_TRIANGLES = 2_000_000
MOST_DEPTH = 64
_UPRIGHT = {
    "Y_UP": np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float64),
    "X_UP": np.array([[0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], np.float64),
}
_GREY = (0.7, 0.7, 0.7)


def read_collada(raw: bytes, path: Path) -> Surface:
    """All geometry that the scene of a file shows; without a scene, all geometry that it has."""
    root = parse_xml(raw, source=str(path), texts=True)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "COLLADA":
        raise ModelError(f"{path}: got <{root.tag}>; expected <COLLADA>. Export it again.")
    return _Document(root, path).surface()


class _Document:
    """The parts of a file by their ids."""

    def __init__(self, root: Element, path: Path) -> None:
        self.root, self.path = root, path
        self.by_id = {
            element.get("id", ""): element for element in root.iter() if element.get("id")
        }
        self.instances = 0
        self.triangles = 0
        self.steps = 0
        self.places: dict[str, Array] = {}
        self.parts: list[Surface] = []

    def surface(self) -> Surface:
        axis, unit = self.root.find("asset/up_axis"), self.root.find("asset/unit")
        placed = _UPRIGHT.get((axis.text or "").strip() if axis is not None else "", np.eye(4))
        metres = 1.0 if unit is None else self._numbers(unit.get("meter", "1"), 1)[0]
        start = placed @ np.diag([metres, metres, metres, 1.0])
        scenes = self.root.findall("library_visual_scenes/visual_scene")
        for scene in scenes[:1]:
            for node in scene.findall("node"):
                self._walk(node, start, 0)
        if not self.parts:
            for geometry in self.root.findall("library_geometries/geometry"):
                self._add(geometry, start, {})
        return joined(self.parts)

    def _count(self) -> None:
        """One part more: nodes that show each other twice are walked without end otherwise."""
        self.steps += 1
        if self.steps > MOST_PARTS:
            raise ModelError(f"{self.path}: shows more than {MOST_PARTS} parts; expected a mesh.")

    def _walk(self, node: Element, above: Array, depth: int) -> None:
        self._count()
        if depth > MOST_DEPTH:
            raise ModelError(
                f"{self.path}: nodes are nested deeper than {MOST_DEPTH}. Flatten them."
            )
        here = above
        for element in node:
            here = here @ self._step(element)
        for shown in node.findall("instance_geometry"):
            bound = {
                each.get("symbol", ""): each.get("target", "")
                for each in shown.iter("instance_material")
            }
            geometry = self._named(shown.get("url", ""))
            if geometry is not None:
                self._add(geometry, here, bound)
        for child in node.findall("node"):
            self._walk(child, here, depth + 1)
        for linked in node.findall("instance_node"):
            child_node = self._named(linked.get("url", ""))
            if child_node is not None:
                self._walk(child_node, here, depth + 1)

    def _step(self, element: Element) -> Array:
        """What one element of a node does to all that follows in it."""
        pose = np.eye(4)
        if element.tag == "matrix":
            return np.array(self._numbers(element.text, 16)).reshape(4, 4)
        if element.tag == "translate":
            pose[:3, 3] = self._numbers(element.text, 3)
        elif element.tag == "scale":
            pose[:3, :3] = np.diag(self._numbers(element.text, 3))
        elif element.tag == "rotate":
            x, y, z, angle = self._numbers(element.text, 4)
            axis = np.array([x, y, z]) / max(float(np.linalg.norm([x, y, z])), 1e-12)
            cross = np.cross(np.eye(3), axis)
            turn = np.deg2rad(angle)
            pose[:3, :3] = np.eye(3) - np.sin(turn) * cross + (1 - np.cos(turn)) * cross @ cross
        return pose

    def _add(self, geometry: Element, pose: Array, bound: dict[str, str]) -> None:
        self.instances += 1
        if self.instances > MOST_INSTANCES:
            raise ModelError(
                f"{self.path}: more than {MOST_INSTANCES} geometries are shown; expected a mesh."
            )
        for mesh in geometry.findall("mesh"):
            for tag in ("triangles", "polylist", "polygons"):
                for element in mesh.findall(tag):
                    self._count()
                    self._add_primitive(element, tag, pose, bound)

    def _add_primitive(
        self, element: Element, tag: str, pose: Array, bound: dict[str, str]
    ) -> None:
        inputs = element.findall("input")
        vertex = next((each for each in inputs if each.get("semantic") == "VERTEX"), None)
        if vertex is None:
            return
        url = vertex.get("source", "")
        if url not in self.places:
            self.places[url] = self._places(url)
        places = self.places[url]
        offsets = [self._whole(each.get("offset", "0")) for each in inputs]
        stride, offset = max(offsets) + 1, self._whole(vertex.get("offset", "0"))
        corners: list[Whole] = []
        counts = element.find("vcount")
        sides = None if counts is None else self._integers(counts.text)
        sides = None if sides is None else sides[sides > 0]
        for listed in element.findall("p"):
            self._count()
            numbers = self._integers(listed.text)
            numbers = numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, offset]
            if tag == "triangles":
                corners.append(numbers[: len(numbers) // 3 * 3].reshape(-1, 3))
            else:
                sizes = np.array([len(numbers)]) if sides is None else sides
                corners.append(_fans(numbers, sizes))
        faces = np.concatenate(corners) if corners else np.zeros((0, 3), np.int64)
        self.triangles += len(faces)
        if self.triangles > MOST_TRIANGLES:
            raise ModelError(f"{self.path}: more than {MOST_TRIANGLES} triangles. Decimate it.")
        if not len(faces):
            return
        if faces.min() < 0 or faces.max() >= len(places):
            raise ModelError(
                f"{self.path}: a face names a corner that is not there. Export it again."
            )
        part = Surface(places[faces], np.zeros((len(faces), 3)))
        colour = self._colour(bound.get(element.get("material", ""), element.get("material", "")))
        self.parts.append(part.painted(colour).moved(pose))

    def _places(self, url: str) -> Array:
        vertices = self._named(url)
        if vertices is not None and vertices.tag == "vertices":
            source = next(
                (each for each in vertices.findall("input") if each.get("semantic") == "POSITION"),
                None,
            )
            vertices = None if source is None else self._named(source.get("source", ""))
        listed = None if vertices is None else vertices.find("float_array")
        if listed is None:
            raise ModelError(
                f"{self.path}: {url!r} has no corners; expected them. Export it again."
            )
        try:
            values = np.array((listed.text or "").split(), np.float64)
        except ValueError:
            raise ModelError(f"{self.path}: {url!r}: got what are no numbers.") from None
        return values[: len(values) // 3 * 3].reshape(-1, 3)

    def _colour(self, material: str) -> tuple[float, ...]:
        """The diffuse colour of a material; grey where it is a picture or not there."""
        found = self._named(material)
        link = None if found is None else found.find("instance_effect")
        effect = None if link is None else self._named(link.get("url", ""))
        shown = None if effect is None else next(effect.iter("diffuse"), None)
        colour = None if shown is None else shown.find("color")
        if colour is None or len((colour.text or "").split()) < 3:
            return _GREY
        words = " ".join((colour.text or "").split()[:3])
        return tuple(np.clip(self._numbers(words, 3), 0, 1).tolist())

    def _named(self, url: str) -> Element | None:
        return self.by_id.get(url.removeprefix("#"))

    def _numbers(self, text: str | None, count: int) -> tuple[float, ...]:
        return read_numbers(text or "", count, where=str(self.path))

    def _whole(self, text: str) -> int:
        return int(min(max(self._numbers(text, 1)[0], 0), 64))

    def _integers(self, text: str | None) -> Whole:
        try:
            return np.array((text or "").split(), np.int64)
        except (ValueError, OverflowError):
            raise ModelError(f"{self.path}: got a face that is no whole numbers.") from None


def _fans(numbers: Whole, sizes: Whole) -> Whole:
    """Polygons, none without a corner, as triangles about their first; the last may be cut off."""
    room = len(numbers)
    if not room or not len(sizes):
        return np.zeros((0, 3), np.int64)
    ends = np.cumsum(np.minimum(sizes[:room], room))
    starts = np.minimum(np.concatenate([[0], ends[:-1]]), room)
    counts = np.maximum(np.minimum(ends, room) - starts - 2, 0)
    first = np.repeat(starts, counts)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    faces: Whole = numbers[np.stack([first, second, second + 1], axis=1)]
    return faces
