"""C3D: labelled markers of optical systems, from laboratories of the last four decades."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import left_out
from corporeal.geometry import Array
from corporeal.retargeting.motion import HumanMotion, Markers, MotionError
from corporeal.retargeting.person.marker_motion import person_from_markers
from corporeal.retargeting.reader import ClipHints, MotionReader

BLOCK = 512
_INTEL, _DEC, _MIPS = 84, 85, 86
_TEXT, _BYTE, _INTEGER, _REAL = -1, 1, 2, 4

Value = tuple[str, ...] | tuple[float, ...]


@dataclass(frozen=True)
class Machine:
    """How the machine that wrote a file writes its numbers."""

    integers: str
    reals: str
    vax: bool = False

    def integer_array(self, data: bytes) -> NDArray[np.int16]:
        """The 16-bit integers in `data`, which is a whole number of them long."""
        return np.frombuffer(data, self.integers).astype(np.int16)

    def real_array(self, data: bytes) -> NDArray[np.float32]:
        """The 32-bit numbers in `data`, which is a whole number of them long."""
        if not self.vax:
            return np.frombuffer(data, self.reals).astype(np.float32)
        words = np.frombuffer(data, "<u2").astype(np.uint32)
        bits = (words[0::2] << 16) | words[1::2]
        # A VAX exponent is two larger than that of IEEE; one of zero means zero.
        small = bits & 0x7F80_0000 < 0x0180_0000
        with np.errstate(invalid="ignore"):
            return np.where(small, np.float32(0), bits.view(np.float32) / np.float32(4))


_MACHINES = {
    _INTEL: Machine("<i2", "<f4"),
    _DEC: Machine("<i2", "<f4", vax=True),
    _MIPS: Machine(">i2", ">f4"),
}


def read_parameters(file: BinaryIO, path: Path, block: int) -> tuple[Machine, dict[str, Value]]:
    """The machine that wrote a file, and the parameters by `GROUP:NAME` that are not damaged."""
    file.seek(max(0, block - 1) * BLOCK)
    start = file.read(4)
    if len(start) < 4:
        raise MotionError(f"{path}: ends before its parameters. Copy the file again.")
    machine = _MACHINES.get(start[3])
    if machine is None:
        raise MotionError(
            f"{path}: got processor type {start[3]}; expected 84 (Intel), 85 (DEC) or 86 (SGI). "
            "The file is damaged: copy it again."
        )
    # At most 255 blocks are countable, so this takes no more than 128 KiB; the chain of records
    # ends itself, and the count of blocks is often wrong.
    section = file.read(255 * BLOCK)
    groups: dict[int, str] = {}
    records: list[tuple[int, str, Value]] = []
    for number, name, body in _records(section, machine):
        if number < 0:
            groups.setdefault(-number, name)
        else:
            value = _value(body, machine)
            if value is not None:
                records.append((number, name, value))
    parameters: dict[str, Value] = {}
    for number, name, value in records:
        parameters.setdefault(f"{groups.get(number, str(number))}:{name}", value)
    if not any(key.startswith("POINT:") for key in parameters):
        raise MotionError(f"{path}: has no parameters of its markers. Export the clip again.")
    return machine, parameters


def _records(section: bytes, machine: Machine) -> Iterator[tuple[int, str, bytes]]:
    """The groups (negative number) and parameters of the chain: number, name, body."""
    at = 0
    while at + 4 <= len(section):
        length, number = struct.unpack_from("<bb", section, at)
        length = abs(length)
        pointer = at + 2 + length
        if length == 0 or number == 0 or pointer + 2 > len(section):
            return
        name = _text(section[at + 2 : pointer]).upper()
        step = struct.unpack_from(machine.integers[0] + "H", section, pointer)[0]
        stop = pointer + step if step else len(section)
        yield number, name, section[pointer + 2 : stop]
        if step < 2:
            return
        at = stop


def _value(body: bytes, machine: Machine) -> Value | None:
    """The value of a parameter, None where the record is damaged."""
    if len(body) < 2:
        return None
    kind, dimensions = struct.unpack_from("<bB", body)
    if dimensions > 7 or len(body) < 2 + dimensions or kind not in (-1, 1, 2, 4):
        return None
    sizes = tuple(body[2 : 2 + dimensions])
    data = body[2 + dimensions : 2 + dimensions + math.prod(sizes) * abs(kind)]
    data = data[: len(data) // abs(kind) * abs(kind)]
    if kind == _TEXT:
        width = sizes[0] if sizes else 1
        if width == 0:
            return ()
        return tuple(
            _text(data[index : index + width]).strip() for index in range(0, len(data), width)
        )
    if kind == _BYTE:
        return tuple(float(each) for each in data)
    numbers = machine.integer_array(data) if kind == _INTEGER else machine.real_array(data)
    return tuple(float(each) for each in numbers)


def _text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace")


def number_of(parameters: Mapping[str, Value], name: str) -> float | None:
    """The first number of a parameter, None where there is none."""
    values = parameters.get(name, ())
    first = values[0] if values else None
    return first if isinstance(first, float) and math.isfinite(first) else None


def long_of(parameters: Mapping[str, Value], name: str) -> int | None:
    """A count in two 16-bit words, the low one first."""
    words = [each for each in parameters.get(name, ()) if isinstance(each, float)]
    if not words or not all(map(math.isfinite, words)):
        return None
    low = int(words[0]) % (1 << 16)
    return low + (int(words[1]) % (1 << 16) << 16 if len(words) > 1 else 0)


MAX_POSITIONS = 1 << 25
_KEY = 80
_UNITS = {
    "m": "m", "meter": "m", "meters": "m", "metre": "m", "metres": "m", "cm": "cm",
    "centimeters": "cm", "mm": "mm", "millimeters": "mm", "millimetres": "mm", "in": "in",
    "inch": "in", "inches": "in",
}  # fmt: skip
_CHUNK = 1 << 22
# The header counts frames in 16 bits, so a longer clip has this as its last frame.
_FULL = 65535


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


def recognises(path: Path) -> bool:
    """Whether the file begins as a C3D file does."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError:
        return False
    return len(start) == 2 and start[0] > 0 and start[1] == _KEY


