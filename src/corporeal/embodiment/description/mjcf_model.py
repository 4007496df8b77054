"""An MJCF file compiled by MuJoCo without the meshes, textures and files it cannot have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from corporeal.errors import MissingExtraError, ModelError
from corporeal.xml_text import inside, parse_xml, read_bytes, read_numbers

MAX_PARTS = 64
# MuJoCo's work grows with the square of some of these: at the bounds it is some seconds.
MOST = {"body": 1_000, "geom": 5_000, "site": 10_000, "point of a soft body": 200}
# What a file may say about the sizes of arrays; the least is what is meant for each body or geom.
_LARGEST_SIZES = {"nuserdata": 10**6, "njmax": 10**7, "nconmax": 10**7, "nstack": 10**7}
_LARGEST_SIZE, _LARGEST_MESH_WORD, _MOST_HEIGHTS = 1_000, 200, 4_000_000
TINY_MASS = 1e-6


@dataclass(frozen=True)
class Compiled:
    """MuJoCo's model, and what it no longer tells about the file.

    `massless` bodies have a mass only in MuJoCo's eyes; `paired` geoms are in contact pairs.
    """

    model: Any
    raw: bytes
    name: str
    missing_meshes: tuple[str, ...]
    massless: frozenset[str]
    paired: frozenset[str]


def compile_without_missing(path: Path) -> Compiled:
    """Compile a file whose meshes may be absent; raises ModelError with MuJoCo's own reason."""
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("mujoco", "robot") from None
    raw = read_bytes(path)
    root = parse_xml(raw, source=str(path))
    if root.tag != "mujoco":
        raise ModelError(f"{path}: got <{root.tag}>; expected <mujoco>. Give an MJCF file.")
    _check_parts(root, path)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        paired = frozenset(name for pair in spec.pairs for name in (pair.geomname1, pair.geomname2))
        missing = _missing_meshes(spec, path)
        used, massless = _strip(mujoco, spec, missing)
        model = spec.compile()
    # What runs out of memory in C++ is a RuntimeError here.
    except (ValueError, mujoco.FatalError, RuntimeError, MemoryError) as error:
        reason = " ".join(str(error).split()).rstrip(".") or "no reason given"
        raise ModelError(f"{path}: MuJoCo cannot use it: {reason}. Correct the file.") from None
    files = tuple(file for name, file in missing.items() if name in used)
    return Compiled(model, raw, spec.modelname, files, frozenset(massless), paired)


def _check_parts(root: Element, path: Path) -> None:
    """Refuse parts that leave the robot's folder, and elements that multiply without bound."""
    package = path.resolve().parent.parent
    front, seen = [(root, path, 1.0)], 0
    counts: dict[str, float] = defaultdict(float)
    attached = 1.0
    while front:
        tree, source, copies = front.pop()
        _check_numbers(tree, source)
        counts["attach"] = 0.0
        for element, times in _count_copies(tree, copies, counts, source):
            name = element.get("file")
            if not name:
                continue
            places = (path.parent / name, source.parent / name)
            part = next((place for place in places if inside(package, place)), None)
            if part is None:
                raise ModelError(
                    f"{source}: <{element.tag} file={name!r}> is not in the folder of the robot "
                    "or the one above it. Put the file there."
                )
            seen += 1
            if seen > MAX_PARTS:
                raise ModelError(
                    f"{path}: more than {MAX_PARTS} included files; expected a robot. "
                    "Check that no file includes itself."
                )
            front.append((parse_xml(read_bytes(part), source=str(part)), part, times))
        # A model that is attached may attach others: in the worst case each of these, each time.
        attached *= max(1.0, counts["attach"])
        for kind, most in MOST.items():
            if counts[kind] * attached > most:
                raise ModelError(
                    f"{source}: <{kind}>, got {counts[kind] * attached:.0f} with all copies; "
                    f"expected at most {most} in a robot. Remove the copies."
                )


def _count_copies(
    tree: Element, copies: float, counts: dict[str, float], source: Path
) -> Iterator[tuple[Element, float]]:
    """Count what a file makes, copies and all; yields parts in files of their own, and how often.

    `copies` is how often the file itself is there.
    """
    front = [(tree, copies)]
    while front:
        element, times = front.pop()
        tag = element.tag
        if tag in ("include", "model"):
            yield element, times
        elif tag in ("composite", "flexcomp"):
            counts["point of a soft body"] += times * _soft_points(element, source)
        elif tag == "replicate":
            times *= _product(element, "count", source)
        if tag in MOST or tag == "attach":
            counts[tag] += times
        front += [(child, times) for child in element]


def _soft_points(element: Element, source: Path) -> float:
    """How many bodies a soft one is made of; those in files are beyond all bounds."""
    if element.get("file"):
        return math.inf
    given = len(element.get("point", "").split()) / 3
    return max(given, *(_product(element, key, source) for key in ("count", "cellcount")))


