"""The calibration was valid when the episode started and still when it ended."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import UNSURE_M, UNSURE_PX, UNSURE_RAD
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.signal.stretch import main_stretch
from corporeal.units import SECOND_NS

_ERRORS = ("position_error_m", "rotation_error_rad")
# A day without a zone begins and ends so much earlier or later somewhere on earth.
_ZONES = timedelta(hours=14)


def find(
    subject: Subject, *, max_position_m: float = 0.003, max_rotation_rad: float = 0.01745,
    max_uncertainty_px: float = UNSURE_PX, max_position_sigma_m: float = UNSURE_M,
    max_rotation_sigma_rad: float = UNSURE_RAD,
) -> Findings:  # fmt: skip
    """Yield a verification that was off by more than 3 mm or 1 degree, or a change in between.

    The metadata's `calibration` has `start` and `end`, each with `position_error_m`,
    `rotation_error_rad`, `passed` or `id`, as far as they are known; it may be JSON in a text.
    Where it says nothing of the start, the errors of the calibration document that the episode
    carries hold for it. What people state later with `corporeal rejudge --calibration-end` (or
    `--calibration-start`) comes before both.

    A recorder also writes down that the check of the station's markers was overdue (`check`), which
    counts unless the end was verified, and that somebody recorded although it had failed (`halt`).

    Where the document says when it was `measured`, no episode may be older. Where it says how often
    its markers are looked at (`verification`) and no recorder watched that, the episode may not
    begin later than that after its verification at the start (`at`); a note says where none is
    known at all since the day it was measured.

    The document may also say itself that it is not sure: of a camera's pixels on average
    (`uncertainty_px`), of its place and of its turn (the length of `position_sigma_m` and
    `rotation_sigma_rad`), each one sigma.

    Why: a camera that moved makes every picture disagree with the joints beneath it.
    Fix: calibrate again; hold back every episode since the last good verification.
    """
    ends = _verifications(subject)
    said = _mapping(subject.recording.facts.other.get("calibration"))
    is_confirmed = _is_good(ends.get("end"), max_position_m)
    yield from _judge_station(said, is_confirmed=is_confirmed)
    timed = _judge_time(subject, ends, is_watched=bool(said.get("check")) or is_confirmed)
    document = _document(subject)
    unsure = [] if document is None else document.find_unsure(
        max_uncertainty_px=max_uncertainty_px, max_position_sigma_m=max_position_sigma_m,
        max_rotation_sigma_rad=max_rotation_sigma_rad,
    )  # fmt: skip
    if not timed and not ends and not unsure and not said.keys() & {"halt", "check"}:
        raise NotAssessed("the metadata holds no verification of the calibration")
    for words, sigma, limit in unsure:
        yield Finding(words, value=sigma, limit=limit)
    yield from timed
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


def _document(subject: Subject) -> Calibration | None:
    text = subject.recording.documents.get("calibration")
    if text is None:
        return None
    try:
        return Calibration.parse(text, source="calibration", suffix=".json")
    except CorporealError:
        return None


def _began(subject: Subject) -> datetime | None:
    """When the episode began; None where its stamps count from nothing known."""
    stretch = main_stretch(each.time_ns for each in subject.recording.signals.values())
    epoch_ns = subject.recording.epoch_ns
    if not epoch_ns or stretch is None:
        return None
    return _moment(epoch_ns + stretch[0])


def _moment(unix_ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(unix_ns / SECOND_NS, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _judge_time(
    subject: Subject, ends: Mapping[str, Mapping[str, Any]], *, is_watched: bool
) -> list[Finding]:
    """Whether the calibration was in force when the episode began, as far as its document says."""
    document, began = _document(subject), _began(subject)
    if document is None or began is None:
        return []
    found = list(_judge_age(document, began))
    return found if is_watched else [*found, *_judge_interval(document, began, ends)]


def _judge_age(document: Calibration, began: datetime) -> Findings:
    """An episode that is older than its calibration was not recorded with it."""
    measured = _span(document.measured)
    if measured is not None and began < measured[0]:
        yield Finding(
            f"recorded at {_minute(began)}, before calibration {document.reference} was measured "
            f"({document.measured[:16]})"
        )


def _judge_interval(
    document: Calibration, began: datetime, ends: Mapping[str, Mapping[str, Any]]
) -> Findings:
    """An episode that began after the next verification was due, as far as anybody says."""
    plan = document.verification
    if plan is None:
        return
    allowed = timedelta(minutes=plan.every_min + plan.grace_min)
    start = ends.get("start", {})
    last = _span(start.get("at")) if start.get("passed") is not False else None
    asked = f"the document asks for one every {plan.every_min:g} min"
    if last is not None and began > last[1] + allowed:
        yield Finding(
            f"recorded at {_minute(began)}, {(began - last[0]).total_seconds() / 60:.0f} min after "
            f"the last verification; {asked}"
        )
    measured = _span(document.measured)
    if not ends and measured is not None and began > measured[1] + allowed:
        yield Finding(
            f"no verification is known since the calibration was measured "
            f"({document.measured[:16]}); {asked}",
            severity="note",
        )


def _span(said: object) -> tuple[datetime, datetime] | None:
    """The earliest and the latest that a day or a time may mean; None where it is neither."""
    if not isinstance(said, str):
        return None
    try:
        first = datetime.fromisoformat(said)
    except ValueError:
        return None
    last = first + timedelta(days=1) if len(said) == len("2026-11-18") else first
    if first.tzinfo is not None:
        return first.astimezone(UTC), last.astimezone(UTC)
    return first.replace(tzinfo=UTC) - _ZONES, last.replace(tzinfo=UTC) + _ZONES


def _minute(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")[:16]


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
