"""Every accelerometer feels gravity, upwards, as its link stands."""

from dataclasses import replace

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.geometry import normalise
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.imu import (
    UPRIGHT,
    ImuReference,
    force_columns,
    inertial_tracks,
    is_accelerometer,
    references,
)
from corporeal.quality.evidence.rigid_motion import (
    GRAVITY,
    SIGNED_PERMUTATIONS,
    describe_axes,
    fit_axes,
)
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

AXES = ("ax", "ay", "az")
# What standing still reads in other units, m/s2 being right.
UNITS = {1.0: "g", 1000.0: "thousandths of g", 981.0: "cm/s2", 32.2: "ft/s2", 9810.0: "mm/s2"}


def find(
    subject: Subject,
    *,
    max_error_m_s2: float = 0.6,
    max_angle_deg: float = 8.0,
    max_assumed_deg: float = 40.0,
) -> Findings:
    """Yield IMUs whose mean specific force is not 9.81 m/s2 upwards, or whose axes are exchanged.

    The link's own orientation gives the vertical, to `max_angle_deg`: from the base pose and the
    joints, or from the IMU on the base. An IMU with neither is taken to be roughly upright, to
    `max_assumed_deg`. Axes that gravity cannot tell apart are told apart by the sway. Where the
    robot is not known, the size is judged, and a force that points down is a note: the sensor may
    hang upside down.

    Why: a policy balances by this vector; in g, or with x for y, it falls.
    Fix: convert to m/s2, or turn the axes into those of the frame that the stream names.
    """
    if subject.recording.embodiment is None:
        yield from _without_robot(subject, max_error_m_s2, max_assumed_deg)
        return
    wrong: set[str] = set()
    for reference in sorted(references(subject), key=lambda each: each.beside is not None):
        force = reference.force
        if force is None or (reference.beside is not None and reference.beside.label in wrong):
            continue
        finding = _size(reference, force, max_error_m_s2)
        if finding is None:
            limit = max_assumed_deg if reference.assumed else max_angle_deg
            finding = _direction(reference, force, limit)
        if finding is not None:
            wrong.add(reference.track.label)
            yield finding


def _without_robot(subject: Subject, max_error_m_s2: float, max_assumed_deg: float) -> Findings:
    tracks = [track for track in inertial_tracks(subject) if is_accelerometer(track)]
    if not tracks:
        raise NotAssessed("the robot is not known, and no stream feels gravity")
    for track in tracks:
        force = track.values[:, force_columns(track)]
        wrong = _wrong_size(track.label, force, max_error_m_s2)
        upright = np.tile(UPRIGHT, (len(force), 1))
        down = _angle(normalise(force), -upright)
        if wrong is not None:
            yield wrong
        elif down < max_assumed_deg:
            yield Finding(
                f"{track.label} feels gravity downwards, where a sensor at rest is pushed up: it"
                f" hangs upside down, or its sign is wrong.",
                stream=track.label,
                value=180.0 - down,
                limit=max_assumed_deg,
                severity="note",
            )


def _size(reference: ImuReference, force: Array, limit: float) -> Finding | None:
    """The finding with curves to draw."""
    wrong = _wrong_size(reference.track.label, force, limit)
    return None if wrong is None else replace(wrong, evidence=reference.curves(force, AXES))


def _wrong_size(label: str, force: Array, limit: float) -> Finding | None:
    """Too long or too short: another unit, or gravity taken out."""
    size = float(np.nanmedian(np.linalg.norm(force, axis=1)))
    if abs(size - GRAVITY) <= limit:
        return None
    unit = next((name for usual, name in UNITS.items() if 0.9 < size / usual < 1.1), None)
    if unit is not None:
        guess = f": it is in {unit}"
    else:
        guess = ": gravity was taken out" if size < 0.5 else ""
    return Finding(
        f"{label} feels {size:.3g} m/s2 where a robot at rest feels 9.81{guess}.",
        stream=label,
        value=size,
        limit=GRAVITY,
    )


def _direction(reference: ImuReference, force: Array, limit_deg: float) -> Finding | None:
    """It points elsewhere than up, or its axes sway as others do."""
    predicted = reference.predicted_force
    wanted = normalise(reference.up if predicted is None else predicted)
    felt = normalise(force)
    angle = _angle(felt, wanted)
    fit = None if predicted is None else fit_axes(force, predicted)
    turned = fit is not None and fit.is_turned
    if angle <= limit_deg and not turned:
        return None
    if angle <= limit_deg and fit is not None:
        axes, why = fit.axes, f"its sway fits so to {100 * (1 - fit.best_error):.0f} %"
    else:
        axes = fit.axes if fit is not None and turned else _fewest_changes(felt, wanted)
        why = f"as stated, up is off by {angle:.0f} degrees"
        if angle > 180.0 - max(limit_deg, 15.0):
            why += ": gravity has the wrong sign"
    # Which axis stands where is said only if that mends it.
    mended = _angle(felt @ axes, wanted) < max(limit_deg, 15.0)
    names = f": {describe_axes(axes, AXES)}" if mended else ""
    return Finding(
        f"the accelerometer of {reference.track.label} is not in the axes of "
        f"{reference.place}{names}; {why}.",
        stream=reference.track.label,
        value=angle,
        limit=limit_deg,
        evidence=reference.curves(force, AXES),
    )


def _fewest_changes(felt: Array, wanted: Array) -> Array:
    """Of the axes that bring the force upright about equally well, those nearest to the stated."""
    table = felt.T @ wanted
    fits = [float(np.sum(table * axes)) for axes in SIGNED_PERMUTATIONS]
    near = [a for a, fit in zip(SIGNED_PERMUTATIONS, fits, strict=True) if fit > 0.98 * max(fits)]
    return max(near, key=lambda axes: float(np.trace(axes)))


def _angle(one: Array, other: Array) -> float:
    """The usual angle in degrees between unit vectors (N, 3)."""
    cosine = np.einsum("ni,ni->n", one, other)
    return float(np.degrees(np.median(np.arccos(np.clip(cosine, -1.0, 1.0)))))


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    rests_on=("rate_hz", "robot"),
    unit="m/s2",
    formerly=("imu_gravity",),
)
