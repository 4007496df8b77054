"""The calibration behind an episode: its document, cameras, how it was verified, what held it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.episodes import (
    EpisodeRow,
    Halt,
    StationCheck,
    documents_of,
    find_document,
    halts_of,
    nearest_checks,
)
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration
from corporeal.units import SECOND_NS

When = Literal["start", "end"]


@dataclass(frozen=True)
class StatedVerification:
    """How a calibration was verified: by the episode itself, or by the station's own check.

    `at` is None where nobody wrote down when; `passed` where only errors were.
    """

    when: When
    source: Literal["episode", "document", "station"]
    at: str | None = None
    calibration: str | None = None
    passed: bool | None = None
    position_error_m: float | None = None
    rotation_error_rad: float | None = None

    @property
    def words(self) -> str:
        """A line for people."""
        verdict = {True: "passed", False: "failed", None: "measured"}[self.passed]
        moment = "at a time nobody stated" if self.at is None else f"at {self.at[:16]}"
        errors = []
        if self.position_error_m is not None:
            errors.append(f"{self.position_error_m * 1e3:.2f} mm")
        if self.rotation_error_rad is not None:
            errors.append(f"{np.degrees(self.rotation_error_rad):.2f} degrees")
        off = f", off by {' and '.join(errors)}" if errors else ""
        own = f" of {self.calibration}" if self.calibration else ""
        by = {"station": " (check of the station)", "document": " (stated later)"}
        return f"verification{own} {verdict} {moment}{off}{by.get(self.source, '')}"


@dataclass(frozen=True)
class CalibrationHistory:
    """What is known of an episode's calibration. `serials` has every camera, None without one."""

    reference: str
    hash: str | None
    measured: str | None
    serials: Mapping[str, str | None]
    verifications: tuple[StatedVerification, ...]
    halts: tuple[Halt, ...]
    despite: str | None = None
    """Why it was recorded although the calibration had failed its check."""

    @property
    def words(self) -> str:
        """A line for people: name, hash, day, cameras with their serials."""
        parts = [f"calibration {self.reference}"]
        parts += [self.hash[:19]] if self.hash else []
        parts += [f"measured {self.measured[:10]}"] if self.measured else []
        cameras = [f"{name} (serial {serial})" if serial else f"{name} (no serial)"
                   for name, serial in self.serials.items()]  # fmt: skip
        return ", ".join([*parts, *cameras])


HistoryStep = tuple[str, str, dict[str, Any], str]
"""A thing behind an episode: its id, its line, its facts, and the relation."""


def calibration_history(connection: Connection, episode: EpisodeRow) -> CalibrationHistory | None:
    """What the catalogue knows of an episode's calibration; None where it has none."""
    behind = {each.kind: each.hash for each in documents_of(connection, episode.id)}
    halts = tuple(halts_of(connection, episode.id))
    if episode.calibration is None:
        return None
    document = _document(connection, behind.get(Calibration.kind))
    said = _mapping(episode.metadata.get("calibration"))
    verifications = tuple(_verifications(connection, episode, said, behind))
    override = _mapping(said.get("halt")).get("override")
    return CalibrationHistory(
        reference=episode.calibration,
        hash=behind.get(Calibration.kind),
        measured=None if document is None else document.measured,
        serials=_serials(document, episode),
        verifications=verifications,
        halts=halts,
        despite=None if not override else str(override)[:200],
    )


def history_steps(history: CalibrationHistory, episode: str) -> Iterator[HistoryStep]:
    """Everything of a calibration that stands right behind an episode of this id."""
    known = {"name": history.reference, "hash": history.hash, "measured": history.measured,
             "serials": dict(history.serials)}  # fmt: skip
    if history.hash is not None:
        yield f"document:{history.hash}", history.words, known, Calibration.kind
    for each in history.verifications:
        name = f"verification:{episode}/{each.when}"
        yield name, each.words, dict(vars(each)), f"verified_at_{each.when}"
    for halt in history.halts:
        yield f"halt:{halt.key}", _halt_words(halt), dict(vars(halt)), "held_by"
    if history.despite is not None:
        name = f"override:{episode}"
        facts = {"why": history.despite}
        yield name, f"override of a halt: {history.despite}", facts, "recorded_despite_halt"


