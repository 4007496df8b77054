"""What people mark while an episode is recorded, as a page or a foot pedal sends it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from corporeal.episode.facts import CORRECTION, check_mode
from corporeal.errors import CorporealError

LONGEST_TEXT = 500
What = Literal["segment", "note", "outcome", "answer", "button", "check"]


class MarkError(CorporealError):
    """A mark that cannot be taken."""


@dataclass(frozen=True)
class OperatorMark:
    """One mark: a segment begins, a note, how it ended, an answer, the button was pressed,
    or the calibration is to be checked."""

    what: What
    facts: Mapping[str, Any] = field(default_factory=dict)


def read_mark(message: str | bytes, token: str) -> OperatorMark:
    """The mark of a message; raises MarkError, in one sentence, for anything else."""
    if isinstance(message, bytes):
        raise MarkError("mark, got binary data; expected JSON text.")
    try:
        values = json.loads(message)
    except (ValueError, RecursionError):
        raise MarkError("mark, got no JSON; expected an object with token and mark.") from None
    if not isinstance(values, dict):
        raise MarkError("mark, got no object; expected one with token and mark.")
    if not hmac.compare_digest(str(values.get("token", "")).encode(), token.encode()):
        raise MarkError("token, got another one; expected that of this recorder, in marks.json.")
    name = values.get("mark")
    if not isinstance(name, str) or name not in _READERS:
        raise MarkError(f"mark, got {_short(name)}; expected one of: {', '.join(_READERS)}.")
    strangers = sorted(set(values) - {"token", "mark", *_FIELDS[name]})
    if strangers:
        raise MarkError(f"field {_short(strangers[0])} of the mark {name} is not known; expected: "
                        f"{', '.join(_FIELDS[name]) or 'none'}.")  # fmt: skip
    return _READERS[name](values)


def segment_mark(mode: str | None, *, note: str | None = None) -> OperatorMark:
    """From now on the demonstration is in `mode`; None: as it began."""
    return OperatorMark(
        "segment", {"mode": None if mode is None else check_mode(mode), "note": note}
    )


def _segment(values: Mapping[str, Any]) -> OperatorMark:
    mode = _text(values, "mode", is_needed=False)
    if mode is None and not _flag(values, "end", default=False):
        raise MarkError("segment, got neither mode nor end; expected a mode, or end: true.")
    try:
        return segment_mark(mode, note=_text(values, "note", is_needed=False))
    except MarkError:
        raise
    except CorporealError as error:
        raise MarkError(str(error)) from None


def _intervention(values: Mapping[str, Any]) -> OperatorMark:
    mode = CORRECTION if _flag(values, "on") else None
    return segment_mark(mode, note=_text(values, "note", is_needed=False))


def _outcome(values: Mapping[str, Any]) -> OperatorMark:
    success, failure = _flag(values, "success"), _text(values, "failure", is_needed=False)
    if success and failure:
        raise MarkError("outcome, got a success with a failure; expected one of them.")
    return OperatorMark("outcome", {"outcome": {"success": success, "failure": failure}})


def _note(values: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("note", {"text": _text(values, "text")})


def _answer(values: Mapping[str, Any]) -> OperatorMark:
    facts = {"question": _text(values, "question"), "answer": _flag(values, "answer")}
    return OperatorMark("answer", facts)


def _button(_: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("button")


def _check(_: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("check")


def _text(values: Mapping[str, Any], name: str, *, is_needed: bool = True) -> str | None:
    value = values.get(name)
    if value is None and not is_needed:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
        raise MarkError(f"{name}, got {_short(value)}; expected 1 to {LONGEST_TEXT} characters.")
    return value


def _flag(values: Mapping[str, Any], name: str, *, default: bool | None = None) -> bool:
    value = values.get(name, default)
    if not isinstance(value, bool):
        raise MarkError(f"{name}, got {_short(value)}; expected true or false.")
    return value


def _short(value: Any) -> str:
    # A repr of what is nested deeply, or is huge, would be no sentence.
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return repr(value)[:60]


_READERS: dict[str, Callable[[Mapping[str, Any]], OperatorMark]] = {
    "segment": _segment,
    "intervention": _intervention,
    "outcome": _outcome,
    "note": _note,
    "answer": _answer,
    "button": _button,
    "check": _check,
}
_FIELDS = {
    "segment": ("mode", "end", "note"),
    "intervention": ("on", "note"),
    "outcome": ("success", "failure"),
    "note": ("text",),
    "answer": ("question", "answer"),
    "button": (),
    "check": (),
}
