"""What people mark while an episode is recorded, as a page or a foot pedal sends it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from corporeal.episode.facts import CORRECTION, check_mode
from corporeal.errors import CorporealError

LONGEST_TEXT, LONGEST_NAME = 500, 60
What = Literal[
    "start", "end", "discard", "outcome", "segment", "note", "answer", "button", "check", "refuse"
]


class MarkError(CorporealError):
    """A mark that cannot be taken."""


@dataclass(frozen=True)
class OperatorMark:
    """One mark: a demonstration begins, ends, is discarded or judged, a segment, a note, a press,
    the calibration is to be checked, or the card of a campaign is refused.

    `by` is who made it, where that is known; `ends` says that the demonstration ends with it.
    """

    what: What
    facts: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None
    ends: bool = False

    def to_json(self) -> dict[str, Any]:
        """What the journal keeps of it."""
        return dict(self.facts) if self.by is None else {**self.facts, "by": self.by}


def read_mark(message: str | bytes, token: str | None) -> OperatorMark:
    """The mark of a message; raises MarkError, in one sentence, for anything else.

    Without a token whoever sends it is known already.
    """
    if isinstance(message, bytes):
        raise MarkError("mark, got binary data; expected JSON text.")
    try:
        values = json.loads(message)
    except (ValueError, RecursionError):
        raise MarkError("mark, got no JSON; expected an object with token and mark.") from None
    if not isinstance(values, dict):
        raise MarkError("mark, got no object; expected one with token and mark.")
    given = str(values.get("token", "")).encode()
    if token is not None and not hmac.compare_digest(given, token.encode()):
        raise MarkError("token, got another one; expected that of this recorder, in marks.json.")
    name = values.get("mark")
    if not isinstance(name, str) or name not in _READERS:
        raise MarkError(f"mark, got {_short(name)}; expected one of: {', '.join(_READERS)}.")
    strangers = sorted(set(values) - {"token", "mark", "by", *_FIELDS[name]})
    if strangers:
        raise MarkError(f"field {_short(strangers[0])} of the mark {name} is not known; expected: "
                        f"{', '.join(_FIELDS[name]) or 'none'}.")  # fmt: skip
    return replace(_READERS[name](values), by=_who(values))


def why_not(
    mark: OperatorMark,
    *,
    running: str | None,
    is_open: bool,
    by_hand: bool,
    is_wanted: bool,
    is_halted: bool,
    rest: str = "",
) -> str | None:
    """Why a recorder cannot take a mark now; None where it can.

    `running` is the take whose demonstration has not ended; `is_open`: one may still be spoken of;
    `by_hand`: people start takes; `is_wanted`: another one may begin; `is_halted`: none, since the
    station's calibration did not hold; `rest` is why whoever works must rest first, if they must.
    """
    if mark.what in ("button", "start") and not by_hand:
        what = "a press of the button" if mark.what == "button" else "start"
        return f"{what}; expected a recorder with the trigger key."
    if mark.what == "start" and running is not None:
        return f"start: {running} is being recorded already."
    if mark.what == "start" and not is_wanted:
        return "start: this recorder is at its end. Start another: corporeal record."
    if mark.what == "start" and is_halted:
        return "start: the station is halted, since a check of its calibration failed. Mend it."
    if mark.what == "start" and rest:
        return f"start: {rest}"
    if mark.what == "end" and running is None:
        return "end: nothing is being recorded."
    needs_take = mark.what not in ("button", "check", "start", "end", "refuse")
    if needs_take and (running is None if mark.what == "segment" else not is_open):
        return f"{mark.what}: no episode is open that it could be of."
    return None


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
    facts = {"outcome": {"success": success, "failure": failure}}
    return OperatorMark("outcome", facts, ends=_flag(values, "end", default=False))


def _start(_: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("start")


def _end(_: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("end", ends=True)


def _discard(values: Mapping[str, Any]) -> OperatorMark:
    reason = _text(values, "reason", is_needed=False)
    return OperatorMark("discard", {"reason": reason}, ends=True)


def _note(values: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("note", {"text": _text(values, "text")})


def _answer(values: Mapping[str, Any]) -> OperatorMark:
    facts = {"question": _text(values, "question"), "answer": _flag(values, "answer")}
    return OperatorMark("answer", facts)


def _button(_: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("button")


def _check(_: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("check")


def _refuse(values: Mapping[str, Any]) -> OperatorMark:
    return OperatorMark("refuse", {"reason": _text(values, "reason")})


def _who(values: Mapping[str, Any]) -> str | None:
    name = _text(values, "by", is_needed=False)
    if name is not None and len(name) > LONGEST_NAME:
        raise MarkError(f"by, got {len(name)} characters; expected {LONGEST_NAME} at most.")
    return name


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
    "start": _start,
    "end": _end,
    "discard": _discard,
    "segment": _segment,
    "intervention": _intervention,
    "outcome": _outcome,
    "note": _note,
    "answer": _answer,
    "button": _button,
    "check": _check,
    "refuse": _refuse,
}
_FIELDS = {
    "start": (),
    "end": (),
    "discard": ("reason",),
    "segment": ("mode", "end", "note"),
    "intervention": ("on", "note"),
    "outcome": ("success", "failure", "end"),
    "note": ("text",),
    "answer": ("question", "answer"),
    "button": (),
    "check": (),
    "refuse": ("reason",),
}
