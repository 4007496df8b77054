"""Every stream can be read, and there is something to read."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield the streams that cannot be read, and an episode in which nothing was recorded.

    Why: a damaged stream that is passed over in silence looks like a good one.
    Fix: recover the episode from its journal or its backup; `corporeal verify` names the damage.
    """
    signals = subject.recording.signals
    if not any(len(signal) for signal in signals.values()):
        yield Finding(f"nothing was recorded: {len(signals)} streams, none with a sample")
    subject.tracks  # noqa: B018 - reading fills `unreadable`
    for label, reason in subject.unreadable.items():
        yield Finding(f"{label} cannot be read: {reason}", stream=label)


CHECK = Check(find, topic="records", severity="fail", formerly=("readable",))
