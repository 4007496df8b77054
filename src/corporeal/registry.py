"""Finds plugins: one file per item in a folder, each ending in one typed constant."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TypeVar

from corporeal.errors import CorporealError

T = TypeVar("T")


def plugins(package: str, constant: str, kind: type[T]) -> dict[str, T]:
    """The `constant` of every module in `package`, by the module's name, sorted."""
    found: dict[str, T] = {}
    for name in plugin_names(package):
        plugin = getattr(import_module(f"{package}.{name}"), constant, None)
        if not isinstance(plugin, kind):
            raise CorporealError(
                f"plugin {package}.{name}, got no {constant}; expected the file to end with "
                f"{constant} = {kind.__name__}(...)."
            )
        found[name] = plugin
    return found


@cache
def plugin_names(package: str) -> tuple[str, ...]:
    """The names of the modules in `package`, sorted; none of them is imported."""
    folder = import_module(package).__path__
    names = (module.name for module in pkgutil.iter_modules(folder))
    return tuple(sorted(name for name in names if not name.startswith("_")))
