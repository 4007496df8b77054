"""What one episode costs, how well two cores are used, and what a million would take on paper.

Run: python -m bench.scale --out out/bench_scale.json       # some minutes on two idle cores
     python -m bench.scale --only units --repeats 3

The JSON goes to standard output too. Unit costs are of the 20 s workload with pictures of 640x480:
medians of CPU seconds, so a busy machine makes them larger, by up to half, and never smaller. Wall
time with two jobs means something on an idle machine only: `load` says what else was running.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.episode.meter import Meter, size_of
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.workspace import make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.quality import Subject
from corporeal.quality.inspection import InspectionOptions, inspect, inspect_episode
from corporeal.quality.policy import default_policy
from corporeal.quality.scoring import measure
from corporeal.testing import Workload

TOPICS = ("units", "cores")
SECONDS = 20.0
JOBS = (1, 2)
COPIES = 4
FORMAT = "lerobot"
# More than this many processes that want a core, and wall time is somebody else's too.
IDLE_LOAD = 0.7


@dataclass(frozen=True)
class Fleet:
    """What the forecast assumes; prices are round figures of public clouds, without discounts."""

    episodes: int = 1_000_000
    machines: int = 50
    cores: int = 16
    used: float = 0.85
    """Share of the cores that works for us: stragglers, retries, the scheduler, the system."""
    usd_per_core_hour: float = 0.045
    usd_per_gb_month: float = 0.023
    gbit_per_s: float = 10.0
    """Network of one machine."""


def write(path: Path, seed: int, seconds: float, size: tuple[int, int] = (480, 640)) -> Path:
    """An episode file of the workload."""
    work = Workload(open_robot("g1"), duration_s=seconds, seed=seed, size=size)
    path.parent.mkdir(parents=True, exist_ok=True)
    with EpisodeWriter(path, schema=work.schema, embodiment=work.embodiment,
                       metadata=work.metadata, epoch_ns=0) as writer:  # fmt: skip
        for stream, time_ns, value in work.samples():
            writer.append(stream, time_ns, value)
    return path


def metered(call: Callable[[], object]) -> Meter:
    """CPU and wall seconds of a call, its threads and its processes."""
    with Meter() as meter:
        call()
    return meter


def units_topic(place: Path, repeats: int) -> dict[str, Any]:
    """CPU seconds per episode of every stage, and bytes; after one turn that does not count."""
    episode = write(place / "recorded" / "e0.h5", 0, SECONDS)
    dataset = open_dataset(episode.parent)
    exported, space = place / "exported", place / "workspace"

    def take_in() -> None:
        shutil.rmtree(space, ignore_errors=True)
        workspace = make_workspace(space)
        (outcome,) = ingest(workspace, [episode], who="bench", check=False).outcomes
        assert outcome.status == "added", outcome

    request = InspectionOptions(default_policy())
    stages: dict[str, Callable[[], object]] = {
        "check": lambda: inspect_episode(dataset, 0, request),
        "check_without_pictures": lambda: inspect_episode(
            dataset, 0, InspectionOptions(default_policy(), pictures=False)
        ),
        "score": lambda: measure(Subject(dataset.open(0))),
        "ingest": take_in,
    }
    turns = [{name: metered(stage).cpu_s for name, stage in stages.items()}
             | export_costs(episode, exported) for _ in range(repeats + 1)][1:]  # fmt: skip
    return {
        "seconds": SECONDS,
        "cpu_s": {name: statistics.median(turn[name] for turn in turns) for name in turns[0]},
        "bytes": {"episode": size_of(episode), "export": size_of(exported) // COPIES},
    }


def export_costs(episode: Path, out: Path) -> dict[str, float]:
    """CPU seconds per episode: what workers share, and what one process puts together after."""
    folder = out.with_name("copies")
    for old in (folder, out):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir()
    for number in range(COPIES):
        shutil.copy(episode, folder / f"e{number}.h5")
    pieces = 0.0

    def written(_: object) -> None:
        nonlocal pieces
        pieces = time.process_time() - begin

    begin = time.process_time()
    export(partial(open_dataset, folder), out, FORMAT, ExportOptions(), on_episode=written)
    whole = time.process_time() - begin
    return {"export": pieces / COPIES, "export_assembly": (whole - pieces) / COPIES}


def cores_topic(place: Path, episodes: int, seconds: float) -> dict[str, Any]:
    """Wall and CPU seconds of checking and exporting the same episodes with one and two jobs."""
    folder = place / "many"
    kinds = [write(folder / f"e{number:04d}.h5", number, seconds) for number in range(4)]
    for number in range(4, episodes):
        shutil.copy(kinds[number % 4], folder / f"e{number:04d}.h5")
    opener = partial(open_dataset, folder)
    request = InspectionOptions(default_policy())
    stages: dict[str, Callable[[int], object]] = {
        "check": lambda jobs: inspect(opener, request, jobs=jobs),
        "export": lambda jobs: export(
            opener, place / f"out{jobs}", FORMAT, ExportOptions(jobs=jobs)
        ),
    }
    found: dict[str, Any] = {"episodes": episodes, "seconds": seconds, "cores": os.cpu_count()}
    for name, stage in stages.items():
        rows = {}
        for jobs in JOBS:
            load = os.getloadavg()[0]
            meter = metered(partial(stage, jobs))
            rows[str(jobs)] = {"wall_s": meter.wall_s, "cpu_s": meter.cpu_s,
                               "cores_used": meter.cpu_s / meter.wall_s, "load": load}  # fmt: skip
        found[name] = rows | {"speed_up": rows["1"]["wall_s"] / rows["2"]["wall_s"]}
    # Our own last run is in the load by then, so only what was there before the first one counts.
    found["idle"] = found["check"]["1"]["load"] <= IDLE_LOAD
    return found


def forecast(units: dict[str, Any], fleet: Fleet) -> dict[str, Any]:
    """A fleet's bill for all stages: every episode taken in, checked, scored and exported once."""
    cpu, size = units["cpu_s"], units["bytes"]
    stages = ("ingest", "check", "score", "export", "export_assembly")
    per_episode_s = sum(cpu[stage] for stage in stages)
    core_hours = fleet.episodes * per_episode_s / 3600
    hours = core_hours / (fleet.machines * fleet.cores * fleet.used)
    kept_gb = fleet.episodes * (size["episode"] + size["export"]) / 1e9
    # Written once as an episode and once as an export; read to be taken in and judged, and again
    # to be exported.
    moved_gb = kept_gb + 2 * fleet.episodes * size["episode"] / 1e9
    network_hours = moved_gb * 8 / (fleet.machines * fleet.gbit_per_s) / 3600
    return {
        "cpu_s_per_episode": per_episode_s,
        "core_hours": core_hours,
        "hours_of_work": hours,
        "hours_of_assembly_in_one_process": fleet.episodes * cpu["export_assembly"] / 3600,
        "hours_of_network": network_hours,
        "moved_tb": moved_gb / 1e3,
        "kept_tb": kept_gb / 1e3,
        "hours_at_worst": hours + network_hours,
        "usd_of_machines": fleet.machines
        * fleet.cores
        * fleet.usd_per_core_hour
        * (hours + network_hours),
        "usd_per_month_of_storage": kept_gb * fleet.usd_per_gb_month,
        "assumed": asdict(fleet),
    }


