"""The smallest lag of a camera that `camera_late` finds in tables of one rate, in rows.

Every picture of an episode is shown some rows later than it was taken, from one row on, and the
check runs as it does for anybody. A lag counts as found where the camera is named and the clean
episode was not.

python -m bench.detection.camera_lag --kinds g1_filmed,gr1_filmed --json out/camera_lag.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.detection.editing import cameras_of, rate_of
from bench.detection.faults.time import late_camera
from bench.detection.sources import KINDS, Plan, open_set
from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.camera_late import CHECK

MOST_ROWS = 8


@dataclass(frozen=True)
class LagFound:
    """One episode whose camera is so many rows late; `clean` has none that is."""

    kind: str
    episode: int
    rate_hz: float
    rows: int
    is_found: bool


def measure(kind: str, recordings: list[Recording]) -> Iterator[LagFound]:
    """Each episode with no lag, and with every lag up to MOST_ROWS."""
    for recording in recordings:
        (camera, *_) = cameras_of(recording).values()
        rate_hz = float(rate_of(camera.time_ns))
        for rows in range(MOST_ROWS + 1):
            late = recording
            if rows:
                dice = np.random.default_rng(recording.index)
                late, _ = late_camera.inject(recording, dice, rows / rate_hz)
            yield LagFound(kind, recording.index, rate_hz, rows, _is_late(late))


def _is_late(recording: Recording) -> bool:
    try:
        return any(each.severity != "note" for each in CHECK.find(Subject(recording)))
    except NotAssessed:
        return False


def main() -> int:
    """0, whatever was found: a benchmark is no test."""
    asked = _arguments()
    found: list[LagFound] = []
    for kind in asked.kinds.split(","):
        found += measure(kind, list(open_set(kind, Plan(asked.first, 1)).recordings[: asked.most]))
    table = Table("data", "rate", *(f"{rows} rows" for rows in range(MOST_ROWS + 1)))
    for kind, rate_hz in dict.fromkeys((each.kind, each.rate_hz) for each in found):
        own = [each for each in found if (each.kind, each.rate_hz) == (kind, rate_hz)]
        shares = [[each.is_found for each in own if each.rows == n] for n in range(MOST_ROWS + 1)]
        cells = [f"{sum(share)} of {len(share)}" for share in shares]
        table.add_row(kind, f"{rate_hz:.0f} Hz", *cells)
    Console(width=120).print(table)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.detection.camera_lag",
                                     description=__doc__)  # fmt: skip
    parser.add_argument("--kinds", default="g1_filmed,gr1_filmed", help=", ".join(KINDS))
    parser.add_argument("--first", type=int, default=1400, help="seed of simulated episodes")
    parser.add_argument("--most", type=int, default=6, help="episodes of each kind")
    parser.add_argument("--json", type=Path, default=Path("out/camera_lag.json"))
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
