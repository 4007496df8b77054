"""The object ends where its protocol wants it, within the tolerance."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import object_course
from corporeal.quality.evidence.protocol_rules import not_failed, protocol_of
from corporeal.quality.subject import Subject
from corporeal.schema import roles


def find(subject: Subject) -> Findings:
    """Yield an object that rests further from its goal than the placement tolerance.

    The goal is where the metadata says; without one the error that the outcome states counts.

    Why: a policy places as precisely as its demonstrations do.
    Fix: label it a failure, or record it again.
    """
    wanted = protocol_of(subject).placement_tolerance_m
    if wanted is None:
        raise NotAssessed("the protocol asks for no placement")
    not_failed(subject)
    error = _error_m(subject)
    if error > wanted:
        yield Finding(
            f"the object rests {100 * error:.1f} cm from its goal; the protocol allows "
            f"{100 * wanted:.1f} cm",
            stream=subject.recording.named(roles.OBJECT_POSE),
            value=error,
            limit=wanted,
        )


def _error_m(subject: Subject) -> float:
    facts = subject.recording.facts
    if "placement_error_m" in facts.outcome.measures:
        return float(facts.outcome.measures["placement_error_m"])
    goal = facts.other.get("goal")
    if goal is None or len(goal) < 2:
        raise NotAssessed("neither a goal nor a placement error is recorded")
    return float(np.linalg.norm(object_course(subject).position[-1, :2] - np.asarray(goal)[:2]))


CHECK = Check(
    find, topic="protocol", severity="quarantine", unit="m", formerly=("protocol_placement",)
)
