"""Corporeal's own episode file in every contest."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from bench.episode.meter import (
    Figures,
    Job,
    Live,
    Meter,
    Plan,
    median_cpu_ms,
    peak_mb,
    run_job,
    size_of,
)
from bench.episode.peer_align import CALLS_PER_REPEAT, RATE_HZ, grid_ns, numpy_interp
from bench.episode.training_sample import (
    CHUNK,
    TrainingSample,
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
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.alignment import align as align_series
from corporeal.episode.file import VideoReader
from corporeal.schema import Stream
from corporeal.schema.stream import DepthError
from corporeal.testing import Workload

NAME = "Corporeal"
ROBOT = "g1"
_READS_PER_REPEAT = 40
# 0.08 px of disparity at a focal length of 385 px and a baseline of 50 mm, and a millimetre.
_NOISE = DepthError(constant=1.0, quadratic=0.08 / (385 * 50))


def write(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """Everything the workload has, sample by sample, as it would come from a robot."""
    return {NAME: _written(files, folder)}


def write_rounded(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """The same with depth rounded within the noise of a stereo camera."""
    return {f"{NAME}, depth within its noise": _written(files, folder, depth_error=_NOISE)}


def _written(
    files: WorkloadFiles, folder: Path, *, depth_error: DepthError | None = None
) -> Figures:
    target = folder / "episode.h5"
    pictures = files.paths("video", "depth")
    live = Live(files.samples(), frozenset(pictures))
    with Meter() as meter:
        record(live, files, target, depth_error=depth_error)
    return {
        "cpu_s": meter.cpu_s,
        "wall_s": meter.wall_s,
        "peak_mb": peak_mb(),
        "bytes": size_of(target),
        "rgb_bytes": _rgb_bytes(files, target),
        "lost": _lost(files, target),
        "late": live.late,
    }


def random(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Training samples from an open episode."""
    target = folder / "episode.h5"
    record(files.samples(), files, target)
    with Episode.open(target) as episode:
        state, action = episode[STATE], episode[ACTION]
        cameras = [_video(episode, camera) for camera in TRAINING_CAMERAS]
        state_row, action_row = signal_places(files, state.time_ns, action.time_ns)

        def draw(number: int) -> TrainingSample:
            begin = int(action_row[number])
            shown = [camera.planes(number, as_float=True) for camera in cameras]
            return TrainingSample(
                state[int(state_row[number])], action[begin : begin + CHUNK], shown
            )

        return {NAME: measure(draw, files, plan)}


def _video(episode: Episode, camera: str) -> VideoReader:
    reader = episode[camera]
    assert isinstance(reader, VideoReader)
    return reader


