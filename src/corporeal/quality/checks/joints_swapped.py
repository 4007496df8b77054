"""Every column holds the joint that it is named after."""

from collections.abc import Sequence

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.joint_identity import Accusation, accusations
from corporeal.quality.subject import Subject
from corporeal.words import some_of


def find(subject: Subject, *, min_ratio: float = 1.5) -> Findings:
    """Yield joints whose columns are exchanged in the state, the action, or both.

    The state is compared with the action that it follows, positions with velocities, and torques
    with the weight that the posture carries; `min_ratio` is how much better the other order must
    fit. A joint that does not move, and stands where another does, gives no evidence.

    Why: a policy trained on exchanged joints moves the wrong arm of the robot.
    Fix: put the columns in the order that the finding names, and mend the exporter.
    """
    found = [each for each in accusations(subject) if each.kind == "exchanged"]
    found = [each for each in found if each.before > min_ratio * each.after or each.after < 1e-6]
    streams = dict.fromkeys(each.stream for each in found if each.role != "velocity")
    for stream in streams:
        yield _finding(stream, [each for each in found if each.stream == stream], min_ratio)


def _finding(stream: str, found: Sequence[Accusation], min_ratio: float) -> Finding:
    first = max(found, key=lambda each: each.before / max(each.after, 1e-9))
    pairs = [pair for each in found for pair in _pairs(each)]
    return Finding(
        f"{some_of(pairs)} are exchanged in {stream}: {first.why}",
        stream=stream,
        value=min(999.0, first.before / max(first.after, 1e-9)),
        limit=min_ratio,
        columns=tuple(dict.fromkeys(name for each in found for name in each.names)),
    )


def _pairs(accusation: Accusation) -> list[str]:
    """`a and b` for each pair; a longer cycle is said as one."""
    seen: set[str] = set()
    words = []
    holders = dict(zip(accusation.names, accusation.partners, strict=True))
    for name, partner in holders.items():
        if name in seen:
            continue
        if holders.get(partner) == name:
            words.append(f"{name} with {partner}")
            seen |= {name, partner}
        else:
            words.append(f"{name} (holds {partner})")
            seen.add(name)
    return words


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    explains=(
        "joint_beyond_limit",
        "hand_too_fast",
        "self_collision",
        "columns_unusual",
        "joint_trembles",
    ),
    spoils=(
        "action_late",
        "lag_unusual",
        "joint_stuck",
        "joint_offset",
    ),
    formerly=("joint_order",),
)
