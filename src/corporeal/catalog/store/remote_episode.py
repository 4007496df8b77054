"""Episodes read where they lie in a store, by ranges, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corporeal.catalog.store.store import Store, not_there
from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.episode.recording import Dataset, Recording, recording_of
from corporeal.errors import EpisodeError


@dataclass(frozen=True)
class StoredBytes:
    """An object of a store as the source of an episode."""

    store: Store
    digest: str
    size: int

    @property
    def name(self) -> str:
        """The hash, with the ending that tells an episode."""
        return f"{self.digest}.h5"

    def read(self, start: int, count: int) -> bytes:
        """A range of it."""
        return self.store.read(self.digest, start, count)


def open_remote(store: Store, digest: str) -> Episode:
    """Open the episode with this hash; use it with `with`.

    Its `path` is no file: the hash and .h5.
    """
    size = store.has(digest)
    if size is None:
        raise not_there(digest)
    return Episode.open_source(StoredBytes(store, digest, size))


def remote_dataset(
    store: Store, digests: Sequence[str], *, robot: Embodiment | None = None
) -> Dataset:
    """The episodes with these hashes as one dataset, each opened when it is asked for."""
    return Dataset(
        source=Path(store.url),
        format="episodes",
        episodes=tuple(range(len(digests))),
        open=partial(_open, store, tuple(digests), robot),
    )


def _open(
    store: Store, digests: tuple[str, ...], robot: Embodiment | None, index: int
) -> Recording:
    if not 0 <= index < len(digests):
        raise EpisodeError(f"episode {index} is not here; expected 0 to {len(digests) - 1}.")
    episode = open_remote(store, digests[index])
    try:
        return recording_of(episode, index=index, robot=robot)
    except BaseException:  # Nobody else can free it when there is no recording.
        episode.close()
        raise
