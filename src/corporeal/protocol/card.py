"""What an operator reads: the protocol before a session, a card before every episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import degrees
from typing import Any

from corporeal.protocol.protocol import MEASURED, InterfaceInstruction, Protocol

_RULES = {
    "continue": "go on",
    "restart": "stop and start again",
    "keep_as_failure": "keep it as a failure",
    "discard": "throw the episode away",
}


@dataclass(frozen=True)
class CardPlace:
    """A place on the table, for the picture of a card: the middle of a level, how wide it is."""

    level: str
    x_m: float
    y_m: float
    radius_m: float


@dataclass(frozen=True)
class EpisodeCard:
    """What one episode of a campaign is to be; `number` of `planned` counts accepted ones.

    `asked` says where the object is to lie (object_xyz, object_yaw_rad); `changes` what has to be
    changed at the station before it begins; `places` draw the table.
    """

    id: str
    campaign: str
    number: int
    planned: int
    levels: Mapping[str, str]
    instruction: str
    prohibited: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    asked: Mapping[str, Any] | None = None
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    places: tuple[CardPlace, ...] = ()
    place: str | None = None

    def facts(self, protocol: Protocol) -> dict[str, Any]:
        """Metadata of the episode that follows the card: every level where its factor has it."""
        facts: dict[str, Any] = {
            "card": {"id": self.id, "campaign": self.campaign, "levels": dict(self.levels)},
            "instruction": self.instruction,
            **{name: dict(values) for name, values in self.values.items()},
        }
        if self.asked is not None:
            facts["asked"] = dict(self.asked)
        for factor in protocol.factors:
            if factor.name in self.levels:
                _put(facts, (factor.field or factor.name).split("."), self.levels[factor.name])
        return facts


def _put(facts: dict[str, Any], path: Sequence[str], value: str) -> None:
    here = facts
    for step in path[:-1]:
        here = here.setdefault(step, {})
    here[path[-1]] = value


def card_words(protocol: Protocol, levels: Mapping[str, str]) -> str:
    """The instruction of a card: a wording whose {placeholders} the levels fill, else the goal."""
    for text in protocol.task.instructions:
        try:
            words = text.format_map(dict(levels))
        except (KeyError, ValueError, IndexError, AttributeError):
            continue  # It speaks of something that is no factor.
        if words != text:
            return words
    plain = [text for text in protocol.task.instructions if "{" not in text]
    return plain[0] if plain else protocol.task.goal


def card_places(protocol: Protocol) -> tuple[CardPlace, ...]:
    """Every place where the object may lie, for the picture of a card."""
    for factor in protocol.factors:
        if factor.places:
            return tuple(
                CardPlace(level, at.xyz[0], at.xyz[1], at.radius_m)
                for level, at in factor.places.items()
            )
    rule = protocol.randomisation
    if rule.object_xyz is None:
        return ()
    x, y, _ = rule.object_xyz
    return (CardPlace("", x, y, rule.object_position_m),)


def card_place(protocol: Protocol, levels: Mapping[str, str]) -> str | None:
    """The level that says where the object lies, if one does."""
    return next((levels.get(each.name) for each in protocol.factors if each.places), None)


def prohibitions(protocol: Protocol) -> tuple[str, ...]:
    """What must not happen, in words."""
    return tuple(
        each.description if each.description and each.behaviour in MEASURED else each.behaviour
        for each in protocol.prohibited
    )


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
