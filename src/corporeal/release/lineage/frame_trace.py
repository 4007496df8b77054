"""A row of a dataset traced back: to the samples it rests on, their sensors, and the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import EpisodeRow, HistoryEdge, documents_of, find_episode
from corporeal.catalog.ingestion import NOTHING, sensor_serials
from corporeal.catalog.store import open_remote
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.alignment import align_to
from corporeal.episode.file import StreamReader
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.exchange.sidecar import (
    EPISODES,
    FOLDER,
    ROW,
    Sidecar,
    read_sidecar,
    shown_name,
    side_name,
)
from corporeal.exchange.table import lay_out
from corporeal.release.lineage.calibration_history import (
    CalibrationHistory,
    calibration_history,
    history_steps,
)
from corporeal.release.lineage.lineage import GraphNode, LineageGraph
from corporeal.release.reading import releases_of
from corporeal.units import SECOND_NS


@dataclass(frozen=True)
class DatasetRow:
    """A row of an episode. `cameras` have the stream and the capture time of the picture shown.

    `release` is the one that the dataset was exported from, where it says so.
    """

    dataset: str
    episode: str
    time_ns: int
    columns: Mapping[str, tuple[str, ...]]
    cameras: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    release: str | None = None


def exported_row(folder: Path, episode: int | str, row: int) -> DatasetRow:
    """A row of a dataset that `corporeal export` wrote; the episode by its number or id."""
    sidecar = read_sidecar(folder)
    if sidecar is None:
        raise CatalogError(
            f"{folder}, got no description in {FOLDER}/; expected a dataset that corporeal export "
            "wrote."
        )
    number, name, length = _listed(sidecar.root / EPISODES, episode)
    _check_row(row, length, f"episode {episode} of {folder}")
    side = sidecar.root / side_name(number)
    if not side.is_file():
        raise CatalogError(
            f"{folder}: nothing lies beside episode {number}, so the capture times of its rows are "
            "not known. Export it again without --no-sides."
        )
    with Episode.open(side) as opened:
        if opened.id != name:
            raise CatalogError(f"{side} is of episode {opened.id}; expected {name}.")
        return _marked_row(folder, sidecar, opened, row)


def _listed(path: Path, episode: int | str) -> tuple[int, str, int]:
    """Number, id and length of an episode, as the export wrote them."""
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for facts in lines:
            number, name = int(facts["number"]), str(facts["id"])
            if str(episode) in (str(number), name):
                return number, name, int(facts["length"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CatalogError(
            f"{path}: does not list episodes ({error}). Export the dataset again."
        ) from None
    raise CatalogError(f"episode, got {episode!r}; expected 0 to {len(lines) - 1}, or an id.")


def _check_row(row: int, length: int, where: str) -> None:
    if not 0 <= row < length:
        raise CatalogError(f"row of {where}, got {row}; expected 0 to {length - 1}.")


def _marked_row(folder: Path, sidecar: Sidecar, side: Episode, row: int) -> DatasetRow:
    """The row as the marks beside the dataset have it."""
    mark = side[f"debug/{ROW}"]
    _check_row(row, len(mark), f"{side.path}")
    cameras: dict[str, tuple[str, int]] = {}
    for key, camera in sidecar.description.cameras.items():
        times = side.get(f"debug/{shown_name(camera.stream.name)}")
        if times is not None and row < len(times):
            cameras[key] = camera.stream.path, int(times[row].reshape(-1)[0])
    columns = {
        key: tuple(stream.path for stream in column.recorded)
        for key, column in sidecar.description.columns.items()
    }
    release = side.metadata.get("release")
    return DatasetRow(
        dataset=str(folder),
        episode=side.id,
        time_ns=int(mark.time_ns[row]),
        columns=columns,
        cameras=cameras,
        release=release if isinstance(release, str) else None,
    )


def released_row(episode: Episode, release: str, row: int) -> DatasetRow:
    """A row of an episode as an export with no options would make it."""
    recording = recording_of(episode)
    try:
        table = lay_out(recording)
    except CorporealError as error:
        raise CatalogError(f"episode {episode.id} of {release} has no rows: {error}") from error
    _check_row(row, len(table), f"episode {episode.id}")
    columns = {
        key: tuple(stream.path for stream in column.streams)
        for key, column in table.layout.columns.items()
    }
    cameras = {
        key: (camera.spec.stream.path, int(camera.signal.time_ns[camera.numbers[row]]))
        for key, camera in table.cameras.items()
    }
    return DatasetRow(release, episode.id, int(table.time_ns[row]), columns, cameras, release)


FACTS = (
    "task", "instruction", "robot", "operator", "station", "session", "batch", "protocol",
    "calibration", "environment", "mode", "software", "recorded_ns", "state", "verdict", "score",
    "policy", "file",
)  # fmt: skip


@dataclass(frozen=True)
class SampleTrace:
    """What one stream gives to a column: `samples` are numbers in the stream, `stamps_ns` theirs.

    A value between two samples has both. `age_ns` is the row's time minus that of the sample it
    rests on. A stream that the episode does not have was made by the export: it has no sample.
    """

    column: str
    stream: str
    kind: str
    samples: tuple[int, ...]
    stamps_ns: tuple[int, ...]
    age_ns: int | None
    method: str
    frame: str | None = None
    sensor: str | None = None
    serial: str | None = None


@dataclass(frozen=True)
class FrameTrace:
    """Where a row comes from. All stamps count from `epoch_ns` (Unix; 0 when nobody knows)."""

    dataset: str
    row: int
    time_ns: int
    epoch_ns: int
    episode: str
    hash: str
    facts: Mapping[str, Any]
    documents: Mapping[str, Mapping[str, str]]
    """By kind: name, version and hash of what governs the episode."""
    releases: tuple[str, ...]
    """All that have the episode; the one that the row was exported from alone, if it says so."""
    samples: tuple[SampleTrace, ...]
    calibration: CalibrationHistory | None = None

    def to_json(self) -> dict[str, Any]:
        """The trace as plain values."""
        return asdict(self)


def trace_frame(
    workspace: Workspace, dataset: Path | str, episode: int | str, row: int
) -> FrameTrace:
    """A row back to its sensors, and to everything that stands behind its episode.

    `dataset` is a folder that was exported, and `episode` its number there or its id; or it is a
    release, NAME@VERSION, of which `episode` is an id and rows are those of an export as it is by
    default. Raises CatalogError for a row or an episode that is not there.
    """
    folder = Path(dataset)
    is_folder = isinstance(dataset, Path) or folder.exists()
    found = exported_row(folder, episode, row) if is_folder else None
    name = found.episode if found is not None else str(episode)
    with workspace.database.read() as connection:
        stored = _row(connection, name, folder if is_folder else None)
        documents = {
            each.kind: {"name": each.name, "version": each.version, "hash": each.hash}
            for each in documents_of(connection, name)
        }
        releases = releases_of(connection, name)
        calibration = calibration_history(connection, stored)
    if found is None and str(dataset) not in releases:
        raise CatalogError(
            f"{dataset}, got no such folder, nor a release with episode {name}; expected a folder "
            f"that was exported, or one of: {', '.join(releases) or 'no release has it'}."
        )
    with open_remote(workspace.store, stored.hash) as opened:
        found = found or released_row(opened, str(dataset), row)
        samples = tuple(_samples(opened, found))
        epoch_ns = opened.epoch_ns
    return FrameTrace(
        dataset=found.dataset,
        row=row,
        time_ns=found.time_ns,
        epoch_ns=epoch_ns,
        episode=name,
        hash=stored.hash,
        facts={each: getattr(stored, each) for each in FACTS if getattr(stored, each) is not None},
        documents=documents,
        releases=(found.release,) if found.release in releases else tuple(releases),
        samples=samples,
        calibration=calibration,
    )


def _row(connection: Connection, name: str, folder: Path | None) -> EpisodeRow:
    try:
        row = find_episode(connection, name)
    except CatalogError as error:
        if folder is None:
            raise
        raise CatalogError(
            f"{folder}: its episode {name!r} is not in this workspace, so nothing is known of it. "
            "Ingest the recordings that it was exported from."
        ) from error
    if row.state == "erased":
        raise CatalogError(f"episode {name} was erased: there is nothing left to trace.")
    return row


def _samples(episode: Episode, row: DatasetRow) -> Iterator[SampleTrace]:
    for column, streams in row.columns.items():
        for path in streams:
            if path not in episode or not len(episode[path]):
                yield SampleTrace(column, path, "array", (), (), None, "made by the export")
                continue
            yield _described(episode, column, path, *_rests_on(episode[path], row.time_ns), row)
    for camera, (path, stamp) in row.cameras.items():
        stamps = episode[path].time_ns if path in episode else np.zeros(0, np.int64)
        picture = int(np.searchsorted(stamps, stamp))
        if picture >= len(stamps) or stamps[picture] != stamp:
            yield SampleTrace(camera, path, "video", (), (), None, "made by the export")
        else:
            yield _described(episode, camera, path, (picture,), "picture", row)


def _rests_on(reader: StreamReader, time_ns: int) -> tuple[tuple[int, ...], str]:
    """The samples behind a value at this time, the one it rests on first, and how it was made."""
    grid = np.array([time_ns], np.int64)
    (column,) = align_to({reader.spec.path: reader}, grid).columns.values()
    stamps = reader.time_ns
    if not column.valid[0]:
        return (int(np.argmin(np.abs(stamps - time_ns))),), "nearest, in a gap"
    sample, age_ns = int(column.index[0]), int(column.age_ns[0])
    if age_ns == 0:
        return (sample,), "exact"
    if column.method in ("linear", "slerp") and not column.extrapolated[0]:
        return (sample, sample + (1 if age_ns > 0 else -1)), column.method
    return (sample,), column.method


def _described(
    episode: Episode, column: str, path: str, samples: tuple[int, ...], method: str, row: DatasetRow
) -> SampleTrace:
    reader = episode[path]
    stamps = tuple(int(reader.time_ns[each]) for each in samples)
    sensor, serial = sensor_of(path, reader.spec.frame, episode.metadata)
    return SampleTrace(
        column=column,
        stream=path,
        kind=reader.spec.kind,
        samples=samples,
        stamps_ns=stamps,
        age_ns=row.time_ns - stamps[0],
        method=method,
        frame=reader.spec.frame,
        sensor=sensor,
        serial=serial,
    )


def sensor_of(
    path: str, frame: str | None, metadata: Mapping[str, Any]
) -> tuple[str | None, str | None]:
    """The device behind a stream and its serial number; None where the episode does not say.

    `stream_sources` names the device of each stream. Where it does not, devices are matched by
    name: all words of the device's must be among the stream's or the frame's.
    """
    serials = sensor_serials(metadata)
    stated = metadata.get("stream_sources")
    named = str(stated.get(path)) if isinstance(stated, Mapping) else None
    if named is not None and named in serials:
        return named, serials[named]
    words = set(path.rsplit("/", 1)[-1].split("_")) | set((frame or "").split("_"))
    fitting = [name for name in serials if set(name.rsplit("/", 1)[-1].split("_")) <= words]
    exact = [name for name in serials if name in (path, path.rsplit("/", 1)[-1], frame)]
    found = next(iter(exact), None) or max(fitting, key=lambda each: each.count("_"), default=None)
    return (found, serials[found]) if found is not None else (None, None)


_RELATIONS = {
    "operator": "made_by",
    "session": "recorded_in",
    "station": "recorded_at",
    "calibration": "calibrated_with",
    "protocol": "follows",
    "environment": "recorded_at",
}


def history_of(trace: FrameTrace) -> LineageGraph:
    """Row, then the samples that it rests on, then their sensors and all behind the episode."""
    subject = f"frame:{trace.episode}@{trace.row}"
    label = f"row {trace.row} of {Path(trace.dataset).name}, at {trace.time_ns / SECOND_NS:.3f} s"
    nodes = {subject: GraphNode(subject, label, {"time_ns": trace.time_ns})}
    edges: dict[HistoryEdge, None] = {}
    for node, edge in (*_released(trace, subject), *_behind(trace), *_sample_nodes(trace, subject)):
        nodes.setdefault(node.id, node)
        edges[edge] = None
    return LineageGraph(subject, tuple(nodes.values()), tuple(edges))


def _episode(trace: FrameTrace) -> GraphNode:
    words = [f"episode {trace.episode[-12:]}", trace.facts.get("task")]
    return GraphNode(f"episode:{trace.episode}", ", ".join(filter(None, words)))


def _sample_nodes(trace: FrameTrace, subject: str) -> Iterator[tuple[GraphNode, HistoryEdge]]:
    for sample in trace.samples:
        node = GraphNode(f"sample:{sample.stream} {sample.samples}", _words(sample))
        yield node, HistoryEdge(subject, node.id, sample.column)
        if sample.serial is not None:
            sensor = GraphNode(
                f"sensor:{sample.serial}", f"{sample.sensor}, serial {sample.serial}"
            )
            yield sensor, HistoryEdge(node.id, sensor.id, "sensed_by")


def _words(sample: SampleTrace) -> str:
    name = sample.stream.rsplit("/", 1)[-1]
    if not sample.samples:
        return f"{name}, {sample.method}"
    numbers = " and ".join(map(str, sorted(sample.samples)))
    return f"{name} {numbers}, at {sample.stamps_ns[0] / SECOND_NS:.4f} s"


def _released(trace: FrameTrace, subject: str) -> Iterator[tuple[GraphNode, HistoryEdge]]:
    episode = _episode(trace)
    if not trace.releases:
        yield episode, HistoryEdge(subject, episode.id, "exported_from")
    for name in trace.releases:
        release = GraphNode(f"release:{name}", f"release {name}")
        yield release, HistoryEdge(subject, release.id, "released_in")
        yield episode, HistoryEdge(release.id, episode.id, "contains")


def _behind(trace: FrameTrace) -> Iterator[tuple[GraphNode, HistoryEdge]]:
    """Everything that stands behind the episode."""
    episode = _episode(trace)
    steps = () if trace.calibration is None else history_steps(trace.calibration, trace.episode)
    for name, label, facts, relation in steps:
        yield GraphNode(name, label, facts), HistoryEdge(episode.id, name, relation)
    stored = GraphNode(f"object:{trace.hash}", trace.hash[:23])
    yield stored, HistoryEdge(episode.id, stored.id, "stored_as")
    for kind, document in trace.documents.items():
        node = GraphNode(f"document:{document['hash']}",
                    f"{kind} {document['name']}@{document['version']}")  # fmt: skip
        yield node, HistoryEdge(episode.id, node.id, kind)
    for kind, relation in _RELATIONS.items():
        value = trace.facts.get(kind)
        if str(value or "").lower() not in NOTHING and kind not in trace.documents:
            node = GraphNode(f"{kind}:{value}", f"{kind} {value}")
            yield node, HistoryEdge(episode.id, node.id, relation)
