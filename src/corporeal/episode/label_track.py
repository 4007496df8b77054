"""What people said of an episode, as plain data that travels with its recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from corporeal.errors import EpisodeError
from corporeal.schema import Part

FIELD = "labels"
"""The field of an episode's metadata that holds its labels."""
NOTHING = -1
"""The number of a row in which a lane says nothing."""

Word = Annotated[str, Field(min_length=1, max_length=2000)]
Stamp = Annotated[int, Field(ge=-(1 << 62), le=1 << 62)]
Value = str | float | int | bool | None


class Lane(Part):
    """Labels of which at most one holds at a time; in a lane that `tiles`, one always does."""

    name: Word
    labels: tuple[Word, ...] = Field(max_length=4096)
    tiles: bool = False


class LabelSpan(Part):
    """A label from `start_ns` to before `end_ns`; a moment has both the same."""

    lane: Word
    label: Word
    start_ns: Stamp
    end_ns: Stamp
    attributes: dict[str, Value] = Field(default={}, max_length=64)


class PoseLabel(Part):
    """Where an object is at a moment: metres in a named frame, a quaternion w x y z if known."""

    object: Word
    time_ns: Stamp
    frame: Word = "world"
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float] | None = None


class LabelTrack(Part):
    """All labels of one episode. Times are nanoseconds as the stamps of its streams.

    `reference` is the stream on whose stamps the boundaries lie; `taxonomy` is NAME@VERSION of
    the document that says what the labels mean.
    """

    format: Literal["corporeal-labels"] = "corporeal-labels"
    version: Literal[1] = 1
    taxonomy: str = Field(default="", max_length=256)
    reference: str = Field(default="", max_length=256)
    lanes: tuple[Lane, ...] = Field(default=(), max_length=256)
    spans: tuple[LabelSpan, ...] = Field(default=(), max_length=1 << 20)
    instructions: tuple[Word, ...] = Field(default=(), max_length=256)
    poses: tuple[PoseLabel, ...] = Field(default=(), max_length=1 << 16)
    outcome: Literal["success", "borderline", "failure"] | None = None
    failure_mode: Word | None = None
    variant: Word | None = None
    flags: tuple[Word, ...] = Field(default=(), max_length=256)

    @property
    def success(self) -> bool | None:
        """Whether the task was done, be it only just (borderline); None when nobody said."""
        return None if self.outcome is None else self.outcome != "failure"

    @property
    def used_lanes(self) -> tuple[Lane, ...]:
        """The lanes in which something is said."""
        used = {span.lane for span in self.spans}
        return tuple(lane for lane in self.lanes if lane.name in used)

    def in_lane(self, name: str) -> tuple[LabelSpan, ...]:
        """The spans of one lane in order of time."""
        spans = (each for each in self.spans if each.lane == name)
        return tuple(sorted(spans, key=lambda each: (each.start_ns, each.end_ns)))

    def rows(self, lane: Lane, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which label of a lane holds at each of these times: its place in it, or NOTHING.

        A moment marks the first row at or after it. The last label of a lane that tiles also
        holds where it ends: there may be a row at the very end, and nothing comes after it.
        """
        places = {label: place for place, label in enumerate(lane.labels)}
        found = np.full(len(time_ns), NOTHING, np.int64)
        spans = self.in_lane(lane.name)
        for number, span in enumerate(spans):
            first = int(np.searchsorted(time_ns, span.start_ns))
            is_last = lane.tiles and number == len(spans) - 1
            stop = int(np.searchsorted(time_ns, span.end_ns, "right" if is_last else "left"))
            if span.start_ns == span.end_ns:
                stop = first + 1
            found[first:stop] = places.get(span.label, NOTHING)
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self.model_dump(mode="json", exclude_defaults=True) | {
            "format": self.format,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, raw: Any, *, where: str) -> Self | None:
        """The labels in plain values; None when these are something else by the same name."""
        if not isinstance(raw, Mapping) or raw.get("format") != "corporeal-labels":
            return None
        try:
            return cls.model_validate(dict(raw))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise EpisodeError(
                f"{where}: its labels make no sense ({place}: {first['msg']}). Remove the field "
                f"{FIELD!r}, or take the file from its source again."
            ) from None


def labels_in(metadata: Mapping[str, Any], *, where: str) -> LabelTrack | None:
    """The labels that an episode's metadata holds, if any."""
    return LabelTrack.from_json(metadata.get(FIELD), where=where)


def united(tracks: Iterable[Sequence[Lane]]) -> tuple[Lane, ...]:
    """Every lane once, with all labels that any of these have, in the order they come up."""
    found: dict[str, Lane] = {}
    for lanes in tracks:
        for lane in lanes:
            known = found.get(lane.name)
            if known is None:
                found[lane.name] = lane
            elif known != lane:
                labels = tuple(dict.fromkeys((*known.labels, *lane.labels)))
                tiles = known.tiles and lane.tiles
                found[lane.name] = Lane(name=lane.name, labels=labels, tiles=tiles)
    return tuple(found.values())


def spans_of_rows(
    lane: Lane, numbers: NDArray[np.int64], time_ns: NDArray[np.int64]
) -> Iterator[LabelSpan]:
    """The spans that rows of label numbers stand for; the last row lasts as long as most do."""
    if not len(numbers):
        return
    steps = np.diff(time_ns)
    period = max(1, int(np.median(steps))) if len(steps) else 1
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for first, stop in pairwise(edges):
        number = int(numbers[first])
        if 0 <= number < len(lane.labels):
            end = int(time_ns[stop]) if stop < len(time_ns) else int(time_ns[-1]) + period
            yield LabelSpan(lane=lane.name, label=lane.labels[number],
                       start_ns=int(time_ns[first]), end_ns=end)  # fmt: skip
