"""Corporeal's exports of an episode that is recorded already."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.episode.meter import Figures, Job, Meter, Plan, peak_mb, run_job, size_of
from bench.episode.ours import NAME, record
from bench.episode.workload_files import WorkloadFiles
from corporeal.exchange import options as exchange_plan
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset


def lerobot(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """All that the episode has: 12 columns, statistics of every picture, side files with depth."""
    return {NAME: _export(files, folder, sides=True)}


def lerobot_alone(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """The dataset without what lies beside it."""
    return {f"{NAME}, without side files": _export(files, folder, sides=False)}


def _export(files: WorkloadFiles, folder: Path, *, sides: bool) -> Figures:
    episode = folder / "episode.h5"
    record(files.samples(), files, episode)
    # The third camera stands beside the robot, so a dataset has it only when asked for.
    plan = exchange_plan.ExportOptions(sides=sides, include=("external_front",))
    with Meter() as meter:
        exported = export(partial(open_dataset, episode), folder / "dataset", "lerobot", plan)
    assert exported.layout is not None
    pictures = len(exported.layout.cameras) * sum(each.rows for each in exported.episodes)
    return {
        "cpu_s": meter.cpu_s,
        "wall_s": meter.wall_s,
        "peak_mb": peak_mb(),
        "bytes": size_of(exported.out),
        "pictures": pictures,
    }


JOBS: dict[str, Job] = {"lerobot": lerobot, "lerobot_alone": lerobot_alone}

if __name__ == "__main__":
    run_job(JOBS)
