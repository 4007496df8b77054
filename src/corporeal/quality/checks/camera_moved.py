"""Every calibrated camera sees its station's markers where it saw them when it was calibrated."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import (
    CameraLook,
    CannotVerifyError,
    MarkerShift,
    camera_of,
    compare_looks,
)
from corporeal.episode.recording import ImageSequence, VideoFile
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Calibration
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.calibrated_camera import read_calibration
from corporeal.quality.subject import Subject

# So many pictures are looked at, from the first on, each a twentieth of the episode apart.
PICTURES, APART = 5, 20


def find(
    subject: Subject, *, max_shift_m: float = 0.003, max_turn_rad: float = 0.01745
) -> Findings:
    """Yield cameras whose markers are off by `max_shift_m` or `max_turn_rad` at the beginning.

    The markers, and where they were, are those of the calibration document that the episode
    carries. A camera that moves with the robot is not looked at; nor is one whose markers its
    pictures do not show, or show too small to tell.

    Why: a camera that was knocked makes every picture disagree with the joints beneath it.
    Fix: verify the station, fasten and calibrate the camera again; hold back what came before.
    """
    calibration = read_calibration(subject)
    if calibration.verification is None:
        raise NotAssessed("its calibration names no markers")
    looked, reasons = False, []
    for label, footage in subject.footage.items():
        try:
            shifts = _shifts(calibration, footage)
        except CorporealError as error:
            reasons.append(f"{label}: {error}")
            continue
        looked = looked or bool(shifts)
        for shift in shifts:
            yield from _judge(shift, label, max_shift_m, max_turn_rad)
    if not looked:
        raise NotAssessed(reasons[0] if reasons else "no camera has a marker in the calibration")


def _shifts(
    calibration: Calibration, footage: VideoFile | ImageSequence
) -> tuple[MarkerShift, ...]:
    """The markers of a camera that stands still, as the episode's first pictures show them."""
    plan, name = calibration.verification, footage.spec.name
    assert plan is not None
    references = [each for each in plan.markers if each.camera == name]
    if not references:
        return ()
    camera = camera_of(calibration, name)
    still = [each for each in references if each.frame in ("camera", "world", camera.frame)]
    if not still or camera.frame not in (None, "world"):
        raise CannotVerifyError(f"{name} moves with {camera.frame}; verify it at rest.")
    look = CameraLook(name, list(_early(footage)), "the episode")
    return compare_looks(calibration, [look], still)


def _early(footage: VideoFile | ImageSequence) -> Iterator[NDArray[np.uint8]]:
    step = max(1, len(footage) // (PICTURES * APART))
    wanted: Sequence[int] = range(0, min(len(footage), PICTURES * step), step)
    yield from footage[np.array(wanted)]


def _judge(shift: MarkerShift, label: str, max_shift_m: float, max_turn_rad: float) -> Findings:
    far, turned = shift.distance_m, shift.angle_rad
    if shift.cause not in ("camera", "camera or marker"):
        return
    if far < max_shift_m and turned < max_turn_rad:
        return
    yield Finding(
        f"{label} sees {shift.marker} {far * 1e3:.1f} mm and {np.degrees(turned):.2f} degrees off "
        f"its reference: the {shift.cause} was moved since the calibration.",
        stream=label,
        value=far,
        limit=max_shift_m,
    )


CHECK = Check(find, topic="pictures", severity="quarantine", pictures=True, unit="m")
