"""Each ankle sensor belongs to its own foot."""

from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.foot_stance import load_sides
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield ankle sensors that are exchanged, left for right.

    The weight shifts to the foot that the centre of mass is over and away from the one that
    lifts; and the torques of the legs carry what the ankles say. Both must speak against the
    stated sides, so no limit is needed.

    Why: a policy that feels the wrong foot steps on the one in the air.
    Fix: exchange the two streams, and look at the wiring.
    """
    sides = load_sides(subject)
    if not sides.exchanged:
        return
    left, right = sides.labels
    agreement = "" if sides.torque_share is None else (
        f", and the torques of the legs fit the other way round to {sides.torque_share:.2f}"
    )  # fmt: skip
    yield Finding(
        f"{left} and {right} are exchanged: their share of the weight runs against that of the "
        f"body's position over the feet (correlation {sides.correlation:.2f}){agreement}.",
        stream=left,
        value=sides.correlation,
        limit=0.0,
        evidence=drawn_whole(
            sides.time_s, {"measured_share": sides.measured, "expected_share": sides.expected}
        ),
    )


CHECK = Check(
    find, topic="dynamics", severity="fail", rests_on=("robot",), formerly=("wrench_sides",)
)
