"""The figures as tables of Markdown, and what they say about the aims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.retarget.measuring import Figures

# Measured by others on a machine like ours, as the design states them; their clips are not ours.
CITED = {
    "GMR, as the design cites it": (
        "104", "-", "7.3 / 4.1", "2.8", "-", "-", "4 to 9", "6.8", "19 % of frames", "-", "-",
        "29", "2090", "-",
    ),
    "holosoma, as the design cites it": (
        "1.4", "-", "3.4 / 6.8", "1.8", "-", "-", "0.1", "0.2", "19 % of frames", "-", "-",
        "0", "716", "-",
    ),
}  # fmt: skip
HEADS = (
    "frames / CPU-s", "x real time", "hand / foot error, cm", "stance drift, cm", "uncut",
    "by own soles",
    "hover, cm", "depth, cm", "self-collision", "limits: angle, speed", "overloaded", "jumps",
    "jerk", "limbs off, degrees",
)  # fmt: skip


@dataclass(frozen=True)
class Aim:
    """A figure and the most (or least) that it may be."""

    name: str
    limit: str
    value: Callable[[Figures], float | None]
    holds: Callable[[float], bool]


AIMS = (
    Aim("frames per CPU-second", ">= 250", lambda f: f.frames_per_cpu_s, lambda v: v >= 250),
    Aim("hand error, mean, cm", "<= 2.5", lambda f: f.hand_cm, lambda v: v <= 2.5),
    Aim("foot error, mean, cm", "<= 2", lambda f: f.foot_cm, lambda v: v <= 2),
    Aim("stance drift, mean, cm", "<= 0.3", lambda f: f.drift_cm, lambda v: v <= 0.3),
    Aim("stance drift, worst, cm", "<= 0.3", lambda f: f.drift_max_cm, lambda v: v <= 0.3),
    Aim("the same where the person slides, mean, cm", "<= 0.3", lambda f: f.uncut_drift_cm,
        lambda v: v <= 0.3),
    Aim("the same where the person slides, worst, cm", "<= 0.3", lambda f: f.uncut_drift_max_cm,
        lambda v: v <= 0.3),
    Aim("hover, mean, cm", "<= 0.3", lambda f: f.hover_cm, lambda v: v <= 0.3),
    Aim("hover, worst, cm", "<= 0.3", lambda f: f.hover_max_cm, lambda v: v <= 0.3),
    Aim("depth in the ground, worst, cm", "<= 0.3", lambda f: f.depth_cm, lambda v: v <= 0.3),
    Aim("frames with links over 5 mm in one another", "0", lambda f: f.overlap_frames,
        lambda v: v == 0),
    Aim("angles and speeds beyond limits", "0", lambda f: f.limits + f.speeds, lambda v: v == 0),
    Aim("frames with a motor over 5 % beyond its limit", "0", lambda f: f.overloaded_frames,
        lambda v: v == 0),
    Aim("jumps", "0", lambda f: f.jumps, lambda v: v == 0),
    Aim("jerk, mean, rad/s3", "<= 700", lambda f: f.jerk, lambda v: v <= 700),
)  # fmt: skip


def cells(figures: Figures) -> tuple[str, ...]:
    """One row of the table."""
    share = 100 * figures.overlap_frames / max(1, figures.frames)
    loaded = 100 * figures.overloaded_frames / max(1, figures.frames)
    return (
        _number(figures.frames_per_cpu_s, 0 if (figures.frames_per_cpu_s or 0) > 10 else 1),
        _number(figures.times_real_time, 1),
        f"{_number(figures.hand_cm, 1)} / {_number(figures.foot_cm, 1)}",
        f"{figures.drift_cm:.2f} ({figures.drift_max_cm:.1f})",
        f"{figures.uncut_drift_cm:.2f} ({figures.uncut_drift_max_cm:.1f})",
        f"{figures.sole_drift_cm:.2f}",
        f"{figures.hover_cm:.2f} ({figures.hover_max_cm:.1f})",
        f"{figures.depth_cm:.2f}",
        f"{figures.overlap_frames} ({share:.1f} %)",
        f"{figures.limits}, {figures.speeds}",
        f"{figures.overloaded_frames} ({loaded:.1f} %)",
        f"{figures.jumps}",
        f"{figures.jerk:.0f}",
        _number(figures.limb_deg, 1),
    )


def side_by_side(groups: Mapping[str, Mapping[str, Figures]]) -> str:
    """Everyone's sums over the clips they share, group by group, and the cited figures last."""
    rows: list[tuple[str, ...]] = []
    for group, sums in groups.items():
        for who, figures in sums.items():
            rows.append((f"{who}: {group} ({figures.frames} frames)", *cells(figures)))
    rows += [(who, *values) for who, values in CITED.items()]
    return markdown(("who, on what", *HEADS), rows)


def clip_by_clip(rows: Sequence[tuple[str, str, Figures]]) -> str:
    """Every result on every clip."""
    lines = [(clip, who, str(found.frames), *cells(found)) for clip, who, found in rows]
    return markdown(("clip", "who", "frames", *HEADS), lines)


def aims(figures: Figures) -> str:
    """Each aim, what was measured, and whether it holds."""
    rows = []
    for aim in AIMS:
        value = aim.value(figures)
        verdict = "not measured" if value is None else "holds" if aim.holds(value) else "FAILS"
        rows.append((aim.name, aim.limit, _number(value, 2), verdict))
    return markdown(("aim", "limit", "measured", "verdict"), rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
