"""A take of a simulated floor as the recorder and the gates would leave it in the catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from corporeal.catalog.episodes import EpisodeEntry, EpisodeRow, State, StationCheck
from corporeal.floor.truth import SimulatedStation
from corporeal.protocol import Protocol
from corporeal.protocol.card import EpisodeCard
from corporeal.quality.check import Verdict

_MARKER_SIGMA_M, _MARKER_SIGMA_RAD, _CREEP_M = 0.0004, 0.002, 0.0009
"""How exactly a marker is seen, and how far one that came loose creeps in a day."""
_BYTES_PER_S = 2_000_000
_CAMERAS = ("head_left", "head_right")


@dataclass(frozen=True)
class MadeTake:
    """A take, and what it truly was: who made it where, and what went wrong."""

    id: str
    task: str
    operator: str
    station: str
    recorded_ns: int
    duration_s: float
    levels: Mapping[str, str]
    failed: bool
    lost_pictures: bool
    smoothness: float
    day: int
    adrift: bool

    @property
    def verdict(self) -> Verdict:
        """What the gates say of it."""
        return "quarantined" if self.lost_pictures else "failed" if self.failed else "accepted"


def entry_of_take(take: MadeTake, card: EpisodeCard, protocol: Protocol) -> EpisodeEntry:
    """Row, findings and scores of a take that followed a card, as far as its operator did."""
    facts = card.facts(protocol)
    facts |= {name: level for name, level in take.levels.items() if name in facts}
    calibration = calibration_name(take.station)
    facts["sensor_serials"] = {
        "head_left": f"{take.station}-HL",
        "head_right": f"{take.station}-HR",
    }
    findings: list[dict[str, Any]] = []
    if take.lost_pictures:
        findings.append(_finding("camera_late", "quarantine", 0.31, 0.1,
                                 "observations/head_left: 31 % of its pictures late"))  # fmt: skip
    if take.failed:
        findings.append(_finding("task_failed", "fail", 0.0, 1.0, "the operator said it failed"))
    verdict = take.verdict
    state: State = verdict
    row = EpisodeRow(
        id=take.id, hash=f"sha256:{hashlib.sha256(take.id.encode()).hexdigest()}",
        bytes=round(_BYTES_PER_S * take.duration_s), file=f"{take.task}_{take.id[:8]}.h5",
        state=state, task=take.task, instruction=card.instruction, robot="g1",
        operator=take.operator, station=take.station, session=_session(take),
        batch=_session(take), protocol=protocol.reference, calibration=calibration,
        mode="teleoperated", recorded_ns=take.recorded_ns, duration_s=take.duration_s,
        success=not take.failed, failure="dropped" if take.failed else None, verdict=verdict,
        score=max(0.0, min(1.0, 1.2 + take.smoothness / 10)), metadata=facts,
    )  # fmt: skip
    document = {"hash": protocol.hash, "name": protocol.name, "version": protocol.version,
                "text": protocol.canonical()}  # fmt: skip
    return EpisodeEntry(
        row, findings=findings, documents={"protocol": document},
        scores=[{"part": "spectral_arc_length", "value": take.smoothness, "weight": 1.0}],
        parents={f"station:{take.station}": "recorded_at"},
    )  # fmt: skip


def calibration_name(station: str) -> str:
    """The calibration that a simulated station records with."""
    return f"head_{station}@1.0.0"


def calibration_check(
    station: SimulatedStation, day: int, at: datetime, rng: np.random.Generator
) -> StationCheck:
    """A look at the marker in the morning: it is seen where it is, give or take the noise."""
    days = day - station.drifts_from + 1 if station.is_adrift(day) and station.drifts_from else 0
    # A shift is between two looks, of which the first is the same every morning.
    first = np.random.default_rng(list(station.name.encode())).normal(0, 1, (2, 3))
    seen = (rng.normal(0, 1, (2, 3)) - first) / np.sqrt(2)
    seen_m = _MARKER_SIGMA_M * seen[0] + np.array([_CREEP_M * days, 0.0, 0.0])
    shift = {
        "marker": "frame", "camera": "head_left",
        "turn_rad": (_MARKER_SIGMA_RAD * seen[1]).tolist(), "shift_m": seen_m.tolist(),
        "sigma_rad": [_MARKER_SIGMA_RAD] * 3, "sigma_m": [_MARKER_SIGMA_M] * 3,
        "limit_m": 0.01, "limit_rad": 0.05, "cause": "",
    }  # fmt: skip
    return StationCheck(calibration_name(station.name), at.isoformat(), True, [shift],
                        station=station.name, source="morning")  # fmt: skip


def _session(take: MadeTake) -> str:
    day = datetime.fromtimestamp(take.recorded_ns / 1e9).date()
    return f"{day}-{take.station}"


def _finding(check: str, severity: str, value: float, limit: float, message: str) -> dict[str, Any]:
    return {"check": check, "severity": severity, "stream": None, "value": value, "limit": limit,
            "message": message, "frames": []}  # fmt: skip
