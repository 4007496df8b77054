"""Rooms have doors with few names, folders an order, and a word stands for one idea."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.source_tree import (
    DOORS,
    FILES,
    MODULES,
    PATHS,
    SOURCE,
    assert_no_circle,
    door_of,
    doors_text,
    imported_names,
    imports_of,
    module_name,
    room_of,
    rooms,
)

MOST_EXPORTED = 10
# A word that stands for two classes is two ideas; this list only ever gets shorter.
SHARED_CLASS_NAMES: frozenset[str] = frozenset()
# A module that serves one neighbour only is part of it, unless it is a plugin or long.
LONG_ENOUGH = 120
WITH_ONE_IMPORTER = frozenset(
    {
        "corporeal.capture.motion_onset",
        # How pictures become bytes in time, and where they wait: their users are long without them.
        "corporeal.capture.encoding",
        "corporeal.capture.picture_pool",
        # How far a hand is open is one idea; the session that uses it is long without.
        "corporeal.teleoperation.grip",
        # What one file of a set is compared with, and how a finding is shown: one idea each.
        "corporeal.exchange.neighbours",
        "corporeal.quality.exhibit",
        # Every kind of bag file has a module, the two longer ones beside it.
        "corporeal.capture.ros.ros1_file",
        "corporeal.embodiment.comparison.correspondence",
    }
)


def _is_topic(module: str) -> bool:
    """Whether a room's door names this module, so that others may import from it."""
    room = ".".join(module.split(".")[:2])
    return module in {f"{room}.{name}" for name in door_of(room)}


def _public_classes() -> Iterator[tuple[str, str]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, module_name(path)


def test_a_public_class_name_stands_for_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for name, module in _public_classes():
        homes.setdefault(name, []).append(module)
    shared = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert not {name: shared[name] for name in shared.keys() - SHARED_CLASS_NAMES}
    assert shared.keys() >= SHARED_CLASS_NAMES, "the list of exceptions can be shorter"
    assert len(SHARED_CLASS_NAMES) <= 10


@pytest.mark.parametrize("room", sorted(set(rooms()) - {"runners"}))
def test_a_door_has_few_names_and_all_load(room: str) -> None:
    package = f"corporeal.{room}"
    members = door_of(package)
    assert 0 < len(members) <= MOST_EXPORTED, f"{room} exports {len(members)} names"
    for name in members:
        assert getattr(import_module(package), name, None) is not None, f"{package}.{name}"


def test_doors_export_what_they_did() -> None:
    """What other rooms may use is pinned; a change of a door is a change of this file."""
    assert doors_text() == DOORS.read_text(), "a door changed: run python -m tests.source_tree"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_enter_each_other_through_their_doors(path: Path) -> None:
    room = room_of(path)
    for module, name in imported_names(path):
        parts = module.split(".")
        if parts[0] != "corporeal" or len(parts) == 1 or parts[1] == room:
            continue
        if module == "corporeal.catalog.tables":
            continue  # Whose tables those are is counted in test_architecture.
        if len(parts) == 2:
            is_open = name in door_of(module) or not PATHS[module].name.startswith("__init__")
        else:
            is_open = len(parts) == 3 and _is_topic(module)
            is_open = is_open and (not door_of(module) or name in door_of(module))
        assert is_open, f"from {module} import {name} does not go through a door"


@pytest.mark.parametrize("room", rooms())
def test_folders_inside_a_room_have_an_order(room: str) -> None:
    """Every folder and every file beside the folders is one place; no way leads round."""
    graph: dict[str, set[str]] = {}
    for name, path in PATHS.items():
        parts = name.split(".")
        if len(parts) < 3 or parts[1] != room:
            continue
        inside = graph.setdefault(parts[2], set())
        for other in imports_of(path):
            target = other.split(".")
            if len(target) > 2 and target[1] == room:
                inside.add(target[2])
    assert_no_circle(graph)


def _is_plugin(path: Path) -> bool:
    """Whether a file ends with the constant that the registry looks for, `CHECK = Check(...)`."""
    last = ast.parse(path.read_text()).body[-1]
    return (
        isinstance(last, ast.Assign)
        and isinstance(last.targets[0], ast.Name)
        and last.targets[0].id.isupper()
        and isinstance(last.value, ast.Call)
    )


def test_a_module_with_one_importer_is_part_of_it() -> None:
    importers: dict[str, set[str]] = {}
    for path in MODULES:
        for other in imports_of(path):
            importers.setdefault(other, set()).add(module_name(path))
    behind_doors = {module for package in PATHS for module in door_of(package).values()}
    partition_walls = {
        name
        for name, path in PATHS.items()
        if path.name != "__init__.py"
        and not _is_plugin(path)
        and name not in behind_doors
        and len(path.read_text().splitlines()) < LONG_ENOUGH
        and len(users := importers.get(name, set()) - {name}) == 1
        and PATHS[next(iter(users))].parent == path.parent
    }
    assert not partition_walls - WITH_ONE_IMPORTER
    assert partition_walls >= WITH_ONE_IMPORTER, "the list of exceptions can be shorter"
