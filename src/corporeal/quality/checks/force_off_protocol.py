"""The hand grips within the force range of the protocol."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import Range
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import not_failed, protocol_of
from corporeal.quality.subject import Subject
from corporeal.quality.synopsis import peak_force_n
from corporeal.schema import roles
from corporeal.signal.track import Array

# The two fingers press against each other: their maps together show the grip twice.
_FINGERS = 2


def find(subject: Subject, *, min_grip_s: float = 0.3, touch_share: float = 0.2) -> Findings:
    """Yield a hand whose grip, held for `min_grip_s`, is too weak or too strong.

    A hand holds something from `touch_share` of the least force on.

    From touch sensors whose area the protocol states; else wrists alone, for the upper limit.

    Why: too weak a grip slips on the real object, too strong a one crushes it.
    Fix: set the gripper's force; record it again.
    """
    protocol = protocol_of(subject)
    not_failed(subject)
    area = protocol.taxel_area_m2
    maps = _maps(subject) if area is not None else {}
    if area is None or not maps:
        yield from _wrists(subject, protocol.force_n)
        return
    for label, (pressure, rate_hz) in maps.items():
        force = pressure * area / _FINGERS
        held = force[force > touch_share * protocol.force_n.lowest]
        if len(held) >= min_grip_s * rate_hz:  # else this hand took hold of nothing
            yield from _grip(label, force, held, protocol.force_n)


def _maps(subject: Subject) -> dict[str, tuple[Array, float]]:
    """Sum of pressures (T,) of every tactile map, and its rate."""
    found = {}
    for label, signal in subject.recording.signals.items():
        if signal.spec.name.endswith(roles.TACTILE) and signal.spec.unit == "Pa" and len(signal):
            values = np.asarray(signal[:], np.float64).reshape(len(signal), -1)
            found[label] = (np.nan_to_num(values.sum(axis=1)), signal.spec.rate_hz or 60.0)
    return found


def _grip(label: str, force: Array, held: Array, allowed: Range) -> Findings:
    usual, most = float(np.median(held)), float(np.quantile(force, 0.99))
    if usual < allowed.lowest:
        message = f"{label} grips with {usual:.1f} N; the protocol asks for {allowed.lowest:g} N"
        yield Finding(message, stream=label, value=usual, limit=allowed.lowest)
    if most > allowed.highest:
        message = (
            f"{label} grips with up to {most:.1f} N; the protocol allows {allowed.highest:g} N"
        )
        yield Finding(message, stream=label, value=most, limit=allowed.highest)


def _wrists(subject: Subject, allowed: Range) -> Findings:
    most = peak_force_n(subject)
    if most is None:
        raise NotAssessed("neither touch with a known area nor a wrist wrench is recorded")
    if most > allowed.highest:
        message = f"a wrist feels up to {most:.1f} N; the protocol allows {allowed.highest:g} N"
        yield Finding(message, value=most, limit=allowed.highest)


CHECK = Check(find, topic="protocol", severity="quarantine", unit="N", formerly=("protocol_force",))
