"""Every stream's clock moves forward."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.time import stamped
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(subject: Subject, *, min_step_s: float = 0.0) -> Findings:
    """Yield the frames stamped no more than `min_step_s` after the frame before.

    Why: a repeated or reversed stamp makes finite-difference velocities infinite, and frames in a
    wrong order teach a motion that never happened.
    Fix: sort the frames by capture time, drop the repeated ones, or stamp where they are captured.
    """
    for stream in stamped(subject, rated=False):
        # Two events may happen at once; samples may not.
        events = stream.rate_hz is None
        bad = stream.steps < 0 if events else stream.steps <= min_step_s
        if not bad.any():
            continue
        late = np.flatnonzero(bad) + 1
        first, count = int(late[0]), len(late)
        back = int((stream.steps < 0).sum())
        kinds = [f"{back} go back"] if back else []
        kinds += [f"{count - back} stand still"] if count > back else []
        yield Finding(
            f"{count} of {len(stream)} stamps of {stream.named} do not move forward"
            f" ({', '.join(kinds)}), first at frame {first}: {stream.seconds[first]:.4f} s comes"
            f" after {stream.seconds[first - 1]:.4f} s",
            stream=stream.label,
            frames=runs(np.append(False, bad)),
            value=float(stream.steps.min()),
            limit=min_step_s,
            evidence=stream.evidence(first),
        )


CHECK = Check(
    find,
    topic="time",
    severity="fail",
    unit="s",
    explains=(
        "imu_late",
        "velocity_late",
        "force_late",
        "action_late",
        "lag_drifts",
    ),
    formerly=("timestamps_increase",),
)
