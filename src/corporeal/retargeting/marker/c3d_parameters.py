"""The parameters of a C3D file: a chain of named values, as one of three machines wrote them."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from corporeal.retargeting.motion import MotionError

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
    found: list[tuple[int, str, Value]] = []
    for number, name, body in _records(section, machine):
        if number < 0:
            groups.setdefault(-number, name)
        else:
            value = _value(body, machine)
            if value is not None:
                found.append((number, name, value))
    parameters: dict[str, Value] = {}
    for number, name, value in found:
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
