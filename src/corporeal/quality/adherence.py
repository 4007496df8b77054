"""Adherence to the protocol, rule by rule, from an assessment."""

from __future__ import annotations

from dataclasses import dataclass

from corporeal.protocol import Protocol
from corporeal.quality.assessment import Assessment

# The rules of a protocol and the check that judges each, in the order of the document.
RULES = {
    "start state": "start_state_off_protocol",
    "end state": "end_state_off_protocol",
    "approaches": "approaches_off_protocol",
    "force": "force_off_protocol",
    "lift clearance": "lift_height_off_protocol",
    "placement": "placement_off_protocol",
    "duration": "duration_off_protocol",
    "pre-roll and post-roll": "roll_length_off_protocol",
    "speed": "speed_off_protocol",
    "pause at the grasp": "grasp_pause_off_protocol",
    "prohibited behaviour": "behaviour_off_protocol",
    "cameras": "cameras_off_protocol",
    "operators": "operators_off_protocol",
}
_OF_A_BATCH = {"approaches_off_protocol", "operators_off_protocol"}


@dataclass(frozen=True)
class Rule:
    """One rule of the protocol: kept, broken, or None where it could not be judged."""

    name: str
    check: str
    kept: bool | None
    message: str


def adherence(
    assessment: Assessment, protocol: Protocol, *, batch: bool = False
) -> tuple[Rule, ...]:
    """Every rule of the protocol that is judged per episode, or per `batch`."""
    found = []
    for name, check in RULES.items():
        if (check in _OF_A_BATCH) != batch:
            continue
        messages = [each.message for each in assessment.findings if each.check == check]
        if messages:
            found.append(Rule(name, check, False, "; ".join(messages)))
        elif check in assessment.not_assessed:
            found.append(Rule(name, check, None, assessment.not_assessed[check]))
        else:
            found.append(Rule(name, check, True, f"as {protocol.reference} says"))
    return tuple(found)


def share_kept(rules: tuple[Rule, ...]) -> float | None:
    """The part of the judged rules that were kept; None when none could be judged."""
    judged = [rule.kept for rule in rules if rule.kept is not None]
    return sum(judged) / len(judged) if judged else None
