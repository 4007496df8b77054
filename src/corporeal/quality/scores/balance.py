"""How far the centre of mass leaves the middle of the feet, sideways."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject

STANDS_M = 0.02


def measure(subject: Subject) -> Measure:
    """The sideways deviation of the centre of mass.

    Formula: the root mean square of the sideways distance of the centre of mass from the middle
    between the feet that stand, along the line from foot to foot, from the first motion to the
    last. A foot stands while its sole is within 2 cm of the lower one. Unit: m. Lower is better.
    Needs a robot with two feet whose leg joints are in the data.
    """
    robot, posture = subject.robot, subject.posture
    if len(robot.feet) != 2:
        raise NotAssessed(f"{robot.name} does not have two feet")
    legs = [name for group, names in robot.groups.items() if "leg" in group for name in names]
    columns = [number for number, name in enumerate(robot.joint_names) if name in legs]
    if not columns or not posture.present[columns].all():
        raise NotAssessed("the leg joints are not in the data")
    motion = motion_of(subject)
    inside = (posture.time_ns >= motion.start_ns) & (posture.time_ns < motion.end_ns)
    sound = inside & np.isfinite(posture.q).all(axis=1)
    if posture.base is not None:
        sound &= np.isfinite(posture.base).all(axis=1)
    if not sound.any():
        raise NotAssessed(f"{posture.label} has no numbers while the robot moves")
    base = None if posture.base is None else posture.base[sound]
    q = posture.q[sound]
    centre = subject.kinematics.centre_of_mass(q, base)
    feet = subject.kinematics.feet(q, base).positions
    across = feet[:, 0, :2] - feet[:, 1, :2]
    width = np.linalg.norm(across, axis=1, keepdims=True)
    stands = feet[:, :, 2] < feet[:, :, 2].min(axis=1, keepdims=True) + STANDS_M
    weight = stands / stands.sum(axis=1, keepdims=True)
    middle = np.einsum("tf,tfx->tx", weight, feet[:, :, :2])
    aside = np.einsum("tx,tx->t", centre[:, :2] - middle, across / np.maximum(width, 1e-6))
    value = float(np.sqrt(np.square(aside).mean()))
    return Measure(
        value, "m", f"The centre of mass is {100 * value:.1f} cm off the middle of the feet."
    )


SCORE = Score(
    measure,
    unit="m",
    better="lower",
    good=0.0,
    bad=0.05,
    reference="root mean square sway, Prieto et al. 1996",
)
