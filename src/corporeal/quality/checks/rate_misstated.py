"""Every stream runs at the rate that its description states."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.time import stamped, with_stated_rate
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_error: float = 0.02) -> Findings:
    """Yield each stream whose typical step is off its stated period by more than `max_error`.

    A rate that was itself taken from the stamps, as of a bag, is not held against them.

    Why: a training loader that believes the stated rate plays the motion too fast or too slowly.
    Fix: correct the rate in the schema, or find out why the source runs at another one.
    """
    for stream in with_stated_rate(stamped(subject, least=8)):
        if stream.bunched or stream.rate_hz is None or stream.typical_s <= 0:
            continue
        measured = 1.0 / stream.typical_s
        error = measured / stream.rate_hz - 1.0
        if abs(error) > max_error:
            yield Finding(
                f"{stream.named} states {stream.rate_hz:.4g} Hz, its stamps say {measured:.4g} Hz"
                f" ({error:+.1%})",
                stream=stream.label,
                value=abs(error),
                limit=max_error,
                evidence=stream.evidence(),
            )


CHECK = Check(find, topic="time", severity="fail", unit="share", formerly=("declared_rate",))
