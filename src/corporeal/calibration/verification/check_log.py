"""The log of a station's checks, beside its calibration document: one line of JSON for each.

The recorder, the command line and charts read the same lines. A line is never changed; a lift, with
its reason, is a line as well. EWMA and CUSUM look along the lines of one marker for a creep that
no single check would halt for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

from corporeal.calibration.verification.marker_check import CalibrationCheck, MarkerShift
from corporeal.errors import CorporealError
from corporeal.files import refuse_pointer
from corporeal.geometry import Array
from corporeal.schema import roles

# Weight of the newest check, half of the shift that is looked for, and where both raise an alarm.
_NEWEST, _SLACK, _CREPT, _EWMA_SIGMAS = 0.2, 0.5, 5.0, 3.5
_MOST_BYTES = 64 << 20
# Metres and radians: beyond this no marker moved.
_FARTHEST = 1e3


@dataclass(frozen=True)
class LoggedShift:
    """A marker in a line of the log; six numbers turn and shift, about and along x, y and z."""

    marker: str
    camera: str
    turn_rad: tuple[float, float, float]
    shift_m: tuple[float, float, float]
    sigma_rad: tuple[float, float, float]
    sigma_m: tuple[float, float, float]
    limit_m: float
    limit_rad: float
    cause: str

    @property
    def distance_m(self) -> float:
        """How far it was shifted."""
        return float(np.linalg.norm(self.shift_m))

    @property
    def angle_rad(self) -> float:
        """How far it was turned."""
        return float(np.linalg.norm(self.turn_rad))

    @property
    def in_sigmas(self) -> Array:
        """Turn and shift (6,) beside their spread."""
        return np.array([*self.turn_rad, *self.shift_m]) / [*self.sigma_rad, *self.sigma_m]


@dataclass(frozen=True)
class LoggedCheck:
    """One line: a check that passed or failed, or the lift of a halt with its reason."""

    what: Literal["check", "lift"]
    at: str
    calibration: str
    who: str
    passed: bool
    source: str = ""
    why: str = ""
    shifts: tuple[LoggedShift, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values; of a marker also how far it is off altogether."""
        shifts = [
            {**vars(each), "distance_m": each.distance_m, "angle_rad": each.angle_rad}
            for each in self.shifts
        ]
        return {**vars(self), "shifts": shifts}

    @property
    def time(self) -> datetime:
        """When it was."""
        return datetime.fromisoformat(self.at)


@dataclass(frozen=True)
class Creep:
    """A marker that moves little by little: the axis, both sums in sigmas, and their alarms."""

    marker: str
    camera: str
    axis: str
    ewma: float
    cusum: float
    checks: int

    @property
    def is_alarming(self) -> bool:
        """Whether either chart is over its limit."""
        return self.cusum > _CREPT or self.ewma > _EWMA_SIGMAS


_LINES = TypeAdapter(LoggedCheck)


def log_of(document: Path) -> Path:
    """The log beside a calibration document."""
    return document.with_name(f"{document.stem}.checks.jsonl")


def logged(check: CalibrationCheck) -> LoggedCheck:
    """A check as the log has it."""
    shifts = tuple(_shift(each) for each in check.shifts)
    return LoggedCheck(
        "check", check.at, check.calibration, check.who, check.passed, check.source, shifts=shifts
    )


def append(path: Path, entry: LoggedCheck) -> None:
    """Add a line and sync it; raises CorporealError where that cannot be done."""
    line = json.dumps(_plain(entry), separators=(",", ":"), allow_nan=False) + "\n"
    refuse_pointer(path)
    try:
        # One write to the end of the file: two programs never mix their lines. No link is
        # followed: the folder may be a stranger's, and the file behind it another program's.
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        try:
            os.write(number, line.encode())
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        raise CorporealError(
            f"log of checks, got {path}: {error.strerror or error}. Make its folder writable."
        ) from None


