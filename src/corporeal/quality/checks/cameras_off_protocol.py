"""Every camera of the protocol is there, where the protocol puts it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import Camera
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield cameras that are missing, and cameras that stand further off than their tolerance.

    Where a camera stood is read from `cameras` in the metadata (xyz in metres, rpy in radians).

    Why: a policy sees through these cameras; a view that moved is another world to it.
    Fix: put the camera back and calibrate it; name its pose in the metadata.
    """
    protocol = protocol_of(subject)
    if not protocol.cameras:
        raise NotAssessed("the protocol names no camera")
    names = {signal.spec.name: label for label, signal in subject.recording.signals.items()}
    for camera in protocol.cameras:
        label = names.get(camera.name)
        if label is None:
            if not camera.optional:
                yield Finding(f"the camera {camera.name} is not there", stream=camera.name)
        elif camera.xyz is not None:
            yield from _placement(subject, camera, label)


def _placement(subject: Subject, camera: Camera, label: str) -> Findings:
    poses: Any = subject.recording.facts.other.get("cameras")
    pose = poses.get(camera.name) if isinstance(poses, Mapping) else None
    if not isinstance(pose, Mapping) or "xyz" not in pose:
        message = f"where {camera.name} stood is not recorded; the protocol rules its place"
        yield Finding(message, stream=label, severity="note")
        return
    frame = pose.get("frame")
    if camera.frame is not None and frame is not None and frame != camera.frame:
        message = f"{camera.name} is placed in the frame {frame}; the protocol says {camera.frame}"
        yield Finding(message, stream=label)
        return
    apart = float(np.linalg.norm(np.asarray(pose["xyz"], float) - np.asarray(camera.xyz)))
    if apart > camera.tolerance_m:
        message = f"{camera.name} stands {1000 * apart:.0f} mm from its place"
        yield Finding(message, stream=label, value=apart, limit=camera.tolerance_m)
    if camera.rpy is not None and "rpy" in pose:
        difference = np.asarray(pose["rpy"], float) - np.asarray(camera.rpy)
        turned = float(np.abs((difference + np.pi) % (2 * np.pi) - np.pi).max())
        if turned > camera.tolerance_rad:
            message = f"{camera.name} is turned by {np.degrees(turned):.1f} degrees"
            yield Finding(message, stream=label, value=turned, limit=camera.tolerance_rad)


CHECK = Check(find, topic="protocol", severity="quarantine", formerly=("protocol_cameras",))
