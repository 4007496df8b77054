"""Putting 13 signals on one 50 Hz grid by hand: numpy, scipy, pandas, polars; arrays in memory.

All of these only resample. None says how old a value is or how far apart the clocks are.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.episode.meter import Figures, Job, Plan, median_cpu_ms, run_job
from bench.episode.workload_files import WorkloadFiles

RATE_HZ = 50
CALLS_PER_REPEAT = 10

Signals = dict[str, tuple[NDArray[np.int64], NDArray[Any]]]
Aligned = dict[str, NDArray[Any]]


def grid_ns(signals: Signals) -> NDArray[np.int64]:
    """The ticks that every stream covers."""
    begin = max(int(times[0]) for times, _ in signals.values())
    end = min(int(times[-1]) for times, _ in signals.values())
    return np.arange(begin, end + 1, 1_000_000_000 // RATE_HZ, dtype=np.int64)


def numpy_lerp(signals: Signals) -> Aligned:
    """A line between the neighbours, all columns at once."""
    grid = grid_ns(signals)
    aligned = {}
    for path, (times, values) in signals.items():
        right = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
        left = right - 1
        weight = ((grid - times[left]) / (times[right] - times[left])).astype(values.dtype)
        weight = weight.reshape(-1, *[1] * (values.ndim - 1))
        aligned[path] = values[left] * (1 - weight) + values[right] * weight
    return aligned


def numpy_interp(signals: Signals) -> Aligned:
    """`np.interp`, column by column."""
    grid = grid_ns(signals)
    aligned = {}
    for path, (times, values) in signals.items():
        columns = values.reshape(len(values), -1).T
        lines = np.stack([np.interp(grid, times, column) for column in columns], axis=-1)
        aligned[path] = lines.reshape(len(grid), *values.shape[1:])
    return aligned


def scipy_interp1d(signals: Signals) -> Aligned:
    """`scipy.interpolate.interp1d` along axis 0."""
    interp1d = importlib.import_module("scipy.interpolate").interp1d
    grid = grid_ns(signals)
    return {
        path: interp1d(times, values, axis=0, assume_sorted=True)(grid)
        for path, (times, values) in signals.items()
    }


def pandas_asof(signals: Signals) -> Aligned:
    """`pandas.merge_asof`: the newest value, no line between."""
    pandas = importlib.import_module("pandas")
    grid = pandas.DataFrame({"time": grid_ns(signals)})
    aligned = {}
    for path, (times, values) in signals.items():
        frame = pandas.DataFrame(values.reshape(len(values), -1))
        frame.insert(0, "time", times)
        joined = pandas.merge_asof(grid, frame, on="time").drop(columns="time").to_numpy()
        aligned[path] = joined.reshape(len(grid), *values.shape[1:])
    return aligned


def polars_asof(signals: Signals) -> Aligned:
    """`polars.DataFrame.join_asof`: the newest value, no line between."""
    polars = importlib.import_module("polars")
    grid = polars.DataFrame({"time": grid_ns(signals)}).set_sorted("time")
    aligned = {}
    for path, (times, values) in signals.items():
        columns = values.reshape(len(values), -1).T
        named = {f"c{number}": column for number, column in enumerate(columns)}
        frame = polars.DataFrame({"time": times, **named}).set_sorted("time")
        joined = grid.join_asof(frame, on="time").drop("time").to_numpy()
        aligned[path] = joined.reshape(len(grid), *values.shape[1:])
    return aligned


METHODS: dict[str, tuple[str, Callable[[Signals], Aligned]]] = {
    "numpy, own lerp": ("numpy", numpy_lerp),
    "numpy.interp": ("numpy", numpy_interp),
    "scipy interp1d": ("scipy", scipy_interp1d),
    "pandas merge_asof": ("pandas", pandas_asof),
    "polars join_asof": ("polars", polars_asof),
}


def align(files: WorkloadFiles, _: Path, plan: Plan) -> dict[str, Figures]:
    """Every method whose package is installed."""
    signals = files.signals()
    truth = numpy_interp(signals)
    rows: dict[str, Figures] = {}
    for name, (package, method) in METHODS.items():
        if importlib.util.find_spec(package) is None:
            rows[name] = {"note": f"{package} is not installed"}
            continue
        aligned = method(signals)
        if "asof" not in name:
            worst = max(float(np.abs(aligned[path] - truth[path]).max()) for path in truth)
            if worst > 1e-3:
                raise AssertionError(f"{name} differs from numpy.interp by {worst}")
        times = CALLS_PER_REPEAT * plan.repeats
        rows[name] = {"cpu_ms": median_cpu_ms(lambda run=method: run(signals), times=times)}  # type: ignore[misc]
    return rows


JOBS: dict[str, Job] = {"align": align}

if __name__ == "__main__":
    run_job(JOBS)
