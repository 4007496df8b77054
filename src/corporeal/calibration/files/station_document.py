"""Results go into the station's calibration document, whose version goes up by one each time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from corporeal.calibration.camera import CameraSolution
from corporeal.calibration.certainty import UncertaintyMap
from corporeal.calibration.force import ForceSolution
from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.geometry import Array, rpy_from_matrix
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration, ForceCalibration


def camera_record(name: str, solution: CameraSolution, stated: UncertaintyMap) -> CameraCalibration:
    """A solved camera as the document has it."""
    fx, fy, cx, cy = (round(float(value), 4) for value in solution.lens.values[:4])
    return CameraCalibration(
        name=plain_name(name), width=solution.lens.width, height=solution.lens.height,
        focal_px=(fx, fy), centre_px=(cx, cy),
        distortion=tuple(round(float(value), 7) for value in solution.lens.distortion),
        lens=solution.lens.model, reprojection_px=round(solution.rms_px, 4),
        uncertainty_px=round(stated.mean_px, 4), distance_m=round(stated.distance_m, 3),
        views=len(solution.views), board=solution.board.reference,
    )  # fmt: skip


def force_record(
    name: str, solution: ForceSolution, left_out: tuple[float, float]
) -> ForceCalibration:
    """A solved force sensor as the document has it."""
    return ForceCalibration(
        name=plain_name(name), mass_kg=round(solution.mass_kg, 5),
        centre_m=_three(solution.centre_m),
        force_bias_n=_three(solution.force_bias), torque_bias_nm=_three(solution.torque_bias),
        mounting_rpy=_three(rpy_from_matrix(solution.mounting)),
        sign=1 if solution.sign > 0 else -1, mass_sigma_kg=round(float(solution.sigma[0]), 5),
        force_rms_n=round(left_out[0], 4), torque_rms_nm=round(left_out[1], 5),
    )  # fmt: skip


def keep_camera(path: Path, record: CameraCalibration) -> Calibration:
    """Write the lens of a camera; where its pose was known, that stays."""
    station = _opened(path)
    before = _part(station, "cameras", record.name)
    pose = ("frame", "xyz", "rpy", "position_sigma_m", "rotation_sigma_rad", "serial")
    kept = {key: before[key] for key in pose if key in before}
    entry = {**kept, **record.model_dump(mode="json", exclude_none=True)}
    return _keep(path, station, "cameras", entry)


def keep_pose(path: Path, name: str, frame: str, pose: Array, sigma: Array) -> Calibration:
    """Write where a camera is, its pose (4, 4) and the spread (6,) of its turn and shift.

    Where its lens was known, that stays.
    """
    station = _opened(path)
    placed: dict[str, Any] = {
        "name": plain_name(name), "frame": frame, "xyz": _three(pose[:3, 3]),
        "rpy": _three(rpy_from_matrix(pose[:3, :3])),
        "position_sigma_m": _three(sigma[3:]), "rotation_sigma_rad": _three(sigma[:3]),
    }  # fmt: skip
    return _keep(path, station, "cameras", {**_part(station, "cameras", placed["name"]), **placed})


def keep_force(path: Path, record: ForceCalibration) -> Calibration:
    """Write a force sensor."""
    entry = record.model_dump(mode="json", exclude_none=True)
    return _keep(path, _opened(path), "force_sensors", entry)


def keep_volume(path: Path, values: dict[str, Any]) -> Calibration:
    """Write what is known of the mocap volume; what `values` does not say stays."""
    station = _opened(path)
    station["volume"] = {**station.get("volume", {}), **values}
    return _write(path, station)


def _opened(path: Path) -> dict[str, Any]:
    """The station's document as plain values; one without parts where there is none yet."""
    if path.suffix not in (".yaml", ".yml"):
        raise CorporealError(f"--out, got {path}; expected a name that ends in .yaml.")
    if path.exists():
        return Calibration.load(path).model_dump(mode="json", exclude_none=True)
    return {"document": "calibration", "name": plain_name(path.stem), "version": "0.0.0"}


def _part(station: dict[str, Any], group: str, name: str) -> dict[str, Any]:
    return next((dict(part) for part in station.get(group, ()) if part["name"] == name), {})


def _keep(path: Path, station: dict[str, Any], group: str, entry: dict[str, Any]) -> Calibration:
    """The document with one part new."""
    others = [part for part in station.get(group, ()) if part["name"] != entry["name"]]
    station[group] = [*others, entry]
    return _write(path, station)


def _write(path: Path, station: dict[str, Any]) -> Calibration:
    """The document a version higher, measured today."""
    major, minor, patch = (int(number) for number in str(station["version"]).split("."))
    station["version"] = f"{major}.{minor}.{patch + 1}" if major else "1.0.0"
    station["measured"] = datetime.now(UTC).date().isoformat()
    document = Calibration.model_validate(station)
    values = document.model_dump(mode="json", exclude_none=True)
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
    atomic_write(path, text)
    return document


def plain_name(name: str) -> str:
    """A name as documents have them: lower case, digits and lines."""
    kept = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in name.lower())
    return kept.strip("_") or "camera"


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 7) for value in np.ravel(values))
    return x, y, z
