"""The content hash: every dataset has its own, and one over all of them and every attribute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from corporeal.episode.file.attributes import attributes_of
from corporeal.errors import EpisodeError

DIGEST = "sha256"
CONTENT = "content_sha256"
BLOCK_BYTES = 4 << 20


def stored_blocks(dataset: h5py.Dataset) -> Iterator[bytes]:
    """The bytes a dataset's hash is over: its chunks as stored, or its values in order."""
    if dataset.dtype.hasobject:
        raise EpisodeError(f"{dataset.name}: values of variable length; expected a fixed size.")
    if dataset.chunks is not None:
        for number in range(dataset.id.get_num_chunks()):
            info = dataset.id.get_chunk_info(number)
            if info.size > dataset.file.id.get_filesize():
                raise EpisodeError(f"{dataset.name}: chunk {number} is larger than the file.")
            offset = info.chunk_offset
            yield dataset.id.read_direct_chunk(offset)[1]
    elif dataset.size:
        # Values that were never written would be made up, as many as the shape claims.
        if dataset.id.get_storage_size() != dataset.nbytes or dataset.id.get_offset() is None:
            raise EpisodeError(f"{dataset.name}: claims {dataset.nbytes} bytes that are not there.")
        if dataset.shape == ():
            yield dataset[()]
            return
        rows = max(1, BLOCK_BYTES // max(1, dataset.nbytes // dataset.shape[0]))
        for first in range(0, dataset.shape[0], rows):
            yield np.ascontiguousarray(dataset[first : first + rows]).tobytes()


def dataset_digest(dataset: h5py.Dataset) -> str:
    """sha256 of a dataset's content, in hex."""
    digest = hashlib.sha256()
    for block in stored_blocks(dataset):
        digest.update(block)
    return digest.hexdigest()


def content_digest(file: h5py.File) -> str:
    """sha256 over the names, types, shapes, hashes and attributes of everything in the file."""
    entries: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        attributes = {key: value for key, value in attributes_of(item) if key != CONTENT}
        entry: dict[str, Any] = {"attributes": attributes}
        if isinstance(item, h5py.Dataset):
            entry["dtype"], entry["shape"] = item.dtype.str, list(item.shape)
        entries[name] = entry

    visit("", file)
    file.visititems(visit)
    text = json.dumps(entries, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
