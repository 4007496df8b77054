"""The demonstration is as long as its protocol allows."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield a duration outside the protocol's range, between the marks where there are some.

    Why: too short is cut off or not done, too long is a search; neither shows the task.
    Fix: record it again; or widen the range in a new version of the protocol.
    """
    allowed = protocol_of(subject).duration_s
    marked = subject.recording.facts.demonstration_s
    state = subject.state
    whole = float(state.seconds[-1] - state.seconds[0]) if len(state) else 0.0
    lasts = whole if marked is None else marked[1] - marked[0]
    if lasts in allowed:
        return
    short = lasts < allowed.lowest
    yield Finding(
        f"the demonstration lasts {lasts:.1f} s; "
        f"the protocol allows {allowed.lowest:g} to {allowed.highest:g} s",
        stream=state.label,
        value=lasts,
        limit=allowed.lowest if short else allowed.highest,
    )


CHECK = Check(
    find,
    topic="protocol",
    severity="fail",
    rests_on=("rate_hz",),
    unit="s",
    formerly=("protocol_duration",),
)
