"""What a simulated robot did while it followed a motion, and when that counts as a fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.tracking.reference import ReferenceMotion
from corporeal.retargeting.tracking.scene import PhysicsScene
from corporeal.retargeting.tracking.support import Support

Progress = Callable[[float], None]

# A fall: the base this far below where it should be, as a share of its height when standing, or
# leaning this much more than it should. The second is the usual limit of a robot's own watchdog.
FALLEN_DROP = 0.35
FALLEN_LEAN_RAD = 1.0
# rad/s and m/s: faster than any humanoid begins a motion.
USUAL_SPEED = 20.0


@dataclass
class Attempt:
    """One try, sample by sample beside the reference; `fell` is the sample in which it fell.

    `standing` (F,) per sample says which feet were down. In a replay, `help` (6,) per sample is
    the force and torque by which the base was held, and `support` what the motion asks for.
    """

    lifted_m: float
    q: list[Array] = field(default_factory=list)
    base: list[Array] = field(default_factory=list)
    standing: list[Array] = field(default_factory=list)
    help: list[Array] = field(default_factory=list)
    support: Support | None = None
    fell: int | None = None

    def note(
        self, scene: PhysicsScene, reference: ReferenceMotion, *, within_m: float = np.inf
    ) -> bool:
        """Keep where the robot is now; False once it has fallen, which ends the attempt.

        A base further than `within_m` from the motion's counts as fallen too.
        """
        frame = len(self.q)
        away = float(np.linalg.norm(scene.base[:3] - reference.base[frame, :3]))
        if has_fallen(scene.base, reference, frame) or away > within_m:
            self.fell = frame
            return False
        self.q.append(scene.q)
        self.base.append(scene.base)
        self.standing.append(scene.standing())
        return True


def begin(scene: PhysicsScene, reference: ReferenceMotion) -> Attempt:
    """Put the robot where the motion begins, moving as the motion does."""
    joints = reference.robot.actuated
    lower = [-np.inf if joint.lower is None else joint.lower for joint in joints]
    upper = [np.inf if joint.upper is None else joint.upper for joint in joints]
    fastest = np.array([USUAL_SPEED if one.velocity is None else one.velocity for one in joints])
    # A motion may begin with a leap: physics needs a state that a robot could be in.
    lifted = scene.place(
        np.clip(reference.q[0], lower, upper),
        reference.base[0],
        np.clip(reference.rates[0], -fastest, fastest),
        np.clip(reference.velocity[0], -USUAL_SPEED, USUAL_SPEED),
        np.clip(reference.turning[0], -USUAL_SPEED, USUAL_SPEED),
    )
    return Attempt(lifted)


def has_fallen(base: Array, reference: ReferenceMotion, frame: int) -> bool:
    """Whether a base (7,) is so low or so tilted, beside the motion's, that the robot fell."""
    if not np.isfinite(base).all():
        return True
    standing = reference.robot.standing
    height = reference.base[0, 2] if standing is None else standing.height
    wanted = reference.base[frame]
    up = matrix_from_quaternion(np.stack([base[3:], wanted[3:]]))[:, 2]
    # The third row is the world's up in the base's axes: free of heading.
    lean = np.arccos(np.clip(up[0] @ up[1], -1.0, 1.0))
    return bool(wanted[2] - base[2] > FALLEN_DROP * height or lean > FALLEN_LEAN_RAD)
