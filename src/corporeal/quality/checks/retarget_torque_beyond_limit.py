"""A retargeted motion asks no motor for more than it has."""

from collections.abc import Mapping
from typing import Any

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_share: float = 0.01) -> Findings:
    """Yield a motion with efforts beyond their limits in over `max_share` of its frames.

    The efforts are those that were measured when the motion was retargeted, by inverse dynamics
    with the feet that stand held by the ground.

    Why: a robot cannot do what its motors cannot: it falls where the motion says it stands.
    Fix: leave these frames out, use a slower take, or choose a robot with stronger motors.
    """
    effort, frames = _measured(subject)
    broken = int(effort["frames"])
    if broken <= max_share * frames:
        return
    worst = float(effort["worst"])
    yield Finding(
        f"the motors are asked for more than they have in {broken} of {frames} frames, "
        f"{effort['joint']} for {100 * worst:.0f} % more than its limit at worst.",
        frames=tuple((int(first), int(stop)) for first, stop in effort.get("where", ())),
        value=broken / frames,
        limit=max_share,
    )


def _measured(subject: Subject) -> tuple[Mapping[str, Any], int]:
    """What was measured of the efforts, and of how many frames."""
    said = subject.recording.facts.other.get("retargeting")
    metrics = said.get("metrics") if isinstance(said, Mapping) else None
    effort = metrics.get("effort") if isinstance(metrics, Mapping) else None
    if not isinstance(metrics, Mapping) or not isinstance(effort, Mapping):
        raise NotAssessed("the metadata says nothing of the efforts of a retargeting")
    if not effort.get("stated") or not metrics.get("frames"):
        raise NotAssessed("no joint of the robot has a stated effort limit")
    return effort, int(metrics["frames"])


CHECK = Check(
    find, topic="records", severity="quarantine", unit="share", formerly=("retarget_effort",)
)
