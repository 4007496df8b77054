"""What labs write by hand: HDF5 with raw pictures, or with a JPEG for each."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.episode.meter import Figures, Job, Live, Meter, Plan, peak_mb, run_job, size_of
from bench.episode.training_sample import (
    CHUNK,
    TrainingSample,
    as_float_planes,
    measure,
    signal_places,
)
from bench.episode.workload_files import (
    ACTION,
    STATE,
    TRAINING_CAMERAS,
    Sample,
    WorkloadFiles,
)

RAW, JPEG = "HDF5, raw pictures", "HDF5, JPEG q95"


def write_raw(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """Pictures as they are, one chunk each."""
    return {RAW: _write(files, folder / "raw.h5", jpeg=False)}


def write_jpeg(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """A JPEG for each picture, depth shuffled and deflated."""
    return {JPEG: _write(files, folder / "jpeg.h5", jpeg=True)}


def random_raw(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Training samples from raw pictures."""
    _record(files.samples(), files, folder / "raw.h5", jpeg=False)
    return {RAW: _random(files, folder / "raw.h5", plan, lambda stored: np.asarray(stored))}


def random_jpeg(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Training samples from JPEG."""
    _record(files.samples(), files, folder / "jpeg.h5", jpeg=True)
    return {JPEG: _random(files, folder / "jpeg.h5", plan, _from_jpeg)}


def _write(files: WorkloadFiles, target: Path, *, jpeg: bool) -> Figures:
    live = Live(files.samples(), frozenset(files.paths("video", "depth")))
    with Meter() as meter:
        _record(live, files, target, jpeg=jpeg)
    return {
        "cpu_s": meter.cpu_s,
        "wall_s": meter.wall_s,
        "peak_mb": peak_mb(),
        "bytes": size_of(target),
        "rgb_bytes": _rgb_bytes(files, target),
        "lost": 0,
        "late": live.late,
    }


def _record(samples: Iterable[Sample], files: WorkloadFiles, target: Path, *, jpeg: bool) -> None:
    """Pictures go to the file as they come; signals are kept and written at the end."""
    signals: dict[str, list[Any]] = {path: [] for path in files.paths("array", "text")}
    stamps: dict[str, list[int]] = {path: [] for path in files.manifest["streams"]}
    cameras = set(files.paths("video"))
    with h5py.File(target, "w") as file:
        pictures = {
            path: _picture_dataset(file, files, path, jpeg=jpeg)
            for path in files.paths("video", "depth")
        }
        for path, time_ns, value in samples:
            if path in pictures:
                dataset = pictures[path]
                dataset.resize(len(stamps[path]) + 1, axis=0)
                dataset[-1] = _as_jpeg(value) if jpeg and path in cameras else value
            else:
                signals[path].append(value)
            stamps[path].append(time_ns)
        for path, values in signals.items():
            file[f"{path}/data"] = values if path in files.paths("text") else np.stack(values)
        for path, times in stamps.items():
            file[f"{path}/time_ns"] = np.array(times, np.int64)


def _picture_dataset(file: h5py.File, files: WorkloadFiles, path: str, *, jpeg: bool) -> Any:
    shape, name = files.shape(path), f"{path}/data"
    if jpeg and path in files.paths("video"):
        kind = h5py.vlen_dtype(np.uint8)
        return file.create_dataset(name, (0,), maxshape=(None,), dtype=kind, chunks=(64,))
    packed: dict[str, Any] = {"compression": "gzip", "shuffle": True} if jpeg else {}
    return file.create_dataset(
        name, (0, *shape), maxshape=(None, *shape), dtype=files.dtype(path), chunks=(1, *shape),
        **packed,
    )  # fmt: skip


def _random(
    files: WorkloadFiles, source: Path, plan: Plan, decode: Callable[[Any], NDArray[np.uint8]]
) -> Figures:
    with h5py.File(source, "r") as file:
        state, action = file[f"{STATE}/data"], file[f"{ACTION}/data"]
        cameras = [file[f"{camera}/data"] for camera in TRAINING_CAMERAS]
        times = file[f"{STATE}/time_ns"][()], file[f"{ACTION}/time_ns"][()]
        state_row, action_row = signal_places(files, *times)

        def draw(number: int) -> TrainingSample:
            begin = int(action_row[number])
            shown = [as_float_planes(decode(camera[number])) for camera in cameras]
            return TrainingSample(
                state[int(state_row[number])], action[begin : begin + CHUNK], shown
            )

        return measure(draw, files, plan)


def _rgb_bytes(files: WorkloadFiles, target: Path) -> int:
    with h5py.File(target, "r") as file:
        cameras = [file[f"{path}/data"] for path in files.paths("video")]
        return sum(int(picture.nbytes) for camera in cameras for picture in camera)


def _as_jpeg(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=95)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _from_jpeg(stored: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(stored.tobytes())))


JOBS: dict[str, Job] = {
    "write_raw": write_raw,
    "write_jpeg": write_jpeg,
    "random_raw": random_raw,
    "random_jpeg": random_jpeg,
}

if __name__ == "__main__":
    run_job(JOBS)
