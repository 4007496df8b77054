"""The object is lifted as high as its protocol asks."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import object_course
from corporeal.quality.evidence.protocol_rules import not_failed, protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield an object whose greatest height above its resting place is below the clearance.

    Why: an object that is dragged or barely lifted hits what stands in its way.
    Fix: label it a failure, or record it again.
    """
    wanted = protocol_of(subject).lift_clearance_m
    if wanted is None:
        raise NotAssessed("the protocol asks for no clearance")
    not_failed(subject)
    course = object_course(subject)
    highest = float(course.lift_m.max())
    if highest < wanted:
        message = (
            f"the object is lifted {100 * highest:.0f} cm; the protocol asks for "
            f"{100 * wanted:.0f} cm"
        )
        yield Finding(message, stream=course.label, value=highest, limit=wanted)


CHECK = Check(find, topic="protocol", severity="quarantine", unit="m", formerly=("protocol_lift",))
