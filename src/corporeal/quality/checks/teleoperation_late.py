"""A driven robot follows its operator as quickly as what they hold in their hands asks for."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.operator_lag import operator_lag
from corporeal.quality.subject import Subject


def find(
    subject: Subject,
    *,
    max_tracked_s: float = 0.04,
    max_leader_s: float = 0.005,
    max_motion_s: float = 0.15,
    deviations: float = 3.0,
) -> Findings:
    """Yield a command that comes later behind the operator's motion than their interface allows.

    Headsets and controllers may take `max_tracked_s`, leader arms `max_leader_s`; the robot itself
    has `max_motion_s` after either. It is measured by content: the operator's hands against the
    robot's, the leader's joints against the robot's, plus how long messages took. As many
    `deviations` of the estimate are added to the limit.

    Why: people wait for a late robot, overshoot and correct, and a policy learns their waiting.
    Fix: look at operator_latency and operator_times: a busy machine, radio, smoothing. A shorter
    way from the device to the robot helps; shifting the streams afterwards does not.
    """
    found = operator_lag(subject)
    limit = max_tracked_s if found.interface == "tracked hands" else max_leader_s
    said = None
    if found.command_s > limit + deviations * found.told.deviation_s:
        value, said = found.command_s, "what the robot was told comes"
    elif found.moved is not None and found.motion_s is not None:
        limit = max_motion_s
        if found.motion_s > limit + deviations * found.moved.deviation_s:
            value, said = found.motion_s, "the robot moves"
    if said is not None:
        yield Finding(
            f"{said} {1e3 * value:.0f} ms after the operator ({found.interface}, {found.of})",
            stream=found.stream,
            value=value,
            limit=limit,
        )


CHECK = Check(find, topic="lag", severity="quarantine", unit="s")
