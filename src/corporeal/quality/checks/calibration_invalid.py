"""The calibration was valid when the episode started and still when it ended."""

import json
from collections.abc import Mapping
from typing import Any

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject

_ERRORS = ("position_error_m", "rotation_error_rad")


def find(
    subject: Subject, *, max_position_m: float = 0.003, max_rotation_rad: float = 0.01745
) -> Findings:
    """Yield a verification that was off by more than 3 mm or 1 degree, or a change in between.

    The metadata's `calibration` has `start` and `end`, each with `position_error_m`,
    `rotation_error_rad`, `passed` or `id`, as far as they are known; it may be JSON in a text.
    Where it says nothing of the start, the errors of the calibration document that the episode
    carries hold for it. What people state later with `corporeal rejudge --calibration-end` (or
    `--calibration-start`) comes before both.

    A recorder also writes down that the check of the station's markers was overdue (`check`), which
    counts unless the end was verified, and that somebody recorded although it had failed (`halt`).

    Why: a camera that moved makes every picture disagree with the joints beneath it.
    Fix: calibrate again; hold back every episode since the last good verification.
    """
    ends = _verifications(subject)
    said = _mapping(subject.recording.facts.other.get("calibration"))
    yield from _judge_station(said, is_confirmed=_is_good(ends.get("end"), max_position_m))
    if not ends and not said.keys() & {"halt", "check"}:
        raise NotAssessed("the metadata holds no verification of the calibration")
    for name, end in ends.items():
        yield from _judge(name, end, max_position_m, max_rotation_rad)
    ids = {str(end["id"]) for end in ends.values() if "id" in end}
    if len(ids) > 1:
        yield Finding(f"the calibration changed during the episode: {' and '.join(sorted(ids))}")
    if ends and "end" not in ends:
        yield Finding("the calibration was not verified at the end", severity="note")


def _judge_station(said: Mapping[str, Any], *, is_confirmed: bool) -> Findings:
    """What the recorder knew of the station's markers as the episode began."""
    halt, check = _mapping(said.get("halt")), _mapping(said.get("check"))
    if halt:
        why = str(halt.get("override") or "no reason given")[:200]
        yield Finding(f"recorded although the calibration had failed its check: {why}")
    if check.get("state") == "overdue" and not is_confirmed:
        last = check.get("last")
        since = f"last passed at {str(last)[:16]}" if last else "never made"
        yield Finding(f"the check of the calibration was overdue: {since}")


def _is_good(end: Mapping[str, Any] | None, max_position_m: float) -> bool:
    """Whether the end was verified, and held."""
    if not end or end.get("passed") is False:
        return False
    error = end.get(_ERRORS[0])
    return not isinstance(error, int | float) or error <= max_position_m


def _verifications(subject: Subject) -> dict[str, Mapping[str, Any]]:
    """What was measured at the start and at the end, as far as anybody says."""
    said = _mapping(subject.recording.facts.other.get("calibration"))
    ends = {name: said[name] for name in ("start", "end") if isinstance(said.get(name), Mapping)}
    document = _mapping(subject.recording.documents.get("calibration"))
    errors = {name: document[name] for name in _ERRORS if name in document}
    if "start" not in ends and errors:
        reference = f"{document.get('name')}@{document.get('version')}"
        ends["start"] = {"id": reference, **errors}
    for name in ("start", "end"):
        later = _mapping(subject.recording.documents.get(f"calibration_{name}"))
        if later:
            ends[name] = {each: later[each] for each in _ERRORS if each in later}
    return ends


def _mapping(said: object) -> Mapping[str, Any]:
    """The mapping itself, or the one that a text holds as JSON; else an empty one."""
    if isinstance(said, str) and said.lstrip().startswith("{"):
        try:
            said = json.loads(said)
        except ValueError:
            return {}
    return said if isinstance(said, Mapping) else {}


def _judge(
    name: str, end: Mapping[str, Any], max_position_m: float, max_rotation_rad: float
) -> Findings:
    if end.get("passed") is False:
        yield Finding(f"the calibration did not pass its verification at the {name}")
    limits = zip(_ERRORS, (max_position_m, max_rotation_rad), ("m", "rad"), strict=True)
    for field, limit, what in limits:
        error = end.get(field)
        if isinstance(error, int | float) and error > limit:
            message = f"the calibration is off by {error:.4g} {what} at the {name}"
            yield Finding(message, value=float(error), limit=limit)


CHECK = Check(
    find, topic="records", severity="quarantine", unit="m", formerly=("calibration_valid",)
)
