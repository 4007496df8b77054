"""A robot by its name or its file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from corporeal.embodiment.description.mjcf import read_mjcf
from corporeal.embodiment.description.urdf import read_urdf
from corporeal.embodiment.embodiment import Embodiment
from corporeal.errors import ModelError, UnknownNameError
from corporeal.xml_text import parse_xml, read_bytes

DOCUMENTS = (".yaml", ".yml", ".json", ".toml")
SUFFIXES = (".urdf", ".xml", ".mjcf", *DOCUMENTS)


def robot_names() -> tuple[str, ...]:
    """Names of the built-in robots: a file `robots/<name>.yaml` is all that one needs."""
    folder = files("corporeal.embodiment").joinpath("robots")
    return tuple(
        sorted(
            entry.name.removesuffix(".yaml")
            for entry in folder.iterdir()
            if entry.name.endswith(".yaml")
        )
    )


def open_robot(name_or_path: str | Path) -> Embodiment:
    """A built-in robot by name, or the robot in a URDF, MJCF or embodiment file.

    An `.xml` file is told by its root element. Raises UnknownNameError for a name that is not
    built in, ModelError for a file that is no robot, DocumentError for a broken document.
    """
    path = Path(name_or_path)
    if str(name_or_path) in robot_names():
        return _built_in(str(name_or_path))
    if path.suffix.lower() not in SUFFIXES:
        if path.name == str(name_or_path) and not path.exists():
            raise UnknownNameError("robot", str(name_or_path), robot_names())
        raise ModelError(
            f"robot file, got {str(name_or_path)!r}; expected one of: {', '.join(SUFFIXES)}. "
            f"Or give a built-in name: {', '.join(robot_names()) or 'none'}."
        )
    if path.suffix.lower() in DOCUMENTS:
        return Embodiment.load(path)
    root = parse_xml(read_bytes(path), source=str(path)).tag
    if root not in ("robot", "mujoco"):
        raise ModelError(
            f"{path}: got <{root}>; expected <robot> (URDF) or <mujoco> (MJCF). "
            "Give the file of a robot."
        )
    return read_urdf(path) if root == "robot" else read_mjcf(path)


@cache
def _built_in(name: str) -> Embodiment:
    file = files("corporeal.embodiment").joinpath("robots", f"{name}.yaml")
    return Embodiment.parse(file.read_text("utf-8"), source=f"robots/{name}.yaml")
