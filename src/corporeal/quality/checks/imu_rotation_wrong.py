"""Every gyro turns as its link does."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.imu import ImuReference, references
from corporeal.quality.evidence.rigid_motion import Fit, describe_axes, fit_axes
from corporeal.quality.subject import Subject

AXES = ("wx", "wy", "wz")


def find(subject: Subject, *, max_ratio: float = 3.0, max_bias_rad_s: float = 0.1) -> Findings:
    """Yield gyros whose rate is not that of the link: other unit, other axes, or never at zero.

    The link's rate comes from the base pose and the joints, or from the gyro of the base. A gyro
    over `max_ratio` times too fast or slow is in another unit.

    Why: a gyro in degrees per second looks like a robot that shakes itself apart.
    Fix: convert to rad/s, turn the axes into the stated frame, or subtract the bias.
    """
    looked = False
    for reference in references(subject):
        if reference.rate is None or reference.predicted_rate is None:
            continue
        fit = fit_axes(reference.rate, reference.predicted_rate)
        if fit is None:
            continue
        looked = True
        finding = _unit(reference, fit, max_ratio)
        if finding is None and fit.is_turned:
            finding = Finding(
                f"the gyro of {reference.track.label} is not in the axes of {reference.place}: "
                f"{describe_axes(fit.axes, AXES)}, which fits {100 * (1 - fit.best_error):.0f} % "
                "of its turning.",
                stream=reference.track.label,
                value=fit.error,
                limit=fit.best_error,
                evidence=_curves(reference),
            )
        if finding is None:
            finding = _bias(reference, max_bias_rad_s)
        if finding is not None:
            yield finding
    if not looked:
        raise NotAssessed("no gyro on a link whose turning the data tells")


def _unit(reference: ImuReference, fit: Fit, max_ratio: float) -> Finding | None:
    # Noise of a tracker makes a still link seem to turn, never a turning one to stand still.
    # Of two gyros neither has that noise.
    slow = fit.scale < 1 / max_ratio
    slow &= fit.best_error < 0.35 or reference.beside is not None
    if fit.scale <= max_ratio and not slow:
        return None
    scale, track, other = fit.scale, reference.track, reference.place
    if slow and reference.beside is not None:
        # Of two gyros the one that turns too fast is in the other unit: degrees are the larger.
        scale, track, other = 1 / fit.scale, reference.beside, reference.track.label
    # Between two gyros the joints turn as well, which makes the ratio smaller.
    degrees = (20 if reference.beside is None else 8) < scale < 120
    return Finding(
        f"the gyro of {track.label} turns {scale:.3g} times as fast as "
        f"{other}{': it is in degrees per second' if degrees else ''}.",
        stream=track.label,
        value=scale,
        limit=max_ratio,
        evidence=_curves(reference),
    )


def _bias(reference: ImuReference, limit: float) -> Finding | None:
    if reference.rate is None or reference.predicted_rate is None:
        return None
    bias = np.nanmedian(reference.rate - reference.predicted_rate, axis=0)
    worst = int(np.argmax(np.abs(bias)))
    if abs(bias[worst]) <= limit:
        return None
    track = reference.track
    if reference.beside is not None and abs(np.nanmedian(reference.rate[:, worst])) < limit / 2:
        track = reference.beside
    return Finding(
        f"{AXES[worst]} of {track.label} is off by {bias[worst]:.3f} rad/s throughout: "
        "the gyro was not zeroed.",
        stream=track.label,
        value=float(abs(bias[worst])),
        limit=limit,
        evidence=_curves(reference),
        severity="quarantine",
    )


def _curves(reference: ImuReference) -> dict[str, np.ndarray]:
    if reference.rate is None or reference.predicted_rate is None:
        return {}
    felt = {name: reference.rate[:, k] for k, name in enumerate(AXES)}
    of_link = {f"{name}_link": reference.predicted_rate[:, k] for k, name in enumerate(AXES)}
    return drawn_whole(reference.at_s, felt | of_link)


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    rests_on=("rate_hz", "robot"),
    unit="rad/s",
    formerly=("imu_rotation",),
)
