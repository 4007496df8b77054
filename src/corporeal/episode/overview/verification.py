"""Reads every byte of an episode and says whether it is still what was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import h5py
import numpy as np

from corporeal.episode.episode import Episode
from corporeal.episode.file.attributes import read_attribute
from corporeal.episode.file.depth import LEVELS
from corporeal.episode.file.digest import CONTENT, DIGEST, content_digest, dataset_digest
from corporeal.episode.file.layout import DOCUMENTS, EXTRA_DATASETS, FIELDS
from corporeal.episode.file.storage import explained
from corporeal.episode.file.streams import DepthReader, VideoReader
from corporeal.errors import CorporealError


@dataclass(frozen=True)
class Damage:
    """One thing that is not as it was written."""

    path: str
    message: str


def verify(path: Path | str) -> tuple[Damage, ...]:
    """Everything wrong with an episode; empty when it is whole. Raises if it cannot be opened."""
    with Episode.open(path) as episode:
        return (*_changed(episode), *_inconsistent(episode))


def _changed(episode: Episode) -> Iterator[Damage]:
    file = episode.storage.h5
    datasets: list[str] = []
    with explained(episode.path):
        file.visititems(
            lambda name, item: datasets.append(name) if isinstance(item, h5py.Dataset) else None
        )
    for name in datasets:
        try:
            with explained(episode.path):
                dataset = episode.storage.dataset(name)
                stated, actual = read_attribute(dataset, DIGEST), dataset_digest(dataset)
        except CorporealError as error:
            yield Damage(name, str(error))
            continue
        if stated != actual:
            yield Damage(name, "content does not match its sha256")
    try:
        with explained(episode.path):
            same = read_attribute(file, CONTENT) == content_digest(file)
    except CorporealError as error:
        yield Damage("", str(error))
        return
    if not same:
        yield Damage("", "names, types or attributes do not match the content hash")
    yield from _added_names(episode)


def _added_names(episode: Episode) -> Iterator[Damage]:
    """Links beside the one name that everything was written under: no hash counts them."""
    with explained(episode.path):
        root = episode.storage.h5["/"]
        seen, waiting = {h5py.h5o.get_info(root.id).addr}, [root]
        while waiting:
            group = waiting.pop()
            for name in group:
                path = f"{group.name}/{name}".lstrip("/")
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    yield Damage(path, "is a link, which was not written")
                    continue
                item = group[name]
                address = h5py.h5o.get_info(item.id).addr
                if address in seen:
                    yield Damage(path, "is one of two names of the same, of which one was added")
                elif isinstance(item, h5py.Group):
                    waiting.append(item)
                seen.add(address)


def _inconsistent(episode: Episode) -> Iterator[Damage]:
    listed = {
        f"{stream}/{name}"
        for stream in episode
        for name in ("time_ns", "data", *EXTRA_DATASETS[episode[stream].spec.kind])
    }
    for path in sorted(listed):
        try:
            with explained(episode.path):
                episode.storage.dataset(path)
        except CorporealError as error:
            yield Damage(path, str(error))
    for path in episode:
        try:
            reader = episode[path]
            if len(reader):
                _ = reader[0], reader[-1], reader.nbytes
            if isinstance(reader, VideoReader):
                yield from _wrong_index(reader)
            if isinstance(reader, DepthReader):
                yield from _wrong_levels(episode, reader)
        except CorporealError as error:
            yield Damage(path, str(error))
    try:
        _ = episode.metadata
    except CorporealError as error:
        yield Damage(FIELDS, str(error))
    try:
        kinds = list(episode.documents)
    except CorporealError as error:
        yield Damage(DOCUMENTS, str(error))
        return
    for kind in kinds:
        try:
            episode.document(kind)
        except CorporealError as error:
            yield Damage(f"{DOCUMENTS}/{kind}", str(error))


def _wrong_levels(episode: Episode, reader: DepthReader) -> Iterator[Damage]:
    """The table is there for plain h5py; the error that the stream states decides."""
    if reader.levels is None:
        return
    path = f"{reader.spec.path}/{LEVELS}"
    with explained(episode.path):
        stored = episode.storage.region(path, "uint16", (), len(reader.levels.depth)).read()
    if (stored != reader.levels.depth).any():
        yield Damage(path, "the levels are not those of the error that the stream states")


def _wrong_index(reader: VideoReader) -> Iterator[Damage]:
    """The packet index is for speed; the MP4 has the last word."""
    index = reader.packets
    try:
        # The format is given: another one that FFmpeg guesses could ask for other files.
        with av.open(reader.movie(), "r", format="mp4") as container:
            found = np.array(
                [
                    (packet.pos, packet.size, packet.is_keyframe)
                    for packet in container.demux(video=0)
                    if packet.size
                ]
            )
    except (av.FFmpegError, LookupError, ValueError) as error:
        yield Damage(reader.spec.path, f"the video is not a readable MP4: {error}")
        return
    stated = np.stack([index.start, index.size, index.is_key], axis=1)
    if found.shape != stated.shape or (found != stated).any():
        yield Damage(reader.spec.path, "the packet index does not match the MP4")
