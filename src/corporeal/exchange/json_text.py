"""JSON files: those from outside are bounded in size, and one sentence when they are broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corporeal.errors import EpisodeError

MAX_BYTES = 1 << 28


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return _parsed(path, _text(path))


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one on every line."""
    for number, line in enumerate(_text(path).splitlines(), start=1):
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


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise EpisodeError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected metadata.")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EpisodeError(f"{path}: cannot be read ({error}). Replace the file.") from None


def _parsed(path: Path, text: str, number: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        where = path if number is None else f"{path}:{number}"
        raise EpisodeError(f"{where}: not JSON ({error}). Replace the file.") from None
