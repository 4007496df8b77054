"""Calibrations of stations: what is in force, when it is checked next, halts and their end."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from corporeal.calibration.verification import LoggedCheck
from corporeal.catalog.episodes import Halt, lift_halt
from corporeal.catalog.query import iso
from corporeal.operations.monitoring import Station, held_query, read_stations, since_query
from corporeal.studio.authentication import Judge, Reader
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["calibrations"])
_MOST_CHECKS = 50


class MarkerFacts(BaseModel):
    """How far one marker was off; in m and degrees, with the limits of the check."""

    marker: str
    camera: str
    distance_m: float
    angle_deg: float
    limit_m: float
    limit_deg: float
    cause: str


class StationCheckFacts(BaseModel):
    """A check, or the lift of a halt with its reason."""

    what: Literal["check", "lift"]
    at: str
    who: str
    passed: bool
    calibration: str
    source: str
    why: str
    markers: list[MarkerFacts]


class HaltFacts(BaseModel):
    """A halt; `query` finds the episodes that it is about."""

    key: str
    calibration: str
    at: str
    who: str
    why: str
    station: str | None
    since: str | None
    held: int
    query: str
    lifted_at: str | None
    lifted_by: str | None
    lifted_why: str | None


class VersionFacts(BaseModel):
    """A version and the episodes recorded with it."""

    reference: str
    episodes: int
    first: str | None
    last: str | None
    query: str


class CameraFacts(BaseModel):
    """What the document in force says of a camera."""

    name: str
    rms_px: float | None
    uncertainty_px: float | None
    markers: list[str]


class CalibrationFacts(BaseModel):
    """A station's calibration; `state` is None where it names no markers to be checked by."""

    name: str
    reference: str
    measured: str | None
    state: Literal["good", "due", "overdue", "halted"] | None
    checked_at: str | None
    due_at: str | None
    every_min: float | None
    cameras: list[CameraFacts]
    creeps: list[str]
    halt: HaltFacts | None
    halts: list[HaltFacts]
    checks: list[StationCheckFacts]
    versions: list[VersionFacts]


class LiftRequest(BaseModel):
    """Why the episodes of a halt may be used."""

    reason: str = Field(max_length=500)


class LiftAnswer(BaseModel):
    """How many episodes are what they were; `kept` somebody judged since."""

    key: str
    count: int
    kept: int


@ROUTER.get("/calibrations")
def list_calibrations(studio: StudioDep, _: Reader) -> list[CalibrationFacts]:
    """Every station's calibration, those that are halted first."""
    with studio.workspace.database.read() as connection:
        return [_facts(station) for station in read_stations(connection)]


@ROUTER.post("/halts/{key}/lift")
def lift(
    key: Annotated[str, Path(max_length=80)], asked: LiftRequest, studio: StudioDep, actor: Judge
) -> LiftAnswer:
    """End a halt: its episodes are again what they were; the log has who and why."""
    with studio.workspace.database.write() as connection:
        done = lift_halt(connection, key, why=asked.reason, by=actor)
    return LiftAnswer(key=key, count=done.count, kept=len(done.kept))


def _facts(station: Station) -> CalibrationFacts:
    document, standing = station.document, station.standing
    plan = None if document is None else document.verification
    halt = station.open_halt
    failed = next((not each.passed for each in station.checks), False)
    state = standing.state if standing is not None else "halted" if failed else None
    references = [version.reference for version in station.versions]
    cameras = () if document is None else document.cameras
    return CalibrationFacts(
        name=station.name,
        reference=station.reference,
        measured=None if document is None else document.measured,
        state=state,
        checked_at=next((entry.at for entry in station.checks if entry.what == "check"), None),
        due_at=None if standing is None or standing.good is None else standing.due_at.isoformat(),
        every_min=None if plan is None else plan.every_min,
        cameras=[
            CameraFacts(
                name=camera.name, rms_px=camera.reprojection_px,
                uncertainty_px=camera.uncertainty_px,
                markers=[] if plan is None else [
                    marker.name for marker in plan.markers if marker.camera == camera.name
                ],
            )
            for camera in cameras
        ],
        creeps=[f"{creep.camera} creeps ({creep.marker}, {creep.axis}): CUSUM {creep.cusum:.1f} of "
                "5" for creep in station.creeps if creep.is_alarming],
        halt=None if halt is None else _halt(halt, references),
        halts=[_halt(each, references) for each in station.halts],
        checks=[_check(entry) for entry in station.checks[:_MOST_CHECKS]],
        versions=[
            VersionFacts(
                reference=each.reference, episodes=each.episodes,
                first=None if each.first_ns is None else iso(each.first_ns),
                last=None if each.last_ns is None else iso(each.last_ns),
                query=since_query([each.reference], None, None),
            )
            for each in station.versions
        ],
    )  # fmt: skip


def _halt(halt: Halt, references: list[str]) -> HaltFacts:
    return HaltFacts(**vars(halt), query=held_query(halt, references))


def _check(entry: LoggedCheck) -> StationCheckFacts:
    return StationCheckFacts(
        what=entry.what, at=entry.at, who=entry.who, passed=entry.passed,
        calibration=entry.calibration, source=entry.source, why=entry.why,
        markers=[
            MarkerFacts(
                marker=shift.marker, camera=shift.camera, distance_m=shift.distance_m,
                angle_deg=math.degrees(shift.angle_rad), limit_m=shift.limit_m,
                limit_deg=math.degrees(shift.limit_rad), cause=shift.cause,
            )
            for shift in entry.shifts
        ],
    )  # fmt: skip
