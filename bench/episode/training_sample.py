"""The random-access contest: the same training samples, at the same random times, for everyone."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.episode.meter import Figures, Meter, Plan
from bench.episode.workload_files import ACTION, STATE, TRAINING_CAMERAS, WorkloadFiles

CHUNK = 16
_WARM_UP = 12
_TURN = 15
_COMPARED = 6


class TrainingSample(NamedTuple):
    """State (29,), action chunk (16, 29), pictures (3, height, width) float32 in 0..1."""

    state: NDArray[Any]
    actions: NDArray[Any]
    pictures: list[NDArray[np.float32]]


Draw = Callable[[int], TrainingSample]
"""The sample at the time of picture number `n`."""


def as_float_planes(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(height, width, 3) bytes as (3, height, width) in 0..1: what a policy is fed with."""
    planes = np.empty((3, *picture.shape[:2]), np.float32)
    planes[...] = picture.transpose(2, 0, 1)
    planes *= np.float32(1 / 255)
    return planes


def signal_places(
    files: WorkloadFiles, state_ns: NDArray[np.int64], action_ns: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For every picture: the row of the newest state, and the row where its actions begin."""
    stamps = files.times(TRAINING_CAMERAS[0])
    state = np.maximum(np.searchsorted(state_ns, stamps, side="right") - 1, 0)
    action = np.searchsorted(action_ns, stamps, side="left")
    return state, np.minimum(action, len(action_ns) - CHUNK)


def measure(draw: Draw, files: WorkloadFiles, plan: Plan) -> Figures:
    """CPU milliseconds for one sample, and how true its pictures are to the source."""
    last = len(files.times(TRAINING_CAMERAS[0])) - CHUNK - 1
    for number in _numbers(last, _WARM_UP, seed=0):
        _check(draw(number), files)
    cpu_ms, wall_ms = [], []
    for turn in range(plan.repeats * max(1, round(plan.samples / _TURN))):
        numbers = _numbers(last, _TURN, seed=turn + 1)
        plan.turns.wait()
        with Meter() as meter:
            for number in numbers:
                draw(number)
        cpu_ms.append(meter.cpu_s * 1000 / _TURN)
        wall_ms.append(meter.wall_s * 1000 / _TURN)
    compared = _numbers(last, _COMPARED, seed=0)
    return {
        "cpu_ms": statistics.median(cpu_ms),
        "wall_ms": statistics.median(wall_ms),
        "samples_per_cpu_s": 1000 / statistics.median(cpu_ms),
        "psnr_db": min(_psnr_db(draw(number), files, number) for number in compared),
        "turns": cpu_ms,
    }


def _numbers(last: int, count: int, *, seed: int) -> list[int]:
    numbers: list[int] = np.random.default_rng([17, seed]).integers(0, last, count).tolist()
    return numbers


def _check(sample: TrainingSample, files: WorkloadFiles) -> None:
    """A contestant that returns less than the others would win unfairly."""
    height, width, _ = files.shape(TRAINING_CAMERAS[0])
    got = [sample.state.shape, sample.actions.shape, *(each.shape for each in sample.pictures)]
    wanted = [files.shape(STATE), (CHUNK, *files.shape(ACTION))]
    wanted += [(3, height, width)] * len(TRAINING_CAMERAS)
    kinds = {each.dtype for each in sample.pictures}
    if [tuple(shape) for shape in got] != wanted or kinds != {np.dtype(np.float32)}:
        raise AssertionError(f"a training sample has shapes {got} of {kinds}; expected {wanted}")


def _psnr_db(sample: TrainingSample, files: WorkloadFiles, number: int) -> float:
    errors = []
    for camera, shown in zip(TRAINING_CAMERAS, sample.pictures, strict=True):
        source = as_float_planes(files.frame(camera, number))
        errors.append(float(np.mean((np.asarray(shown) - source) ** 2)))
    return float(-10 * np.log10(max(*errors, 1e-10)))
