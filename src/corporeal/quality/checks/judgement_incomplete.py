"""Every check that the policy needs of such an episode could run."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Judgement
from corporeal.words import listed


def find(judgement: Judgement) -> Findings:
    """Yield the needed checks that could not run and their reasons, in one finding.

    A policy names the checks under `needs`, by what the source has: joints, cameras, a robot.

    Why: an episode that nobody could judge is not a good one. It only looks like one.
    Fix: name the robot, record the streams that the checks look at, or change the policy's needs.
    """
    by_reason: dict[str, list[str]] = {}
    for name in judgement.needed:
        if name in judgement.not_assessed:
            by_reason.setdefault(judgement.not_assessed[name], []).append(name)
    if not by_reason:
        return
    parts = [
        f"{listed(names)} could not run ({reason.rstrip('.')})"
        for reason, names in by_reason.items()
    ]
    yield Finding(
        f"could not be judged: {'; '.join(parts)}",
        value=float(sum(map(len, by_reason.values()))),
        limit=0.0,
    )


CHECK = Check(find, topic="records", severity="quarantine", scope="judgement")
