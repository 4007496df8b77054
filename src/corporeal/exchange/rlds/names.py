"""What columns and marks of a step are called in RLDS."""

from __future__ import annotations

import re

from corporeal.exchange.layout import ACTION, IMAGES, LABELS

INSTRUCTION, TIME, MODE = "language_instruction", "time_ns", "mode"
TEXTS = ("language_instruction", "natural_language_instruction", "instruction")
"""Where sets keep the instruction, in a step or in its observation."""
MARKS = ("is_first", "is_last", "is_terminal", "discount", "reward")


def label(key: str) -> str:
    """The path in a step of a column or camera: observation/state, action, observation/image_head.

    Other commands than the action stand in `action_dict`, as in DROID.
    """
    if key.startswith(IMAGES):
        camera = key.removeprefix(IMAGES)
        return f"observation/{camera if 'image' in camera else f'image_{camera}'}"
    group, _, name = key.partition(".")
    if key.startswith(LABELS):
        return f"labels/{name}"
    if group == ACTION:
        return f"action_dict/{name}" if name else ACTION
    return f"observation/{name.replace('.', '_')}"


def is_mark(path: str) -> bool:
    """Whether a feature of a step is bookkeeping or text, not something the robot did."""
    return path in MARKS or path.endswith("_embedding") or is_text(path)


def is_text(path: str) -> bool:
    """Whether a feature is an instruction; DROID has three, `language_instruction_2` and `_3`."""
    return re.sub(r"_\d$", "", path.rsplit("/", 1)[-1]) in TEXTS
