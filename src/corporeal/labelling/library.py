"""Finds taxonomies: the ready ones by name, any other by its file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from corporeal.errors import UnknownNameError
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.schema.markup import SUFFIXES

_READY = Path(str(files("corporeal.labelling") / "taxonomies"))


def taxonomy_names() -> tuple[str, ...]:
    """Names of the ready taxonomies: the files in `annotation/taxonomies`."""
    return tuple(sorted(path.stem for path in _READY.glob("*.yaml")))


def open_taxonomy(name_or_path: str | Path) -> Taxonomy:
    """A ready taxonomy by name, or a taxonomy file by path."""
    if Path(name_or_path).suffix in SUFFIXES:
        return Taxonomy.load(name_or_path)
    if str(name_or_path) not in taxonomy_names():
        raise UnknownNameError("taxonomy", str(name_or_path), taxonomy_names())
    return _ready(str(name_or_path))


@cache
def _ready(name: str) -> Taxonomy:
    return Taxonomy.load(_READY / f"{name}.yaml")
