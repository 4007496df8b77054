"""One episode of an RLDS dataset as a recording: its streams, and what its record says of it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.embodiment import Embodiment
from corporeal.episode.facts import RATE
from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import (
    INDEX_WRONG,
    MAX_PIXELS,
    METADATA_WRONG,
    ArraySignal,
    ItemKind,
    Recording,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import DatasetDescription
from corporeal.exchange.foreign_stream import EpisodeReading, stream_name
from corporeal.exchange.rlds.features import (
    EPISODE,
    ID,
    INSTRUCTION,
    IS_JUDGED,
    STEPS,
    SUCCESS,
    TEXTS,
    TIME,
    TRACK,
    UNKNOWN,
    Leaf,
    is_mark,
    is_text,
)
from corporeal.exchange.rlds.known_sets import KnownSet
from corporeal.exchange.stored_samples import StoredSignal
from corporeal.exchange.tfrecord import RecordPlace, Values, parse_example
from corporeal.schema import Stream
from corporeal.signal.grid import even_stamps

Example = Mapping[str, Values]
Times = NDArray[np.int64]


_LONGEST = 4096
_LARGEST_TRACK = 64 << 20


@dataclass(frozen=True, eq=False)
class RldsReader:
    """Opens the episodes of a dataset one by one."""

    name: str
    steps: Mapping[str, Leaf]
    others: Mapping[str, Leaf]
    rate_hz: float
    robot: Embodiment | None = None
    description: DatasetDescription | None = None
    known: KnownSet | None = None
    is_rate_stated: bool = False

    def open(self, place: RecordPlace, index: int) -> Recording:
        """The episode in a record."""
        example = parse_example(place.read())
        stamps = self._stamps(example)
        reading = EpisodeReading(index, self.rate_hz, self.robot, self.description, kind="column")
        for label, leaf in self.steps.items():
            if not self._is_left_out(label, leaf):
                self._take(reading, label, leaf, example, stamps)
            if label not in reading.signals:
                self._account(reading, label, leaf, example)
        reading.check_lengths()
        texts = _main_texts(example)
        spoken = _instruction_signal(texts, reading.row_stamps(len(texts), stamps))
        if spoken is not None:
            reading.signals[INSTRUCTION] = spoken
        metadata = {"fps": self.rate_hz} | _read_metadata(example, self.others, self.known, texts)
        _account_episode(reading, self.others, example)
        if not self.is_rate_stated:
            known = f"as {self.name} is known to have" if self.known else "as most sets have"
            reading.assumed[RATE] = f"{self.rate_hz:g} Hz, {known}: it states none"
        is_labelled = self.description is not None and bool(self.description.lanes)
        if is_labelled:
            metadata.pop(TRACK, None)
        own_id = metadata.get(ID) if self.description is not None else None
        return reading.to_recording(
            own_id if isinstance(own_id, str) and own_id else f"{self.name}_{index:06d}",
            place.path,
            metadata,
            regridded=stamps is None or _is_even(stamps, self.rate_hz),
            labels=_read_labels(example, str(place.path)) if is_labelled else None,
        )

    def _is_left_out(self, label: str, leaf: Leaf) -> bool:
        """Whether it is text, a mark or the clock, unless Corporeal wrote it as a column."""
        if leaf.kind in ("text", UNKNOWN) or self._is_ours(label):
            return leaf.kind in ("text", UNKNOWN)
        return is_mark(label) or (self.description is not None and label == TIME)

    def _account(self, reading: EpisodeReading, label: str, leaf: Leaf, example: Example) -> None:
        """Say what became of a feature of the steps that is no stream."""
        values = example.get(f"{STEPS}{label}", [])
        kind: ItemKind = "camera" if leaf.kind == "image" else "column"
        ragged = f"{STEPS}{label}/ragged_flat_values" in example
        count = len(values) if leaf.kind in ("text", "image") else None
        if is_text(label) and (leaf.kind == "text" or not len(values)):
            reading.account(label, "metadata instructions", samples=count, kind=kind)
        elif label == TIME and self.description is not None:
            reading.account(label, "stamps", kind=kind)
        elif leaf.kind == UNKNOWN:
            reading.leave_out(label, f"unknown type {leaf.dtype}", kind=kind, lost=True)
        elif ragged:
            reading.leave_out(label, "lists of any length in a step", kind=kind, lost=True)
        elif not len(values):
            reason = "features.json names it, but the record has no values"
            reading.leave_out(label, reason, kind=kind, lost=not is_mark(label))
        elif leaf.kind == "text":
            reading.leave_out(label, "text that is no instruction", samples=count, lost=True)
        elif label.endswith("_embedding"):
            reading.leave_out(label, "made from the instruction", kind=kind)
        elif is_mark(label):
            reading.leave_out(label, "a mark of the step, not a measurement", kind=kind)
        elif leaf.kind == "image" and _is_unused(label, values, example):
            reading.leave_out(label, "the camera was not there: only filling", kind=kind)
        else:
            reading.leave_out(label, "its values do not fit its shape", kind=kind, lost=True)

    def _take(
        self,
        reading: EpisodeReading,
        label: str,
        leaf: Leaf,
        example: Example,
        stamps: Times | None,
    ) -> None:
        values = example.get(f"{STEPS}{label}", [])
        if not len(values):
            # Lists of any length in every step have no place in a table.
            if f"{STEPS}{label}/ragged_flat_values" not in example:
                message = f"features.json lists {label}, but the record has no values of it"
                reading.complain(METADATA_WRONG, message, label)
            return
        if leaf.kind == "image":
            if _is_unused(label, values, example):
                return
            times = reading.row_stamps(len(values), stamps)
            is_taken = isinstance(values, list) and _take_pictures(
                reading, label, leaf, values, times
            )
        else:
            array = leaf.array(values)
            is_taken = array is not None
            if array is not None:
                self._take_numbers(reading, label, leaf, array, stamps)
        if not is_taken:
            message = f"{label} has {len(values)} values; expected a multiple of {leaf.shape}"
            reading.complain(INDEX_WRONG, message, label)

    def _take_numbers(
        self,
        reading: EpisodeReading,
        label: str,
        leaf: Leaf,
        array: NDArray[Any],
        stamps: Times | None,
    ) -> None:
        times = reading.row_stamps(len(array), stamps)
        is_picture = leaf.dtype == "uint8" and len(leaf.shape) == 3 and leaf.shape[2] == 3
        if is_picture and not self._is_ours(label):
            reading.take_pictures(label, array, times, size=leaf.shape[:2])
            return
        columns = self.known.columns.get(label) if self.known else None
        fits = columns is not None and array.shape[1:] == (len(columns),)
        names, units = zip(*columns, strict=True) if columns and fits else (None, None)
        # So that the commands of DROID count as commands.
        role = label.replace("action_dict/", "action/")
        reading.take_numbers(label, array, times, role=role, names=names)
        signal = reading.signals[label]
        if names is not None and self.robot is None and isinstance(signal, ArraySignal):
            stated = {"unit": units, "components": names}
            reading.signals[label] = replace(signal, spec=signal.spec.model_copy(update=stated))

    def _is_ours(self, label: str) -> bool:
        """Whether it is a column that Corporeal wrote, whatever its name."""
        return self.description is not None and label in self.description.streams

    def _stamps(self, example: Example) -> Times | None:
        """The capture times of the steps, where Corporeal has written them."""
        values = example.get(f"{STEPS}{TIME}", []) if self.description else []
        if isinstance(values, list) or values.dtype != np.int64 or not len(values):
            return None
        return values if (np.diff(values) >= 0).all() else None


def _is_even(stamps: Times, rate_hz: float) -> bool:
    even = even_stamps(len(stamps), rate_hz)
    return bool((np.abs(stamps - stamps[0] - even) <= 2).all())


def _is_unused(label: str, values: Values, example: Example) -> bool:
    """Whether the camera was not there: said so, and every picture is the same filling."""
    present = example.get(f"episode_metadata/has_{label.rsplit('/', 1)[-1]}", [])
    return len(present) == 1 and not present[0] and all(each == values[0] for each in values)


def _take_pictures(
    reading: EpisodeReading, label: str, leaf: Leaf, values: Sequence[bytes], times: Times
) -> bool:
    """Take a camera or a depth camera; False when its shape is that of neither."""
    if leaf.dtype not in ("uint16", "float32"):
        size = leaf.shape[:2] if len(leaf.shape) == 3 else (-1, -1)
        reading.take_pictures(
            label, values, times, size=size if min(size) > 0 else _size(values[0])
        )
        return True
    if len(leaf.shape) != 3 or leaf.shape[2] != 1 or min(leaf.shape) <= 0:
        return False
    spec = Stream(
        name=stream_name(label),
        group="observations",
        kind="depth" if leaf.dtype == "uint16" else "array",
        dtype=leaf.dtype,
        shape=leaf.shape[:2],
        rate_hz=reading.rate_hz,
    )
    reading.signals[label] = StoredSignal(spec, times, values, partial(_decode_depth, spec))
    return True


def _decode_depth(spec: Stream, stored: bytes) -> NDArray[Any]:
    """Depth (height, width) from PNG: 16 bits as they are.

    Floats stand in the four bytes of the pixels, as TensorFlow Datasets stores them.
    """
    is_float = spec.dtype == "float32"
    try:
        with Image.open(io.BytesIO(stored), formats=("PNG",)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ValueError(f"{image.width} x {image.height} pixels")
            raw = np.asarray(image)
        if is_float and raw.dtype == np.uint8 and raw.ndim == 3 and raw.shape[2] == 4:
            raw = np.ascontiguousarray(raw).view("<f4")[..., 0]
        if raw.shape != spec.shape or (raw.dtype.kind == "f") != is_float:
            raise ValueError(f"it is {raw.shape} of {raw.dtype}, not {spec.shape}")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise EpisodeError(
            f"{spec.path}: depth cannot be decoded ({error}). Replace the file."
        ) from error
    return raw.astype(spec.dtype, copy=False)


def _size(stored: bytes) -> tuple[int, int]:
    """Height and width that a picture itself states, where features.json leaves them open."""
    try:
        with Image.open(io.BytesIO(stored), formats=("JPEG", "PNG")) as image:
            return image.height, image.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0


def _read_metadata(
    example: Example, others: Mapping[str, Leaf], known: KnownSet | None, steps: Sequence[str]
) -> dict[str, Any]:
    """What the features outside the steps say, and the instructions; `steps` are those of steps."""
    stated: dict[str, Any] = {}
    for path, leaf in others.items():
        values = example.get(path, [])
        if len(values) == 1:
            value = _plain(values[0])
            is_flag = leaf.dtype == "bool" and isinstance(value, int)
            stated[path.rsplit("/", 1)[-1]] = bool(value) if is_flag else value
    _judge(stated, known)
    texts = [text for text in dict.fromkeys([*steps, *_other_texts(example)]) if text]
    if texts:
        first = steps[0] if any(steps) else texts[0]
        stated |= {"task": first, "instruction": first, "instructions": tuple(texts)}
    return stated


def _account_episode(reading: EpisodeReading, others: Mapping[str, Leaf], example: Example) -> None:
    """Say what became of the features of the episode as a whole."""
    for path, leaf in others.items():
        values = example.get(path, [])
        name = path.rsplit("/", 1)[-1]
        if len(values) == 1:
            reading.account(path, "labels" if name == TRACK else f"metadata {name}", samples=1)
        elif leaf.kind == UNKNOWN:
            reading.leave_out(path, f"unknown type {leaf.dtype}", lost=True)
        elif len(values):
            reason = f"{len(values)} values of the episode; expected one"
            reading.leave_out(path, reason, samples=len(values), lost=True)
        else:
            reading.leave_out(path, "features.json names it, but the record has no value")


def _judge(stated: dict[str, Any], known: KnownSet | None) -> None:
    """Leave `success` where somebody judged it, and find it where it is in a path."""
    if stated.pop(IS_JUDGED, True) is False:
        stated.pop(SUCCESS, None)
    source = stated.get("file_path")
    if known is not None and known.outcome is not None and isinstance(source, str):
        found = known.outcome.search(source)
        if found is not None:
            stated.setdefault(SUCCESS, found[1] == SUCCESS)


def _instruction_signal(texts: Sequence[str], stamps: Times) -> ArraySignal | None:
    """The instructions with the times from which they hold; None when one holds throughout."""
    if len(set(texts)) < 2:
        return None
    rows = [0, *(n for n in range(1, len(texts)) if texts[n] != texts[n - 1])]
    spec = Stream(name="instruction", group="observations", kind="text", dtype="uint8")
    return ArraySignal(spec, stamps[rows], [texts[row] for row in rows])


def _read_labels(example: Example, where: str) -> LabelTrack | None:
    """The labels of an episode that Corporeal wrote; EpisodeError when they make no sense."""
    values = example.get(f"{EPISODE}{TRACK}", [])
    if len(values) != 1 or not isinstance(values[0], bytes) or len(values[0]) > _LARGEST_TRACK:
        return None
    try:
        return LabelTrack.from_json(json.loads(values[0]), where=where)
    except (ValueError, RecursionError):
        raise EpisodeError(f"{where}: its labels are not JSON. Replace the file.") from None


def _main_texts(example: Example) -> list[str]:
    """The instruction of every step; empty when there is none."""
    for name in TEXTS:
        for path in (f"{STEPS}{name}", f"{STEPS}observation/{name}"):
            values = example.get(path)
            if isinstance(values, list) and values:
                return _decoded(values)
    return []


def _other_texts(example: Example) -> list[str]:
    """The same in other words, where an episode has several instructions."""
    found: list[str] = []
    for path in sorted(example):
        values = example[path]
        if path.startswith(STEPS) and is_text(path) and isinstance(values, list):
            found.extend(_decoded(values[:1]))
    return found


def _decoded(values: Sequence[bytes]) -> list[str]:
    # Steps repeat their text: decode each one once.
    known = {value: str(_plain(value)) for value in dict.fromkeys(values)}
    return [known[value] for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")[:_LONGEST]
    return value.item() if isinstance(value, np.generic) else value
