"""How far a person's hand is open, from a trigger or from thumb and fingertip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.teleoperation.operator_input import INDEX_TIP, THUMB_TIP, OperatorHand

# Thumb to fingertip of a hand that nobody has seen open or shut yet, m.
_SHUT_M, _OPEN_M = 0.025, 0.095
# No hand is shut farther apart, or open nearer, than this, m.
_MOST_SHUT_M, _LEAST_OPEN_M = 0.04, 0.06
# What was seen at the ends is forgotten this slowly, as a share of a second.
_FORGET_HZ = 0.01


@dataclass
class Grip:
    """One hand; `opening` is 1 open to 0 shut, and stays where the hand is not seen.

    What a person's open and shut hand measure is learnt as they move it.
    """

    opening: float = 1.0
    _shut_m: float = _SHUT_M
    _open_m: float = _OPEN_M
    _time_s: float | None = None

    def update(self, hand: OperatorHand | None, time_s: float) -> float:
        """The opening after what is seen of a hand now."""
        if hand is None:
            return self.opening
        if hand.tracker == "controller":
            trigger = hand.button("trigger")
            if np.isfinite(trigger):
                self.opening = 1.0 - float(np.clip(trigger, 0.0, 1.0))
            return self.opening
        # Gloves have joints and no place in the room.
        if hand.joints is None or hand.is_emulated:
            return self.opening
        apart = float(np.linalg.norm(hand.joints[THUMB_TIP, :3] - hand.joints[INDEX_TIP, :3]))
        if np.isfinite(apart):
            self._learn(apart, time_s)
            share = (apart - self._shut_m) / (self._open_m - self._shut_m)
            self.opening = float(np.clip(share, 0.0, 1.0))
        return self.opening

    def _learn(self, apart_m: float, time_s: float) -> None:
        step_s = 0.0 if self._time_s is None else float(np.clip(time_s - self._time_s, 0.0, 0.1))
        self._time_s = time_s
        back = _FORGET_HZ * step_s
        self._shut_m += back * (_SHUT_M - self._shut_m)
        self._open_m += back * (_OPEN_M - self._open_m)
        self._shut_m = min(self._shut_m, max(apart_m, 0.0))
        self._open_m = max(self._open_m, min(apart_m, 0.2))
        self._shut_m = min(self._shut_m, _MOST_SHUT_M)
        self._open_m = max(self._open_m, _LEAST_OPEN_M)
