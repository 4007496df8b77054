"""What a reader of human motion is, and how a file finds its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corporeal.array_file import ArrayFileError
from corporeal.errors import UnknownNameError
from corporeal.files import refuse_pointer
from corporeal.registry import plugins
from corporeal.retargeting.motion import HumanMotion, Markers, MotionError

MAX_BYTES = 1 << 31


@dataclass(frozen=True)
class ClipHints:
    """What a person says about a file that the file does not say itself; all may be left out.

    `skeleton` is a built-in name or a document that maps names to anatomy; `unit` one of m, cm,
    mm, in; `up` one of x, y, z, -x, -y, -z; `rate_hz` for files without one; `bones` the ASF of
    an AMC; `person` the one to follow where a file holds several.
    """

    skeleton: str | None = None
    unit: str | None = None
    up: str | None = None
    rate_hz: float | None = None
    bones: Path | None = None
    person: str | None = None


@dataclass(frozen=True)
class MotionReader:
    """One kind of file: `recognises` looks at its beginning, `read` reads it whole.

    `markers` reads what was measured, whoever or whatever wears it; None where a file holds none.
    """

    recognises: Callable[[Path], bool]
    read: Callable[[Path, ClipHints], HumanMotion]
    description: str
    markers: Callable[[Path], Markers] | None = None


@cache
def readers() -> dict[str, MotionReader]:
    """All readers by name: a file `readers/<name>.py` that ends in READER is all one needs."""
    return plugins("corporeal.retargeting.readers", "READER", MotionReader)


def read_motion(
    path: Path, hints: ClipHints | None = None, *, kind: str | None = None
) -> HumanMotion:
    """The motion in a file; raises MotionError with one sentence for one that holds none."""
    try:
        return _reader_of(path, kind).read(path, hints or ClipHints())
    except ArrayFileError as error:
        raise MotionError(str(error)) from None


def read_markers(path: Path, *, kind: str | None = None) -> Markers:
    """The markers in a file, in its own unit and axes; raises MotionError where it has none."""
    reader = _reader_of(path, kind)
    if reader.markers is None:
        able = "; ".join(each.description for each in readers().values() if each.markers)
        raise MotionError(
            f"{path}: got {reader.description}; expected measured markers ({able}). "
            "Export the markers."
        )
    return reader.markers(path)


def _reader_of(path: Path, kind: str | None) -> MotionReader:
    """The reader that is asked for or recognises the file, once it may be opened."""
    if not path.is_file():
        raise MotionError(f"{path}: no such file. Name a file of human motion.")
    refuse_pointer(path)
    size = path.stat().st_size
    if not size:
        raise MotionError(f"{path}: is empty; expected human motion. Copy or export it again.")
    if size > MAX_BYTES:
        raise MotionError(f"{path}: {size >> 20} MiB; expected at most {MAX_BYTES >> 20}. Cut it.")
    known = readers()
    if kind is not None and kind not in known:
        raise UnknownNameError("format of human motion", kind, known)
    for name, reader in known.items():
        if kind == name or (kind is None and reader.recognises(path)):
            return reader
    raise MotionError(
        f"{path}: not a file of human motion that is known here, or cut off; expected one of "
        f"{', '.join(known)}. Copy it again, or name its kind with --format."
    )