def read(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """All signals, the file opened anew each time; in turns with plain contiguous HDF5."""
    target, plain = folder / "episode.h5", folder / "plain.h5"
    record(files.samples(), files, target)
    signals = files.signals()
    with h5py.File(plain, "w") as file:
        for path, (stamps, values) in signals.items():
            file[f"{path}/time_ns"], file[f"{path}/data"] = stamps, values

    def ours() -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
        with Episode.open(target) as episode:
            return {path: (episode[path].time_ns, episode[path][:]) for path in signals}

    def theirs() -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
        with h5py.File(plain, "r") as file:
            return {
                path: (file[f"{path}/time_ns"][()], file[f"{path}/data"][()]) for path in signals
            }

    for contents in (ours(), theirs()):
        for path, (stamps, values) in signals.items():
            np.testing.assert_array_equal(contents[path][0], stamps)
            np.testing.assert_array_equal(contents[path][1], values)
    our_ms, their_ms = _in_turns(ours, theirs, times=_READS_PER_REPEAT * plan.repeats)
    return {NAME: {"cpu_ms": our_ms}, "h5py, contiguous": {"cpu_ms": their_ms}}


def align(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """All signals on one grid: from memory as the others, and straight from an open file."""
    target = folder / "episode.h5"
    record(files.samples(), files, target)
    signals = files.signals()
    times = CALLS_PER_REPEAT * plan.repeats
    schema = _workload(files).schema
    held = {path: _Held(schema.stream(path), *signals[path]) for path in signals}
    _check_alignment(files, held)
    from_memory = median_cpu_ms(lambda: align_series(held, RATE_HZ), times=times)
    with Episode.open(target) as episode:
        paths = list(signals)
        from_file = median_cpu_ms(lambda: episode.align(RATE_HZ, paths), times=times)
    return {NAME: {"cpu_ms": from_memory}, f"{NAME}, from the file": {"cpu_ms": from_file}}


@dataclass(frozen=True)
class _Held:
    """A signal in memory, as alignment takes it."""

    spec: Stream
    time_ns: NDArray[np.int64]
    values: NDArray[Any]

    def __getitem__(self, selection: Any) -> Any:
        return self.values[selection]

    def __len__(self) -> int:
        return len(self.time_ns)


def _check_alignment(files: WorkloadFiles, held: dict[str, _Held]) -> None:
    """A fast wrong answer would not count: compare what is linear with `numpy.interp`."""
    signals = files.signals()
    aligned = align_series(held, RATE_HZ)
    truth, grid = numpy_interp(signals), grid_ns(signals)
    np.testing.assert_array_equal(aligned.time_ns, grid)
    for path in held:
        if aligned.column(path).method == "linear":
            np.testing.assert_allclose(aligned[path], truth[path], atol=1e-3)


def record(
    samples: Iterable[Sample],
    files: WorkloadFiles,
    target: Path,
    *,
    depth_error: DepthError | None = None,
) -> None:
    """The workload as an episode file."""
    workload = _workload(files)
    streams = [
        stream.model_copy(update={"depth_error": depth_error}) if stream.kind == "depth" else stream
        for stream in workload.schema.streams
    ]
    with EpisodeWriter(
        target,
        schema=workload.schema.model_copy(update={"streams": tuple(streams)}),
        embodiment=workload.embodiment,
        metadata=workload.metadata,
        epoch_ns=0,
    ) as writer:
        for path, time_ns, value in samples:
            writer.append(path, time_ns, value)


def _workload(files: WorkloadFiles) -> Workload:
    height, width, _ = files.shape(TRAINING_CAMERAS[0])
    seconds = float(files.manifest["seconds"])
    return Workload(open_robot(ROBOT), duration_s=seconds, size=(height, width))


def _rgb_bytes(files: WorkloadFiles, target: Path) -> int:
    with Episode.open(target) as episode:
        return sum(episode[path].nbytes for path in files.paths("video"))


def _lost(files: WorkloadFiles, target: Path) -> int:
    """Pictures that cannot be read back; depth beyond the error it may have counts as lost."""
    lost = 0
    with Episode.open(target) as episode:
        for path in files.paths("video"):
            readable = sum(1 for number in range(len(episode[path])) if episode[path][number].any())
            lost += len(files.times(path)) - readable
        for path in files.paths("depth"):
            error = episode[path].spec.depth_error or DepthError()
            for number, source in enumerate(files.frames(path)):
                off = np.abs(episode[path][number].astype(np.int64) - source)
                allowed = error.constant + error.quadratic * source.astype(np.float64) ** 2
                lost += bool((off > allowed).any())
    return lost


def _in_turns(
    ours: Callable[[], object], theirs: Callable[[], object], *, times: int
) -> tuple[float, float]:
    """Median CPU milliseconds of each, measured alternately so that both meet the same machine."""
    spent: tuple[list[float], list[float]] = [], []
    for _ in range(times):
        for work, kept in zip((ours, theirs), spent, strict=True):
            begin = time.process_time_ns()
            work()
            kept.append((time.process_time_ns() - begin) / 1e6)
    return statistics.median(spent[0]), statistics.median(spent[1])


JOBS: dict[str, Job] = {
    "write": write,
    "write_rounded": write_rounded,
    "random": random,
    "read": read,
    "align": align,
}

if __name__ == "__main__":
    run_job(JOBS)
