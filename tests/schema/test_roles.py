"""Roles are spelt in one place; everything else takes them from there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from corporeal.schema import open_schema, roles

SOURCE = Path(__file__).resolve().parents[2] / "src" / "corporeal"
HOME = SOURCE / "schema" / "roles.py"
# Ordinary words that say something else in most places, and the former name of a check.
ORDINARY = {roles.INSTRUCTION, roles.OUTCOME, roles.MODE, roles.STATE, roles.ACTION, roles.ACTIONS,
            roles.RETARGET_ERROR}  # fmt: skip
SPELT = {
    value
    for name, value in vars(roles).items()
    if name.isupper() and isinstance(value, str) and value not in ORDINARY
}


def _strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that stand alone: the fixed part of `f"{side}_gripper"` is no role.

    A type cannot be made of a constant: what stands in `Literal[...]` is let through.
    """
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        for part in node.values
    }  # fmt: skip
    inside |= {
        id(part) for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
        and node.value.id == "Literal" for part in ast.walk(node)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in inside:
            yield node


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path != HOME:
            yield path, ast.parse(path.read_text("utf-8"))


def test_no_module_spells_a_role_itself() -> None:
    spelt = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.value}"
        for path, tree in _modules()
        for node in _strings(tree)
        if node.value in SPELT
    ]
    assert not spelt, "take these from corporeal.schema.roles"


def test_no_module_spells_a_pose_itself() -> None:
    spelt = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple)
        and tuple(getattr(entry, "value", None) for entry in node.elts)
        in (roles.POSITION, roles.QUATERNION, roles.POSE)
    ]
    assert not spelt, "take these from corporeal.schema.roles"


@pytest.mark.parametrize("rig", ["teleop_humanoid", "simulated_humanoid", "retargeted"])
def test_the_ready_rigs_use_the_roles(rig: str) -> None:
    names = {stream.name for stream in open_schema(rig).streams}
    assert {roles.JOINT_POSITION, roles.JOINT_POSITION_TARGET, roles.BASE_POSE} <= names
    (pose,) = (stream for stream in open_schema(rig).streams if stream.name == roles.BASE_POSE)
    assert (pose.components, pose.unit) == (roles.POSE, roles.POSE_UNITS)
