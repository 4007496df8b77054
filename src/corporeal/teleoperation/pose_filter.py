"""A tracked pose without its jitter: One Euro on stamped samples, and what it does not believe."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_vector, rotation_vectors

# One Euro: cutoff at rest, how it opens with speed, and that of the speeds themselves, Hz.
_REST_HZ, _PER_M_S, _PER_RAD_S, _SPEED_HZ = 1.5, 12.0, 3.0, 6.0
# A hand is never quicker than this; what is, was seen wrongly, m/s and rad/s.
_MOST_M_S, _MOST_RAD_S = 6.0, 40.0
# So long a row of what is not believed is a new place of the hand, s.
_NEW_PLACE_S = 0.1
# How far ahead of the last sample a pose is told, s.
_AHEAD_S = 0.03


@dataclass(frozen=True, eq=False)
class MovingPose:
    """A pose and how it moves: position (3,), axes (3, 3), m/s and rad/s (3,)."""

    position: Array
    rotation: Array
    velocity: Array = field(default_factory=lambda: np.zeros(3))
    turning: Array = field(default_factory=lambda: np.zeros(3))


@dataclass
class PoseFilter:
    """One tracked hand; `jumps` counts how often it was suddenly somewhere else."""

    jumps: int = 0
    rejected: int = 0
    _pose: MovingPose | None = None
    _seen: tuple[Array, Array] | None = None
    _time_s: float = 0.0
    _doubted_s: float | None = None

    def reset(self) -> None:
        """Forget the hand: the next sample is its place."""
        self._pose, self._doubted_s = None, None

    def update(self, pose: Array, time_s: float) -> None:
        """Take a sample x y z qw qx qy qz; one that is not finite or not newer is left out."""
        if not np.isfinite(pose).all() or not np.isfinite(time_s):
            self.rejected += 1
            return
        place, axes = pose[:3].astype(np.float64), matrix_from_quaternion(pose[3:])
        if self._pose is None:
            self._start(place, axes, time_s)
            return
        step_s = time_s - self._time_s
        if step_s <= 0:
            return
        if self._is_jump(place, axes, step_s):
            self.rejected += 1
            if self._doubted_s is None:
                self._doubted_s = time_s
            if time_s - self._doubted_s < _NEW_PLACE_S:
                return
            self.jumps += 1
            self._start(place, axes, time_s)
            return
        self._doubted_s = None
        self._smooth(place, axes, step_s)
        self._time_s = time_s

    def at(self, time_s: float) -> MovingPose | None:
        """The pose at an instant, at most 30 ms ahead of the last sample; None before the first."""
        if self._pose is None:
            return None
        ahead = float(np.clip(time_s - self._time_s, 0.0, _AHEAD_S))
        now = self._pose
        turned = matrix_from_vector(now.turning * ahead) @ now.rotation
        return MovingPose(now.position + ahead * now.velocity, turned, now.velocity, now.turning)

    def _start(self, place: Array, axes: Array, time_s: float) -> None:
        self._pose, self._seen = MovingPose(place, axes), (place, axes)
        self._time_s, self._doubted_s = time_s, None

    def _is_jump(self, place: Array, axes: Array, step_s: float) -> bool:
        assert self._seen is not None, "there is a pose"
        moved = float(np.linalg.norm(place - self._seen[0]))
        turned = float(np.linalg.norm(rotation_vectors((axes @ self._seen[1].T)[None])[0]))
        return moved > _MOST_M_S * step_s + 0.005 or turned > _MOST_RAD_S * step_s + 0.05

    def _smooth(self, place: Array, axes: Array, step_s: float) -> None:
        assert self._pose is not None, "there is a pose"
        assert self._seen is not None, "it was seen"
        before, (last, last_axes) = self._pose, self._seen
        quick = _share(_SPEED_HZ, step_s)
        moved = (place - last) / step_s
        turned = rotation_vectors((axes @ last_axes.T)[None])[0] / step_s
        velocity = before.velocity + quick * (moved - before.velocity)
        turning = before.turning + quick * (turned - before.turning)
        # Along its own speed first, so that a steady motion is not late.
        told = before.position + step_s * velocity
        told_axes = matrix_from_vector(turning * step_s) @ before.rotation
        near = _share(_REST_HZ + _PER_M_S * float(np.linalg.norm(velocity)), step_s)
        turn = _share(_REST_HZ + _PER_RAD_S * float(np.linalg.norm(turning)), step_s)
        off = rotation_vectors((axes @ told_axes.T)[None])[0]
        self._pose = MovingPose(
            told + near * (place - told),
            matrix_from_vector(turn * off) @ told_axes,
            velocity,
            turning,
        )
        self._seen = place, axes


def _share(cutoff_hz: float, step_s: float) -> float:
    """How much of a new value a low-pass of the first order takes in after a step."""
    return 1.0 / (1.0 + 1.0 / (2 * np.pi * cutoff_hz * step_s))
