"""An episode as stages see it, and the dataset that it belongs to."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.episode import Episode
from corporeal.episode.facts import EpisodeFacts, read_facts
from corporeal.episode.file.storage import Storage
from corporeal.episode.file.streams import VideoReader
from corporeal.episode.label_track import FIELD, LabelTrack, Lane, labels_in
from corporeal.episode.recording.ledger import Defect, Ledger, SourceItem
from corporeal.episode.recording.signals import Signal, VideoFile
from corporeal.notebook import html_table

Statistics = Mapping[str, NDArray[np.float64]]

_MANY_FILES = 64


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
    span_ns: tuple[int, int] | None = None
    """The times between which its rows lie, of a piece that was cut out; None: all."""
    side: Path | None = None
    """An episode file that holds what the rows of its dataset cannot, if there is one."""
    recovered: str | None = None
    """Why the recording is not complete; None when it is."""
    regridded: bool = False
    """The stamps were made from a frame number, so lost frames do not show in them."""
    labels: LabelTrack | None = None
    """What people said of it; None when nobody has."""
    ledger: Ledger = field(default_factory=Ledger)
    """What its source has of it, and what became of each item; empty where no reader says."""

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
        ledger=_ledger_of(signals, documents),
    )


def _ledger_of(signals: Mapping[str, Signal], documents: Mapping[str, str]) -> Ledger:
    """A file of our own holds what it says: every stream and document is taken as it is."""
    streams = (
        SourceItem(
            path,
            "camera" if signal.spec.kind in ("video", "depth") else "array",
            len(signal),
            (signal.spec.path,),
        )
        for path, signal in signals.items()
    )
    texts = (SourceItem(kind, "document", 1, (f"documents/{kind}",)) for kind in documents)
    return Ledger((*streams, *texts))


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
    ledger: Ledger = field(default_factory=Ledger)
    """Items of the dataset as a whole; those of an episode are in its recording's."""
    find_neighbours: Callable[[], tuple[int, ...]] = tuple
    """Numbers, the nearest first, of episodes that lie beside these: `open` opens them as well."""

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
