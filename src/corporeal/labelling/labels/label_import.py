"""Labels from files, made to count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import EpisodeRow, find_episode
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.store import Store
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import AnnotationError
from corporeal.labelling.completeness import complaints
from corporeal.labelling.frames import Frames, read_frames
from corporeal.labelling.labels.label_file import (
    EpisodeLabels,
    on_stamps,
    read_label_file,
)
from corporeal.labelling.labels.versions import Labels, accept_labels
from corporeal.labelling.taxonomy.document import Taxonomy


def _frames(store: Store, row: EpisodeRow) -> Frames | None:
    """The frames of an episode; None where its file is not here."""
    try:
        return read_frames(store, row.hash)
    except CorporealError:
        return None


def accept_label_files(
    workspace: Workspace,
    paths: Sequence[Path],
    taxonomy: Taxonomy,
    *,
    by: Actor,
    format_name: str | None = None,
) -> list[Labels]:
    """Let the labels in files count, all of them or none.

    Episodes are named by their ids. Boundaries go to the nearest frame; labels that the taxonomy
    does not have, or that lack something it requires, are refused with AnnotationError.
    """
    require(by, "judge")
    read = [(path, each) for path in paths for each in read_label_file(path,
            format_name=format_name)]  # fmt: skip
    with workspace.database.read() as connection:
        checked = list(_checked(connection, workspace.store, read, taxonomy))
    with workspace.database.write() as connection:
        return [
            accept_labels(connection, each.episode, each.annotation, taxonomy, task_id=None,
                          by=by, why=f"from {path.name}")
            for path, each in checked
        ]  # fmt: skip


def _checked(
    connection: Connection,
    store: Store,
    read: Sequence[tuple[Path, EpisodeLabels]],
    taxonomy: Taxonomy,
) -> Iterator[tuple[Path, EpisodeLabels]]:
    for path, each in read:
        row = find_episode(connection, each.episode)
        frames = _frames(store, row)
        if frames is None:
            raise CatalogError(
                f"{path}: the frames of episode {each.episode} cannot be read, so nobody knows "
                "where its boundaries lie. Restore its file."
            )
        labels = on_stamps(each, frames.stamps)
        said = labels.annotation.model_copy(update={"reference": frames.stream})
        for told in complaints(said, taxonomy, task=row.task, stamps=frames.stamps):
            raise AnnotationError(f"{path}: episode {each.episode}: {told}")
        yield path, EpisodeLabels(each.episode, said, frames.stamps)