def read_c3d(path: Path) -> Markers:
    """The markers of a C3D file; raises MotionError with one sentence where it is none or broken.

    Analogue channels, events and camera masks are not read; notes say where the file contradicts
    itself.
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
    unit = _text_of(parameters, "POINT:UNITS")
    return Markers(
        path=path,
        format="c3d",
        labels=_labels(parameters, layout.points),
        positions=positions,
        rate_hz=layout.rate_hz,
        unit=_UNITS.get(unit, unit or None),
        # The axis that points up on the screen of the program that wrote the file.
        up=_text_of(parameters, "POINT:Y_SCREEN").replace("+", "").strip() or None,
        notes=tuple(notes),
        beside=tuple(
            left_out(f"analog {name}", "column", "forces and voltages are no part of a motion")
            for name in _channels(parameters)
        ),
    )


def _channels(parameters: Mapping[str, Value]) -> list[str]:
    """The names of the analog channels; those without one are numbered."""
    used = parameters.get("ANALOG:USED") or (0,)
    count = int(float(used[0])) if not isinstance(used[0], str) else 0
    named = [str(name).strip() for name in parameters.get("ANALOG:LABELS", ())]
    named += [""] * (count - len(named))
    return [name or f"channel {number}" for number, name in enumerate(named[:count])]


def _text_of(parameters: Mapping[str, Value], name: str) -> str:
    """The first text of a parameter in lower case, empty where there is none."""
    texts = (value for value in parameters.get(name, ()) if isinstance(value, str))
    return next(texts, "").strip().lower()


def _layout(
    path: Path, header: bytes, machine: Machine, parameters: Mapping[str, Value], size: int
) -> tuple[_Layout, list[str]]:
    """The layout by header and parameters; where they differ the parameters win, with a note."""
    notes: list[str] = []

    def chosen(what: str, name: str, claim: float) -> float:
        known = number_of(parameters, name)
        if known is None:
            return claim
        if known == 0.0 and claim != 0.0:
            # Some programs leave parameters empty; the header is what others read by.
            notes.append(f"{what}: the header says {claim:g}, {name} says 0; took {claim:g}")
            return claim
        if claim not in (known, 0.0) and not math.isclose(claim, known, rel_tol=1e-4):
            notes.append(
                f"{what}: the header says {claim:g}, {name} says {known:g}; took {known:g}"
            )
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
    return replace(layout, frames=frames), notes


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


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person whose markers the file holds; force plates and other channels are not read."""
    return person_from_markers(read_c3d(path), hints)


READER = MotionReader(recognises, read, "C3D: labelled markers of an optical system", read_c3d)
