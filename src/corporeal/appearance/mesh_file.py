"""Mesh files (STL, OBJ, COLLADA) as triangles, read as if their author meant harm."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from corporeal.appearance.collada import read_collada
from corporeal.appearance.surface import Surface
from corporeal.errors import ModelError
from corporeal.files import refuse_pointer
from corporeal.geometry import Array
from corporeal.xml_text import inside

MOST_BYTES = 64 * 1024 * 1024
MOST_TRIANGLES = 2_000_000
MOST_LIBRARIES = 16
FARTHEST_M = 1e6
UNPAINTED = 0.7
_STL_HEAD, _STL_TRIANGLE = 84, 50
_STL_TYPE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("mark", "<u2")])


def read_mesh(path: Path, folder: Path) -> Surface:
    """The triangles of a file in the file's own unit; material files must lie in `folder`."""
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise ModelError(
            f"{path}: got a mesh of type {path.suffix or 'unknown'!r}; expected one of: "
            f"{', '.join(READERS)}. Convert it."
        )
    found = read(_content(path), path, folder)
    if not len(found):
        raise ModelError(f"{path}: got no triangle; expected a mesh. Export it again.")
    if len(found) > MOST_TRIANGLES:
        raise ModelError(
            f"{path}: got {len(found)} triangles; expected at most {MOST_TRIANGLES}. Decimate it."
        )
    if not np.isfinite(found.corners).all() or np.abs(found.corners).max() > FARTHEST_M:
        raise ModelError(f"{path}: got corners that are no places; expected finite numbers.")
    return found


def _content(path: Path) -> bytes:
    refuse_pointer(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}. Check the path.") from None
    if len(raw) > MOST_BYTES:
        raise ModelError(
            f"{path}: got more than {MOST_BYTES >> 20} MB; expected less. Decimate it."
        )
    return raw


def _read_stl(raw: bytes, path: Path, _: Path) -> Surface:
    count = int.from_bytes(raw[80:84], "little") if len(raw) >= _STL_HEAD else -1
    if len(raw) >= _STL_HEAD + count * _STL_TRIANGLE > 0 and not _is_text(raw, count):
        values = np.frombuffer(raw, _STL_TYPE, min(count, MOST_TRIANGLES + 1), _STL_HEAD)
        return _unpainted(values["corners"].astype(np.float64))
    if not raw.lstrip()[:5].lower() == b"solid":
        raise ModelError(
            f"{path}: the file is cut off: it claims {count} triangles in {len(raw)} bytes; "
            "expected a whole STL file. Export it again."
        )
    lines = [line.split() for line in raw.splitlines()]
    numbers = [line[1:] for line in lines if line[:1] == [b"vertex"]]
    return _unpainted(_floats(numbers, path)[: len(numbers) // 3 * 3].reshape(-1, 3, 3))


def _is_text(raw: bytes, count: int) -> bool:
    """Whether an STL that begins like text is text: a binary one has the length that it claims."""
    return raw[:5].lower() == b"solid" and len(raw) != _STL_HEAD + count * _STL_TRIANGLE


def _read_obj(raw: bytes, path: Path, folder: Path) -> Surface:
    places: list[list[bytes]] = []
    faces: list[tuple[int, int, int]] = []
    tones: list[int] = []
    colours: dict[bytes, Array] = {}
    libraries: set[bytes] = set()
    names: dict[bytes, int] = {}
    material = b""
    for line in raw.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            places.append(words[1:4])
        elif words[0] == b"f":
            corners = [_number(word, len(places), path) for word in words[1:]]
            tone = names.setdefault(material, len(names))
            for second, third in pairwise(corners[1:]):
                faces.append((corners[0], second, third))
                tones.append(tone)
            if len(faces) > MOST_TRIANGLES:
                break
        elif words[0] == b"usemtl":
            material = b" ".join(words[1:])
        elif words[0] == b"mtllib" and (library := b" ".join(words[1:])) not in libraries:
            libraries.add(library)
            if len(libraries) > MOST_LIBRARIES:
                raise ModelError(
                    f"{path}: names more than {MOST_LIBRARIES} files of materials. Join them."
                )
            colours |= _materials(path.parent / library.decode("utf-8", "replace"), folder)
    if not faces:
        return _unpainted(np.zeros((0, 3, 3)))
    found = _unpainted(_floats(places, path)[np.array(faces)])
    table = np.array([colours.get(name, np.full(3, UNPAINTED)) for name in names])
    return Surface(found.corners, table[np.array(tones)])


def _number(word: bytes, count: int, path: Path) -> int:
    """Which corner a word such as `7//3` or `-1/2` names, from zero."""
    try:
        given = int(word.split(b"/")[0])
    except ValueError:
        given = 0
    at = given - 1 if given > 0 else count + given
    if not given or not 0 <= at < count:
        raise ModelError(
            f"{path}: a face names corner {word[:20]!r} of {count}; expected one that is there. "
            "Export it again."
        )
    return at


def _materials(path: Path, folder: Path) -> dict[bytes, Array]:
    """The diffuse colours of an MTL file by name; none where it is not in the robot's folder."""
    if not inside(folder, path):
        return {}
    found: dict[bytes, Array] = {}
    name = b""
    for line in _content(path).splitlines():
        words = line.split()
        if words[:1] == [b"newmtl"]:
            name = b" ".join(words[1:])
        elif words[:1] == [b"Kd"]:
            found[name] = np.clip(np.nan_to_num(_floats([words[1:4]], path)[0]), 0, 1)
    return found


def _floats(rows: list[list[bytes]], path: Path) -> Array:
    try:
        return np.array(rows, np.float64).reshape(len(rows), 3)
    except ValueError:
        raise ModelError(f"{path}: got a corner that is no 3 numbers; expected x y z.") from None


def _unpainted(corners: Array) -> Surface:
    return Surface(corners, np.full((len(corners), 3), UNPAINTED))


def _read_dae(raw: bytes, path: Path, _: Path) -> Surface:
    return read_collada(raw, path)


READERS: dict[str, Callable[[bytes, Path, Path], Surface]] = {
    ".stl": _read_stl,
    ".obj": _read_obj,
    ".dae": _read_dae,
}
