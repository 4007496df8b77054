"""Finds schemas: the ready ones by name, any other by its file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from corporeal.errors import UnknownNameError
from corporeal.schema.markup import SUFFIXES
from corporeal.schema.schema import Schema

_RIGS = Path(str(files("corporeal.schema") / "rigs"))


def rig_names() -> tuple[str, ...]:
    """Names of the ready schemas: the files in `schema/rigs`."""
    return tuple(sorted(path.stem for path in _RIGS.glob("*.yaml")))


def open_schema(name_or_path: str | Path) -> Schema:
    """A ready schema by name, or a schema file by path."""
    if Path(name_or_path).suffix in SUFFIXES:
        return Schema.load(name_or_path)
    if str(name_or_path) not in rig_names():
        raise UnknownNameError("schema", str(name_or_path), rig_names())
    return _ready(str(name_or_path))


@cache
def _ready(name: str) -> Schema:
    return Schema.load(_RIGS / f"{name}.yaml")
