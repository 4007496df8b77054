"""An edge case is one of the protocol's, and was dealt with as its rule says."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield episodes that the rule of their edge case throws away, or wants as failures.

    What happened is read from `edge_case` in the metadata, in the words of the protocol.

    Why: half of the operators keep what the other half throws away, and the policy learns both.
    Fix: label it as the rule says, or leave the episode out.
    """
    protocol = protocol_of(subject)
    stated = subject.recording.facts.other.get("edge_case")
    if not stated:
        raise NotAssessed("the metadata names no edge case")
    rules = {case.case: case.rule for case in protocol.edge_cases}
    rule = rules.get(str(stated))
    if rule is None:
        known = "; ".join(rules) or "none"
        yield Finding(f"edge case {str(stated)[:120]!r} is none of the protocol's: {known}")
    elif rule in ("discard", "restart"):
        words = "throws such an episode away" if rule == "discard" else "starts it again"
        yield Finding(f"{stated}: the protocol {words}, and it was kept")
    elif rule == "keep_as_failure" and subject.recording.facts.outcome.success is not False:
        yield Finding(f"{stated}: the protocol keeps it as a failure, and it is not labelled one")


CHECK = Check(find, topic="protocol", severity="quarantine")
