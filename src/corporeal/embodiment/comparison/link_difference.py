"""What two descriptions of the same link do not agree on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.embodiment.comparison.disagreement import (
    Difference,
    Severity,
    Tolerance,
    vector_words,
)
from corporeal.embodiment.description.assembly import pose_of
from corporeal.embodiment.description.inertia import inertia_matrix
from corporeal.embodiment.embodiment import Inertia, Link, Shape


def link_differences(a: Link, b: Link, tol: Tolerance) -> Iterator[Difference]:
    """Mass, centre of mass, inertia, and the shapes that collide."""
    if a.inertia is not None and b.inertia is not None:
        yield from _inertia(a.name, a.inertia, b.inertia, tol)
    elif a.inertia is not None or b.inertia is not None:
        masses = [None if link.inertia is None else link.inertia.mass for link in (a, b)]
        words = f"{a.name}: only {'B' if a.inertia is None else 'A'} states a mass"
        yield Difference("mass", a.name, "unstated", words, *masses)
    yield from _collision(a, b, tol)


def _inertia(name: str, a: Inertia, b: Inertia, tol: Tolerance) -> Iterator[Difference]:
    if abs(a.mass - b.mass) > tol.relative * max(a.mass, b.mass):
        words = f"{name}: mass {a.mass:.5g} against {b.mass:.5g} kg"
        yield Difference("mass", name, "differs", words, a.mass, b.mass)
    shift = float(np.linalg.norm(np.subtract(a.com, b.com)))
    if shift > tol.length_m:
        words = (
            f"{name}: centre of mass {1000 * shift:.4g} mm apart "
            f"({vector_words(a.com)} against {vector_words(b.com)} m)"
        )
        yield Difference("inertia", f"{name}.com", "differs", words, a.com, b.com)
    matrices = [inertia_matrix(inertia) for inertia in (a, b)]
    size = max(float(np.linalg.norm(matrix)) for matrix in matrices)
    share = float(np.linalg.norm(matrices[0] - matrices[1])) / size if size else 0.0
    if share > tol.inertia:
        words = f"{name}: inertia deviates by {100 * share:.3g} %"
        yield Difference("inertia", name, "differs", words, a.matrix, b.matrix)


def _collision(a: Link, b: Link, tol: Tolerance) -> Iterator[Difference]:
    left, right = list(a.collision), list(b.collision)
    for shape in a.collision:
        partner = next((other for other in right if _same_shape(shape, other, tol)), None)
        if partner is not None:
            left.remove(shape)
            right.remove(partner)
    if left or right:
        severity: Severity = "differs" if a.collision and b.collision else "unstated"
        words = f"{a.name}: collides as {_shapes(left)} in A, {_shapes(right)} in B"
        yield Difference("collision", a.name, severity, words, tuple(left), tuple(right))


def _same_shape(a: Shape, b: Shape, tol: Tolerance) -> bool:
    if a.type != b.type or not np.allclose(a.size, b.size, rtol=0, atol=tol.length_m):
        return False
    if not np.allclose(a.xyz, b.xyz, rtol=0, atol=tol.length_m):
        return False
    turn = np.abs((pose_of(a)[:3, :3]).T @ pose_of(b)[:3, :3])
    # Half turns leave a box as it is, and any turn about z a cylinder; a sphere has no pose.
    if a.type == "box":
        return bool(np.allclose(turn, np.eye(3), atol=tol.angle_rad))
    return a.type == "sphere" or bool(np.hypot(turn[0, 2], turn[1, 2]) < tol.angle_rad)


def _shapes(shapes: list[Shape]) -> str:
    return ", ".join(f"{s.type} {vector_words(s.size)}" for s in shapes) or "nothing"
