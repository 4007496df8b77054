"""Training samples straight from episode files: EpisodeDataset, nothing converted."""

from __future__ import annotations

import importlib
from pathlib import Path
from statistics import median

import numpy as np

from bench.episode.meter import Figures, Job, Meter, Plan, run_job, size_of
from bench.episode.ours import NAME, record
from bench.episode.training_sample import CHUNK, TrainingSample, measure
from bench.episode.workload_files import TRAINING_CAMERAS, WorkloadFiles
from corporeal.exchange.layout import ACTION, STATE
from corporeal.exchange.training import EpisodeDataset

COPIES = 12


def one(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Samples of a single episode, which is open."""
    return {NAME: _measure(files, folder, plan, copies=1)}


def many(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Every sample from another file, as in training on many episodes."""
    return {f"{NAME}, {COPIES} files": _measure(files, folder, plan, copies=COPIES)}


def _measure(files: WorkloadFiles, folder: Path, plan: Plan, *, copies: int) -> Figures:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    written = folder / "episode_00.h5"
    record(files.samples(), files, written)
    for number in range(1, copies):
        (folder / f"episode_{number:02d}.h5").hardlink_to(written)
    paths = sorted(folder.glob("*.h5"))
    names = tuple(path.rsplit("/", 1)[-1] for path in TRAINING_CAMERAS)
    dataset = EpisodeDataset(paths, chunk=CHUNK, cameras=names, columns=(STATE, ACTION))
    keys = [f"observation.images.{name}" for name in names]
    rows = dataset.episodes[0].length
    # The first rows of a table may begin some pictures after the camera.
    skipped = len(files.times(TRAINING_CAMERAS[0])) - rows
    calls = iter(range(1 << 30))

    def draw(number: int) -> TrainingSample:
        row = min(max(0, number - skipped), rows - 1)
        item = dataset[row + rows * (next(calls) % copies)]
        shown = [item[key].numpy() for key in keys]
        return TrainingSample(item[STATE].numpy(), item[ACTION].numpy(), shown)

    return measure(draw, files, plan)


SIZE = 224


def small(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Pictures of a policy's size, decoded when they are asked for."""
    return {f"{NAME}, {SIZE} x {SIZE}": _measure_small(files, folder, plan, cached=False)}


def cached(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """The same from a cache that was built before."""
    name = f"{NAME}, {SIZE} x {SIZE} from a cache"
    return {name: _measure_small(files, folder, plan, cached=True)}


def _measure_small(files: WorkloadFiles, folder: Path, plan: Plan, *, cached: bool) -> Figures:
    written = folder / "episode.h5"
    record(files.samples(), files, written)
    names = tuple(path.rsplit("/", 1)[-1] for path in TRAINING_CAMERAS)
    with Meter() as building:
        dataset = EpisodeDataset(
            written, chunk=CHUNK, cameras=names, columns=(STATE, ACTION),
            image_size=SIZE, cache=folder / "cache" if cached else None,
        )  # fmt: skip
    order = np.random.default_rng(17).integers(0, len(dataset), plan.samples).tolist()
    for index in order:
        dataset.sample(index)
    cpu_ms, wall_ms = [], []
    for _ in range(plan.repeats):
        with Meter() as meter:
            for index in order:
                dataset.sample(index)
        cpu_ms.append(meter.cpu_s * 1000 / len(order))
        wall_ms.append(meter.wall_s * 1000 / len(order))
    return {
        "cpu_ms": median(cpu_ms),
        "wall_ms": median(wall_ms),
        "samples_per_cpu_s": 1000 / median(cpu_ms),
        "build_cpu_s": building.cpu_s,
        "bytes": size_of(folder),
    }


JOBS: dict[str, Job] = {"one": one, "many": many, "small": small, "cached": cached}

if __name__ == "__main__":
    run_job(JOBS)
