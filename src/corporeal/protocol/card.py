"""The protocol as an operator reads it before a session: what to do, how, and what not to."""

from __future__ import annotations

from collections.abc import Iterator
from math import degrees

from corporeal.protocol.protocol import MEASURED, InterfaceInstruction, Protocol

_RULES = {
    "continue": "go on",
    "restart": "stop and start again",
    "keep_as_failure": "keep it as a failure",
    "discard": "throw the episode away",
}


def operator_card(protocol: Protocol, *, interface: str | None = None) -> tuple[str, ...]:
    """Lines for the operator; with `interface` only the instructions of that one."""
    return tuple(_lines(protocol, interface))


def _lines(protocol: Protocol, interface: str | None) -> Iterator[str]:
    task, lasts = protocol.task, protocol.duration_s
    yield f"task {task.name}: {task.goal}"
    yield f"begin: {protocol.start.description}"
    yield f"end: {protocol.end.description} ({lasts.lowest:g} to {lasts.highest:g} s)"
    for approach in protocol.approaches:
        words = f", {approach.description}" if approach.description else ""
        yield f"approach {approach.name}{words}: at least {approach.minimum} in a batch"
    if protocol.approach_diversity_rad is not None:
        angle = degrees(protocol.approach_diversity_rad)
        yield f"come from different sides: {angle:.0f} degrees about the middle, over a batch"
    yield from _varied(protocol)
    yield from _edge_cases(protocol)
    for rule in protocol.prohibited:
        note = f", {rule.description}" if rule.description else ""
        asked = "" if rule.behaviour in MEASURED else " (you will be asked)"
        yield f"never: {rule.behaviour}{note}{asked}"
    for instruction in protocol.interfaces or ():
        if interface in (None, instruction.interface):
            yield from _instructions(instruction)
    yield f"change the operator every {protocol.operators.rotation_min:g} min"


def _varied(protocol: Protocol) -> Iterator[str]:
    asked = protocol.randomisation
    yield (
        f"between episodes move the object by up to {100 * asked.object_position_m:.0f} cm and "
        f"turn it by up to {degrees(asked.object_yaw_rad):.0f} degrees"
        + (f": {asked.description}" if asked.description else "")
    )
    if asked.joint_rad is not None:
        angle = degrees(asked.joint_rad)
        yield f"vary the joints of the start posture by up to {angle:.0f} degrees"


def _edge_cases(protocol: Protocol) -> Iterator[str]:
    for case in protocol.edge_cases:
        note = f" ({case.note})" if case.note else ""
        yield f"when this happens: {case.case}: {_RULES[case.rule]}{note}"
    if protocol.edge_case_share is not None:
        share = 100 * protocol.edge_case_share
        yield f"show edge cases on purpose in {share:.0f} % of the episodes"
    are_kept = protocol.keep_failures
    yield "failures are kept and labelled" if are_kept else "failures are not kept: record again"


def _instructions(instruction: InterfaceInstruction) -> Iterator[str]:
    parts = {"speed": instruction.speed, "grip": instruction.grip, "recovery": instruction.recovery}
    for what, words in parts.items():
        if words:
            yield f"{instruction.interface}, {what}: {words}"