def show(found: dict[str, Any]) -> None:
    """Tables for people, beside the JSON."""
    page = Console(stderr=True)
    if "units" in found:
        table = Table("stage", "CPU-s", title=f"one episode of {SECONDS:g} s, pictures 640x480")
        for name, spent in found["units"]["cpu_s"].items():
            table.add_row(name, f"{spent:.2f}")
        page.print(table)
    if "cores" in found:
        cores = found["cores"]
        about = f"{cores['episodes']} episodes of {cores['seconds']:g} s"
        busy = "idle" if cores["idle"] else "BUSY: wall times are not ours alone"
        table = Table("stage", "jobs", "wall s", "CPU-s", "cores used", "speed-up",
                      title=f"{about}; the machine was {busy}")  # fmt: skip
        for name in ("check", "export"):
            for jobs in map(str, JOBS):
                row = cores[name][jobs]
                faster = f"{cores[name]['speed_up']:.2f}" if jobs != "1" else ""
                table.add_row(name, jobs, f"{row['wall_s']:.1f}", f"{row['cpu_s']:.1f}",
                              f"{row['cores_used']:.2f}", faster)  # fmt: skip
        page.print(table)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=TOPICS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=48)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each episode for `cores`")
    parser.add_argument("--out", type=Path, default=Path("out/bench_scale.json"))
    asked = parser.parse_args()
    unknown = set(asked.only) - set(TOPICS)
    if unknown:
        parser.error(f"{unknown.pop()!r} is none of {', '.join(TOPICS)}")
    found: dict[str, Any] = {"date": date.today().isoformat(), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as name:
        if "units" in asked.only:
            found["units"] = units_topic(Path(name), asked.repeats)
            found["forecast"] = forecast(found["units"], Fleet())
        if "cores" in asked.only:
            found["cores"] = cores_topic(Path(name), asked.episodes, asked.seconds)
    show(found)
    text = json.dumps(found, indent=1)
    print(text)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
