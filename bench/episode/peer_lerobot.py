"""LeRobot's own dataset, run with the Python of the `lerobot` partner.

It carries no 16-bit depth and one rate for all, so it gets the RGB cameras, the state and the
action at 30 Hz: less work than the others have.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.episode.meter import Figures, Job, Live, Meter, Plan, peak_mb, run_job, size_of
from bench.episode.training_sample import CHUNK, TrainingSample, measure
from bench.episode.workload_files import (
    ACTION,
    STATE,
    TRAINING_CAMERAS,
    Sample,
    WorkloadFiles,
)

FPS = 30
_REPO = "bench/workload"
# As `lerobot-record` sets it.
_IMAGE_WRITERS_PER_CAMERA = 4


def write_default(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """PNG files while recording, AV1 when the episode is saved: the default."""
    writers = _IMAGE_WRITERS_PER_CAMERA * len(files.paths("video"))
    return {"LeRobot, default": _write(files, folder, image_writer_threads=writers)}


def write_av1(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """AV1 while recording."""
    return {"LeRobot, streaming AV1": _write(files, folder, streaming_encoding=True)}


def write_h264(files: WorkloadFiles, folder: Path, _: Plan) -> dict[str, Figures]:
    """H.264 while recording."""
    figures = _write(files, folder, streaming_encoding=True, vcodec="h264")
    return {"LeRobot, streaming H.264": figures}


def random_av1(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Training samples from AV1."""
    return {"LeRobot, AV1": _random(files, folder, plan, TRAINING_CAMERAS, vcodec="libsvtav1")}


def random_all(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Training samples from the dataset as it was recorded: with a camera that nobody asked for."""
    cameras = files.paths("video")
    figures = _random(files, folder, plan, cameras, vcodec="libsvtav1")
    return {"LeRobot, AV1, all 3 cameras": figures}


def random_h264(files: WorkloadFiles, folder: Path, plan: Plan) -> dict[str, Figures]:
    """Training samples from H.264."""
    return {"LeRobot, H.264": _random(files, folder, plan, TRAINING_CAMERAS, vcodec="h264")}


def _write(files: WorkloadFiles, folder: Path, **options: Any) -> Figures:
    dataset_class = _dataset_class()
    cameras = files.paths("video")
    live = Live(files.rows(cameras), frozenset({"row"}))
    target = folder / "dataset"
    with Meter() as meter:
        _record(dataset_class, live, files, cameras, target, **options)
    expected = len(files.times(cameras[0])) * len(cameras)
    return {
        "cpu_s": meter.cpu_s,
        "wall_s": meter.wall_s,
        "peak_mb": peak_mb(),
        "bytes": size_of(target),
        "rgb_bytes": sum(size_of(video) for video in target.rglob("*.mp4")),
        "lost": expected - _count_pictures(target),
        "late": live.late * len(cameras),
    }


def _record(
    dataset_class: Any, rows: Iterable[Sample], files: WorkloadFiles, cameras: tuple[str, ...],
    target: Path, **options: Any,
) -> None:  # fmt: skip
    features: dict[str, dict[str, Any]] = {
        "observation.state": _feature("float32", files.shape(STATE)),
        "action": _feature("float32", files.shape(ACTION)),
    }
    for camera in cameras:
        features[_key(camera)] = {
            "dtype": "video",
            "shape": files.shape(camera),
            "names": ["height", "width", "channels"],
        }
    dataset = dataset_class.create(_REPO, FPS, features, root=target, **options)
    for _, _, values in rows:
        row = {_key(camera): values[camera] for camera in cameras}
        row |= {"observation.state": values[STATE], "action": values[ACTION]}
        dataset.add_frame({**row, "task": files.manifest["instruction"]})
    dataset.save_episode()
    dataset.finalize()
    dataset.stop_image_writer()


def _random(
    files: WorkloadFiles, folder: Path, plan: Plan, cameras: tuple[str, ...], *, vcodec: str
) -> Figures:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    dataset_class = _dataset_class()
    target = folder / "dataset"
    writers = _IMAGE_WRITERS_PER_CAMERA * len(cameras)
    _record(dataset_class, files.rows(cameras), files, cameras, target, vcodec=vcodec,
            image_writer_threads=writers)  # fmt: skip
    chunk = {"action": [step / FPS for step in range(CHUNK)]}
    dataset = dataset_class(_REPO, target, delta_timestamps=chunk, video_backend="torchcodec")

    def draw(number: int) -> TrainingSample:
        item = dataset[number]
        shown = [item[_key(camera)].numpy() for camera in TRAINING_CAMERAS]
        return TrainingSample(item["observation.state"].numpy(), item["action"].numpy(), shown)

    return measure(draw, files, plan)


def _count_pictures(target: Path) -> int:
    av = importlib.import_module("av")
    count = 0
    for video in sorted(target.rglob("*.mp4")):
        with av.open(str(video)) as container:
            count += int(container.streams.video[0].frames)
    return count


def _feature(dtype: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "names": [f"joint_{n}" for n in range(shape[0])]}


def _key(camera: str) -> str:
    return f"observation.images.{camera.rsplit('/', 1)[-1]}"


def _dataset_class() -> Any:
    # Nothing here may go to a network: the dataset is a local folder.
    os.environ["HF_HUB_OFFLINE"] = "1"
    module = importlib.import_module("lerobot.datasets.lerobot_dataset")
    logging.getLogger().setLevel(logging.ERROR)
    return module.LeRobotDataset


JOBS: dict[str, Job] = {
    "write_default": write_default,
    "write_av1": write_av1,
    "write_h264": write_h264,
    "random_av1": random_av1,
    "random_h264": random_h264,
    "random_all": random_all,
}

if __name__ == "__main__":
    run_job(JOBS)
