"""An episode as stages see it, whatever it was read from: signals in memory or in a file."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.embodiment import Embodiment
from corporeal.episode.episode import Episode
from corporeal.episode.facts import EpisodeFacts, read_facts
from corporeal.episode.file.storage import Storage
from corporeal.episode.file.streams import VideoReader
from corporeal.episode.label_track import FIELD, LabelTrack, Lane, labels_in
from corporeal.errors import EpisodeError
from corporeal.notebook import html_table
from corporeal.schema import Stream

DefectCheck = Literal["index_wrong", "metadata_wrong", "footage_incomplete", "stream_missing"]

INDEX_WRONG: Final = "index_wrong"
"""Rows, numbers and files do not lead to the samples that they should."""
METADATA_WRONG: Final = "metadata_wrong"
"""What the dataset states of itself is not so."""
FOOTAGE_INCOMPLETE: Final = "footage_incomplete"
"""A movie has not the pictures that its stamps promise."""
STREAM_MISSING: Final = "stream_missing"
"""A stream that the dataset lists is not there."""


@dataclass(frozen=True)
class Defect:
    """Something wrong in a dataset's own bookkeeping, as its reader met it.

    `check` names the check that reports it. `episodes` are the numbers of all episodes that it
    concerns, where they are more than one.
    """

    check: DefectCheck
    message: str
    episode: int | None = None
    stream: str | None = None
    value: float | None = None
    limit: float | None = None
    episodes: tuple[int, ...] = ()


Statistics = Mapping[str, NDArray[np.float64]]

MAX_PIXELS = 1 << 26
_MANY_FILES = 64


class Signal(Protocol):
    """What every stream has: a description, stamps, and samples by number."""

    @property
    def spec(self) -> Stream:
        """What the stream is; its name says its role, such as joint_position."""

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of all samples."""

    def __len__(self) -> int: ...

    def __getitem__(self, selection: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class ArraySignal:
    """Samples that are in memory: an array (T, ...), or a list for text and points."""

    spec: Stream
    time_ns: NDArray[np.int64]
    values: Any

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> Any:
        return self.values[selection]


@dataclass(frozen=True, eq=False)
class VideoFile:
    """A camera: pictures `first` to `first + count` of a movie, and the stamps the table gives.

    There may be more stamps than pictures or fewer: that is a defect for a check to find.
    `open` gives the movie: a path, or a file open for reading.
    """

    spec: Stream
    time_ns: NDArray[np.int64]
    open: Callable[[], Any]
    first: int = 0
    count: int | None = None

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> NDArray[np.uint8]:
        """Pictures (T, height, width, 3), or one (height, width, 3)."""
        numbers = np.arange(len(self))[selection]
        wanted = {int(number) for number in np.atleast_1d(numbers)}
        found: dict[int, NDArray[np.uint8]] = {}
        for number, frame in enumerate(self.frames()):
            if number in wanted:
                found[number] = np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
                if len(found) == len(wanted):
                    break
        if len(found) < len(wanted):
            raise EpisodeError(
                f"{self.spec.path}: picture {max(wanted)} is not in the movie; "
                f"it has {len(found)} of the {len(wanted)} asked for."
            )
        pictures = [found[int(number)] for number in np.atleast_1d(numbers)]
        return pictures[0] if np.ndim(numbers) == 0 else np.stack(pictures)

    def frames(self) -> Iterator[av.VideoFrame]:
        """The pictures in order, as the decoder gives them: nothing converted or copied."""
        try:
            with av.open(self.open()) as container:
                stream = container.streams.video[0]
                stream.thread_type = "NONE"
                yield from _between(container, stream, self.first, self.count)
        except (av.FFmpegError, IndexError, OSError) as error:
            raise EpisodeError(
                f"{self.spec.path}: the movie cannot be decoded ({error}). Replace the file."
            ) from error


def _between(container: Any, stream: Any, first: int, count: int | None) -> Iterator[av.VideoFrame]:
    """Frames `first` to `first + count`, from the key frame before the first."""
    stop = None if count is None else first + count
    number = 0
    if first and stream.average_rate and stream.time_base:
        rate = stream.average_rate
        begin = stream.start_time or 0
        container.seek(begin + int(first / rate / stream.time_base), stream=stream)
        for frame in container.decode(stream):
            if frame.pts is None:
                continue
            number = round((frame.pts - begin) * stream.time_base * rate)
            if number >= first:
                yield frame
            if stop is not None and number + 1 >= stop:
                return
        return
    for frame in container.decode(stream):
        if number >= first:
            yield frame
        number += 1
        if stop is not None and number >= stop:
            return


@dataclass(frozen=True, eq=False)
class ImageSequence:
    """A camera whose pictures are stored one by one: JPEG or PNG bytes, or arrays (h, w, 3)."""

    spec: Stream
    time_ns: NDArray[np.int64]
    pictures: Sequence[Any]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> NDArray[np.uint8]:
        """Pictures (T, height, width, 3), or one (height, width, 3)."""
        numbers = np.arange(len(self.pictures))[selection]
        if np.ndim(numbers) == 0:
            return self._picture(self.pictures[int(numbers)])
        return np.stack([self._picture(self.pictures[int(number)]) for number in numbers])

    def frames(self) -> Iterator[av.VideoFrame]:
        """The pictures in order, as a decoder of movies would give them."""
        for stored in self.pictures:
            yield av.VideoFrame.from_ndarray(self._picture(stored), format="rgb24")

    def _picture(self, stored: Any) -> NDArray[np.uint8]:
        if not isinstance(stored, bytes):
            return np.ascontiguousarray(stored, np.uint8)
        try:
            with Image.open(io.BytesIO(stored), formats=("JPEG", "PNG")) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise ValueError(f"{image.width} x {image.height} pixels")
                return np.asarray(image.convert("RGB"), np.uint8)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise EpisodeError(
                f"{self.spec.path}: a picture cannot be decoded ({error}). Replace the file."
            ) from error


@dataclass(frozen=True, eq=False)
class Recording:
    """One episode: its signals by the name their source gives them, and what is said of it.

    `claims` are statistics (mean, std, min, max, count, q01 ...) that the source states for this
    episode, by signal. `index` is the episode's number in its dataset.
    """

    id: str
    source: Path
    index: int
    signals: Mapping[str, Signal]
    embodiment: Embodiment | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Statistics] = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()
    missing_streams: tuple[str, ...] = ()
    missing_metadata: tuple[str, ...] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    """The documents that govern it as canonical text, by kind; the robot's is among them."""
    epoch_ns: int = 0
    """Unix nanoseconds that its stamps count from; 0 when nobody knows."""
    side: Path | None = None
    """An episode file that holds what the rows of its dataset cannot, if there is one."""
    recovered: str | None = None
    """Why the recording is not complete; None when it is."""
    regridded: bool = False
    """The stamps were made from a frame number, so lost frames do not show in them."""
    labels: LabelTrack | None = None
    """What people said of it; None when nobody has."""

    @cached_property
    def facts(self) -> EpisodeFacts:
        """What it says of itself: task, instruction, outcome, operator, mode and the rest."""
        return read_facts(self.metadata, self.signals.values(), self.labels)

    def named(self, *names: str) -> str | None:
        """The label of the signal in the first of these roles that there is."""
        for name in names:
            for label, signal in self.signals.items():
                if signal.spec.name == name:
                    return label
        return None


