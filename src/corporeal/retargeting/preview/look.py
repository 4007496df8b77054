"""The colours of a preview, the same in movie, picture and scene."""

from __future__ import annotations

Rgb = tuple[int, int, int]

PERSON: Rgb = (232, 170, 74)
ROBOT: Rgb = (74, 124, 178)
ROBOT_TRUNK: Rgb = (52, 84, 122)
CONTACT: Rgb = (36, 160, 140)
FAR: Rgb = (214, 40, 57)
INK: Rgb = (29, 39, 51)
QUIET: Rgb = (104, 117, 130)
RULE: Rgb = (206, 213, 220)
PAPER: Rgb = (244, 246, 248)
GROUND: Rgb = (226, 230, 234)
SHADOW: Rgb = (190, 196, 203)
GROUND_LINE: Rgb = (190, 198, 206)


def fractions(colour: Rgb) -> tuple[float, float, float]:
    """The colour with parts from 0 to 1."""
    return colour[0] / 255, colour[1] / 255, colour[2] / 255
