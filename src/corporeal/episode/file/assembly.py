"""Makes the episode file out of a spool folder, beside its place, and moves it there whole."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import depth, layout
from corporeal.episode.file.attributes import read_attribute, write_attribute
from corporeal.episode.file.digest import BLOCK_BYTES, CONTENT, DIGEST, content_digest
from corporeal.episode.file.spool import HEADER, SpoolPaths, read_header
from corporeal.episode.video import index_mp4, write_mp4
from corporeal.errors import EpisodeError, WriteError
from corporeal.files import publish_file
from corporeal.schema import Stream

_DRAFT = "episode.h5"


def assemble(folder: Path, target: Path, *, recovered: str | None = None) -> Path:
    """Write the episode and remove the folder; killed anywhere, it can be run again.

    `recovered` says why the spool was not closed by its own writer.
    """
    header = read_header(folder)
    streams = [Stream.model_validate(values) for values in header["streams"]]
    if _is_published(target, header["id"]):
        _remove(folder)
        return target
    draft = folder / _DRAFT
    # Never write into an old draft: it may be the published file under its other name.
    draft.unlink(missing_ok=True)
    with h5py.File(draft, "w", libver=layout.LIBVER) as file:
        _write_root(file, header, recovered or header.get("recovered"))
        present = [stream for stream in streams if _write_stream(file, folder, stream)]
        listed = [stream.model_dump(mode="json", exclude_none=True) for stream in present]
        _write_text(file, layout.STREAMS, _json(listed))
        write_attribute(file, CONTENT, content_digest(file))
    if not present:
        advice = f" Remove {folder}." if recovered else ""
        if not recovered:
            _remove(folder)
        raise WriteError(
            f"{target}: no stream has a sample, so there is no episode to write.{advice}"
        )
    _publish(draft, target)
    _remove(folder)
    return target


def _is_published(target: Path, episode_id: str) -> bool:
    """Whether a run that was killed later got as far as giving the episode its name."""
    if not target.is_file():
        return False
    try:
        with h5py.File(target, "r") as file:
            return bool(read_attribute(file, "id") == episode_id)
    except (OSError, EpisodeError):
        return False


def _remove(folder: Path) -> None:
    """Delete the spool, the header last: while it is there, the rest can be done again."""
    for path in folder.iterdir():
        if path.name != HEADER:
            path.unlink()
    shutil.rmtree(folder)


def _write_root(file: h5py.File, header: dict[str, Any], recovered: str | None) -> None:
    write_attribute(file, "format", layout.FORMAT)
    write_attribute(file, "version", layout.VERSION)
    for name in ("id", "epoch_ns", "robot"):
        if header.get(name) is not None:
            write_attribute(file, name, header[name])
    if recovered is not None:
        write_attribute(file, "recovered", recovered)
    _write_text(file, layout.FIELDS, _json(header["metadata"]))
    for document in header["documents"]:
        kind = document["kind"]
        _write_text(file, f"{layout.DOCUMENTS}/{kind}", document["text"])
        write_attribute(file, f"{kind}_hash", document["hash"])


def _write_stream(file: h5py.File, folder: Path, stream: Stream) -> bool:
    """Write one stream; False when it has no whole sample."""
    paths = SpoolPaths(folder, stream)
    if not (paths.time.exists() and paths.data.exists()):
        return False
    times = np.fromfile(paths.time, "<i8")
    write = {"video": _video, "depth": _depth, "points": _ragged, "text": _ragged}
    count = _whole_samples(paths, stream, len(times))
    if count == 0:
        return False
    group = file.create_group(stream.path)
    _describe(group, stream)
    _write_array(group, "time_ns", times[:count])
    write.get(stream.kind, _array)(group, paths, stream, count)
    return True


def _whole_samples(paths: SpoolPaths, stream: Stream, stamped: int) -> int:
    """How many samples have a stamp and all of their data: all, unless the writer was killed."""
    if not stamped or not paths.data.exists():
        return 0
    stored = paths.data.stat().st_size
    if stream.kind == "array":
        return min(stamped, stored // _sample_bytes(stream))
    ends = np.cumsum(np.fromfile(paths.length, "<i8"))
    return min(stamped, int(np.searchsorted(ends, stored, side="right")))


def _array(group: h5py.Group, paths: SpoolPaths, stream: Stream, count: int) -> None:
    shape = (count, *(int(size) for size in stream.shape))
    dtype = np.dtype(stream.dtype).newbyteorder("<")
    rows = max(1, BLOCK_BYTES // _sample_bytes(stream))
    _write_blocks(group, "data", shape, dtype, _file_blocks(paths.data, dtype, shape, rows))


def _ragged(group: h5py.Group, paths: SpoolPaths, stream: Stream, count: int) -> None:
    lengths = np.fromfile(paths.length, "<i8", count)
    offset = np.concatenate([[0], np.cumsum(lengths // _row_bytes(stream))]).astype("<i8")
    shape = (int(offset[-1]), *(int(size) for size in stream.shape))
    dtype = np.dtype(stream.dtype).newbyteorder("<")
    rows = max(1, BLOCK_BYTES // _row_bytes(stream))
    _write_blocks(group, "data", shape, dtype, _file_blocks(paths.data, dtype, shape, rows))
    _write_array(group, "offset", offset)


def _depth(group: h5py.Group, paths: SpoolPaths, stream: Stream, count: int) -> None:
    height, width = (int(size) for size in stream.shape)
    dataset = group.create_dataset(
        "data",
        (count, height, width),
        "<u2",
        chunks=(1, height, width),
        shuffle=True,
        compression="gzip",
        compression_opts=1,
    )
    write_attribute(dataset, "encoding", depth.ENCODING)
    digest = hashlib.sha256()
    for number, chunk in enumerate(_pieces(paths, count)):
        digest.update(chunk)
        dataset.id.write_direct_chunk((number, 0, 0), chunk)
    write_attribute(dataset, DIGEST, digest.hexdigest())


def _video(group: h5py.Group, paths: SpoolPaths, stream: Stream, count: int) -> None:
    movie = paths.data.with_suffix(".movie")
    times = np.fromfile(paths.time, "<i8", count)
    write_mp4(movie, _pieces(paths, count), times)
    index = index_mp4(movie)
    if len(index.start) != count:
        raise EpisodeError(f"{stream.path}: {count} stamps for {len(index.start)} pictures.")
    shape = (movie.stat().st_size,)
    dtype = np.dtype(np.uint8)
    blocks = _file_blocks(movie, dtype, shape, BLOCK_BYTES)
    dataset = _write_blocks(group, "data", shape, dtype, blocks)
    write_attribute(dataset, "codec", index.codec)
    write_attribute(dataset, "extradata", np.frombuffer(index.extradata, np.uint8))
    _write_array(group, "packet_start", index.start)
    _write_array(group, "packet_size", index.size)
    _write_array(group, "packet_key", index.is_key.astype(np.uint8))
    movie.unlink()


def _pieces(paths: SpoolPaths, count: int) -> Iterator[bytes]:
    """The packed samples, one by one."""
    with paths.data.open("rb") as file:
        for length in np.fromfile(paths.length, "<i8", count).tolist():
            yield file.read(length)


def _describe(group: h5py.Group, stream: Stream) -> None:
    """The schema's words as plain attributes, for whoever opens the file with h5py alone."""
    for name in ("kind", "rate_hz", "frame", "unit", "components", "description"):
        value = getattr(stream, name)
        if value is not None:
            write_attribute(group, name, list(value) if isinstance(value, tuple) else value)
    write_attribute(group, "interpolation", stream.method)


