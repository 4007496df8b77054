"""The catalogue with a million episodes: how fast it takes them in, finds them, releases them.

Run: python -m bench.catalog                                    # a million rows in SQLite
     python -m bench.catalog --episodes 100000 --catalog postgresql://localhost/scratch
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.episode.report import machine
from corporeal.catalog.audit import verify
from corporeal.catalog.episodes import EpisodeEntry, EpisodeRow, State, add_episodes
from corporeal.catalog.query import count_episodes, episode_page
from corporeal.catalog.workspace import Workspace, make_workspace, open_workspace
from corporeal.catalog.workspace.workspace import CATALOG
from corporeal.release import ReleaseOptions, create_release

TASKS = ("pick_place", "reach", "handover", "bimanual_lift", "walk", "walk_carry", "stand")
CHECKS = ("joints_swapped", "camera_late", "gap_in_stream", "force_spikes", "self_collision")
QUERIES = (
    "task = pick_place and score > 0.8",
    "task = pick_place and score > 0.8 and operator != op07 and has finding joints_swapped",
    "state = quarantined and recorded >= 2026-06-01",
    "operator = op11 and success = false",
    "session = s00123",
    "robot = g1 and duration_s between 5 and 20 and not has finding self_collision",
)
TARGETS = {"ingest_per_s": 10_000.0, "query_p95_ms": 100.0, "release_s": 15.0}
_GROUP = 2000
_BEGIN, _STEP_S = datetime(2026, 1, 1, tzinfo=UTC), 25


def entries(count: int, *, seed: int = 0) -> Iterator[list[EpisodeEntry]]:
    """Episodes as a lab would have them, some with findings, in groups."""
    rng = random.Random(seed)
    begin = int(_BEGIN.timestamp() * 1e9)
    for first in range(0, count, _GROUP):
        yield [_entry(rng, begin, number) for number in range(first, min(first + _GROUP, count))]


def _entry(rng: random.Random, begin: int, number: int) -> EpisodeEntry:
    good = rng.random() < 0.85
    state: State = "accepted" if good else rng.choice(("quarantined", "failed"))
    findings = [] if good else [
        {"check": rng.choice(CHECKS), "severity": "fail", "stream": "observations/joint_position",
         "value": rng.random(), "limit": 0.5, "message": "made up", "frames": []}
    ]  # fmt: skip
    digest = hashlib.sha256(f"episode {number}".encode()).hexdigest()
    facts: dict[str, Any] = {
        "hash": f"sha256:{digest}", "bytes": 40_000_000, "file": f"e{number:07d}.h5",
        "task": rng.choice(TASKS), "robot": "g1", "operator": f"op{rng.randrange(40):02d}",
        "station": f"st{rng.randrange(12):02d}", "session": f"s{number // 60:05d}",
        "batch": f"b{number // 2000:04d}", "environment": f"room{rng.randrange(8)}",
        "recorded_ns": begin + number * _STEP_S * 1_000_000_000, "duration_s": rng.uniform(4, 40),
        "success": good, "verdict": state, "score": rng.betavariate(5, 2),
        "instruction": "put the box on the shelf", "metadata": {"object": f"box{number % 20}"},
    }  # fmt: skip
    return EpisodeEntry(EpisodeRow(f"episode-{number:08d}", state=state, **facts), findings)


def _fill(workspace: Workspace, episodes: int) -> tuple[float, float]:
    """Rows per second, and per second of this process's CPU, audit events included.

    Making the episodes up is no part of it. A server's own CPU time is not seen from here.
    """
    wall_s, cpu_s = 0.0, 0.0
    for group in entries(episodes):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        with workspace.database.write() as connection:
            add_episodes(connection, group, who="bench")
        wall_s += time.perf_counter() - begin
        cpu_s += time.process_time() - cpu_begin
    return episodes / wall_s, episodes / cpu_s


def _ask(workspace: Workspace, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds for the first page of each query, by query.

    The 95th percentile of all, and the median of this process's CPU time, which says more on a
    machine that is shared.
    """
    spent: dict[str, float] = {}
    cpu_ms: dict[str, float] = {}
    for query in QUERIES:
        times, cpu_times = [], []
        for _ in range(repeats):
            with workspace.database.read() as connection:
                begin, cpu_begin = time.perf_counter(), time.process_time()
                episode_page(connection, query, order="-recorded", limit=50)
                times.append((time.perf_counter() - begin) * 1000)
                cpu_times.append((time.process_time() - cpu_begin) * 1000)
        spent[query] = statistics.quantiles(times, n=20)[-1]
        cpu_ms[query] = statistics.median(cpu_times)
    return spent, cpu_ms


