"""The recording has the pre-roll and the post-roll of its protocol."""

from collections.abc import Mapping

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject, *, slack_s: float = 0.05) -> Findings:
    """Yield a roll that is more than `slack_s` shorter than the protocol's trigger asks for.

    Why: without the second before it, nothing shows what started the motion; filters and
    velocities are wrong at the edge.
    Fix: give the recorder the protocol's rolls.
    """
    trigger = protocol_of(subject).trigger
    before, after = _rolls(subject)
    for name, there, asked in (
        ("pre-roll", before, trigger.pre_roll_s),
        ("post-roll", after, trigger.post_roll_s),
    ):
        if there < asked - slack_s:
            message = f"the {name} is {there:.2f} s; the protocol asks for {asked:g} s"
            yield Finding(message, value=there, limit=asked)


def _rolls(subject: Subject) -> tuple[float, float]:
    facts = subject.recording.facts
    roll = facts.other.get("roll")
    if isinstance(roll, Mapping) and {"pre_s", "post_s"} <= {*roll}:
        return float(roll["pre_s"]), float(roll["post_s"])
    marked = facts.demonstration_s
    state = subject.state
    if marked is None or not len(state):
        raise NotAssessed("neither marks nor rolls are recorded")
    return marked[0] - float(state.seconds[0]), float(state.seconds[-1]) - marked[1]


CHECK = Check(find, topic="protocol", severity="quarantine", unit="s", formerly=("protocol_rolls",))
