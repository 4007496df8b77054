"""The kinds of mistakes, one small function each, in a file per topic."""

from __future__ import annotations

from bench.detection.field.mistake import Mistake
from bench.detection.field.mistakes import bodies, cameras, clocks, hardware, whole_sets, wiring


def every_mistake() -> dict[str, Mistake]:
    """All mistakes by name."""
    modules = (wiring, hardware, clocks, cameras, bodies, whole_sets)
    return {each.name: each for module in modules for each in module.MISTAKES}
