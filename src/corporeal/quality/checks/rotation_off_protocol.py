"""No operator stays at a station longer than the protocol's rotation."""

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol
from corporeal.quality.evidence.start_conditions import RECORDED_S


def find(batch: Batch, *, slack_min: float = 5.0, pause_min: float = 15.0) -> Findings:
    """Yield spells of one operator at one station beyond the rotation and `slack_min`.

    A spell ends when somebody else takes over there, or with a pause of `pause_min`.

    Why: who is tired shows how a tired person moves, and the policy learns that.
    Fix: change the operator in time; the recorder says when.
    """
    limit = protocol_of(batch).operators.rotation_min
    known = [each for each in under_protocol(batch)
             if each.facts.operator and each.measures.get(RECORDED_S, 0.0) > 0]  # fmt: skip
    if not known:
        raise NotAssessed("no episode has an operator and the time of its recording")
    for spell in _spells(known, pause_min):
        first, last = spell[0], spell[-1]
        minutes = (last.measures[RECORDED_S] + last.duration_s - first.measures[RECORDED_S]) / 60
        if minutes > limit + slack_min:
            yield Finding(
                f"{first.facts.operator} works {minutes:.0f} min on end at station "
                f"{first.facts.station or 'unknown'}; the protocol rotates after {limit:g} min",
                value=minutes,
                limit=limit,
                episodes=tuple(
                    each.index
                    for each in spell
                    if each.measures[RECORDED_S] > first.measures[RECORDED_S] + 60 * limit
                ),
            )


def _spells(episodes: list[Synopsis], pause_min: float) -> list[list[Synopsis]]:
    """Runs of episodes of one operator at one station, in order of time."""
    spells: list[list[Synopsis]] = []
    for station in dict.fromkeys(each.facts.station for each in episodes):
        there = [each for each in episodes if each.facts.station == station]
        spell: list[Synopsis] = []
        for each in sorted(there, key=lambda one: one.measures[RECORDED_S]):
            if spell:
                end_s = spell[-1].measures[RECORDED_S] + spell[-1].duration_s
                pause_s = each.measures[RECORDED_S] - end_s
                if spell[-1].facts.operator != each.facts.operator or pause_s > 60 * pause_min:
                    spell = []
            if not spell:
                spells.append(spell)
            spell.append(each)
    return spells


CHECK = Check(find, topic="protocol", severity="quarantine", unit="min", scope="batch")
