"""The base moves from place to place, it does not jump."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.base_and_feet import base_jumps
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_step_m: float = 0.04, max_speed_m_s: float = 2.5) -> Findings:
    """Yield steps of the base over `max_step_m`, faster than `max_speed_m_s`, out of the blue.

    A step counts when its neighbours are much smaller: a base that really moves so fast moves
    before and after as well.

    Why: a jump of the tracker moves every link in the world at once, and with it the object.
    Fix: drop the frames, or align the two parts by the feet.
    """
    track = subject.track(roles.BASE_POSE)
    if len(track) < 5 or not set(roles.POSITION) <= set(track.names):
        raise NotAssessed(f"{track.label} has {len(track)} samples of a position")
    step, jump = base_jumps(track, max_step_m=max_step_m, max_speed_m_s=max_speed_m_s)
    if not jump.any():
        return
    worst = int(np.argmax(np.where(jump, step, 0.0)))
    columns = [track.names.index(name) for name in roles.POSITION]
    yield Finding(
        f"the base in {track.label} jumps by {step[worst]:.3f} m at "
        f"{track.seconds[worst + 1]:.3f} s, {np.count_nonzero(jump)} times in all.",
        stream=track.label,
        frames=runs(np.append(False, jump)),
        value=float(step[worst]),
        limit=max_step_m,
        evidence=drawn(track, worst, worst + 1, columns),
    )


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    rests_on=("rate_hz",),
    unit="m",
    formerly=("no_base_teleports",),
)
