"""Every gyro turns as its link does."""

import numpy as np

from corporeal.embodiment.joints import limb_of
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.imu import ImuReference, references
from corporeal.quality.evidence.rigid_motion import Fit, describe_axes, fit_axes
from corporeal.quality.subject import Subject

AXES = ("wx", "wy", "wz")
# Two legs of so few joints do not hold a body against turning.
LEAST_LEG_JOINTS = 8


def find(
    subject: Subject,
    *,
    max_ratio: float = 3.0,
    max_bias_rad_s: float = 0.1,
    max_leg_travel: float = 0.2,
) -> Findings:
    """Yield gyros whose rate is not that of the link: other unit, other axes, or never at zero.

    The link's rate comes from the base pose and the joints, or from the gyro of the base. A gyro
    over `max_ratio` times too fast or slow is in another unit. Where nothing tells the link's rate,
    a robot whose leg joints all stay within `max_leg_travel` stands, and cannot have turned by more
    than twice that.

    Why: a gyro in degrees per second looks like a robot that shakes itself apart.
    Fix: convert to rad/s, turn the axes into the stated frame, or subtract the bias.
    """
    looked = False
    for reference in references(subject):
        if reference.rate is None:
            continue
        if reference.predicted_rate is None:
            stands = _stands(subject, reference, max_leg_travel)
            looked |= stands
            # An IMU that others are held against is named there.
            beside = any(each.beside is reference.track for each in references(subject))
            if stands and not beside:
                yield from _turns_standing(reference, max_bias_rad_s, max_leg_travel)
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


def _stands(subject: Subject, reference: ImuReference, max_travel: float) -> bool:
    """Whether the IMU is on the base and both legs stood on the ground all the time."""
    if reference.place != subject.robot.base:
        return False
    posture, names = subject.posture, subject.robot.joint_names
    legs = [
        number
        for number, name in enumerate(names)
        if posture.present[number] and limb_of(name, subject.robot) == "leg"
    ]
    if len(legs) < LEAST_LEG_JOINTS or not len(posture):
        return False
    low, high = np.nanmin(posture.q[:, legs], axis=0), np.nanmax(posture.q[:, legs], axis=0)
    return bool((high - low < max_travel).all())


def _turns_standing(reference: ImuReference, limit: float, max_travel: float) -> Findings:
    """A gyro that says that a robot which stands turns on and on."""
    rate = reference.rate
    if rate is None:
        return
    bias = np.nanmedian(rate, axis=0)
    worst = int(np.argmax(np.abs(bias)))
    turned = float(np.nanmean(rate[:, worst]) * (reference.at_s[-1] - reference.at_s[0]))
    if abs(bias[worst]) <= limit or abs(turned) <= 2 * max_travel:
        return
    yield Finding(
        f"{AXES[worst]} of {reference.track.label} is {bias[worst]:+.3f} rad/s throughout, as if "
        f"{reference.place} had turned by {abs(turned):.1f} rad, while no joint of the legs moved "
        f"by more than {max_travel:.2g}: the gyro was not zeroed.",
        stream=reference.track.label,
        value=float(abs(bias[worst])),
        limit=limit,
        evidence=drawn_whole(
            reference.at_s, {name: rate[:, column] for column, name in enumerate(AXES)}
        ),
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
