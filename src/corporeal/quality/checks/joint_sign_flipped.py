"""Every joint turns the way that its column says."""

from corporeal.embodiment.joints import is_hand
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.joint_identity import accusations
from corporeal.quality.subject import Subject


def find(subject: Subject, *, min_ratio: float = 1.5) -> Findings:
    """Yield joints whose sign is turned round in the state or the action.

    The state is compared with the action that it follows, positions with velocities, and torques
    with the weight that the posture carries; `min_ratio` is how much better the other sign must
    fit. Hands and grippers have a check of their own.

    Why: a policy trained on a turned joint moves it away from its goal.
    Fix: multiply the column by -1, and mend the exporter.
    """
    for each in accusations(subject):
        if each.kind != "flipped" or each.role == "velocity":
            continue
        robot = subject.recording.embodiment
        names = [name for name in each.names if not is_hand(name, robot)]
        if not names:
            continue
        ratio = each.before / max(each.after, 1e-9)
        message = f"{' and '.join(names)} of {each.stream} has its sign turned round: {each.why}"
        yield Finding(
            message,
            stream=each.stream,
            value=min(999.0, ratio),
            limit=min_ratio,
            columns=tuple(names),
        )


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    explains=("joint_beyond_limit", "hand_too_fast", "self_collision", "columns_unusual"),
    spoils=(
        "action_late",
        "lag_unusual",
        "joint_stuck",
        "joint_offset",
    ),
    formerly=("joint_signs",),
)
