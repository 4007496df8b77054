"""The tree keeps its promises: imports point one way, through doors; a name is one idea."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.source_tree import (
    FILES,
    MODULES,
    PATHS,
    ROOT,
    SOURCE,
    assert_no_circle,
    door_of,
    imported_names,
    imports_of,
    module_name,
    room_of,
)

# Import only from an earlier row; packages within one row are strangers.
DIRECTION = (
    ("errors",),
    ("files",),
    (
        "units",
        "geometry",
        "registry",
        "xml_text",
        "array_file",
        "network_bounds",
        "hdf5_file",
        "words",
        "notebook",
        "trust",
    ),
    ("runner", "dds"),
    ("runners",),
    ("schema",),
    ("embodiment",),
    ("protocol", "appearance"),
    ("episode",),
    ("signal",),
    ("testing",),
    ("simulation",),
    # Checks, and whoever else sees a camera, may ask where it was.
    ("calibration", "teleoperation"),
    ("capture", "retargeting", "quality", "exchange", "hub"),
    ("catalog",),
    ("labelling",),
    ("curation",),
    ("release",),
    ("operations",),
    ("floor",),
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for name in imports_of(path):
        other = name.split(".")[1]
        assert other == room or ROW[other] < ROW[room], f"{room} imports {name}"


def test_no_import_circle_is_hidden_in_the_modules_of_aroom_of() -> None:
    assert_no_circle({module_name(path): set(imports_of(path)) for path in MODULES})


def test_the_members_of_a_door_exist_and_load() -> None:
    for package in PATHS:
        for name in door_of(package):
            assert getattr(import_module(package), name, None) is not None, f"{package}.{name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_imports_and_its_public_names_exist(path: Path) -> None:
    name = module_name(path)
    module = import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), f"{name}.__all__ names {public}"


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert not [path for path in FILES if path.stem in FORBIDDEN_NAMES]


def test_the_library_neither_prints_nor_exits() -> None:
    for path in FILES:
        if room_of(path) in ("cli", "__main__"):
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
    for room in {room_of(path) for path in FILES} - {"__init__", "__main__"}:
        assert room in page
        assert room in ROW, f"{room} has no place in DIRECTION"


# A table belongs to one room; the others ask that room's functions.
TABLES_OF = {
    "labelling": ("LABELS", "LABEL_COMMENT", "LABEL_EDIT", "LABEL_TASK", "QUALIFICATION"),
    "operations": ("CAMPAIGN", "CAMPAIGN_CARD", "METRIC", "REVIEW", "REVIEW_ITEM"),
    "release": ("MEMBER", "RELEASE"),
    "studio": ("SHARE", "VIEW"),
}


def test_a_table_is_used_by_its_own_room() -> None:
    foreign = [
        f"{name}: {table}"
        for name, path in PATHS.items()
        for module, table in imported_names(path)
        if module == "corporeal.catalog.tables"
        and room_of(path) != "catalog"
        and table not in TABLES_OF.get(room_of(path), ())
    ]
    assert not foreign