def read_log(path: Path) -> list[LoggedCheck]:
    """All lines, the oldest first; none where there is no log. A torn last line is left out."""
    refuse_pointer(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise CorporealError(f"{path} is larger than 64 MiB. Move old lines to another file.")
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise CorporealError(f"{path} cannot be read: {error}.") from None
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(_entry(line))
        except ValueError:  # Also what pydantic raises.
            if number < len(lines):
                raise CorporealError(
                    f"{path}, line {number} is no check; expected the lines that Corporeal wrote. "
                    "Remove it."
                ) from None
    return entries


def find_creeps(entries: Sequence[LoggedCheck], calibration: str) -> list[Creep]:
    """How every marker creeps, along its worst axis, since this calibration's first check.

    CUSUM with k 0.5 and h 5, both ways, and an EWMA of weight 0.2, each axis in its sigmas.
    """
    series: dict[tuple[str, str], list[Array]] = {}
    for entry in entries:
        for shift in entry.shifts if entry.calibration == calibration and entry.passed else ():
            series.setdefault((shift.camera, shift.marker), []).append(shift.in_sigmas)
    names = [f"turn about {axis}" for axis in roles.POSITION] + [
        f"shift along {axis}" for axis in roles.POSITION
    ]
    creeps = []
    for (camera, marker), rows in series.items():
        ewma, cusum = _charts(np.array(rows))
        worst = int(np.maximum(cusum / _CREPT, ewma / _EWMA_SIGMAS).argmax())
        creeps.append(Creep(marker, camera, names[worst], float(ewma[worst]), float(cusum[worst]),
                            len(rows)))  # fmt: skip
    return creeps


def _charts(values: Array) -> tuple[Array, Array]:
    """EWMA in its own sigmas, and CUSUM, each (6,) as the last check leaves it."""
    mean, up, down = np.zeros(6), np.zeros(6), np.zeros(6)
    # The reference is one look of many, no truth: each check is held against all before it.
    usual = np.zeros(6)
    for number, row in enumerate(values * np.sqrt(2), 1):
        new = (row - usual) / np.sqrt(1 + 1 / number)
        usual = usual + (row - usual) / (number + 1)
        mean = (1 - _NEWEST) * mean + _NEWEST * new
        up = np.maximum(0, up + new - _SLACK)
        down = np.maximum(0, down - new - _SLACK)
    share = _NEWEST / (2 - _NEWEST) * (1 - (1 - _NEWEST) ** (2 * len(values)))
    return np.abs(mean) / np.sqrt(share), np.maximum(up, down)


def _shift(shift: MarkerShift) -> LoggedShift:
    return LoggedShift(
        shift.marker, shift.camera, _three(shift.turn_rad), _three(shift.shift_m),
        _three(shift.sigma_rad), _three(shift.sigma_m), float(f"{shift.limit_m:.4g}"),
        float(f"{shift.limit_rad:.4g}"), shift.cause,
    )  # fmt: skip


def _plain(entry: LoggedCheck) -> dict[str, Any]:
    plain = {name: value for name, value in vars(entry).items() if value not in ("", ())}
    if entry.shifts:
        plain["shifts"] = [vars(shift) for shift in entry.shifts]
    return plain


def _entry(line: str) -> LoggedCheck:
    entry = _LINES.validate_json(line)
    if entry.time.tzinfo is None:
        raise ValueError("no time zone")
    for shift in entry.shifts:
        sigmas = np.array([*shift.sigma_rad, *shift.sigma_m])
        moved = np.array([*shift.turn_rad, *shift.shift_m, shift.limit_m, shift.limit_rad])
        if not ((np.abs(moved) < _FARTHEST).all() and ((sigmas > 0) & (sigmas < _FARTHEST)).all()):
            raise ValueError("a shift that no marker has")
    return entry


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(f"{value:.5g}") for value in values)
    return x, y, z
