"""The metrics of a result in words."""

from __future__ import annotations

from corporeal.retargeting.measure.metrics import OVERLAP_M, ErrorSpread, Metrics
from corporeal.retargeting.measure.smoothness import QUICK_HZ
from corporeal.retargeting.measure.violations import Violations
from corporeal.retargeting.result import FAR_M


def metric_rows(metrics: Metrics) -> list[tuple[str, str]]:
    """What was measured as (name, value) pairs, for a table."""
    ground = metrics.grounding
    found = [
        ("frames", f"{metrics.frames} at {metrics.rate_hz:g} Hz"),
        ("hands off", _spread(metrics.hand_error)),
        ("feet off", _spread(metrics.foot_error)),
        ("stance drift", f"{_cm(ground.drift_mean_m)} mean, {_cm(ground.drift_max_m)} max of "
         f"{ground.stances} stances"),
        ("hover", f"{_cm(ground.hover_mean_m)} mean, {_cm(ground.hover_max_m)} max"),
        ("soles sunk", f"{_cm(ground.sole_depth_max_m)} max"),
        ("body sunk", f"{_cm(ground.body_depth_max_m)} max"),
        ("self-collision", _overlap(metrics)),
        ("beyond position limits", _broken(metrics.position, "rad")),
        ("beyond speed limits", _broken(metrics.speed, "")),
        ("beyond effort limits", _broken(metrics.effort, "")),
        ("jumps", str(metrics.smoothness.jumps)),
        ("jerk", f"{metrics.smoothness.jerk_mean_rad_s3:.0f} mean, "
         f"{metrics.smoothness.jerk_p95_rad_s3:.0f} p95 rad/s3"),
        (f"power over {QUICK_HZ:g} Hz", f"{100 * metrics.smoothness.quick_share:.1f} %"),
        (
            "base acceleration",
            f"{metrics.smoothness.base_gain_p95_m_s2:.1f} p95, "
            f"{metrics.smoothness.base_gain_max_m_s2:.1f} max m/s2",
        ),
        ("way of the base", f"{metrics.base_path_m:.2f} m"),
    ]  # fmt: skip
    if metrics.far_frames is not None:
        share = 100 * metrics.far_frames / max(1, metrics.frames)
        told = f"{metrics.far_frames} frames ({share:.1f} %)"
        found.insert(3, (f"over {100 * FAR_M:g} cm off", told))
    return found


def metric_lines(metrics: Metrics) -> list[str]:
    """The same as lines of text."""
    table = metric_rows(metrics)
    width = max(len(name) for name, _ in table)
    return [f"{name:<{width}}  {value}" for name, value in table]


def _cm(metres: float) -> str:
    return f"{100 * metres:.2f} cm"


def _spread(spread: ErrorSpread | None) -> str:
    if spread is None:
        return "not known"
    return f"{_cm(spread.mean_m)} mean, {_cm(spread.p95_m)} p95, {_cm(spread.max_m)} max"


def _broken(found: Violations | None, unit: str) -> str:
    if found is None:
        return "not known"
    if not found.stated:
        return "the robot states no limit"
    if not found.count:
        return "none"
    worst = f"{found.worst:.3f} {unit}" if unit else f"{100 * found.worst:.0f} %"
    return f"{found.frames} frames, worst {found.joint.replace('_', ' ')} by {worst}"


def _overlap(metrics: Metrics) -> str:
    found = metrics.overlaps
    if found.pair is None:
        return f"none over {1000 * OVERLAP_M:g} mm"
    one, other = (name.replace("_", " ") for name in found.pair)
    return f"{found.frames} frames, worst {_cm(found.worst_m)}: {one}, {other}"
