"""How operators move: named styles whose order of skill is known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How an operator moves; `skill` 0..1 is the known rank for quality scores.

    `speed` multiplies that of the task, `tremor_m` is the size of the shake of the hand,
    `pause` the chance of stopping before a motion, `overshoot` the part of a motion that goes
    too far and is taken back, `aim_m` the spread of where the hand goes, `jerk` how much of the
    smooth start and stop is lost.
    """

    skill: float
    speed: float = 1.0
    tremor_m: float = 0.0
    pause: float = 0.0
    overshoot: float = 0.0
    aim_m: float = 0.0
    jerk: float = 0.0


STYLES: dict[str, Style] = {
    "careful": Style(0.95, speed=0.8, aim_m=0.001),
    "steady": Style(0.85, speed=1.0, aim_m=0.002),
    "hesitant": Style(0.55, speed=0.85, tremor_m=0.001, pause=0.6, aim_m=0.003),
    "hasty": Style(0.40, speed=1.4, tremor_m=0.001, overshoot=0.10, aim_m=0.004, jerk=0.3),
    "jerky": Style(
        0.20, speed=1.1, tremor_m=0.003, pause=0.3, overshoot=0.12, aim_m=0.004, jerk=0.7
    ),
}
