"""One episode of an RLDS dataset as a recording."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import (
    INDEX_WRONG,
    MAX_PIXELS,
    METADATA_WRONG,
    ArraySignal,
    Recording,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import DatasetDescription
from corporeal.exchange.foreign_stream import EpisodeReading, StoredSignal, stream_name
from corporeal.exchange.rlds.episode_facts import (
    TRACK,
    KnownSet,
    facts_of,
    instruction_signal,
    labels_of,
)
from corporeal.exchange.rlds.features import INSTRUCTION, STEPS, TIME, Leaf, is_mark
from corporeal.exchange.tfrecord import RecordPlace, Values, parse_example
from corporeal.schema import Stream
from corporeal.signal.grid import even_stamps

Example = Mapping[str, Values]
Times = NDArray[np.int64]


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

    def open(self, place: RecordPlace, index: int) -> Recording:
        """The episode in a record."""
        example = parse_example(place.read())
        stamps = self._stamps(example)
        reading = EpisodeReading(index, self.rate_hz, self.robot, self.description)
        for label, leaf in self.steps.items():
            if not self._is_left_out(label, leaf):
                self._take(reading, label, leaf, example, stamps)
        reading.check_lengths()
        facts = facts_of(example, self.others, self.known)
        spoken = instruction_signal(example, reading.row_stamps(facts.length, stamps))
        if spoken is not None:
            reading.signals[INSTRUCTION] = spoken
        rate: dict[str, Any] = {"fps": self.rate_hz}
        if self.description is None:
            rate["rate_assumed"] = True
        is_labelled = self.description is not None and bool(self.description.lanes)
        if is_labelled:
            facts.metadata.pop(TRACK, None)
        return reading.to_recording(
            facts.id if self.description and facts.id else f"{self.name}_{index:06d}",
            place.path,
            rate | facts.metadata,
            regridded=stamps is None or _is_even(stamps, self.rate_hz),
            labels=labels_of(example, str(place.path)) if is_labelled else None,
        )

    def _is_left_out(self, label: str, leaf: Leaf) -> bool:
        """Whether it is text, a mark or the clock, unless Corporeal wrote it as a column."""
        if leaf.kind == "text" or self._is_ours(label):
            return leaf.kind == "text"
        return is_mark(label) or (self.description is not None and label == TIME)

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
        if columns is not None and array.shape[1:] != (len(columns.names),):
            columns = None
        # So that the commands of DROID count as commands.
        role = label.replace("action_dict/", "action/")
        names = columns.names if columns else None
        reading.take_numbers(label, array, times, role=role, names=names)
        signal = reading.signals[label]
        if columns is not None and self.robot is None and isinstance(signal, ArraySignal):
            stated = {"unit": columns.units, "components": columns.names}
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
    reading.signals[label] = StoredSignal(spec, times, partial(_decode_depth, spec, values))
    return True


def _decode_depth(spec: Stream, pictures: Sequence[bytes], number: int) -> NDArray[Any]:
    """Depth (height, width) from PNG: 16 bits as they are.

    Floats stand in the four bytes of the pixels, as TensorFlow Datasets stores them.
    """
    is_float = spec.dtype == "float32"
    try:
        with Image.open(io.BytesIO(pictures[number]), formats=("PNG",)) as image:
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
