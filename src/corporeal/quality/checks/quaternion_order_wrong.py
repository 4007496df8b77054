"""The base's quaternion is in the order that its columns state."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.base_and_feet import LAST, STATED, base_order
from corporeal.quality.evidence.rigid_motion import foot_links
from corporeal.quality.subject import Subject
from corporeal.schema import roles


def find(subject: Subject) -> Findings:
    """Yield a base pose whose columns make sense only in another order, w last or w first.

    Under the true order soles that stand are level and do not turn, and the gyro agrees; the
    orders are compared with each other, so no limit is needed.

    Why: a robot that turns about the wrong axis looks nearly right while it stands.
    Fix: put the four columns in the stated order w x y z.
    """
    track = subject.track(roles.BASE_POSE)
    order = base_order(subject)
    if order.is_as_stated:
        _require_evidence(subject)
        return
    stated, better = order.evidence[STATED], order.evidence[order.order]
    really, said = ("x y z w", "w x y z") if order.order == LAST else ("w x y z", "x y z w")
    yield Finding(
        f"the quaternion in {track.label} is in the order {really} where {said} is stated: as "
        f"stated the soles tilt by {stated.tilt_deg:.1f} degrees and turn by "
        f"{stated.turning_deg:.2f}, in the other order by {better.tilt_deg:.1f} and "
        f"{better.turning_deg:.2f}.",
        stream=track.label,
        value=stated.tilt_deg + stated.turning_deg,
        limit=better.tilt_deg + better.turning_deg,
        evidence={
            "tilt_deg": np.array([stated.tilt_deg, better.tilt_deg]),
            "turning_deg": np.array([stated.turning_deg, better.turning_deg]),
            "gyro_error": np.array([stated.gyro_error, better.gyro_error]),
        },
    )


def _require_evidence(subject: Subject) -> None:
    try:
        foot_links(subject)
    except NotAssessed:
        if all(each.gyro_error >= 1.0 for each in base_order(subject).evidence.values()):
            raise NotAssessed("neither legs nor a gyro tell the order of the quaternion") from None


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    rests_on=("robot",),
    unit="deg",
    spoils=(
        "joint_sign_flipped",
        "joints_swapped",
        "foot_below_ground",
        "foot_slides",
        "robot_fell",
    ),
    formerly=("quaternion_order",),
)
