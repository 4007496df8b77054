"""The tree keeps its promises: imports point one way, through doors; a name is one idea."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "corporeal"
# Import only from an earlier row; packages within one row are strangers.
DIRECTION = (
    ("errors",),
    ("units", "geometry", "registry", "xml_text", "files", "words", "notebook"),
    ("runner",),
    ("runners",),
    ("schema",),
    ("embodiment",),
    ("protocol",),
    ("episode",),
    ("signal",),
    ("testing",),
    ("simulation",),
    ("capture", "retargeting", "quality", "exchange"),
    ("catalog",),
    ("labelling",),
    ("release",),
    ("operations",),
    ("studio", "interface"),
    ("cli",),
)
ROW = {name: row for row, names in enumerate(DIRECTION) for name in names}
FORBIDDEN_NAMES = {
    "utils",
    "util",
    "common",
    "helpers",
    "helper",
    "core",
    "base",
    "manager",
    "misc",
}
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = [path for path in FILES if path.name != "__main__.py"]


def _module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("corporeal", *(part for part in parts if part != "__init__")))


PATHS = {_module_name(path): path for path in MODULES}


def _room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def _door(package: str) -> Mapping[str, str]:
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


def _imported_names(path: Path) -> Iterator[tuple[str, str | None]]:
    """Every import of our own as written: (module, name), or (module, None) for `import module`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None


def _imports(path: Path) -> list[str]:
    """The modules that a file imports, those behind doors and `from package import module` too."""
    modules = []
    for module, name in _imported_names(path):
        if not module.startswith("corporeal"):
            continue
        if f"{module}.{name}" in PATHS:
            modules.append(f"{module}.{name}")
        else:
            modules.append(_door(module).get(name or "", module))
    return [name for name in modules if name != "corporeal"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room = _room(path)
    if room in ("__init__", "__main__"):
        return
    for name in _imports(path):
        other = name.split(".")[1]
        assert other == room or ROW[other] < ROW[room], f"{room} imports {name}"


def _assert_no_circle(graph: Mapping[str, set[str]]) -> None:
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


def test_no_import_circle_is_hidden_in_the_modules_of_a_room() -> None:
    _assert_no_circle({_module_name(path): set(_imports(path)) for path in MODULES})


def test_the_members_of_a_door_exist_and_load() -> None:
    for package in PATHS:
        for name in _door(package):
            assert getattr(import_module(package), name, None) is not None, f"{package}.{name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_imports_and_its_public_names_exist(path: Path) -> None:
    name = _module_name(path)
    module = import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), f"{name}.__all__ names {public}"


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert not [path for path in FILES if path.stem in FORBIDDEN_NAMES]


def test_the_library_neither_prints_nor_exits() -> None:
    for path in FILES:
        if _room(path) in ("cli", "__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "exit"), f"{path.name} line {node.lineno}"


def test_the_architecture_page_names_files_that_exist() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = re.search(r"## Rooms\s+```(.*?)```", page, re.DOTALL)
    assert rooms is not None
    here = SOURCE
    for line in rooms[1].splitlines():
        folder = re.match(r"^  (\w+)/ ", line)
        here = SOURCE / folder[1] if folder else here
        for name in re.findall(r"\b(\w+\.py)\b", line):
            assert list(here.rglob(name)) or (SOURCE / name).exists(), f"{line.strip()}: {name}"


def test_every_room_is_on_the_architecture_page() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    for room in {_room(path) for path in FILES} - {"__init__", "__main__"}:
        assert room in page
        assert room in ROW, f"{room} has no place in DIRECTION"


# A table belongs to one room; the others ask that room's functions.
TABLES_OF = {
    "labelling": ("LABELS", "LABEL_COMMENT", "LABEL_EDIT", "LABEL_TASK", "QUALIFICATION"),
    "operations": ("METRIC", "REVIEW", "REVIEW_ITEM"),
    "release": ("MEMBER", "RELEASE"),
    "studio": ("SHARE", "VIEW"),
}
FOREIGN_TABLES = 70
"""How often a module still imports the table of another room; the number only shrinks."""


def test_a_table_is_used_by_its_own_room() -> None:
    foreign = [
        f"{name}: {table}"
        for name, path in PATHS.items()
        for module, table in _imported_names(path)
        if module == "corporeal.catalog.tables"
        and _room(path) != "catalog"
        and table not in TABLES_OF.get(_room(path), ())
    ]
    assert len(foreign) <= FOREIGN_TABLES, foreign
    assert not [each for each in foreign if each.startswith("corporeal.cli.")], foreign
