"""Tracked hands lie where a detector sees them in the pictures of a camera."""

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import OverlayFit, PointsInTime, fit_overlay
from corporeal.episode.recording import Signal
from corporeal.errors import CorporealError, NotAssessed
from corporeal.geometry import Array
from corporeal.protocol.calibration import Calibration, CameraCalibration
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject

SIDES = ("left", "right")
_HEAD = "head"
# A change counts that is so many times as large as it is uncertain.
_SURE = 4.0


def find(
    subject: Subject,
    *,
    max_scale: float = 0.01,
    max_shift_px: float = 6.0,
    max_lag_s: float = 0.02,
) -> Findings:
    """Yield cameras on which the hands are scaled, shifted or late against what a detector saw.

    The joints of `left_hand_joints` and `right_hand_joints` are put through the lens of the
    calibration at the time of every picture and held against `CAMERA_left_hand_pixels`, the same
    joints as any detector saw them. `max_scale` is a share about the middle of the lens,
    `max_shift_px` pixels of the calibrated picture, `max_lag_s` seconds between hands and pictures.
    A change that is not four times as large as its uncertainty is none.

    Why: hands that do not lie on the hands in the picture teach a policy places where nothing is.
    Fix: calibrate the lens and the camera's place on the head; find out which clock is late.
    """
    tracks = {side: track for side in SIDES if (track := _track(subject, side)) is not None}
    if not tracks:
        raise NotAssessed("no hands were tracked in the frame of the head")
    cameras = _cameras(subject)
    judged, reason = False, "no stream of what a detector saw, such as head_left_left_hand_pixels"
    for side, track in tracks.items():
        for camera in cameras:
            seen = _seen(subject, f"{camera.name}_{side}_hand_pixels")
            if seen is None:
                continue
            label, times, pixels = seen
            fit = fit_overlay(track, camera, times, pixels)
            if fit is None:
                reason = f"{label} has too few points, or they hardly move"
                continue
            judged = True
            yield from _judge(fit, camera.name, side, label, (max_scale, max_shift_px, max_lag_s))
    if not judged:
        raise NotAssessed(reason)


def _signal(subject: Subject, name: str) -> tuple[str, Signal] | None:
    found = subject.recording.signals.items()
    return next(((label, each) for label, each in found if each.spec.name == name), None)


def _track(subject: Subject, side: str) -> PointsInTime | None:
    found = _signal(subject, f"{side}_hand_joints")
    if found is None or found[1].spec.frame != _HEAD or found[1].spec.shape != (26, 3):
        return None
    return PointsInTime(np.asarray(found[1].time_ns), np.asarray(found[1][:], np.float64))


def _seen(subject: Subject, name: str) -> tuple[str, NDArray[np.int64], Array] | None:
    found = _signal(subject, name)
    if found is None or found[1].spec.shape != (26, 2):
        return None
    label, signal = found
    return label, np.asarray(signal.time_ns), np.asarray(signal[:], np.float64)


def _cameras(subject: Subject) -> list[CameraCalibration]:
    text = subject.recording.documents.get("calibration")
    if text is None:
        raise NotAssessed("the episode carries no calibration document")
    try:
        known = Calibration.parse(text, source="calibration", suffix=".json").cameras
    except CorporealError as error:
        raise NotAssessed(f"its calibration cannot be read: {error}") from None
    worn = [each for each in known if each.frame == _HEAD and each.focal_px and each.centre_px]
    if not worn:
        raise NotAssessed("its calibration has no camera with a lens and a place on the head")
    return worn


def _judge(
    fit: OverlayFit, camera: str, side: str, label: str, limits: tuple[float, float, float]
) -> Findings:
    max_scale, max_shift_px, max_lag_s = limits
    said = f"the {side} hand is {fit.off_px:.1f} px off in {camera}: "
    scale = abs(fit.scale - 1)
    if scale > max_scale and scale > _SURE * fit.scale_sigma:
        yield Finding(
            f"{said}it should be {100 * (fit.scale - 1):+.1f} % larger about the middle of the "
            "lens, whose focal length is wrong.",
            stream=label, value=scale, limit=max_scale,
        )  # fmt: skip
    shift = float(np.hypot(*fit.shift_px))
    if shift > max_shift_px and shift > _SURE * fit.shift_sigma_px:
        right, down = fit.shift_px
        yield Finding(
            f"{said}it should lie {right:+.1f} px right and {down:+.1f} px down: the camera's "
            "place on the head, or the middle of its lens, is wrong.",
            stream=label, value=shift, limit=max_shift_px,
        )  # fmt: skip
    lag = abs(fit.lag_s)
    if lag > max_lag_s and lag > _SURE * fit.lag_sigma_s:
        late = "later" if fit.lag_s > 0 else "earlier"
        yield Finding(
            f"{said}the pictures show it {1000 * lag:.0f} ms {late} than their stamps say.",
            stream=label, value=lag, limit=max_lag_s,
        )  # fmt: skip


CHECK = Check(find, topic="pictures", severity="quarantine", unit="1")
