"""Twelve stations of one machine take their episodes in at once: nothing lost, time to a verdict.

python -m bench.floor_load [--stations 12] [--takes 3] [--seconds 10] [--out FILE]

Every station is a process of its own that ingests its takes one after the other, as soon as the
file of each is whole. The same is done by one station alone, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.database import make_server
from bench.scale import write
from corporeal.catalog.audit import verify
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import PRESENT, read_fields
from corporeal.catalog.workspace import make_workspace, open_workspace
from corporeal.episode import Episode

SIZE = (120, 160)


def write_takes(folder: Path, stations: int, takes: int, seconds: float) -> list[list[Path]]:
    """Files of every station, each an episode of its own of the seeded workload."""
    return [
        [write(folder / f"s{station + 1:02}" / f"take_{number}.h5", 100 * station + number, seconds,
               SIZE) for number in range(takes)]
        for station in range(stations)
    ]  # fmt: skip


def collect(root: Path, files: list[Path], start: Path) -> None:
    """What a station's process does: wait for the others, then one take after the other."""
    waits = []
    with open_workspace(root) as workspace:
        while not start.exists():
            time.sleep(0.01)
        for file in files:
            began = time.perf_counter()
            done = ingest(workspace, [file], who=file.parent.name)
            waits.append(time.perf_counter() - began)
            assert len(done.outcomes) == 1, done.outcomes
    used = os.times()
    print(json.dumps({"waits_s": waits, "cpu_s": used.user + used.system}))


def measure(root: Path, stations: list[list[Path]], catalog: str | None) -> dict[str, Any]:
    """All stations at once; what they waited, and what is there afterwards."""
    opened = make_workspace(root) if catalog is None else make_workspace(root, catalog=catalog)
    opened.close()
    start = root / "start"
    runs = [
        subprocess.Popen([sys.executable, "-m", "bench.floor_load", "--collect", str(root),
                          str(start), *map(str, files)], stdout=subprocess.PIPE, text=True)
        for files in stations
    ]  # fmt: skip
    time.sleep(2.0)
    began = time.perf_counter()
    start.touch()
    told = [json.loads(process.communicate()[0]) for process in runs]
    wall_s = time.perf_counter() - began
    waits = np.array([wait for report in told for wait in report["waits_s"]])
    return {
        "stations": len(stations), "files": sum(map(len, stations)), "wall_s": round(wall_s, 1),
        "median_s": round(float(np.median(waits)), 2), "worst_s": round(float(waits.max()), 2),
        "cpu_s_each": round(sum(report["cpu_s"] for report in told) / len(waits), 2),
        **check(root, stations),
    }  # fmt: skip


def check(root: Path, stations: list[list[Path]]) -> dict[str, Any]:
    """Rows beside files, each file's bytes in the store, and the audit log from end to end."""
    with open_workspace(root) as workspace, workspace.database.read() as connection:
        rows = {row[0]: row[1] for row in read_fields(connection, "id", "verdict", where=PRESENT)}
        breaks = list(verify(connection))
        hashes = [str(row[0]) for row in read_fields(connection, "hash", where=PRESENT)]
        stored = sum(workspace.store.has(name) is not None for name in hashes)
    ids = set()
    for files in stations:
        for file in files:
            with Episode.open(file) as episode:
                ids.add(episode.id)
    return {"rows": len(rows), "lost": len(ids - rows.keys()), "doubled": len(rows) - len(ids),
            "stored": stored, "without_verdict": sum(verdict is None for verdict in rows.values()),
            "audit_breaks": len(breaks)}  # fmt: skip


@contextmanager
def catalogs(folder: Path) -> Iterator[dict[str, str | None]]:
    """Where catalogues are kept: SQLite in the workspace, PostgreSQL on the loopback."""
    server = make_server(folder / "server")
    server.start()
    try:
        for name in ("alone", "all"):
            server.execute(f'CREATE DATABASE "{name}"')
        yield {"sqlite": None, "postgresql": server.url("")}
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stations", type=int, default=12)
    parser.add_argument("--takes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", type=Path, default=Path("out/bench_floor_load.json"))
    parser.add_argument("--collect", nargs="+", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.collect:
        root, start, *files = given.collect
        collect(root, files, start)
        return
    rows: dict[str, Any] = {"load_before": os.getloadavg()[0], "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stations = write_takes(folder / "takes", given.stations, given.takes, given.seconds)
        with catalogs(folder) as known:
            for kind, url in known.items():
                for how, chosen in (("alone", stations[:1]), ("all", stations)):
                    catalog = None if url is None else url + how
                    rows[f"{kind}, {how}"] = measure(folder / f"{kind}_{how}", chosen, catalog)
                    print(kind, how, rows[f"{kind}, {how}"], flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
