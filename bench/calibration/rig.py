"""A whole simulated station from its pictures: against the truth, and in how many seconds."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.calibration.board import open_board
from corporeal.calibration.certainty import lens_difference
from corporeal.calibration.rig import (
    calibrate_rig,
    find_recordings,
    simulated_rig,
    write_recordings,
    write_report,
)
from corporeal.geometry import rotation_vectors


def stations(runs: int, first: int) -> dict[str, Any]:
    """Errors of lenses, places and tools over some stations, and CPU seconds of one command."""
    places, turns, scaled, pixels, seconds, masses = [], [], [], [], [], []
    for seed in range(first, first + runs):
        station = simulated_rig(open_board("charuco_a4"), seed)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_recordings(station, folder, seed=seed)
            begin = time.process_time()
            document, home = find_recordings(folder)
            solution = calibrate_rig(document, home)
            write_report(solution, folder / "rig.pdf")
            seconds.append(time.process_time() - begin)
        for part in solution.cameras:
            true = station.camera(part.name)
            assert part.pose is not None
            assert part.sigma is not None
            off = np.linalg.inv(true.pose) @ part.pose
            error = np.concatenate([rotation_vectors(off[None, :3, :3])[0], off[:3, 3]])
            places.append(float(np.linalg.norm(error[3:])))
            turns.append(float(np.linalg.norm(error[:3])))
            scaled.append(error / part.sigma)
            away = part.stated.distance_m
            seen = lens_difference(true.lens, part.solution.lens, away)
            pixels.append(float(seen.mean()) / part.stated.mean_px)
        (force,) = solution.forces
        masses.append(force.solution.mass_kg / station.tool.mass_kg - 1)
    return {
        "stations": runs, "place_rms_mm": float(1e3 * np.sqrt(np.mean(np.square(places)))),
        "turn_rms_degrees": float(np.degrees(np.sqrt(np.mean(np.square(turns))))),
        "error_over_sigma": float(np.sqrt(np.mean(np.square(scaled)))),
        "lens_error_over_stated": float(np.mean(pixels)),
        "mass_percent": float(100 * np.sqrt(np.mean(np.square(masses)))),
        "cpu_s": float(np.median(seconds)),
    }  # fmt: skip
