"""XML files of robots, read as if their author meant harm."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from corporeal.errors import ModelError
from corporeal.files import refuse_pointer

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 256


def read_bytes(path: Path) -> bytes:
    """The content of a robot's file, at most 16 MB."""
    refuse_pointer(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{path}: cannot be read: {reason}. Check the path.") from None
    if len(raw) > MAX_BYTES:
        raise ModelError(
            f"{path}: more than {MAX_BYTES} bytes; expected a robot description. "
            "Keep meshes in files of their own."
        )
    return raw


def parse_xml(raw: bytes, *, source: str, texts: bool = False) -> Element:
    """The root element; refuses document types, entities and nesting beyond `MAX_DEPTH`.

    What stands between tags is kept with `texts` alone: robots say everything in attributes.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ModelError(
                f"{source}:{parser.CurrentLineNumber}: <{tag}> is nested deeper than "
                f"{MAX_DEPTH} levels. Flatten the file."
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> NoReturn:
        # Entities turn a small file into a huge one, or pull in other files.
        raise ModelError(
            f"{source}:{parser.CurrentLineNumber}: got a <!DOCTYPE>; expected plain XML. "
            "Remove the document type and its entities."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if texts:
        parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        # Some programs end a text as C does, with a zero.
        parser.Parse(raw.rstrip(b"\0") if raw[:1] == b"<" and raw[1:2] != b"\0" else raw, True)
        return builder.close()
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        where = f"{source}:{error.lineno}"
    except (LookupError, ValueError, AssertionError) as error:
        reason, where = str(error), source
    raise ModelError(f"{where}: not valid XML: {reason}. Check that the file is complete.")


def read_numbers(text: str, count: int, *, where: str) -> tuple[float, ...]:
    """`count` finite numbers separated by blanks; `where` names file and element in the error."""
    words = text.split()
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(math.isfinite(number) for number in numbers):
        what = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ModelError(f"{where}: got {text[:60]!r}; expected {what}. Correct the file.")
    return numbers


def inside(folder: Path, candidate: Path) -> bool:
    """Whether a path, links followed, lies in `folder` and is a file; it is never opened."""
    try:
        real = candidate.resolve()
        return real.is_relative_to(folder.resolve()) and real.is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def mesh_exists(name: str, path: Path) -> bool:
    """Look beside the file and in the package around it; nothing outside is looked at."""
    folder = path.resolve().parent
    package = folder.parent
    if name.startswith("package://"):
        _, _, within = name.removeprefix("package://").partition("/")
        candidates = [folder / within, package / within]
    else:
        candidates = [folder / name.removeprefix("file://")]
    return any(inside(package, candidate) for candidate in candidates)
