"""One row of a dataset: when it is, and which streams its columns and cameras show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corporeal.catalog.database import CatalogError
from corporeal.episode import Episode
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
