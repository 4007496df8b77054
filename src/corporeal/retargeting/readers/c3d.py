"""C3D: labelled markers of optical systems, from laboratories of the last four decades."""

from __future__ import annotations

from pathlib import Path

from corporeal.retargeting.marker.c3d_file import is_c3d, read_c3d
from corporeal.retargeting.marker.marker_motion import Markers, person_from_markers
from corporeal.retargeting.motion import HumanMotion
from corporeal.retargeting.reader import ClipHints, MotionReader

_UNITS = {
    "m": "m", "meter": "m", "meters": "m", "metre": "m", "metres": "m", "cm": "cm",
    "centimeters": "cm", "mm": "mm", "millimeters": "mm", "millimetres": "mm", "in": "in",
    "inch": "in", "inches": "in",
}  # fmt: skip


def recognises(path: Path) -> bool:
    """Whether the file begins as a C3D file does."""
    return is_c3d(path)


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person whose markers the file holds; force plates and other channels are not read."""
    content = read_c3d(path)
    # Y_SCREEN is the axis that points up on the screen of the program that wrote the file.
    screen = "".join(content.texts("POINT:Y_SCREEN")[:1]).lower().replace("+", "").strip()
    return person_from_markers(
        Markers(
            path=path,
            format="c3d",
            labels=content.labels,
            positions=content.positions,
            rate_hz=content.rate_hz,
            unit=_UNITS.get(content.unit, content.unit or None),
            up=screen or None,
            notes=content.notes,
        ),
        hints,
    )


READER = MotionReader(recognises, read, "C3D: labelled markers of an optical system")
