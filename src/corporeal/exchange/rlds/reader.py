"""One episode of an RLDS dataset as a recording."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    Defect,
    ImageSequence,
    Recording,
    Signal,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import DatasetDescription
from corporeal.exchange.foreign_stream import array_stream, picture_stream, stream_name, to_storable
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
    places: tuple[RecordPlace, ...]
    steps: Mapping[str, Leaf]
    others: Mapping[str, Leaf]
    rate_hz: float
    robot: Embodiment | None = None
    description: DatasetDescription | None = None
    known: KnownSet | None = None

    def open(self, index: int) -> Recording:
        """The episode with this number."""
        if not 0 <= index < len(self.places):
            raise EpisodeError(
                f"episode {index} is not here; expected 0 to {len(self.places) - 1}."
            )
        place = self.places[index]
        example = parse_example(place.read())
        stamps = self._stamps(example)
        signals: dict[str, Signal] = {}
        defects: list[Defect] = []
        for label, leaf in self.steps.items():
            found = self._signal(label, leaf, example, stamps, index)
            if isinstance(found, Defect):
                defects.append(found)
            elif found is not None:
                signals[label] = found
        defects.extend(_length_defects(signals, index))
        facts = facts_of(example, self.others, self.known)
        spoken = instruction_signal(example, self._of(stamps, facts.length))
        if spoken is not None:
            signals[INSTRUCTION] = spoken
        rate: dict[str, Any] = {"fps": self.rate_hz}
        if self.description is None:
            rate["rate_assumed"] = True
        is_labelled = self.description is not None and bool(self.description.lanes)
        if is_labelled:
            facts.metadata.pop(TRACK, None)
        return Recording(
            id=facts.id if self.description and facts.id else f"{self.name}_{index:06d}",
            source=place.path,
            index=index,
            signals=signals,
            embodiment=self.robot,
            metadata=rate | facts.metadata,
            defects=tuple(defects),
            regridded=stamps is None or _is_even(stamps, self.rate_hz),
            labels=labels_of(example, str(place.path)) if is_labelled else None,
        )

    def _signal(
        self, label: str, leaf: Leaf, example: Example, stamps: Times | None, index: int
    ) -> Signal | Defect | None:
        if leaf.kind == "text" or (
            not self._is_ours(label) and (is_mark(label) or self._is_clock(label))
        ):
            return None
        values = example.get(f"{STEPS}{label}", [])
        if not len(values):
            if f"{STEPS}{label}/ragged_flat_values" in example:
                return None  # Lists of any length in every step have no place in a table.
            message = f"features.json lists {label}, but the record has no values of it"
            return Defect(METADATA_WRONG, message, index, label)
        if leaf.kind == "image":
            if _is_unused(label, values, example):
                return None
            times = self._of(stamps, len(values))
            signal = picture_signal(label, leaf, values, times, self.rate_hz, self.description)
        else:
            array = leaf.array(values)
            times = self._of(stamps, 0 if array is None else len(array))
            signal = None if array is None else self._numbers(label, leaf, array, times)
        if signal is None:
            message = f"{label} has {len(values)} values; expected a multiple of {leaf.shape}"
            return Defect(INDEX_WRONG, message, index, label)
        return signal

    def _numbers(self, label: str, leaf: Leaf, array: NDArray[Any], times: Times) -> Signal | None:
        is_picture = leaf.dtype == "uint8" and len(leaf.shape) == 3 and leaf.shape[2] == 3
        if is_picture and not self._is_ours(label):
            return picture_signal(label, leaf, array, times, self.rate_hz, self.description)
        array = to_storable(array)
        return ArraySignal(self._stream(label, array), times, array)

    def _stream(self, label: str, array: NDArray[Any]) -> Stream:
        described = self.description.streams.get(label) if self.description else None
        if (
            described is not None
            and described.shape == array.shape[1:]
            and described.dtype == array.dtype.name
        ):
            return described
        columns = self.known.columns.get(label) if self.known else None
        if columns is not None and array.shape[1:] != (len(columns.names),):
            columns = None
        stream = array_stream(
            # So that the commands of DROID count as commands.
            label.replace("action_dict/", "action/"),
            array,
            rate_hz=self.rate_hz,
            names=columns.names if columns else None,
            robot=self.robot,
        )
        if columns is None or self.robot is not None:
            return stream
        return stream.model_copy(update={"unit": columns.units, "components": columns.names})

    def _is_ours(self, label: str) -> bool:
        """Whether it is a column that Corporeal wrote, whatever its name."""
        return self.description is not None and label in self.description.streams

    def _is_clock(self, label: str) -> bool:
        return self.description is not None and label == TIME

    def _stamps(self, example: Example) -> Times | None:
        """The capture times of the steps, where Corporeal has written them."""
        values = example.get(f"{STEPS}{TIME}", []) if self.description else []
        if isinstance(values, list) or values.dtype != np.int64 or not len(values):
            return None
        return values if (np.diff(values) >= 0).all() else None

    def _of(self, stamps: Times | None, count: int) -> Times:
        if stamps is not None and len(stamps) == count:
            return stamps
        return even_stamps(count, self.rate_hz)


def _is_even(stamps: Times, rate_hz: float) -> bool:
    even = even_stamps(len(stamps), rate_hz)
    return bool((np.abs(stamps - stamps[0] - even) <= 2).all())


def _is_unused(label: str, values: Values, example: Example) -> bool:
    """Whether the camera was not there: said so, and every picture is the same filling."""
    present = example.get(f"episode_metadata/has_{label.rsplit('/', 1)[-1]}", [])
    return len(present) == 1 and not present[0] and all(each == values[0] for each in values)


def _length_defects(signals: Mapping[str, Signal], index: int) -> Iterator[Defect]:
    lengths = [len(signal) for signal in signals.values()]
    if len(set(lengths)) > 1:
        message = f"the streams have from {min(lengths)} to {max(lengths)} steps"
        yield Defect(INDEX_WRONG, message, index)


@dataclass(frozen=True, eq=False)
class DepthStills:
    """Depth stored one by one as PNG, decoded when asked for: (height, width) each.

    16 bits as they are; floats stand in the four bytes of the pixels, as TensorFlow Datasets
    stores them.
    """

    spec: Stream
    time_ns: NDArray[np.int64]
    pictures: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> NDArray[Any]:
        """Depth (T, height, width), or one (height, width)."""
        numbers = np.arange(len(self.pictures))[selection]
        if np.ndim(numbers) == 0:
            return self._depth(self.pictures[int(numbers)])
        # Stacked at last: memory is taken for what was decoded, not for what features.json claims.
        return np.stack([self._depth(self.pictures[int(number)]) for number in numbers])

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return map(self._depth, self.pictures)

    def _depth(self, stored: bytes) -> NDArray[Any]:
        is_float = self.spec.dtype == "float32"
        try:
            with Image.open(io.BytesIO(stored), formats=("PNG",)) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise ValueError(f"{image.width} x {image.height} pixels")
                raw = np.asarray(image)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise self._broken(str(error)) from error
        if is_float and raw.dtype == np.uint8 and raw.ndim == 3 and raw.shape[2] == 4:
            raw = np.ascontiguousarray(raw).view("<f4")[..., 0]
        if raw.shape != self.spec.shape or (raw.dtype.kind == "f") != is_float:
            raise self._broken(f"it is {raw.shape} of {raw.dtype}, not {self.spec.shape}")
        return raw.astype(self.spec.dtype, copy=False)

    def _broken(self, why: str) -> EpisodeError:
        return EpisodeError(f"{self.spec.path}: depth cannot be decoded ({why}). Replace the file.")


def picture_signal(
    label: str,
    leaf: Leaf,
    values: Any,
    stamps: NDArray[np.int64],
    rate_hz: float,
    description: DatasetDescription | None,
) -> Signal | None:
    """A camera or a depth camera; None when the feature holds no encoded pictures."""
    is_encoded = leaf.kind == "image"
    if is_encoded and not isinstance(values, list):
        return None
    if is_encoded and leaf.dtype in ("uint16", "float32"):
        return _depth_signal(label, leaf, values, stamps, rate_hz)
    height, width = leaf.shape[:2] if len(leaf.shape) == 3 else (-1, -1)
    if min(height, width) <= 0:
        height, width = _size(values[0])
    spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
    if description is not None:
        spec = description.camera(label, spec)
    return ImageSequence(spec, stamps, values)


def _depth_signal(
    label: str, leaf: Leaf, values: Sequence[bytes], stamps: NDArray[np.int64], rate_hz: float
) -> DepthStills | None:
    if len(leaf.shape) != 3 or leaf.shape[2] != 1 or min(leaf.shape) <= 0:
        return None
    is_float = leaf.dtype == "float32"
    spec = Stream(
        name=stream_name(label),
        group="observations",
        kind="array" if is_float else "depth",
        dtype="float32" if is_float else "uint16",
        shape=leaf.shape[:2],
        rate_hz=rate_hz,
    )
    return DepthStills(spec, stamps, values)


def _size(stored: bytes) -> tuple[int, int]:
    """Height and width that a picture itself states, where features.json leaves them open."""
    try:
        with Image.open(io.BytesIO(stored), formats=("JPEG", "PNG")) as image:
            return image.height, image.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0