def _halt_words(halt: Halt) -> str:
    ended = ", still open"
    if halt.lifted_at is not None:
        ended = f"; lifted at {halt.lifted_at[:16]} by {halt.lifted_by}: {halt.lifted_why}"
    return f"halt of {halt.calibration} at {halt.at[:16]}, {halt.why}{ended}"


def _document(connection: Connection, digest: str | None) -> Calibration | None:
    row = None if digest is None else find_document(connection, digest)
    if row is None:
        return None
    try:
        return Calibration.parse(row.text, source="calibration", suffix=".json")
    except CorporealError:
        return None


def _serials(document: Calibration | None, episode: EpisodeRow) -> dict[str, str | None]:
    """Serials of the calibration's cameras; the document's word comes before the episode's."""
    if document is None:
        return {}
    stated = {**_mapping(episode.metadata.get("sensor_serials")), **document.sensor_serials}
    found = {camera.name: camera.serial or stated.get(camera.name) for camera in document.cameras}
    return {name: None if serial is None else str(serial) for name, serial in found.items()}


def _verifications(
    connection: Connection, episode: EpisodeRow, said: Mapping[str, Any], behind: Mapping[str, str]
) -> Iterator[StatedVerification]:
    """At the start and at the end: what was stated later, what the episode says, the station's."""
    reference = str(episode.calibration)
    checks: dict[str, StationCheck | None] = {"start": None, "end": None}
    if episode.recorded_ns is not None:
        end_ns = episode.recorded_ns + round((episode.duration_s or 0.0) * SECOND_NS)
        before, after = nearest_checks(connection, reference, episode.recorded_ns, end_ns)
        checks = {"start": before, "end": after}
    whens: tuple[When, When] = ("start", "end")
    for when in whens:
        stated = _document(connection, behind.get(f"calibration_{when}"))
        own, check = _mapping(said.get(when)), checks[when]
        if stated is not None:
            yield StatedVerification(
                when, "document", stated.measured, stated.reference, None,
                stated.position_error_m, stated.rotation_error_rad,
            )  # fmt: skip
        elif own:
            yield _said(when, own)
        elif check is not None:
            yield _checked(when, check)


def _said(when: When, own: Mapping[str, Any]) -> StatedVerification:
    at, reference, passed = own.get("at"), own.get("id"), own.get("passed")
    return StatedVerification(
        when, "episode",
        at if isinstance(at, str) else None,
        reference if isinstance(reference, str) else None,
        passed if isinstance(passed, bool) else None,
        _number(own.get("position_error_m")), _number(own.get("rotation_error_rad")),
    )  # fmt: skip


def _checked(when: When, check: StationCheck) -> StatedVerification:
    told = [shift for shift in check.shifts if shift.get("cause") != "marker"]
    away = [_number(shift.get("distance_m")) for shift in told]
    turned = [_number(shift.get("angle_rad")) for shift in told]
    return StatedVerification(
        when, "station", check.at, check.calibration, check.passed,
        max((each for each in away if each is not None), default=None),
        max((each for each in turned if each is not None), default=None),
    )  # fmt: skip


def _number(said: object) -> float | None:
    return float(said) if isinstance(said, int | float) and not isinstance(said, bool) else None


def _mapping(said: object) -> Mapping[str, Any]:
    """The mapping itself, or the one that a text holds as JSON; else an empty one."""
    if isinstance(said, str) and said.lstrip().startswith("{"):
        try:
            said = json.loads(said)
        except ValueError:
            return {}
    return said if isinstance(said, Mapping) else {}