def _file_blocks(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], rows: int
) -> Iterator[NDArray[Any]]:
    row = shape[1:]
    values = int(np.prod(row, dtype=np.int64))
    with path.open("rb") as file:
        for first in range(0, shape[0], rows):
            wanted = min(rows, shape[0] - first)
            yield np.fromfile(file, dtype, wanted * values).reshape(wanted, *row)


def _write_blocks(
    group: h5py.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    blocks: Iterable[NDArray[Any]],
) -> h5py.Dataset:
    dataset = group.create_dataset(name, shape, dtype, fill_time="never")
    digest = hashlib.sha256()
    first = 0
    for block in blocks:
        digest.update(np.ascontiguousarray(block).data)
        dataset[first : first + len(block)] = block
        first += len(block)
    write_attribute(dataset, DIGEST, digest.hexdigest())
    return dataset


def _write_array(group: h5py.Group, name: str, values: NDArray[Any]) -> None:
    little = values.astype(values.dtype.newbyteorder("<"))
    _write_blocks(group, name, values.shape, little.dtype, [little] if little.size else [])


def _write_text(file: h5py.File, path: str, text: str) -> None:
    raw = text.encode()
    kind = h5py.string_dtype("utf-8", max(1, len(raw)))
    dataset = file.create_dataset(path, data=np.array(raw, dtype=kind))
    write_attribute(dataset, DIGEST, hashlib.sha256(raw).hexdigest())


def _publish(draft: Path, target: Path) -> None:
    """Sync, make read-only, and give the file its name only if nobody else took it."""
    draft.chmod(0o444)
    try:
        publish_file(draft, target)
    except FileExistsError:
        raise WriteError(
            f"{target} already exists and episodes are immutable. Move it away; "
            f"the samples are kept in {draft.parent}."
        ) from None


def _sample_bytes(stream: Stream) -> int:
    count = int(np.prod([int(size) for size in stream.shape], dtype=np.int64))
    return max(1, count * np.dtype(stream.dtype).itemsize)


def _row_bytes(stream: Stream) -> int:
    return 1 if stream.kind == "text" else _sample_bytes(stream)


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True, indent=1)
