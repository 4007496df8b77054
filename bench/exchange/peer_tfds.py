"""TFDS on our RLDS export of the workload, run with the Python of the `tfds` partner.

TFDS has no random access: samples come in the order of the file, with the pictures decoded.
"""

from __future__ import annotations

import importlib
import os
import statistics
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.episode.meter import Figures, Job, Meter, Plan, run_job
from bench.episode.training_sample import CHUNK, TrainingSample, as_float_planes
from bench.episode.workload_files import TRAINING_CAMERAS, WorkloadFiles

FOLDER = "rlds"
NAME = "TFDS, in order"
_WARM_UP, _TURN = 12, 15


def random(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Samples one after the other, from the start again at the end."""
    del folder  # The dataset is beside the workload.
    samples = _samples(files.folder / FOLDER)
    for _ in range(_WARM_UP):
        next(samples)
    cpu_ms, wall_ms = [], []
    for _ in range(plan.repeats * max(1, round(plan.samples / _TURN))):
        plan.turns.wait()
        with Meter() as meter:
            for _ in range(_TURN):
                next(samples)
        cpu_ms.append(meter.cpu_s * 1000 / _TURN)
        wall_ms.append(meter.wall_s * 1000 / _TURN)
    figures: Figures = {
        "cpu_ms": statistics.median(cpu_ms),
        "wall_ms": statistics.median(wall_ms),
        "samples_per_cpu_s": 1000 / statistics.median(cpu_ms),
        "turns": cpu_ms,
    }
    return {NAME: figures}


def _samples(path: Path) -> Iterator[TrainingSample]:
    """State, the next actions and the pictures of every step, for ever."""
    keys = [f"image_{camera.rsplit('/', 1)[-1]}" for camera in TRAINING_CAMERAS]
    waiting: deque[Any] = deque(maxlen=CHUNK)
    while True:
        waiting.clear()
        for step in _steps(path):
            waiting.append(step)
            if len(waiting) == CHUNK:
                first = waiting[0]
                actions = np.stack([each["action"] for each in waiting])
                shown = [as_float_planes(first["observation"][key]) for key in keys]
                yield TrainingSample(first["observation"]["state"], actions, shown)


def _steps(path: Path) -> Iterator[Any]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    tensorflow = importlib.import_module("tensorflow")
    library = importlib.import_module("tensorflow_datasets")
    if not tensorflow.config.threading.get_inter_op_parallelism_threads():
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    options = library.ReadConfig(interleave_cycle_length=1)
    dataset = library.builder_from_directory(str(path)).as_dataset("train", read_config=options)
    yield from dataset.flat_map(lambda episode: episode["steps"]).as_numpy_iterator()


JOBS: dict[str, Job] = {"random": random}

if __name__ == "__main__":
    run_job(JOBS)
