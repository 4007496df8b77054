"""Makes the episode file out of a journal, beside its place, and moves it there whole."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.file import depth, layout
from corporeal.episode.file.attributes import read_attribute, write_attribute
from corporeal.episode.file.digest import BLOCK_BYTES, CONTENT, DIGEST, content_digest
from corporeal.episode.file.journal_index import Journal
from corporeal.episode.file.packing import Packer
from corporeal.episode.video import index_mp4, is_key_frame, write_mp4
from corporeal.errors import EpisodeError, WriteError
from corporeal.files import publish_file
from corporeal.schema import Document, Schema, Stream

_MAX_EPOCH_NS = (1 << 63) - 1
# From a stream's name and its stamps as the source gave them to nanoseconds since the epoch.
ToEpisodeTime = Callable[[str, NDArray[np.int64]], NDArray[np.int64]]


def episode_header(
    path: Path,
    *,
    schema: Schema,
    embodiment: Embodiment | None,
    metadata: Mapping[str, Any],
    epoch_ns: int,
    episode_id: str,
    documents: Iterable[Document] = (),
    recovered: str | None = None,
) -> dict[str, Any]:
    """All that the file `path` will hold besides samples, as JSON; raises WriteError."""
    streams = _for_robot(schema, embodiment)
    embedded = [schema, *([embodiment] if embodiment is not None else []), *documents]
    if not -_MAX_EPOCH_NS <= epoch_ns <= _MAX_EPOCH_NS:
        raise WriteError(f"epoch, got {epoch_ns}; expected a 64-bit integer.")
    if not episode_id.isprintable():
        raise WriteError(f"episode id, got {episode_id!r}; expected plain text.")
    if len(streams) > layout.MAX_STREAMS:
        raise WriteError(f"{len(streams)} streams; expected {layout.MAX_STREAMS} at most.")
    kinds = [item.kind for item in embedded]
    if len(set(kinds)) != len(kinds):
        raise WriteError(f"documents {', '.join(kinds)}; expected one of each kind.")
    header = {
        "id": episode_id,
        "epoch_ns": epoch_ns,
        "robot": embodiment.name if embodiment is not None else None,
        "recovered": recovered,
        "metadata": dict(metadata),
        "documents": [
            {"kind": item.kind, "hash": item.hash, "text": item.canonical()} for item in embedded
        ],
        "streams": [stream.model_dump(mode="json", exclude_none=True) for stream in streams],
    }
    try:
        size = len(json.dumps(header, ensure_ascii=False, allow_nan=False).encode())
        if size > layout.MAX_TEXT_BYTES:
            raise ValueError(f"more than {layout.MAX_TEXT_BYTES} bytes with the documents")
    except (TypeError, ValueError, RecursionError) as error:
        raise WriteError(f"{path}: metadata cannot be written as JSON: {error}.") from None
    return header


def _for_robot(schema: Schema, embodiment: Embodiment | None) -> list[Stream]:
    """The streams with `joints` filled in; without a robot, those that can do without one."""
    if embodiment is not None:
        return list(embodiment.resolve(schema).streams)
    per_joint = [stream for stream in schema.streams if "joints" in stream.shape]
    for stream in per_joint:
        if not stream.optional:
            raise WriteError(f"{stream.path} has one value per joint; expected an embodiment too.")
    return [stream for stream in schema.streams if stream not in per_joint]


def assemble(
    journal: Journal,
    header: Mapping[str, Any],
    target: Path,
    *,
    to_episode_time: ToEpisodeTime = lambda _, source_ns: source_ns,
) -> None:
    """Write the episode; the journal stays. Killed anywhere, it can be run again."""
    streams = [Stream.model_validate(values) for values in header["streams"]]
    draft = _draft(journal.path)
    # Never write into an old draft: it may be the published file under its other name.
    remove_drafts(journal.path)
    try:
        with h5py.File(draft, "w", libver=layout.LIBVER) as file:
            _write_root(file, header)
            present = [
                stream
                for stream in streams
                if _write_stream(file, journal, stream, to_episode_time)
            ]
            listed = [stream.model_dump(mode="json", exclude_none=True) for stream in present]
            _write_text(file, layout.STREAMS, _json(listed))
            is_rounded = any(stream.depth_error is not None for stream in present)
            write_attribute(file, "version", layout.VERSION if is_rounded else 1)
            write_attribute(file, CONTENT, content_digest(file))
        if not present:
            raise WriteError(
                f"{target}: no stream has a sample, so there is no episode to write. "
                f"Remove {journal.path}."
            )
        _publish(draft, target, journal.path)
    finally:
        remove_drafts(journal.path)


def remove_drafts(journal: Path) -> None:
    """Remove what an assembly that was killed left beside the journal."""
    _draft(journal).unlink(missing_ok=True)
    _movie(journal).unlink(missing_ok=True)


def _draft(journal: Path) -> Path:
    return journal.with_suffix(".draft")


def _movie(journal: Path) -> Path:
    return journal.with_suffix(".draft.mp4")


def is_published(target: Path, episode_id: str) -> bool:
    """Whether `target` is this episode: an assembly that was killed later had got so far."""
    if not target.is_file():
        return False
    try:
        with h5py.File(target, "r") as file:
            return bool(read_attribute(file, "id") == episode_id)
    except (OSError, EpisodeError):
        return False


def _write_root(file: h5py.File, header: Mapping[str, Any]) -> None:
    write_attribute(file, "format", layout.FORMAT)
    for name in ("id", "epoch_ns", "robot", "recovered"):
        if header.get(name) is not None:
            write_attribute(file, name, header[name])
    _write_text(file, layout.FIELDS, _json(header["metadata"]))
    for document in header["documents"]:
        kind = document["kind"]
        _write_text(file, f"{layout.DOCUMENTS}/{kind}", document["text"])
        write_attribute(file, f"{kind}_hash", document["hash"])


def _write_stream(
    file: h5py.File, journal: Journal, stream: Stream, to_episode_time: ToEpisodeTime
) -> bool:
    """Write one stream; False when it has no sample that can be shown."""
    if stream.path not in journal.runs:
        return False
    _check_sizes(journal, stream)
    stamps = journal.stamps(stream.path)[:, 1]
    shown = _decodable(journal, stream) if stream.kind == "video" else np.ones(len(stamps), bool)
    times = to_episode_time(stream.path, stamps[shown])
    if not len(times):
        return False
    group = file.create_group(stream.path)
    _describe(group, stream)
    _write_array(group, "time_ns", times)
    if stream.kind == "video":
        _video(group, journal, stream, shown, times)
    elif stream.kind == "depth":
        _depth(group, journal, stream, len(times))
    else:
        _rows(group, journal, stream)
    return True


def _check_sizes(journal: Journal, stream: Stream) -> None:
    """One byte too many or too few would shift every sample after it."""
    sizes = journal.runs[stream.path].payload_bytes
    row = _row_bytes(stream)
    wrong = sizes != row if stream.kind == "array" else sizes % row != 0
    if stream.kind not in ("video", "depth") and journal.runs[stream.path].raw.any():
        raise EpisodeError(f"{stream.path}: got raw samples; expected those of a camera alone.")
    if stream.kind in ("array", "points") and wrong.any():
        raise EpisodeError(f"{stream.path}: got {sizes[wrong][0]} packed bytes; expected {row}.")


def _decodable(journal: Journal, stream: Stream) -> NDArray[np.bool_]:
    """Which pictures a decoder can show: all from a key frame on, until one is missing."""
    raw, breaks = journal.runs[stream.path].raw, journal.follows_gap(stream.path)
    shown = np.zeros(len(raw), bool)
    # Where nothing is missing only the first pictures are looked at.
    uncertain = np.flatnonzero(breaks[1:] | raw[:-1] | raw[1:]) + 1 if len(raw) > 1 else breaks[:0]
    last = int(uncertain[-1]) if len(uncertain) else 0
    is_chained = False
    for number, packet in enumerate(journal.samples(stream.path)):
        if is_chained and number > last:
            shown[number:] = True
            break
        is_start = bool(raw[number]) or is_key_frame(packet)
        follows = is_chained and not breaks[number] and not raw[number - 1]
        shown[number] = is_chained = is_start or follows
    return shown


def _encoded(
    journal: Journal, stream: Stream, shown: NDArray[np.bool_] | None = None
) -> Iterator[bytes]:
    """The packed samples of a camera; what waited for its code gets it now."""
    raw = journal.runs[stream.path].raw
    packer: Packer | None = None
    for number, payload in enumerate(journal.samples(stream.path)):
        if shown is not None and not shown[number]:
            packer = None
        elif raw[number]:
            # Every run of raw pictures has a code of its own, which begins with a key frame.
            packer = packer or Packer(stream)
            yield packer.encode_raw(payload)
        else:
            packer = None
            yield payload


def _rows(group: h5py.Group, journal: Journal, stream: Stream) -> None:
    """The samples one after the other; where their sizes differ, with where each begins."""
    row = _row_bytes(stream)
    lengths = journal.runs[stream.path].payload_bytes // row
    dtype = np.dtype(stream.dtype).newbyteorder("<")
    shape = (int(lengths.sum()), *stream.sizes)
    blocks = (
        np.frombuffer(block, dtype).reshape(-1, *shape[1:])
        for block in _blocks(journal.rows(stream.path))
    )
    _write_blocks(group, "data", shape, dtype, blocks)
    if stream.kind != "array":
        _write_array(group, "offset", np.concatenate([[0], np.cumsum(lengths)]))


def _depth(group: h5py.Group, journal: Journal, stream: Stream, count: int) -> None:
    height, width = stream.sizes
    dataset = group.create_dataset(
        "data",
        (count, height, width),
        "<u2",
        chunks=(1, height, width),
        shuffle=True,
        compression="gzip",
        compression_opts=1,
    )
    write_attribute(dataset, "encoding", depth.encoding_of(stream))
    if stream.depth_error is not None:
        _write_array(group, depth.LEVELS, depth.levels_within(stream.depth_error).depth)
        write_attribute(dataset, "max_error_constant", stream.depth_error.constant)
        write_attribute(dataset, "max_error_quadratic", stream.depth_error.quadratic)
    digest = hashlib.sha256()
    for number, chunk in enumerate(_encoded(journal, stream)):
        digest.update(chunk)
        dataset.id.write_direct_chunk((number, 0, 0), chunk)
    write_attribute(dataset, DIGEST, digest.hexdigest())


def _video(
    group: h5py.Group,
    journal: Journal,
    stream: Stream,
    shown: NDArray[np.bool_],
    times: NDArray[np.int64],
) -> None:
    movie = _movie(journal.path)
    write_mp4(movie, _encoded(journal, stream, shown), times)
    index = index_mp4(movie)
    if len(index.start) != len(times):
        raise EpisodeError(f"{stream.path}: {len(times)} stamps for {len(index.start)} pictures.")
    size = movie.stat().st_size
    blocks = (
        np.fromfile(movie, np.uint8, BLOCK_BYTES, offset=first)
        for first in range(0, size, BLOCK_BYTES)
    )
    dataset = _write_blocks(group, "data", (size,), np.dtype(np.uint8), blocks)
    write_attribute(dataset, "codec", index.codec)
    write_attribute(dataset, "extradata", np.frombuffer(index.extradata, np.uint8))
    _write_array(group, "packet_start", index.start)
    _write_array(group, "packet_size", index.size)
    _write_array(group, "packet_key", index.is_key.astype(np.uint8))
    movie.unlink()


def _blocks(runs: Iterable[NDArray[np.uint8]]) -> Iterator[bytearray]:
    """The bytes of all samples in pieces that are worth a write."""
    block = bytearray()
    for run in runs:
        block += run.tobytes()
        if len(block) >= BLOCK_BYTES:
            yield block
            block = bytearray()
    if block:
        yield block


def _describe(group: h5py.Group, stream: Stream) -> None:
    """The schema's words as plain attributes, for whoever opens the file with h5py alone."""
    for name in ("kind", "rate_hz", "frame", "unit", "components", "description"):
        value = getattr(stream, name)
        if value is not None:
            write_attribute(group, name, list(value) if isinstance(value, tuple) else value)
    write_attribute(group, "interpolation", stream.method)


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


def _publish(draft: Path, target: Path, journal: Path) -> None:
    """Sync, make read-only, and give the file its name only if nobody else took it."""
    draft.chmod(0o444)
    try:
        publish_file(draft, target)
    except FileExistsError:
        raise WriteError(
            f"{target} already exists and episodes are immutable. Move it away; "
            f"the samples are kept in {journal}."
        ) from None


def _row_bytes(stream: Stream) -> int:
    """Bytes of a sample, of a point, of a character."""
    return max(1, math.prod(stream.sizes) * np.dtype(stream.dtype).itemsize)


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True, indent=1)
