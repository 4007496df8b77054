"""Episode files as a PyTorch dataset, without any conversion: the rows that an export would hold.

Anything with a length and items is a dataset to PyTorch, so this one is made without it; only
items as tensors and the sampler need PyTorch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.label_track import NOTHING, Lane, united
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError, MissingExtraError, UnknownNameError
from corporeal.exchange.format import CUT
from corporeal.exchange.formats import episodes
from corporeal.exchange.layout import (
    ACTION,
    IMAGES,
    lane_key,
    layout_of,
    main_lane,
)
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.seen_stretches import find_stretches, seen_dataset
from corporeal.exchange.table import EpisodeTable, table_of
from corporeal.exchange.training.compensation import compensated, compensated_dataset
from corporeal.exchange.training.hierarchy import SubPolicy
from corporeal.exchange.training.joint_order import joint_order
from corporeal.exchange.training.normalisation import Normalisation, fit
from corporeal.exchange.training.picture_cache import PictureCache
from corporeal.exchange.training.random_rows import EpisodeRows, Projector, read_rows
from corporeal.exchange.training.sub_policy import find_pieces
from corporeal.exchange.training.weights import read_weights, row_weights
from corporeal.units import SECOND_NS


def _with_cameras(
    recording: Recording, options: ExportOptions, cameras: Sequence[str] | None
) -> ExportOptions:
    """The same options with the cameras of these names alone; None for what an export takes."""
    if cameras is None:
        return options
    specs = [signal.spec for signal in recording.signals.values()]
    films = {spec.name: spec.group for spec in specs if spec.kind == "video"}
    wanted = [name.removeprefix(IMAGES) for name in cameras]
    _check_known("camera", wanted, films)
    include = tuple(name for name in wanted if films[name] == "debug")
    exclude = tuple(name for name in films if name not in wanted)
    return replace(options, include=include, exclude=exclude)


def _check_known(what: str, names: Sequence[str], known: Mapping[str, Any]) -> None:
    for name in names:
        if name not in known:
            raise UnknownNameError(what, name, known)


def _open_episodes(paths: Path | str | Sequence[Path | str]) -> Dataset:
    """Episode files and folders of them; raises EpisodeError for a path that is neither."""
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    if not given:
        raise CorporealError("dataset of no path; expected episode files or folders of them.")
    datasets = []
    for path in map(Path, given):
        if not path.exists():
            raise EpisodeError(f"{path}: does not exist. Give an episode file or a folder of them.")
        datasets.append(episodes.read(path))
        if not datasets[-1].episodes:
            raise EpisodeError(
                f"{path}: no episode file (.h5) here. Turn datasets of other formats into episodes "
                "with corporeal import."
            )
    every = [(dataset, number) for dataset in datasets for number in dataset.episodes]

    def open_numbered(index: int) -> Recording:
        dataset, number = every[index]
        return dataset.open(number)

    return replace(datasets[0], episodes=tuple(range(len(every))), open=open_numbered)


Item = dict[str, Any]


@dataclass(frozen=True)
class DatasetEntry:
    """An episode of the dataset: where it is, and its rows `first` to `first + length`."""

    path: Path
    id: str
    first: int
    length: int
    success: bool | None
    origin: str
    """The id of the episode that it was cut from, or its own."""


class EpisodeDataset:
    """Training samples by number: state, pictures, instruction, and the actions that follow.

    `paths` are episode files or folders of them. `chunk` is how many actions an item has from its
    row on, `history` how many rows of observations up to it. `cameras` names those to decode, by
    default all that a robot has; `columns` the numbers by key; `state` and `action` the streams
    that make them up, by default joints, grippers and hands. `image_size` makes pictures square.
    `normalisation` is a document, or a method to fit it by. Pictures further than `tolerance_s`
    from their row are an error. `policy` gives the rows, state and action of a sub-policy alone;
    every stretch of its modes is an episode. With `seen_only` so is every stretch in which all was
    seen that the robot follows, and the rest is left out. `compensate` names wrench streams to free
    of their tool's weight and their bias, by the calibration that every episode must carry for it.

    `cache` is a folder for decoded pictures, which are put there when the dataset is made, if they
    are not there yet: more disk, several times the samples per second; delete it at will.
    A process keeps numbers of `cached_bytes` at most and `open_files` files open.
    """

    def __init__(
        self,
        paths: Path | str | Sequence[Path | str],
        *,
        chunk: int = 16,
        history: int = 1,
        cameras: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        state: Sequence[str] | None = None,
        action: Sequence[str] | None = None,
        rate_hz: float | None = None,
        image_size: int | None = None,
        image_dtype: Literal["float32", "uint8"] = "float32",
        normalisation: Normalisation | str | None = None,
        mode: bool = False,
        policy: SubPolicy | None = None,
        weights: Mapping[str, float] | Path | str | None = None,
        compensate: Sequence[str] = (),
        seen_only: bool = False,
        tolerance_s: float | None = None,
        cache: Path | str | None = None,
        cached_bytes: int = 256 << 20,
        open_files: int = 64,
    ) -> None:
        if chunk < 1 or history < 1 or open_files < 1:
            raise CorporealError(
                f"dataset, got chunk {chunk}, history {history}, open_files {open_files}; "
                "expected 1 or more of each."
            )
        if image_dtype not in ("float32", "uint8"):
            raise UnknownNameError("type of pictures", image_dtype, ("float32", "uint8"))
        self.chunk, self.history = chunk, history
        self._image_dtype = np.dtype(image_dtype)
        self._tolerance_s = tolerance_s
        self._compensate = tuple(compensate)
        dataset = compensated_dataset(_open_episodes(paths), self._compensate)
        self._stretches = find_stretches(dataset) if seen_only else None
        if self._stretches is not None:
            dataset = seen_dataset(dataset, self._stretches)
        first = dataset.open(0)
        options = ExportOptions(
            rate_hz=rate_hz, view="hierarchical" if mode else "flat", image_size=image_size,
            state=tuple(state or ()), action=tuple(action or ()),
        )  # fmt: skip
        options = _with_cameras(first, options, cameras)
        self._pieces = find_pieces(dataset, policy, options) if policy is not None else None
        if self._pieces is None:
            self.layout = layout_of(first, options, needs_action=True)
        else:
            self.layout = self._pieces.layout
            dataset = self._pieces.dataset(dataset)
        self.robot = first.embodiment
        self.keys = tuple(self.layout.columns) if columns is None else tuple(columns)
        _check_known("column", self.keys, self.layout.columns)
        self.tasks: tuple[str, ...] = ()
        self.episodes = tuple(self._entries(dataset))
        self._starts = [entry.first for entry in self.episodes]
        self._weights = self._weigh(weights)
        if isinstance(normalisation, str):
            normalisation = fit(iter(dataset), self.layout, normalisation, self.robot)
        self.normalisation = normalisation
        self._cached_bytes, self._open_files = cached_bytes, open_files
        self._cache_folder = Path(cache) if cache is not None else None
        self._forget()
        if self._cache is not None:
            for number in range(len(self.episodes)):
                self._build(self._cache, self._rows(number))

    def __len__(self) -> int:
        last = self.episodes[-1]
        return last.first + last.length

    def __getitem__(self, index: int) -> Item:
        """The sample as tensors, with the keys of LeRobot's."""
        torch = _torch()
        return {
            key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
            for key, value in self.sample(index).items()
        }

    def sample(self, index: int) -> Item:
        """The same as arrays, which needs no PyTorch; the caller may change them.

        Actions are (chunk, ...), pictures (3, height, width) in 0 to 1; with a history of more
        than 1, observations have it as their first axis.
        """
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"sample {index}; the dataset has {count}.")
        index = int(index) % count
        number = bisect_right(self._starts, index) - 1
        entry, rows = self.episodes[number], self._rows(number)
        row = index - entry.first
        past = np.maximum(np.arange(row - self.history + 1, row + 1), 0)
        item = self._numbers(rows, row, entry.length, past)
        for key in rows.movies:
            item[key] = self._pictures(rows, key, past)
        if self.history > 1:
            item["observation_is_pad"] = np.arange(row - self.history + 1, row + 1) < 0
        task = rows.instructions[int(rows.instruction[row])]
        item |= {
            "timestamp": np.array(row / self.layout.rate_hz, np.float32),
            "frame_index": np.array(row),
            "episode_index": np.array(number),
            "index": np.array(index),
            "task_index": np.array(self.tasks.index(task)),
            "task": task,
        }
        if rows.mode is not None:
            item["mode"] = np.array(rows.mode[row])
        return item | self._labels(rows, row)

    def sampler(
        self, generator: Any = None, *, even: bool = False, num_samples: int | None = None
    ) -> Any:
        """A WeightedRandomSampler by the weights of the episodes, for a DataLoader.

        `even` draws episodes of one weight equally often, however long they are.
        """
        torch = _torch()
        each = row_weights(self._weights, [entry.length for entry in self.episodes], even=even)
        return torch.utils.data.WeightedRandomSampler(
            torch.from_numpy(each), num_samples or len(self), generator=generator
        )

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each episode by its id: 0 for one that failed, where weights were given."""
        return {entry.id: self._weights[number] for number, entry in enumerate(self.episodes)}

    @property
    def joint_order(self) -> dict[str, Any]:
        """What stands where in state and action, to be kept with the policy."""
        return joint_order(self.layout, self.robot)

    def __getstate__(self) -> dict[str, Any]:
        """Without open files and decoders: a worker of a DataLoader makes its own."""
        return {key: value for key, value in vars(self).items() if key not in _OWN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def _forget(self) -> None:
        self._held: OrderedDict[int, EpisodeRows] = OrderedDict()
        self._held_bytes = 0
        self._projector = Projector(self._open_files)
        folder = self._cache_folder
        self._cache = PictureCache(folder, self._open_files) if folder is not None else None

    def _entries(self, dataset: Dataset) -> Iterator[DatasetEntry]:
        first, tasks = 0, dict[str, None]()
        lanes: list[tuple[Lane, ...]] = []
        for number, recording in enumerate(dataset):
            table = table_of(recording, replace(self.layout, mode=False), number=number)
            self._check_pictures(table)
            tasks |= dict.fromkeys(table.instructions)
            lanes.append(recording.labels.used_lanes if recording.labels is not None else ())
            yield DatasetEntry(
                path=recording.source,
                id=recording.id,
                first=first,
                length=len(table),
                success=table.success,
                origin=recording.facts.other.get(CUT, {}).get("episode", recording.id),
            )
            first += len(table)
        self.tasks = tuple(tasks)
        self.layout = replace(self.layout, lanes=united(lanes))

    def _check_pictures(self, table: EpisodeTable) -> None:
        if self._tolerance_s is None:
            return
        for key, camera in table.cameras.items():
            away = np.abs(camera.signal.time_ns[camera.numbers] - table.time_ns) / SECOND_NS
            if away.max() > self._tolerance_s:
                raise EpisodeError(
                    f"{table.recording.source}: row {int(away.argmax())} shows a picture of {key} "
                    f"from {away.max():.3f} s away; expected {self._tolerance_s} s at most. "
                    "Leave the episode out, or raise tolerance_s."
                )

    def _weigh(self, weights: Mapping[str, float] | Path | str | None) -> tuple[float, ...]:
        if weights is None:
            return (1.0,) * len(self.episodes)
        known = weights if isinstance(weights, Mapping) else read_weights(weights)
        drawn = tuple(0.0 if entry.success is False else float(known.get(entry.origin, 1.0))
                      for entry in self.episodes)  # fmt: skip
        if not any(drawn):
            raise CorporealError(
                f"no episode of {len(drawn)} has a weight above 0, so none would be drawn. "
                "Give the weights of these episodes."
            )
        return drawn

    def _rows(self, number: int) -> EpisodeRows:
        rows = self._held.get(number)
        if rows is not None:
            self._held.move_to_end(number)
            return rows
        rows = read_rows(
            self.episodes[number].path,
            self.layout,
            number=number,
            columns=self.keys,
            normalisation=self.normalisation,
            cut=self._cut(number),
        )
        self._held[number] = rows
        self._held_bytes += rows.nbytes
        while self._held_bytes > self._cached_bytes and len(self._held) > 1:
            self._held_bytes -= self._held.popitem(last=False)[1].nbytes
        return rows

    def _cut(self, number: int) -> Callable[[Recording], Recording]:
        """What makes the episode of this number of the recording in its file."""
        piece = None if self._pieces is None else self._pieces.pieces[number]
        own = number if piece is None else piece.episode
        stretch = None if self._stretches is None else self._stretches[own]

        def cut(recording: Recording) -> Recording:
            recording = compensated(recording, self._compensate)
            if stretch is not None:
                recording = stretch.cut(recording)
            if self._pieces is None or piece is None:
                return recording
            return self._pieces.open(recording, piece)

        return cut

    def _numbers(self, rows: EpisodeRows, row: int, length: int, past: NDArray[np.int64]) -> Item:
        item: Item = {}
        ahead = np.arange(row, row + self.chunk)
        for key, values in rows.columns.items():
            if key == ACTION or key.startswith(f"{ACTION}."):
                item[key] = values[np.minimum(ahead, length - 1)]
            else:
                item[key] = values[past] if self.history > 1 else values[row].copy()
        item["action_is_pad"] = ahead >= length
        return item

    def _labels(self, rows: EpisodeRows, row: int) -> Item:
        """The label that holds, by lane; the main lane under the names that LeRobot has for it."""
        item: Item = {}
        main = main_lane(self.layout.lanes)
        for lane in self.layout.lanes:
            number = int(rows.labels[lane.name][row])
            item["subtask_index" if lane is main else lane_key(lane)] = np.array(number)
            if lane is main:
                item["subtask"] = lane.labels[number] if number != NOTHING else ""
        return item

    def _pictures(self, rows: EpisodeRows, key: str, past: NDArray[np.int64]) -> NDArray[Any]:
        height, width = self.layout.cameras[key].size
        out = np.empty((len(past), 3, height, width), self._image_dtype)
        numbers = rows.movies[key].numbers[past].tolist()
        if self._cache is not None:
            self._cache.show(rows.content, key, numbers, out)
        else:
            self._projector.show(rows, key, numbers, out)
        return out if self.history > 1 else out[0]

    def _build(self, cache: PictureCache, rows: EpisodeRows) -> None:
        for key, movie in rows.movies.items():

            def decode(number: int, out: NDArray[np.uint8], key: str = key) -> None:
                self._projector.show(rows, key, [number], out[None])

            size = self.layout.cameras[key].size
            cache.build(rows.content, key, size, len(movie.packets.size), decode)


_OWN = ("_held", "_held_bytes", "_projector", "_cache")


@cache
def _torch() -> Any:
    try:
        import_module("torch.utils.data")
        return import_module("torch")
    except ImportError:
        raise MissingExtraError("torch", "train") from None
