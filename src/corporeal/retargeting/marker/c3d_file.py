"""C3D files: the header, the parameters and the marker positions, of all three kinds of machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.marker.c3d_parameters import (
    BLOCK,
    Machine,
    Value,
    long_of,
    number_of,
    read_parameters,
)
from corporeal.retargeting.motion import MotionError

MAX_POSITIONS = 1 << 25
_KEY = 80
_CHUNK = 1 << 22
# The header counts frames in 16 bits, so a longer clip has this as its last frame.
_FULL = 65535


@dataclass(frozen=True, eq=False)
class C3D:
    """What a C3D file says of its markers.

    `positions` (T, M, 3) are in the file's own `unit` and axes, NaN where a marker was not seen.
    `parameters` are by `GROUP:NAME`. `notes` say where the file contradicts itself.
    """

    labels: tuple[str, ...]
    positions: Array
    rate_hz: float
    unit: str
    parameters: Mapping[str, Value]
    notes: tuple[str, ...] = ()

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a parameter, none where it is missing or holds numbers."""
        return tuple(each for each in self.parameters.get(name, ()) if isinstance(each, str))


@dataclass(frozen=True)
class _Layout:
    """Where the frames lie and how one of them is built."""

    machine: Machine
    points: int
    analog: int
    frames: int
    start: int
    scale: float
    rate_hz: float

    @property
    def width(self) -> int:
        """Bytes of one number."""
        return 4 if self.scale < 0 else 2

    @property
    def frame_bytes(self) -> int:
        return (4 * self.points + self.analog) * self.width


def is_c3d(path: Path) -> bool:
    """Whether the file begins as a C3D file does."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError:
        return False
    return len(start) == 2 and start[0] > 0 and start[1] == _KEY


def read_c3d(path: Path) -> C3D:
    """The markers of a C3D file; raises MotionError with one sentence where it is none or broken.

    Analogue channels, events and camera masks are not read.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(BLOCK)
            if len(header) < BLOCK or header[1] != _KEY:
                raise MotionError(f"{path}: does not begin as a C3D file does. Give another file.")
            machine, parameters = read_parameters(file, path, header[0])
            layout, notes = _layout(path, header, machine, parameters, size)
            positions = _positions(file, path, layout)
    except OSError as error:
        raise MotionError(f"{path}: cannot be read ({error.strerror}). Check the file.") from None
    unit = next((each for each in parameters.get("POINT:UNITS", ()) if isinstance(each, str)), "")
    return C3D(
        labels=_labels(parameters, layout.points),
        positions=positions,
        rate_hz=layout.rate_hz,
        unit=unit.strip().lower(),
        parameters=parameters,
        notes=tuple(notes),
    )


def _layout(
    path: Path, header: bytes, machine: Machine, parameters: Mapping[str, Value], size: int
) -> tuple[_Layout, list[str]]:
    """The layout by header and parameters; where they differ the parameters win, with a note."""
    notes: list[str] = []

    def chosen(what: str, name: str, said: float) -> float:
        known = number_of(parameters, name)
        if known is None:
            return said
        if said not in (known, 0.0) and not math.isclose(said, known, rel_tol=1e-4):
            notes.append(f"{what}: the header says {said:g}, {name} says {known:g}; took {known:g}")
        return known

    words = machine.integer_array(header[2:20]).view(np.uint16).astype(int)
    scale, rate = (float(machine.real_array(header[at : at + 4])[0]) for at in (12, 20))
    points = int(chosen("markers", "POINT:USED", float(words[0])) % (1 << 16))
    start = int(chosen("first block of data", "POINT:DATA_START", float(words[7])) % (1 << 16))
    scale = chosen("scale", "POINT:SCALE", scale)
    rate = chosen("rate", "POINT:RATE", rate)
    if points == 0 or start < 2 or not math.isfinite(scale) or scale == 0.0:
        raise MotionError(
            f"{path}: got {points} markers from block {start} on with scale {scale:g}; expected "
            "markers after the header. The file holds no marker positions: export them."
        )
    begin = (start - 1) * BLOCK
    layout = _Layout(machine, points, int(words[1]), 0, begin, scale, rate)
    there = max(0, size - begin) // layout.frame_bytes
    frames = _frames(path, parameters, int(words[2]), int(words[3]), there, notes)
    if frames * points > MAX_POSITIONS:
        raise MotionError(
            f"{path}: {frames} frames of {points} markers; expected at most {MAX_POSITIONS} "
            "positions in all. Cut the clip."
        )
    return _Layout(machine, points, int(words[1]), frames, begin, scale, rate), notes


