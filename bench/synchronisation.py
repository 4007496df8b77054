"""How well the sync test knows a lag of nought: simulated jerks with true stamps, several seeds.

Run: python -m bench.synchronisation --seeds 3 --out out/bench_synchronisation.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from corporeal.capture.sync import sync_test
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import open_schema
from corporeal.simulation.demonstration import simulate
from corporeal.simulation.sensing import sense

SIZE = (240, 320)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=100, help="first seed")
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {}
    unseen = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        with tempfile.TemporaryDirectory() as folder:
            path = _record(seed, Path(folder))
            with Episode.open(path) as episode:
                report = sync_test(episode)
        for stream in report.streams:
            if stream.lag_s is None or stream.uncertainty_s is None:
                unseen += 1
                continue
            found.setdefault(stream.path, []).append((stream.lag_s, stream.uncertainty_s))
    _show(found, unseen, arguments.seeds)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        values = {"date": date.today().isoformat(), "streams": found, "no_onset": unseen}
        arguments.out.write_text(json.dumps(values, indent=1))


def _record(seed: int, folder: Path) -> Path:
    """An episode whose stamps are the truth."""
    run = simulate("sync_motion", seed=seed, style="steady")
    schema = open_schema("simulated_humanoid")
    streams = tuple(
        stream.model_copy(update={"shape": (*SIZE, *stream.shape[2:])})
        if stream.kind in ("video", "depth")
        else stream
        for stream in schema.streams
    )
    path = folder / "jerks.h5"
    with EpisodeWriter(
        path, schema=schema.model_copy(update={"streams": streams}), embodiment=open_robot("g1")
    ) as writer:
        for sample in sense(run, seed=seed, size=SIZE):
            writer.append(sample.path, sample.true_ns, sample.value)
    return path


def _show(found: dict[str, list[tuple[float, float]]], unseen: int, seeds: int) -> None:
    table = Table(title=f"lag of streams that have none, {seeds} recordings")
    for title in ("stream", "seen", "largest error, ms", "stated uncertainty, ms", "outside"):
        table.add_column(title, justify="left" if title == "stream" else "right")
    rows: list[tuple[str, Any]] = sorted(found.items())
    for path, values in rows:
        errors = [1e3 * abs(lag) for lag, _ in values]
        stated = [1e3 * uncertainty for _, uncertainty in values]
        outside = sum(error > limit for error, limit in zip(errors, stated, strict=True))
        span = f"{min(stated):.1f} to {max(stated):.1f}"
        table.add_row(path, str(len(values)), f"{max(errors):.1f}", span, str(outside))
    Console().print(table)
    Console().print(f"{unseen} streams showed no onset and were not assessed")


if __name__ == "__main__":
    main()