def recording_of(episode: Episode, *, index: int = 0, robot: Embodiment | None = None) -> Recording:
    """An open episode file as a recording; `robot` takes the place of the one inside."""
    signals: dict[str, Signal] = {}
    for path, reader in episode.items():
        if isinstance(reader, VideoReader):
            signals[path] = VideoFile(reader.spec, reader.time_ns, reader.movie)
        else:
            signals[path] = reader
    documents = episode.documents
    own = episode.embodiment if "embodiment" in documents else None
    has_schema = "schema" in documents
    metadata = episode.metadata
    labels = labels_in(metadata, where=str(episode.path))
    if labels is not None:
        metadata = {name: value for name, value in metadata.items() if name != FIELD}
    return Recording(
        id=episode.id,
        source=episode.path,
        index=index,
        signals=signals,
        embodiment=robot or own,
        metadata=metadata,
        missing_streams=episode.missing_streams if has_schema else (),
        missing_metadata=episode.missing_metadata if has_schema else (),
        documents=documents,
        epoch_ns=episode.epoch_ns,
        recovered=episode.recovered,
        labels=labels,
    )


@dataclass(frozen=True, eq=False)
class Dataset:
    """Recordings that belong together, opened one at a time, and what their source says of them.

    `statistics` are the source's own over all episodes, by signal; `facts` whatever else it states.
    """

    source: Path
    format: str
    episodes: tuple[int, ...]
    """Numbers of the episodes, in order."""
    open: Callable[[int], Recording]
    """The episode with this number; raises CorporealError when it cannot be read."""
    statistics: Mapping[str, Statistics] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()
    lanes: Callable[[], tuple[Lane, ...]] = tuple
    """The lanes of all its episodes' labels; none where it has no labels."""

    def __len__(self) -> int:
        return len(self.episodes)

    def __iter__(self) -> Iterator[Recording]:
        return (self.open(number) for number in self.episodes)

    def __getitem__(self, number: int) -> Recording:
        return self.open(number)

    def _repr_html_(self) -> str:
        """The dataset as a notebook shows it: the signals of its first episode."""
        title = f"{self.source.name}: {self.format}, {len(self)} episodes"
        if not self.episodes:
            return html_table(title, ("signal",), ())
        first = self.open(self.episodes[0])
        rows = (
            (name, signal.spec.path, signal.spec.kind, signal.spec.unit, len(signal))
            for name, signal in first.signals.items()
        )
        columns = ("signal", "stream", "kind", "unit", "samples")
        robot = first.embodiment.name if first.embodiment is not None else "not known"
        return html_table(title, columns, rows, note=f"episode {first.index}, robot {robot}")


@dataclass(frozen=True, eq=False)
class OpenFiles:
    """Files that are open: each for as long as somebody has one of its streams."""

    _open: weakref.WeakSet[Storage] = field(default_factory=weakref.WeakSet)

    def keep(self, episode: Episode) -> None:
        """Count the file as open until nobody needs it any more."""
        self._open.add(episode.storage)
        if len(self._open) > _MANY_FILES:
            gc.collect()  # Recordings in a circle of references wait for this.
