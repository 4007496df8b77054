"""What `import corporeal` offers beside the rooms' own types: whole jobs on anything readable."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from corporeal.capture.driver import RecordingSource, Rig, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode import Episode
from corporeal.episode.recording import SOURCE_LEDGER, Dataset, Ledger, Recording
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions, ExportResult
from corporeal.exchange import export as export_dataset
from corporeal.exchange import open_dataset as open_paths
from corporeal.exchange.format import formats
from corporeal.files import scratch_folder
from corporeal.protocol import open_protocol
from corporeal.quality import Subject
from corporeal.quality.inspection import InspectionOptions, Report, inspect
from corporeal.quality.policy import open_policy
from corporeal.quality.scoring import EpisodeScore, measure, open_weighting, score_batch

Source = Path | str | Dataset | Sequence[Path | str]
"""An episode file, a folder of them, a dataset of any known format, a bag, or several of these."""

_BAGS = {".bag": "rosbag", ".db3": "rosbag", ".mcap": "mcap"}
_MOST_BAGS = 1000


def open(path: Path | str, *, robot: str | None = None) -> Episode | Dataset:  # noqa: A001
    """Open an episode file as an `Episode`, and anything else that is readable as a `Dataset`.

    `robot` names the robot of data that does not say which it is: a built-in name, or its file.
    """
    place = Path(path)
    if place.is_file() and robot is None and formats()["episodes"].recognises(place):
        return Episode.open(place)
    return open_dataset(place, robot=robot)


def open_dataset(
    source: Source, *, robot: str | None = None, rate_hz: float | None = None
) -> Dataset:
    """Open one or several paths as one dataset, whatever their formats; bags become episodes.

    `rate_hz` is that of files which do not state one, such as the CSV of a motion.
    """
    if isinstance(source, Dataset):
        return source
    stack = ExitStack()
    try:
        dataset = dataset_opener(_paths(source), robot, partial(bag_folder, stack), rate_hz)()
    except BaseException:  # It goes on as it is; nobody else knows of the folders.
        stack.close()
        raise
    # Whoever can still open an episode keeps the folders: the dataset, or its `open` alone.
    folders = _Folders()
    weakref.finalize(folders, stack.close)
    return replace(dataset, open=partial(_open_kept, folders, dataset.open))


class _Folders:
    """Stands for folders that are removed when nobody holds it any more."""


def _open_kept(
    folders: _Folders, open_episode: Callable[[int], Recording], number: int
) -> Recording:
    del folders
    return open_episode(number)


def bag_folder(stack: ExitStack) -> Path:
    """A folder for the episodes of a bag, which lives as long as `stack`."""
    return stack.enter_context(scratch_folder("corporeal-bag-"))


def dataset_opener(
    paths: Sequence[Path],
    robot: str | None,
    make_folder: Callable[[], Path],
    rate_hz: float | None = None,
) -> Callable[[], Dataset]:
    """A picklable function that opens the paths as one dataset.

    Bags are recorded into episodes first, in folders that `make_folder` gives; whoever gives them
    removes them. `rate_hz` is that of files which state none.
    """
    for path in paths:
        if not path.exists():
            raise CorporealError(
                f"{path} does not exist; expected an episode, a folder of them or a dataset."
            )
    paths = [each for path in paths for each in _bags_inside(path) or [path]]
    ready = [
        _record_bag(path, make_folder(), robot) if _bag_driver(path) else path for path in paths
    ]
    model: Embodiment | None = open_robot(robot) if robot is not None else None
    bags = {folder: path for folder, path in zip(ready, paths, strict=True) if folder != path}
    return partial(_open_ready, ready, model, rate_hz, bags)


def _open_ready(
    ready: Sequence[Path],
    robot: Embodiment | None,
    rate_hz: float | None,
    bags: Mapping[Path, Path],
) -> Dataset:
    """The paths as one dataset; episodes that were recorded from a bag name the bag."""
    dataset = open_paths(ready, robot=robot, rate_hz=rate_hz)
    if not bags:
        return dataset
    first = bags.get(ready[0], ready[0])
    source = first if len(ready) == 1 else first.parent
    return replace(dataset, source=source, open=partial(_open_recorded, dataset.open, bags))


def _open_recorded(
    open_episode: Callable[[int], Recording], bags: Mapping[Path, Path], number: int
) -> Recording:
    try:
        recording = open_episode(number)
    except CorporealError as error:
        _name_bags(error, bags)
        raise
    bag = bags.get(recording.source.parent)
    if bag is None:
        return recording
    items = recording.facts.other.get(SOURCE_LEDGER)
    ledger = Ledger.from_json(items) if isinstance(items, list) else recording.ledger
    return replace(recording, source=bag, ledger=ledger)


def check(
    source: Source,
    *,
    robot: str | None = None,
    policy: Path | str | None = None,
    protocol: str | None = None,
    only: Sequence[str] | None = None,
    pictures: bool = True,
    alone: bool = False,
) -> Report:
    """Judge every episode of a source; the report has a verdict and findings for each.

    One file is compared with the episodes that lie beside it, unless it is to be judged `alone`.
    """
    dataset = open_dataset(source, robot=robot)
    request = InspectionOptions(
        policy=open_policy(Path(policy) if policy is not None else None),
        protocol=open_protocol(protocol) if protocol is not None else None,
        pictures=pictures,
        only=tuple(only) if only else None,
        alone=alone,
    )
    return inspect(lambda: dataset, request, on="serial")


def score(
    source: Source, *, robot: str | None = None, weighting: str = "default"
) -> list[EpisodeScore]:
    """Score every demonstration of a source from 0 to 1, each with its parts and reasons."""
    dataset = open_dataset(source, robot=robot)
    measured = [measure(Subject(dataset.open(number))) for number in dataset.episodes]
    return score_batch(measured, open_weighting(weighting))


def export(
    source: Source,
    out: Path | str,
    format: str = "lerobot",  # noqa: A002
    *,
    robot: str | None = None,
    options: ExportOptions | None = None,
) -> ExportResult:
    """Write a source as a dataset in another format; `ExportOptions` has rate, view and so on."""
    dataset = open_dataset(source, robot=robot)
    asked = replace(options or ExportOptions(), on="serial")
    return export_dataset(lambda: dataset, Path(out), format, asked)


def _paths(source: Path | str | Sequence[Path | str]) -> list[Path]:
    return [Path(source)] if isinstance(source, Path | str) else [Path(path) for path in source]


def _bag_driver(path: Path) -> str | None:
    """Which driver reads this bag; None when it is not one, or a log of our own."""
    if formats()["mcap"].recognises(path):
        return None
    if path.is_dir() and (path / "metadata.yaml").is_file():
        return "rosbag"
    return _BAGS.get(path.suffix) if path.is_file() else None


def _bags_inside(folder: Path) -> list[Path]:
    """The bags in a folder that is neither a bag nor a dataset, in order of name; else none.

    Those of the folder itself, or those of the folders in it, up to two levels down.
    """
    if not folder.is_dir() or _bag_driver(folder) or any(
        each.read and each.recognises(folder) for each in formats().values()
    ):  # fmt: skip
        return []
    for pattern in ("*", "*/*", "*/*/*"):
        inside = sorted(each for each in folder.glob(pattern) if not each.is_symlink())
        bags = list(islice(filter(_bag_driver, inside), _MOST_BAGS + 1))
        if len(bags) > _MOST_BAGS:
            raise CorporealError(
                f"{folder}: bags, got more than {_MOST_BAGS}; expected fewer at once. "
                "Take them in with: corporeal watch-folder."
            )
        if bags:
            return bags
    return []


def describe_bag(path: Path | str, *, robot: str | None = None) -> Rig | None:
    """What a bag holds, without recording it: streams, ledger, problems; None for what is none."""
    name = _bag_driver(Path(path))
    if name is None:
        return None
    driver = drivers()[name]
    values = {"path": str(path)} if robot is None else {"path": str(path), "robot": robot}
    return driver.describe(parse_options(driver, values))


def _record_bag(path: Path, folder: Path, robot: str | None) -> Path:
    driver = drivers()[str(_bag_driver(path))]
    values = {"path": str(path)} if robot is None else {"path": str(path), "robot": robot}
    options = parse_options(driver, values)
    settings = RecorderSettings(folder, metadata={"task": path.stem})
    try:
        Recorder([RecordingSource("bag", driver, options)], settings).run()
    except CorporealError as error:
        _name_bags(error, {folder: path})
        raise
    return folder


def _name_bags(error: CorporealError, bags: Mapping[Path, Path]) -> None:
    """Put bags into a message for the folders of their episodes, which are ours and soon gone."""
    text = str(error)
    for folder, bag in bags.items():
        text = text.replace(str(folder), str(bag))
    error.args = (text,)