def _frames(
    path: Path,
    parameters: Mapping[str, Value],
    first: int,
    last: int,
    there: int,
    notes: list[str],
) -> int:
    claims = [last - first + 1]
    begin, end = (long_of(parameters, f"TRIAL:ACTUAL_{which}_FIELD") for which in ("START", "END"))
    if begin is not None and end is not None:
        claims.append(end - begin + 1)
    for name in ("POINT:LONG_FRAMES", "POINT:FRAMES"):
        known = number_of(parameters, name)
        if known is not None:
            # Written as a 16-bit integer, which is meant without a sign.
            claims.append(int(known) % (1 << 16) if known < 0 else int(known))
    claims = [claim for claim in claims if claim > 0]
    if not claims:
        raise MotionError(f"{path}: got no frames; expected at least one. Export the clip again.")
    claimed = claims[0] if last != _FULL and max(claims) <= _FULL else max(claims)
    if claimed > there:
        fitting = [claim for claim in claims if claim <= there]
        if not fitting:
            raise MotionError(
                f"{path}: ends after {there} of {claimed} frames. Copy the file again."
            )
        notes.append(f"frames: {claimed} are claimed, {there} are there; took {max(fitting)}")
        claimed = max(fitting)
    return claimed


def _positions(file: BinaryIO, path: Path, layout: _Layout) -> Array:
    positions = np.empty((layout.frames, layout.points, 3))
    per_chunk = max(1, _CHUNK // layout.frame_bytes)
    file.seek(layout.start)
    for first in range(0, layout.frames, per_chunk):
        count = min(per_chunk, layout.frames - first)
        data = file.read(count * layout.frame_bytes)
        if len(data) < count * layout.frame_bytes:
            there = first + len(data) // layout.frame_bytes
            raise MotionError(f"{path}: ends after {there} of {layout.frames} frames. Copy again.")
        # A damaged number may be any, also one that warns when it is looked at.
        with np.errstate(invalid="ignore", over="ignore"):
            if layout.width == 4:
                numbers = layout.machine.real_array(data).astype(np.float64)
            else:
                numbers = layout.machine.integer_array(data).astype(np.float64) * layout.scale
            frames = numbers.reshape(count, -1)[:, : 4 * layout.points].reshape(count, -1, 4)
            chunk = positions[first : first + count]
            chunk[:] = frames[..., :3]
            lost = ~np.isfinite(chunk).all(axis=-1) | (frames[..., 3] < 0)
            # Some programs write a lost marker at the origin instead of with a residual of -1.
            lost |= (chunk == 0).all(axis=-1) | (np.abs(chunk) > 1e9).any(axis=-1)
        chunk[lost] = np.nan
    return positions


def _labels(parameters: Mapping[str, Value], points: int) -> tuple[str, ...]:
    """LABELS, LABELS2, LABELS3 and so on: one parameter holds 255 at most."""
    labels: list[str] = []
    for number in range(1, points // 255 + 3):
        name = "POINT:LABELS" + (str(number) if number > 1 else "")
        labels.extend(each for each in parameters.get(name, ()) if isinstance(each, str))
    labels = labels[:points]
    labels.extend(f"*{index}" for index in range(len(labels), points))
    return tuple(labels)
