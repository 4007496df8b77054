"""Models made of a robot's document, each once in a process: kinematics, shapes, engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from corporeal.embodiment.embodiment import Embodiment

Model = TypeVar("Model")

# A process seldom has more robots than this; with one more all are forgotten.
_MOST = 8
_MODELS: dict[str, dict[Callable[[Embodiment], Any], Any]] = {}
# Hashing a document takes milliseconds: the hash of a robot at hand is kept with the robot itself,
# so that nobody else gets its id meanwhile.
_HASHES: dict[int, tuple[Embodiment, str]] = {}


def model_of(robot: Embodiment, build: Callable[[Embodiment], Model]) -> Model:
    """`build(robot)`, the same for every equal robot in this process; nobody may change it."""
    known = _HASHES.get(id(robot))
    if known is None:
        if len(_HASHES) >= _MOST:
            _HASHES.clear()
        known = _HASHES[id(robot)] = robot, robot.hash
    if known[1] not in _MODELS and len(_MODELS) >= _MOST:
        _MODELS.clear()
    models = _MODELS.setdefault(known[1], {})
    if build not in models:
        models[build] = build(robot)
    model: Model = models[build]
    return model