def measure(
    place: Path, catalog: str, episodes: int, released: int, repeats: int
) -> dict[str, Any]:
    """All figures of a run; a workspace that is there already has its episodes."""
    is_filled = place.exists()
    opened = open_workspace(place) if is_filled else make_workspace(place, catalog=catalog)
    with opened as workspace:
        rate, rate_cpu = (0.0, 0.0) if is_filled else _fill(workspace, episodes)
        queries, queries_cpu = _ask(workspace, repeats)
        with workspace.database.read() as connection:
            begin = time.perf_counter()
            total = count_episodes(connection, "task = pick_place")
            count_s = time.perf_counter() - begin
        days = math.ceil(released / 0.85 * _STEP_S / 86400)
        until = (_BEGIN + timedelta(days=days)).date().isoformat()
        begin, cpu_begin = time.perf_counter(), time.process_time()
        release = create_release(
            workspace,
            f"bench_{time.time_ns()}",
            ReleaseOptions(where=f"recorded < {until}", objects=False),
            who="bench",
        )
        release_s = time.perf_counter() - begin
        release_cpu_s = time.process_time() - cpu_begin
        begin = time.perf_counter()
        with workspace.database.read() as connection:
            breaks = list(verify(connection))
        verify_s = time.perf_counter() - begin
    return {
        "episodes": episodes,
        "ingest_per_s": rate,
        "ingest_per_cpu_s": rate_cpu,
        "query_p95_ms": max(queries.values()),
        "queries_ms": queries,
        "queries_cpu_ms": queries_cpu,
        "count_s": count_s,
        "counted": total,
        "released": release.episodes,
        "release_s": release_s,
        "release_cpu_s": release_cpu_s,
        "audit_verify_s": verify_s,
        "audit_breaks": len(breaks),
    }


def main() -> int:
    """0 when every target was met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m bench.catalog", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--released", type=int, default=100_000, help="episodes of the release")
    parser.add_argument("--repeats", type=int, default=20, help="of every query")
    parser.add_argument("--catalog", default=CATALOG, help="an empty database; SQLite by default")
    parser.add_argument(
        "--lab", type=Path, help="a workspace to fill, or one that a run has filled"
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench_catalog.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-catalog-") as place:
        lab = asked.lab or Path(place) / "lab"
        figures = measure(lab, asked.catalog, episodes=asked.episodes,
                          released=asked.released, repeats=asked.repeats)  # fmt: skip
    reached = {
        # A workspace that was full has nothing to say of this.
        "ingest_per_s": not figures["ingest_per_s"]
        or figures["ingest_per_s"] >= TARGETS["ingest_per_s"],
        "query_p95_ms": figures["query_p95_ms"] <= TARGETS["query_p95_ms"],
        "release_s": figures["release_s"] <= TARGETS["release_s"],
    }
    shown = Table(title=f"a catalogue of {asked.episodes:,} episodes")
    for head in ("what", "is", "aim"):
        shown.add_column(head)
    if figures["ingest_per_s"]:
        shown.add_row("ingest, rows with audit events per second",
                      f"{figures['ingest_per_s']:,.0f}", ">= 10,000")  # fmt: skip
        shown.add_row("the same per second of this process's CPU",
                      f"{figures['ingest_per_cpu_s']:,.0f}", "")  # fmt: skip
    for query, spent in figures["queries_ms"].items():
        cpu = figures["queries_cpu_ms"][query]
        shown.add_row(f"first page, p95: {query}", f"{spent:.1f} ms, {cpu:.1f} CPU-ms",
                      "<= 100 ms")  # fmt: skip
    shown.add_row(f"release of {figures['released']:,}",
                  f"{figures['release_s']:.1f} s, {figures['release_cpu_s']:.1f} CPU-s",
                  "<= 15 s")  # fmt: skip
    shown.add_row("walk the audit log", f"{figures['audit_verify_s']:.1f} s", "")
    Console(width=None if sys.stdout.isatty() else 120).print(shown)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    document = {"bench": "catalog", "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine(), "figures": figures, "reached": reached}  # fmt: skip
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(reached.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
