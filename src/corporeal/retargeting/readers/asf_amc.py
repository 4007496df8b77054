"""ASF and AMC, the files of Acclaim and of CMU: bones in one, their angles in the other."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import HumanMotion, MotionError
from corporeal.retargeting.reader import ClipHints, MotionReader
from corporeal.retargeting.skeleton.asf_file import Bones, read_bones
from corporeal.retargeting.skeleton.skeletal_motion import SkeletalClip, person_from_skeleton

# CMU's files do not say their rate; nearly all of them were recorded at this one.
RATE_HZ = 120.0
# Its words are held one by one while it is read: some eight times its size in memory.
MAX_BYTES = 1 << 28
_FIRST_FRAME = re.compile(rb"^[ \t]*\d+[ \t]*\r?$", re.MULTILINE)
_NAME = re.compile(rb"^[ \t]*([A-Za-z_][^\s]*)", re.MULTILINE)


def recognises(path: Path) -> bool:
    """Whether the file is called .amc and holds a numbered frame with a root."""
    if path.suffix.lower() != ".amc":
        return False
    with path.open("rb") as file:
        beginning = file.read(1 << 16)
    return re.search(rb"^[ \t]*\d+[ \t]*\r?\n[ \t]*[A-Za-z_]", beginning, re.MULTILINE) is not None


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person in an AMC file and the ASF beside it, or the one that `hints` name."""
    return person_from_skeleton(read_clip(path, hints), hints)


def read_clip(path: Path, hints: ClipHints) -> SkeletalClip:
    """The bones and the motion as they are, in their own unit and axes."""
    bones = read_bones(hints.bones or _bones_beside(path))
    if path.stat().st_size > MAX_BYTES:
        raise MotionError(f"{path}: larger than {MAX_BYTES >> 20} MiB. Cut the clip into parts.")
    data = path.read_bytes()
    start = _FIRST_FRAME.search(data)
    if start is None:
        raise MotionError(f"{path}: holds no numbered frame; expected an AMC motion.")
    radians = re.search(rb":RADIANS", data[: start.start()], re.IGNORECASE) is not None
    body = data[start.start() :]
    first_line = data.count(b"\n", 0, start.start()) + 1
    order, width = _order(path, body, bones)
    table, notes = _table(path, body, order, bones, width, first_line)
    if radians:
        turned = [at for joint in bones.hierarchy.joints for _, at in joint.turns]
        table[:, turned] = np.degrees(table[:, turned])
    if hints.rate_hz is None:
        notes = (*notes, f"the file does not say its rate: {RATE_HZ:.0f} Hz, as CMU's are")
    return SkeletalClip(
        path=path,
        format="asf_amc",
        hierarchy=bones.hierarchy,
        table=table,
        rate_hz=hints.rate_hz or RATE_HZ,
        unit=bones.unit,
        notes=notes,
    )


def _bones_beside(path: Path) -> Path:
    """The ASF of the same name, or of the part before the last underscore: 01_01.amc, 01.asf."""
    stem = path.stem
    while stem:
        for suffix in (".asf", ".ASF"):
            candidate = path.with_name(stem + suffix)
            if candidate.is_file():
                return candidate
        stem = stem.rpartition("_")[0]
    raise MotionError(
        f"{path}: an AMC needs the ASF of its person, and none is beside it; expected "
        f"{path.stem}.asf or {path.stem.partition('_')[0]}.asf. Name it with --bones."
    )


def _order(path: Path, body: bytes, bones: Bones) -> tuple[list[str], int]:
    """The bones of the first frame in order, and how many numbers a frame has, its own counted."""
    second = _FIRST_FRAME.search(body, body.find(b"\n") + 1)
    first = body[: second.start()] if second else body
    order = [name.decode(errors="replace") for name in _NAME.findall(first)]
    unknown = [name for name in order if name not in bones.columns]
    if unknown or len(set(order)) < len(order) or not order:
        raise MotionError(
            f"{path}: moves {unknown[0] if unknown else 'a bone twice'!r} in its first frame; "
            f"expected bones of its ASF: {', '.join(bones.columns)}. Name the right --bones."
        )
    return order, 1 + sum(len(bones.columns[name]) for name in order)


def _table(
    path: Path, body: bytes, order: list[str], bones: Bones, width: int, first_line: int
) -> tuple[Array, tuple[str, ...]]:
    """The values (T, C) in the columns of the skeleton; a bone that never moves leaves zeros."""
    rows = _rows(body, order, bones, width)
    notes: tuple[str, ...] = ()
    if rows is None:
        rows = _rows(_whole_frames(path, body, order, bones, first_line), order, bones, width)
        notes = ("cut off: its last frame is not whole, and left out",)
    if rows is None or not len(rows):
        raise MotionError(f"{path}: holds no whole frame. Export it again.")
    table = np.zeros((len(rows), sum(map(len, bones.columns.values()))))
    table[:, [at for name in order for at in bones.columns[name]]] = rows[:, 1:]
    return table, notes


def _rows(body: bytes, order: list[str], bones: Bones, width: int) -> Array | None:
    """The numbers (T, W) of frames that are all like the first one; None if one is not."""
    words = body.split()
    period = width + len(order)
    frames, rest = divmod(len(words), period)
    at = 1
    for name in order:
        if rest or set(words[at::period]) - {name.encode()}:
            return None
        words[at::period] = [b""] * frames
        at += 1 + len(bones.columns[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(b" ".join(words), np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    rows = numbers.reshape(frames, width) if numbers.size == frames * width else None
    return rows if rows is not None and bool(np.all(np.diff(rows[:, 0]) == 1)) else None


def _whole_frames(
    path: Path, body: bytes, order: list[str], bones: Bones, first_line: int
) -> bytes:
    """The motion up to its last whole frame; a fault before that is an error with its line."""
    lines = body.split(b"\n")
    starts = [at for at, line in enumerate(lines) if line.strip().isdigit()]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        filled = [at for at in range(start + 1, stop) if lines[at].strip()]
        fault = first_line + start
        for at, name in zip(filled, order, strict=False):
            if not _is_whole(lines[at].split(), name, len(bones.columns[name])):
                fault = first_line + at
                break
        else:
            if len(filled) == len(order):
                continue
        if start == starts[-1] and len(filled) <= len(order):
            return b"\n".join(lines[:start])
        raise MotionError(
            f"{path}:{fault}: a frame that is not like the first one; expected the bones "
            f"{', '.join(order[:4])} ... in this order, each with its numbers. Mend or remove it."
        )
    raise MotionError(f"{path}: its frames are not numbered one after the other. Export it again.")


def _is_whole(words: list[bytes], name: str, values: int) -> bool:
    if len(words) != values + 1 or words[0].decode(errors="replace") != name:
        return False
    try:
        np.array(words[1:], np.float64)
    except ValueError:
        return False
    return True


READER = MotionReader(
    recognises=recognises, read=read, description="AMC: angles for the bones of an ASF"
)
