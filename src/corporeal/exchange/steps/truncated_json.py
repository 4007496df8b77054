"""JSON that a recorder wrote piece by piece, and that may break off where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corporeal.errors import EpisodeError
from corporeal.exchange.json_text import MAX_BYTES


def read_truncated_json(path: Path, *, growing: str) -> tuple[dict[str, Any], bool]:
    """The object in a file, and whether the file breaks off.

    Then the object has what is whole: of the list under the key `growing`, every whole item.
    Raises EpisodeError when there is none.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise EpisodeError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected an episode.")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EpisodeError(f"{path}: cannot be read ({error}). Replace the file.") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        document = _whole_part(text, growing)
        if not document.get(growing):
            raise EpisodeError(f"{path}: not JSON ({error}). Replace the file.") from None
        return document, True
    if not isinstance(document, dict):
        raise EpisodeError(f"{path}: got {type(document).__name__}; expected {{...}}.")
    return document, False


def _whole_part(text: str, growing: str) -> dict[str, Any]:
    decoder = json.JSONDecoder()
    document: dict[str, Any] = {}
    place = text.find("{") + 1
    try:
        while place < len(text):
            key, place = decoder.raw_decode(text, _value(text, place, ","))
            place = _value(text, place, ":")
            if key != growing:
                document[str(key)], place = decoder.raw_decode(text, place)
                continue
            items = document[growing] = []
            place = _value(text, place, "[")
            while place < len(text):
                item, place = decoder.raw_decode(text, _value(text, place, ","))
                items.append(item)
    except (ValueError, RecursionError):
        return document  # Here it breaks off.
    return document


def _value(text: str, place: int, sign: str) -> int:
    """Where the next value begins: one `sign` and the white space around it are passed over."""
    place = _spaces(text, place)
    return _spaces(text, place + 1) if text[place : place + 1] == sign else place


def _spaces(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place
