"""Finds protocols: the ready ones by name, any other by its file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from corporeal.errors import UnknownNameError
from corporeal.protocol.protocol import Protocol
from corporeal.schema.markup import SUFFIXES

_PROTOCOLS = Path(str(files("corporeal.protocol") / "protocols"))


def protocol_names() -> tuple[str, ...]:
    """Names of the ready protocols: the files in `protocol/protocols`."""
    return tuple(sorted(path.stem for path in _PROTOCOLS.glob("*.yaml")))


def open_protocol(name_or_path: str | Path) -> Protocol:
    """A ready protocol by name, or a protocol file by path."""
    if Path(name_or_path).suffix in SUFFIXES:
        return Protocol.load(name_or_path)
    if str(name_or_path) not in protocol_names():
        raise UnknownNameError("protocol", str(name_or_path), protocol_names())
    return _ready(str(name_or_path))


@cache
def _ready(name: str) -> Protocol:
    return Protocol.load(_PROTOCOLS / f"{name}.yaml")
