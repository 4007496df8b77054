"""Training samples straight from episode files: EpisodeDataset, nothing converted."""

from __future__ import annotations

import importlib
from pathlib import Path

from bench.episode.meter import Figures, Job, Plan, run_job
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


JOBS: dict[str, Job] = {"one": one, "many": many}

if __name__ == "__main__":
    run_job(JOBS)
