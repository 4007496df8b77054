"""What a person can say about how a clip is to be retargeted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

InfeasiblePolicy = Literal["clip", "interpolate", "split", "reject"]
POLICIES: tuple[InfeasiblePolicy, ...] = ("clip", "interpolate", "split", "reject")


@dataclass(frozen=True)
class RetargetSettings:
    """How to retarget; the defaults suit walking, dancing and work with the hands.

    `cutoff_hz` is that of the zero-phase low-pass, none without one; `rate_hz` that of the
    result, the clip's own without one. `policy` says what becomes of frames in which a hand or
    a foot is farther than 5 cm from its goal: kept at the nearest the robot can do and flagged
    (clip), bridged from the frames around (interpolate), cut out (split), or no result at all
    (reject). `cleaning` mends gaps and outliers first; `avoid_self` keeps the links apart,
    `ease` the efforts within what the motors have.
    """

    cutoff_hz: float | None = 5.0
    rate_hz: float | None = None
    policy: InfeasiblePolicy = "clip"
    cleaning: bool = True
    avoid_self: bool = True
    ease: bool = True
