"""Clean episodes to plant faults in: simulated, the same as one-rate tables, and real ones."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bench.detection.editing import cameras_of
from bench.detection.fault import EpisodeSet, NotApplicable
from bench.detection.lerobot_writer import Version, write
from bench.detection.tables import head_of, table_of
from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.episode.recording import Dataset, Recording, recording_of
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.exchange.format import formats
from corporeal.exchange.opening import open_dataset

PROJECT = Path(__file__).resolve().parents[2]
CACHE = PROJECT / ".cache" / "detection"
SIZE = (240, 320)
STYLES = ("careful", "steady", "hesitant", "hasty", "jerky")
TASKS = ("reach", "pick_place", "bimanual_lift", "handover", "stand")
# Episodes of one task, so that one of another stands out among them.
COMMON = 9
PICTURE_TASKS = ("pick_place", "handover")
FAILURES = ("missed_grasp", "slip", "drop", "collision")


def real_data() -> Path | None:
    """The folder with public sample data: CORPOREAL_DATA, or `shared/data` beside the project."""
    named = os.environ.get("CORPOREAL_DATA")
    candidates = (
        [Path(named)] if named else [PROJECT / "shared/data", PROJECT.parent / "shared/data"]
    )
    return next((path for path in candidates if path.is_dir()), None)


@dataclass(frozen=True)
class Plan:
    """Which simulated episodes there are: the first seed, and how many of each task."""

    first: int
    seeds: int


def _from(plan: Plan) -> Path:
    folder = CACHE / f"first{plan.first}_seeds{plan.seeds}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def record_demonstration(folder: Path, task: str, operator: str, **options: Any) -> None:
    """Record a simulated demonstration with the recorder itself, unless it was done before."""
    text = json.dumps([task, operator, options], sort_keys=True, default=str)
    name = f"{task}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if (folder / name).with_suffix(".h5").exists():
        return
    facts = {"task": task, "operator": operator, "station": "s1", "session": name,
             "software": "bench.detection"}  # fmt: skip
    driver = drivers()["sim"]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        settings = RecorderSettings(Path(place), metadata=facts, episodes=1)
        source = RecordingSource("sim", driver, parse_options(driver, {"task": task, **options}))
        recorder = Recorder([source], settings)
        recorder.run()[0].rename((folder / name).with_suffix(".h5"))


def walking_policy() -> Path:
    data = real_data()
    found = sorted(data.glob("policies/g1_walk_*/*.onnx")) if data else []
    if not found:
        raise NotApplicable("no walking policy")
    return found[0]


def simulated(plan: Plan) -> Path:
    """Episode files without pictures: every task and style, `seeds` of each task."""
    folder = _from(plan) / "episode"
    for place, task in enumerate(TASKS):
        for number in range(max(plan.seeds, COMMON) if task == "pick_place" else plan.seeds):
            style = STYLES[(number + place) % len(STYLES)]
            operator = f"op{(number + place) % 5}"
            record_demonstration(
                folder, task, operator, style=style, pictures=False, seed=plan.first + number
            )
    return folder


def walking(plan: Plan) -> Path:
    """Episode files of a robot that walks, where a policy for that is at hand."""
    folder = _from(plan) / "walk"
    policy = walking_policy()
    for task in ("walk", "walk_carry"):
        for number in range(max(1, plan.seeds // 2)):
            operator = f"op{number % 5}"
            record_demonstration(
                folder, task, operator, pictures=False, policy=policy, seed=plan.first + number
            )
    return folder


def failed(plan: Plan) -> Path:
    """Episode files of tasks that went wrong."""
    folder = _from(plan) / "failed"
    for place, failure in enumerate(FAILURES):
        for number in range(max(1, plan.seeds // 2)):
            record_demonstration(
                folder,
                "pick_place",
                f"op{number % 5}",
                pictures=False,
                fault_share=1.0,
                fault=failure,
                seed=plan.first + 40 * place + number,
            )
    return folder


def filmed(plan: Plan) -> Path:
    """Episode files with four cameras."""
    folder = _from(plan) / "filmed"
    for place, task in enumerate(PICTURE_TASKS):
        for number in range(min(5, max(3, plan.seeds))):
            operator = f"op{(number + 3 * place) % 6}"
            record_demonstration(
                folder, task, operator, height=SIZE[0], width=SIZE[1], seed=plan.first + number
            )
    return folder


def _episodes(folder: Path, *, success: bool = True) -> EpisodeSet:
    """The episode files that ended so: a simulated operator fails now and then, as people do."""
    found: list[Recording] = []
    for path in sorted(folder.glob("*.h5")):
        recording = recording_of(Episode.open(path), index=len(found))
        if recording.metadata["outcome"]["success"] == success:
            found.append(recording)
    return EpisodeSet(tuple(found))


def _of_dataset(dataset: Dataset) -> EpisodeSet:
    recordings = []
    for number in dataset.episodes:
        try:
            recordings.append(dataset.open(number))
        except CorporealError:
            continue
    return EpisodeSet(
        tuple(recordings), dict(dataset.statistics), dict(dataset.facts), dataset.defects
    )


def _table_set(folder: Path, origin: Path, *, cameras: bool) -> EpisodeSet:
    if "lerobot" not in formats():
        raise NotApplicable("there is no reader of LeRobot yet")
    if not (folder / "meta/info.json").exists():
        originals = _episodes(origin).recordings
        tables = [table_of(each, cameras=cameras) for each in originals]
        write(folder, head_of(originals[0]), tables, version="v3.0")
    return _of_dataset(open_dataset(folder, robot=open_robot("g1")))


def _real(name: str, robot: str) -> EpisodeSet:
    data = real_data()
    if data is None or "lerobot" not in formats():
        raise NotApplicable("no real data, or no reader of it")
    found = _of_dataset(open_dataset(data / "lerobot" / name, robot=open_robot(robot)))
    # Both samples lack files that their books list: true, known, and no false alarm.
    complete = tuple(replace(each, defects=()) for each in found.recordings)
    return replace(found, recordings=complete, defects=())


def _other(pattern: str, *, robot: str | None = None) -> EpisodeSet:
    """Every real file of a pattern that a reader of ours opens."""
    data = real_data()
    found: list[Recording] = []
    for path in sorted(data.glob(pattern)) if data else []:
        try:
            dataset = open_dataset(path, robot=open_robot(robot) if robot else None)
        except CorporealError:
            continue
        for each in _of_dataset(dataset).recordings:
            found.append(replace(each, index=len(found)))
    if not found:
        raise NotApplicable(f"nothing opens of {pattern}")
    return EpisodeSet(tuple(found))


FOLDERS: dict[str, Version] = {"v30": "v3.0", "v21": "v2.1"}
"""Datasets on disk, for faults in their books."""


def dataset_folder(kind: str, plan: Plan) -> Path:
    """A small LeRobot dataset with pictures."""
    folder = _from(plan) / kind
    if not (folder / "meta/info.json").exists():
        originals = _episodes(filmed(plan)).recordings[:6]
        tables = [table_of(each) for each in originals]
        write(folder, head_of(originals[0]), tables, version=FOLDERS[kind])
    return folder


@cache
def open_set(kind: str, plan: Plan) -> EpisodeSet:
    """The clean episodes of a kind; raises NotApplicable where they cannot be had."""
    if kind not in KINDS:
        raise UnknownNameError("kind of data", kind, KINDS)
    return KINDS[kind](plan)


def _filmed_table(plan: Plan) -> EpisodeSet:
    return _table_set(_from(plan) / "filmed_table", filmed(plan), cameras=True)


def _with_pictures(kind: EpisodeSet) -> EpisodeSet:
    """Only the episodes whose movies are there."""
    kept = []
    for recording in kind.recordings:
        try:
            cameras = cameras_of(recording)
            for footage in cameras.values():
                next(iter(footage.frames()))
        except CorporealError:
            continue
        kept.append(recording)
    return replace(kind, recordings=tuple(kept))


KINDS: dict[str, Callable[[Plan], EpisodeSet]] = {
    "episode": lambda plan: _episodes(simulated(plan)),
    "walk": lambda plan: _episodes(walking(plan)),
    "failed": lambda plan: _episodes(failed(plan), success=False),
    "filmed": lambda plan: _episodes(filmed(plan)),
    "table": lambda plan: _table_set(_from(plan) / "table", simulated(plan), cameras=False),
    "filmed_table": _filmed_table,
    "g1": lambda _: _real("g1_inspire_v21_part", "g1"),
    "gr1": lambda _: _real("gr1_picknplace_v20", "gr1"),
    "g1_filmed": lambda _: _with_pictures(_real("g1_inspire_v21_part", "g1")),
    "gr1_filmed": lambda _: _with_pictures(_real("gr1_picknplace_v20", "gr1")),
    "motion": lambda _: _other("retarget/g1_csv_*/**/*.csv", robot="g1"),
    "robomimic": lambda _: _other("hdf5_rlds/robo*/**/*.h*5"),
    "bridge": lambda _: _other("hdf5_rlds/rlds_bridge"),
}
"""How the clean episodes of each kind are made."""

FAMILY = {"filmed": "episode", "filmed_table": "table", "g1_filmed": "g1", "gr1_filmed": "gr1"}
"""What a kind with pictures is without them, for faults that name the kinds they fit."""

DESCRIPTIONS = {
    "episode": "simulated G1 in our episode files: joints 100 Hz, IMU and forces 200 Hz, targets "
    "50 Hz, cameras 30 Hz; five tasks, five styles of operator",
    "walk": "the same, walking with a learned policy",
    "failed": "the same, tasks that went wrong",
    "table": "the simulated episodes as LeRobot v3.0 tables of 30 Hz: state, action, two cameras",
    "g1": "real Unitree G1 with Inspire hands, LeRobot v2.1, 30 Hz (YifanTian07/G1-policy-train)",
    "gr1": "real Fourier GR-1, LeRobot v2.0, 20 Hz (NVIDIA/Isaac-GR00T)",
    "v30": "a small simulated LeRobot v3.0 dataset on disk",
    "v21": "the same as v2.1",
}
"""What each kind of data is, for the reader of the results."""
