"""Small files from outside, JSON most of all: bounded in size, one sentence when broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer

MAX_BYTES = 1 << 28


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return _parsed(path, read_text(path))


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one on every line."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            value = _parsed(path, line, number)
            if not isinstance(value, dict):
                raise EpisodeError(
                    f"{path}:{number}: got {type(value).__name__}; expected {{...}}."
                )
            yield value


def write_json(path: Path, values: Any, *, indent: int = 1) -> None:
    """Write a JSON file, with its folder where that is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(values, ensure_ascii=False, indent=indent)
    path.write_text(text + "\n", "utf-8")


def whole(value: Any, default: int = -1) -> int:
    """A whole number, whether it was stored as one or as 3.0; `default` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return int(value) if value == value and abs(value) < 2**62 and int(value) == value else default


def read_bounded(path: Path, *, limit: int, expected: str) -> bytes:
    """The bytes of a file; raises EpisodeError when it has more, or cannot be read."""
    refuse_pointer(path)
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise EpisodeError(f"{path}: cannot be read ({error.strerror}). Replace it.") from None
    if len(data) > limit:
        raise EpisodeError(f"{path}: larger than {limit >> 20} MiB; expected {expected}.")
    return data


def read_text(path: Path, *, expected: str = "metadata") -> str:
    """The text of a file."""
    try:
        return read_bounded(path, limit=MAX_BYTES, expected=expected).decode("utf-8")
    except UnicodeDecodeError as error:
        raise EpisodeError(f"{path}: cannot be read ({error}). Replace the file.") from None


def _parsed(path: Path, text: str, number: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        where = path if number is None else f"{path}:{number}"
        raise EpisodeError(f"{where}: not JSON ({error}). Replace the file.") from None
