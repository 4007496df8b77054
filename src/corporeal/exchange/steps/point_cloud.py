"""Point clouds in PCD files: the coordinates x, y, z of every point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.exchange.steps.steps import read_bytes
from corporeal.schema import roles

MAX_HEAD = 1 << 12
MAX_POINTS = 1 << 22
_KINDS = {"F": "f", "I": "i", "U": "u"}
_SIZES = {"F": (4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}


def read_pcd(path: Path) -> NDArray[np.float32]:
    """The points (n, 3) of a file with plain text or plain bytes in it."""
    raw = read_bytes(path)
    try:
        return _points(raw)
    except (ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: not a PCD file ({reason}). Replace it.") from None


def _points(raw: bytes) -> NDArray[np.float32]:
    head, body = _head(raw)
    names = head["FIELDS"]
    sizes, kinds = [int(size) for size in head["SIZE"]], head["TYPE"]
    counts = [int(count) for count in head.get("COUNT", ["1"] * len(names))]
    number = int(head["POINTS"][0])
    if not len(names) == len(sizes) == len(kinds) == len(counts) <= 64:
        raise ValueError("its fields, sizes and types do not agree")
    if not 0 <= number <= MAX_POINTS or not all(0 < count <= 256 for count in counts):
        raise ValueError(f"{number} points; expected at most {MAX_POINTS}")
    wanted = [names.index(axis) for axis in roles.POSITION]
    if head["DATA"] == ["ascii"]:
        starts = np.cumsum([0, *counts])
        values = np.array(body.decode("ascii").split(), np.float64)
        rows = values.reshape(number, int(starts[-1]))
        return rows[:, starts[wanted]].astype(np.float32)
    if head["DATA"] != ["binary"]:
        raise ValueError(f"{' '.join(head['DATA'])} data; expected ascii or binary")
    if any(size not in _SIZES[kind] for size, kind in zip(sizes, kinds, strict=True)):
        raise ValueError("types that are not numbers")
    layout = np.dtype(
        [
            (f"f{place}", f"<{_KINDS[kind]}{size}", (count,))
            for place, (kind, size, count) in enumerate(zip(kinds, sizes, counts, strict=True))
        ]
    )
    table = np.frombuffer(body, layout, number)
    return np.stack([table[f"f{place}"][:, 0] for place in wanted], axis=1).astype(np.float32)


def _head(raw: bytes) -> tuple[dict[str, list[str]], bytes]:
    """The lines before the data, by their first word, and the data."""
    found: dict[str, list[str]] = {}
    place = 0
    while "DATA" not in found:
        end = raw.find(b"\n", place, MAX_HEAD)
        if end < 0:
            raise ValueError("no DATA line at its beginning")
        words = raw[place:end].decode("ascii").split()
        if words and not words[0].startswith("#"):
            found[words[0]] = words[1:]
        place = end + 1
    return found, raw[place:]
