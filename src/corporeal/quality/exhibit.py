"""Small pictures of what was found, for a report that people look at."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from corporeal.errors import CorporealError
from corporeal.quality.check import Finding
from corporeal.quality.subject import Subject

WIDTH = 240
MOST_MOMENTS = 3


@dataclass(frozen=True)
class Exhibit:
    """One small picture: which camera, when, and the JPEG itself."""

    camera: str
    time_s: float
    jpeg: bytes


def exhibits_of(subject: Subject, findings: Sequence[Finding]) -> tuple[Exhibit, ...]:
    """A picture of every camera at the first findings that have a time, or in the middle."""
    moments = _moments(subject, findings)
    found: list[Exhibit] = []
    for label, footage in subject.footage.items():
        stamps = footage.time_ns / 1e9
        if not len(stamps):
            continue
        wanted = moments or [float((stamps[0] + stamps[-1]) / 2)]
        numbers = sorted({int(np.abs(stamps - moment).argmin()) for moment in wanted})
        try:
            pictures = footage[numbers]
        except CorporealError:
            continue
        for number, picture in zip(numbers, pictures, strict=True):
            found.append(Exhibit(label, float(stamps[number]), _jpeg(picture)))
    return tuple(found)


def _moments(subject: Subject, findings: Sequence[Finding]) -> list[float]:
    """Seconds at which the worst findings lie, a few at most."""
    moments: list[float] = []
    for finding in sorted(findings, key=lambda each: each.severity != "fail"):
        signal = subject.recording.signals.get(finding.stream or "")
        if signal is None or not finding.frames or not len(signal):
            continue
        first, stop = finding.frames[0]
        middle = min(max(0, (first + stop - 1) // 2), len(signal) - 1)
        moments.append(float(signal.time_ns[middle]) / 1e9)
        if len(moments) == MOST_MOMENTS:
            break
    return moments


def _jpeg(picture: np.ndarray) -> bytes:
    image = Image.fromarray(picture)
    image.thumbnail((WIDTH, WIDTH))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=80)
    return data.getvalue()
