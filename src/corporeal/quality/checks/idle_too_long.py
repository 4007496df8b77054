"""The episode is motion, not waiting: no long stillness at its start, middle or end."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.motion import Rest, Stillness, stillness
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array


def find(
    subject: Subject,
    *,
    max_start_s: float = 3.0,
    max_middle_s: float = 3.0,
    max_end_s: float = 4.0,
    max_share: float = 0.4,
    long_s: float = 2.0,
    edge_s: float = 0.6,
) -> Findings:
    """Yield rests of state, grippers and action that last longer than their place allows.

    `max_share` is the part of the episode that rests longer than `long_s` may take together,
    what the start and the end are allowed left out. A protocol's rolls widen the limits. A rest
    that begins or ends within `edge_s` is the start's or the end's: sensors settle at first.

    Why: a policy that is shown waiting learns to wait; a still start is copied for ever.
    Fix: trim the episode to its motion, keeping a second before and two after.
    """
    rest = stillness(subject)
    if rest.share >= 1.0:
        return  # that nothing moves at all is said by nothing_moves
    limits = _widened(subject, (max_start_s, max_middle_s, max_end_s))
    excess, flagged = 0.0, False
    for stretch in rest.rests:
        where, limit = _place(rest, stretch, limits, edge_s)
        if stretch.seconds > limit:
            flagged = True
            yield _finding(subject, rest, stretch, where, limit)
        forgiven = 0.0 if where == "in the middle" else limit
        if stretch.seconds > long_s:
            excess += max(0.0, stretch.seconds - forgiven)
    share = excess / max(rest.span_s, 1e-9)
    if not flagged and share > max_share:
        yield Finding(
            f"nothing moves during {100 * share:.0f} % of the {rest.span_s:.1f} s",
            stream=rest.label,
            frames=tuple((each.first, each.stop) for each in rest.rests if each.seconds > long_s),
            value=share,
            limit=max_share,
        )


def _widened(subject: Subject, limits: tuple[float, float, float]) -> tuple[float, float, float]:
    trigger = getattr(subject.protocol, "trigger", None)
    if trigger is None:
        return limits
    before, after = 2 * trigger.pre_roll_s, 2 * trigger.post_roll_s
    return max(limits[0], before), limits[1], max(limits[2], after)


def _place(
    rest: Stillness, stretch: Rest, limits: tuple[float, float, float], edge_s: float
) -> tuple[str, float]:
    seconds = rest.time_s
    if seconds[stretch.first] - seconds[0] < edge_s:
        return "at the start", limits[0]
    if seconds[-1] - seconds[min(stretch.stop, len(seconds) - 1)] < edge_s:
        return "at the end", limits[2]
    return "in the middle", limits[1]


def _finding(subject: Subject, rest: Stillness, stretch: Rest, where: str, limit: float) -> Finding:
    first, stop = stretch.first, stretch.stop
    begin = float(rest.time_s[first] - rest.time_s[0])
    track = subject.tracks[rest.label]
    speed: Array = np.sqrt(np.nan_to_num(track.rate**2).sum(axis=1))
    return Finding(
        f"nothing moves for {stretch.seconds:.1f} s {where} (from {begin:.1f} s)",
        stream=rest.label,
        frames=((first, stop),),
        value=stretch.seconds,
        limit=limit,
        evidence=drawn_whole(rest.time_s, {"speed": speed}),
    )


CHECK = Check(find, topic="sets", severity="quarantine", unit="s", formerly=("no_idle_padding",))
