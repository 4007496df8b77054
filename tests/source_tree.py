"""The source tree as tests read it: modules, what they import, what rooms export.

`python -m tests.source_tree` writes the golden list of doors anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "corporeal"
DOORS = ROOT / "tests" / "golden" / "doors.txt"
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = [path for path in FILES if path.name != "__main__.py"]


def module_name(path: Path) -> str:
    """The dotted name of a file."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("corporeal", *(part for part in parts if part != "__init__")))


PATHS = {module_name(path): path for path in MODULES}


def room_of(path: Path) -> str:
    """The top-level package, or module, that a file is in."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def door_of(package: str) -> Mapping[str, str]:
    """What a package exports through its stub: the module behind every name."""
    path = PATHS.get(package)
    stub = path.with_suffix(".pyi") if path else None
    if stub is None or not stub.exists():
        return {}
    members = {}
    for node in ast.walk(ast.parse(stub.read_text())):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                parts = (package, node.module or alias.name)
                members[alias.name] = ".".join(parts)
    return members


def imported_names(path: Path) -> Iterator[tuple[str, str | None]]:
    """Every import of our own as written: (module, name), or (module, None) for `import module`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None


def imports_of(path: Path) -> list[str]:
    """The modules that a file imports, those behind doors and `from package import module` too."""
    modules = []
    for module, name in imported_names(path):
        if not module.startswith("corporeal"):
            continue
        if f"{module}.{name}" in PATHS:
            modules.append(f"{module}.{name}")
        else:
            modules.append(door_of(module).get(name or "", module))
    return [name for name in modules if name != "corporeal"]


def rooms() -> list[str]:
    """The packages directly under the source."""
    return sorted({room_of(path) for path in FILES if len(path.relative_to(SOURCE).parts) > 1})


def doors_text() -> str:
    """Every door with its members, one line each."""
    return "".join(
        f"{package}: {' '.join(sorted(door_of(package)))}\n"
        for package in sorted(PATHS)
        if door_of(package)
    )


def assert_no_circle(graph: Mapping[str, set[str]]) -> None:
    """Fail with the way round, if there is one."""
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import circle: {' -> '.join((*trail, name))}"
        if name in done:
            return
        for other in sorted(graph.get(name, ())):
            if other != name:
                walk(other, (*trail, name))
        done.add(name)

    for name in graph:
        walk(name, ())


if __name__ == "__main__":
    DOORS.write_text(doors_text())
