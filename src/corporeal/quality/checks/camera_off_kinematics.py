"""A camera on the robot sees known points where its joints say they are."""

from __future__ import annotations

import numpy as np

from corporeal.calibration.verification import CannotVerifyError, camera_of, markers_in, misses_of
from corporeal.episode.recording import ImageSequence, VideoFile
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration
from corporeal.protocol.verification import MarkerReference
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.calibrated_camera import (
    carried_by,
    postures_at,
    read_calibration,
    stands_still,
)
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

# So many pictures are looked at, evenly through the episode.
PICTURES = 24
# Fewer with the marker in view tell nothing.
_FEWEST = 3


def find(subject: Subject, *, max_miss_px: float = 8.0) -> Findings:
    """Yield cameras that see the station's markers `max_miss_px` beside where the joints have them.

    The corners of each marker of the calibration document are put where it says they are, carried
    by the joints of the instant, and projected through the lens; the median miss of a camera is
    judged. Only cameras on the robot are looked at (camera_moved does those that stand still),
    only while the robot's base stands, and only in pictures that show a marker.

    Why: a hand-eye calibration that no longer holds puts everything beside where it is reached for.
    Fix: calibrate hand and eye again; look for an encoder that slipped, or a clock that is late.
    """
    calibration = read_calibration(subject)
    plan = calibration.verification
    if plan is None:
        raise NotAssessed("its calibration names no markers")
    looked, reasons = False, []
    for label, footage in subject.footage.items():
        name = footage.spec.name
        references = [each for each in plan.markers if each.camera == name]
        try:
            for reference in references:
                miss = _misses(subject, calibration, footage, reference)
                looked = True
                yield from _judge(label, reference, *miss, max_miss_px)
        except (CorporealError, NotAssessed) as error:
            reasons.append(f"{label}: {error}")
    if not looked:
        raise NotAssessed(reasons[0] if reasons else "no camera has a marker in the calibration")


def _judge(
    label: str, reference: MarkerReference, seconds: Array, misses: Array, limit: float
) -> Findings:
    """`misses` (N, 2): how far the marker as a whole is off in each picture."""
    sizes = np.linalg.norm(misses, axis=1)
    middle = float(np.median(sizes))
    if middle <= limit:
        return
    right, down = np.median(misses, axis=0)
    yield Finding(
        f"{label} sees {reference.name} {middle:.1f} px beside where the joints have it "
        f"({right:+.1f} right, {down:+.1f} down in the middle of {len(sizes)} pictures).",
        stream=label, value=middle, limit=limit,
        evidence=drawn_whole(seconds, {"right_px": misses[:, 0], "down_px": misses[:, 1]}),
    )  # fmt: skip


def _misses(
    subject: Subject, calibration: Calibration, footage: VideoFile | ImageSequence,
    reference: MarkerReference,
) -> tuple[Array, Array]:  # fmt: skip
    camera = camera_of(calibration, footage.spec.name)
    _check_frames(subject, camera, reference)
    times = np.asarray(footage.time_ns)
    posture = subject.posture
    inside = np.flatnonzero((times >= posture.time_ns[0]) & (times <= posture.time_ns[-1]))
    if not len(inside):
        raise NotAssessed("no picture while joints were recorded")
    numbers = inside[np.unique(np.linspace(0, len(inside) - 1, PICTURES).astype(int))]
    carry = carried_by(subject, str(camera.frame), postures_at(subject, times[numbers])[0])
    seen = markers_in(list(footage[numbers]), reference, camera)
    if len(seen) < _FEWEST:
        raise CannotVerifyError(f"{reference.name} is in {len(seen)} of {len(numbers)} pictures.")
    rows = sorted(seen)
    misses = [misses_of(reference, camera, carry[row], seen[row]).mean(axis=0) for row in rows]
    return (times[numbers[rows]] - times[0]) / 1e9, np.array(misses)


def _check_frames(subject: Subject, camera: CameraCalibration, reference: MarkerReference) -> None:
    name = camera.name
    if camera.frame in (None, "world") or reference.frame in ("camera", camera.frame):
        raise NotAssessed(f"no joint lies between {name} and {reference.name}")
    if reference.frame != subject.robot.base:
        raise NotAssessed(f"{reference.name} is in {reference.frame}, not in the robot's base")
    known = {*subject.kinematics.names, *(frame.name for frame in subject.robot.frames)}
    if camera.frame not in known:
        raise NotAssessed(f"{name} sits on {camera.frame}, which {subject.robot.name} has not")
    if not stands_still(subject):
        raise NotAssessed("the robot's base does not stand still")


CHECK = Check(
    find, topic="pictures", severity="quarantine", rests_on=("robot",), pictures=True, unit="px"
)