def _product(element: Element, key: str, source: Path) -> float:
    words = element.get(key, "").split()
    numbers = read_numbers(" ".join(words), len(words), where=f"{source}: <{element.tag}> {key}")
    return math.prod(max(1.0, abs(number)) for number in numbers)


def _check_numbers(tree: Element, source: Path) -> None:
    """Refuse NaN, which MuJoCo takes with a warning in a log file, and sizes beyond reason."""
    heights = 0.0
    for element in tree.iter():
        for key, text in element.items():
            if key not in ("name", "class") and "nan" in text.lower().split():
                raise ModelError(
                    f"{source}: <{element.tag} {key}={text[:60]!r}>; expected finite numbers. "
                    "Correct the file."
                )
            _check_size(element.tag, key, text, source)
        if element.tag == "hfield":
            heights += _product(element, "nrow", source) * _product(element, "ncol", source)
    if heights > _MOST_HEIGHTS:
        raise ModelError(
            f"{source}: <hfield>, got {heights:.0f} heights; expected at most {_MOST_HEIGHTS}. "
            "Remove the ground: it is no part of the robot."
        )


def _check_size(tag: str, key: str, text: str, source: Path) -> None:
    if tag == "size" and key != "memory":
        most = _LARGEST_SIZES.get(key, _LARGEST_SIZE)
    elif tag == "mesh" and key == "params":
        most = _LARGEST_MESH_WORD
    else:
        return
    where = f"{source}: <{tag}> {key}"
    if any(number > most for number in read_numbers(text, len(text.split()), where=where)):
        raise ModelError(f"{where}, got {text[:60]!r}; expected at most {most}. Correct the file.")


def _missing_meshes(spec: Any, path: Path) -> dict[str, str]:
    """File names of the robot's meshes that are not there, by the name of the mesh."""
    folder, package = path.parent, path.resolve().parent.parent
    missing = {}
    for mesh in spec.meshes:
        if not mesh.file:
            continue
        file = Path(mesh.file)
        if file.is_relative_to(folder):
            file = file.relative_to(folder)
        if spec.strippath:
            file = Path(file.name)
        candidates = (folder / mesh.compiler.meshdir / file, folder / file)
        if not any(inside(package, candidate) for candidate in candidates):
            missing[mesh.name or file.stem] = file.as_posix()
    return missing


def _strip(mujoco: Any, spec: Any, missing: dict[str, str]) -> tuple[set[str], set[str]]:
    """Take out what cannot be loaded or is not needed.

    A mesh that is there is kept only where a body's mass comes from it. Returns the names of
    the meshes of the robot, and of the bodies left without their mass.
    """
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    # Else every muscle is pulled in a simulation, for as long as the file says.
    spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
    kinds = mujoco.mjtInertiaFromGeom
    from_geoms = spec.compiler.inertiafromgeom == kinds.mjINERTIAFROMGEOM_TRUE
    if from_geoms:
        # Otherwise the stand-in for a mass that is unknown would be ignored.
        spec.compiler.inertiafromgeom = kinds.mjINERTIAFROMGEOM_AUTO
    used: set[str] = set()
    massless: set[str] = set()
    for number, body in enumerate(spec.bodies):
        body.name = body.name or f"body{number}"
        if from_geoms:
            body.explicitinertial = False
        for geom in list(body.geoms):
            if not (geom.meshname or geom.hfieldname):
                continue
            if number:
                used.add(geom.meshname)
            weighs = number and not body.explicitinertial and _is_heavy(geom, spec.compiler)
            if weighs and geom.meshname in missing:
                massless.add(body.name)
            if not weighs or not geom.meshname or geom.meshname in missing:
                spec.delete(geom)
        if body.name in massless:
            body.explicitinertial = True
            body.mass, body.inertia = TINY_MASS, [TINY_MASS] * 3
    kept = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.file and mesh.name not in kept:
            spec.delete(mesh)
    _strip_decoration(spec)
    return used, massless


def _is_heavy(geom: Any, compiler: Any) -> bool:
    """Whether a body without an inertia of its own gets mass from this geom."""
    first, last = compiler.inertiagrouprange
    weight = geom.density if math.isnan(geom.mass) else geom.mass
    return bool(weight > 0 and first <= geom.group <= last)


def _strip_decoration(spec: Any) -> None:
    """Pictures, recordings and what may refer to a geom that is gone."""
    for shown in (*spec.geoms, *spec.sites):
        shown.material = ""
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for elements in (
        spec.textures, spec.skins, spec.hfields, spec.flexes, spec.sensors, spec.keys,
        spec.pairs, spec.tuples,
    ):  # fmt: skip
        for element in list(elements):
            spec.delete(element)
