"""What is imported is declared, what is declared is imported, and the core needs no extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "corporeal"
# Scripts that run in the Python of another program, beside its own library.
CONSUMERS = SOURCE / "exchange" / "conformance"
# Studio is the one room that is nothing without an extra.
NEEDS_SERVER = SOURCE / "studio"
# Packages by the module that is imported, where the two have different names.
PACKAGES = {
    "cv2": "opencv-contrib-python-headless",
    "google": "protobuf",
    "google_crc32c": "google-crc32c",
    "lazy_loader": "lazy-loader",
    "OpenGL": "pyopengl",
    "PIL": "pillow",
    "pinocchio": "pin",
    "rerun": "rerun-sdk",
    "yaml": "pyyaml",
}
NOT_ON_PYPI = {
    "rclpy": "comes with an installation of ROS 2",
    "rosidl_runtime_py": "comes with an installation of ROS 2",
}
LOADED_BY_NAME = {"psycopg": "SQLAlchemy loads the driver that an address names"}
TOOLS = {"dev", "docs"}


def _package(module: str) -> str:
    top = module.partition(".")[0]
    return PACKAGES.get(top, top)


def _modules(node: ast.AST) -> list[str]:
    """The modules that a statement or a call imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module else []
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        # Of f"robomimic.utils.{name}" the beginning is known.
        first = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
        return [str(first.value)] if isinstance(first, ast.Constant) else []
    return []


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _imports(node: ast.AST, *, at_once: bool = True) -> Iterator[tuple[str, bool]]:
    """Packages of others, and whether each is imported as soon as its module is."""
    for child in ast.iter_child_nodes(node):
        for module in _modules(child):
            if module.partition(".")[0] not in {*sys.stdlib_module_names, "corporeal", ""}:
                yield _package(module), at_once
        waits = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(child, at_once=at_once and not waits and not _is_for_types(child))


@cache
def _imported() -> list[tuple[Path, str, bool]]:
    return [
        (path, package, at_once)
        for path in sorted(SOURCE.rglob("*.py"))
        for package, at_once in _imports(ast.parse(path.read_text()))
    ]


@cache
def _declared() -> dict[str, set[str]]:
    """Packages of the core (under its own name) and of every extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"core": project["dependencies"], **project["optional-dependencies"]}
    return {
        group: {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower() for line in lines}
        for group, lines in groups.items()
    }


def _for_users() -> set[str]:
    return {name for group, names in _declared().items() if group not in TOOLS for name in names}


def test_whatever_is_imported_is_declared() -> None:
    strange = {
        f"{path.relative_to(ROOT)} imports {package}"
        for path, package, _ in _imported()
        if not path.is_relative_to(CONSUMERS)
        and package.lower() not in _for_users() | {*NOT_ON_PYPI}
    }
    assert strange == set()


def test_whatever_is_declared_is_imported() -> None:
    imported = {package.lower() for _, package, _ in _imported()}
    assert _for_users() - imported == set(LOADED_BY_NAME)


def test_the_core_is_imported_without_any_extra() -> None:
    core, server = _declared()["core"], _declared()["server"]
    strange = {
        f"{path.relative_to(ROOT)} imports {package} at once"
        for path, package, at_once in _imported()
        if at_once
        and not path.is_relative_to(CONSUMERS)
        and package.lower() not in (core | server if path.is_relative_to(NEEDS_SERVER) else core)
    }
    assert strange == set()


def test_exceptions_are_still_needed() -> None:
    imported = {package for _, package, _ in _imported()}
    assert set(NOT_ON_PYPI) <= imported
    assert set(PACKAGES.values()) <= imported
    assert not set(LOADED_BY_NAME) & imported
