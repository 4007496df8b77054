"""The episode shows the levels that its card asked for, as far as the data tell."""

from collections.abc import Mapping

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.protocol import Protocol
from corporeal.protocol.coverage import OPERATOR, Factor
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.evidence.start_conditions import object_start
from corporeal.quality.subject import Subject
from corporeal.schema import roles


def find(subject: Subject, *, slack_m: float = 0.02) -> Findings:
    """Yield levels that are others than those of the card which the episode followed.

    Where the object lies at first is held against the places of the protocol's factor: it must lie
    within the place of the card's level, or `slack_m` beside it. The operator is held against the
    one the card was made for, and every other level against what the source of the episode states
    of its own world, as a simulation does. The exact place is judged by
    `randomisation_off_protocol`. Not assessed where the episode followed no card, or nothing but
    the card itself tells its levels.

    Why: the coverage table counts what the card says; an episode that shows something else fills a
    cell that is empty.
    Fix: put right what the metadata say of the episode, or record the card again.
    """
    protocol = protocol_of(subject)
    facts = subject.recording.facts
    card = facts.other.get("card")
    levels = card.get("levels") if isinstance(card, Mapping) else None
    if not isinstance(levels, Mapping):
        raise NotAssessed("the episode followed no card of a campaign")
    asked = {str(name): str(level) for name, level in levels.items()}
    shown = 0
    reason = "nothing but the card tells its levels"
    for factor in protocol.factors:
        if factor.name not in asked:
            continue
        if factor.places:
            try:
                yield from _placed(subject, factor, asked[factor.name], slack_m)
                shown += 1
                continue
            except NotAssessed as error:
                reason = str(error)
        stated = _stated(subject, protocol, factor)
        if stated is not None:
            shown += 1
            if stated != asked[factor.name]:
                yield Finding(f"{factor.name} is {stated}; the card asked for {asked[factor.name]}")
    if not shown:
        raise NotAssessed(reason)


def _placed(subject: Subject, factor: Factor, level: str, slack_m: float) -> Findings:
    """The object lies in the place of its level, or in which other one."""
    here = object_start(subject)
    away = {
        name: float(np.linalg.norm(here[:2] - np.asarray(place.xyz[:2])))
        for name, place in (factor.places or {}).items()
    }
    if level not in away:
        raise NotAssessed(f"the protocol names no place for {factor.name} {level}")
    room = (factor.places or {})[level].radius_m + slack_m
    if away[level] <= room:
        return
    nearest = min(away, key=lambda name: away[name])
    found = f"lies at {nearest}" if nearest != level else "lies beside it"
    yield Finding(
        f"the object {found}, {100 * away[level]:.0f} cm from the middle of {level}, as the card "
        "has it",
        stream=subject.recording.named(roles.OBJECT_POSE),
        value=away[level],
        limit=room,
    )


def _stated(subject: Subject, protocol: Protocol, factor: Factor) -> str | None:
    """The level that somebody other than the card states."""
    facts = subject.recording.facts
    if factor.name == OPERATOR:
        return None if facts.operator is None else str(facts.operator)
    world = facts.other.get("variation")
    theirs = [(each.field or each.name).removeprefix("variation.") for each in protocol.factors]
    if not isinstance(world, Mapping) or set(world) <= set(theirs):
        return None  # What stands there the card has put there.
    name = (factor.field or factor.name).removeprefix("variation.")
    value = world.get(name)
    return None if value is None else str(value)


CHECK = Check(find, topic="protocol", severity="quarantine", unit="m")
