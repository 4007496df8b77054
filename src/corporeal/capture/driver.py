"""What a source of samples is: described without touching the device, then read as a generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from corporeal.embodiment import Embodiment
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.registry import plugins
from corporeal.schema import Part, Schema, Stream

ROBOT_CLOCK = "robot"


class DriverError(CorporealError):
    """A source cannot be opened, or broke while it was read."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one stream.

    `source_ns` is the stamp of the device's own clock, whatever its epoch; `arrival_ns` is the
    recorder's clock (Unix nanoseconds, never stepping) when the value reached this process.
    """

    stream: str
    source_ns: int
    arrival_ns: int
    value: Any


@dataclass(frozen=True, slots=True)
class Mark:
    """The source itself says that a demonstration begins, ends, or goes on in another mode, and
    what it knows of it.
    """

    what: Literal["start", "segment", "end"]
    arrival_ns: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Loss:
    """So many samples of a stream were lost in the source itself, here in the order of samples."""

    stream: str
    count: int
    reason: str


@dataclass(frozen=True)
class Rig:
    """What a source will deliver: its streams, its robot, and which clock stamps each stream.

    `sources` maps a stream's path to the name of its clock; a stream not named is stamped by the
    robot's, which is the reference. `latency_ns` is the shortest delay known for a clock's
    messages. `problems` lists what was found on the way, such as topics that cannot be mapped.
    `is_networked`: what is stamped by the robot's clock may come from several computers, each with
    a clock of its own; they are told apart by the stamps, once all are there.
    """

    schema: Schema
    embodiment: Embodiment | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    latency_ns: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    is_networked: bool = False

    def resolve(self) -> Schema:
        """The schema for the robot, where there is one."""
        return self.embodiment.resolve(self.schema) if self.embodiment else self.schema

    def source(self, stream: str) -> str:
        """The clock that stamps a stream."""
        return self.sources.get(stream, ROBOT_CLOCK)


@dataclass(frozen=True)
class Driver:
    """A plugin: `describe(options)` opens nothing, `read(options)` yields until it is closed.

    `read` is a generator; it frees its device in `finally`, since the recorder closes it at any
    moment. `is_live` sources cannot wait: what is not taken in time is lost, and counted.

    `follow(options, wanted)` is for a source that can do what cards ask for, such as a simulation:
    `wanted` waits for the next card and gives what the metadata of its episode are to say (levels
    where their factors have them, `asked` with the object's place), or None where none comes.
    """

    options: type[Part]
    describe: Callable[[Any], Rig]
    read: Callable[[Any], Iterator[Sample | Mark | Loss]]
    is_live: bool = False
    follow: (
        Callable[[Any, Callable[[], Mapping[str, Any] | None]], Iterator[Sample | Mark | Loss]]
        | None
    ) = None


@dataclass(frozen=True)
class RecordingSource:
    """A driver with its options. `rename` and `leave_out` go by the names the driver gives.

    `clock` names what the driver stamps with; sources that name the same clock share it. By
    default the first source has the robot's clock, which is the reference, and any other its own.
    """

    name: str
    driver: Driver
    options: Any
    clock: str | None = None
    prefix: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    leave_out: tuple[str, ...] = ()

    def following(self, wanted: Callable[[], Mapping[str, Any] | None]) -> RecordingSource:
        """The same source doing what cards ask for, where it can; else as it is."""
        follow = self.driver.follow
        if follow is None:
            return self
        return replace(
            self, driver=replace(self.driver, read=lambda options: follow(options, wanted))
        )

    def path_of(self, path: str) -> str | None:
        """The address in the episode of a stream of the driver; None for one left out."""
        group, _, name = path.partition("/")
        if name in self.leave_out:
            return None
        return f"{group}/{self.rename.get(name, self.prefix + name)}"

    def describe(self, *, is_first: bool = True) -> Rig:
        """What it delivers, under the names and clocks of the episode."""
        rig = self.driver.describe(self.options)
        schema = rig.resolve()
        names = [stream.name for stream in schema.streams]
        for name in (*self.rename, *self.leave_out):
            if name not in names:
                raise UnknownNameError(f"stream of the source {self.name!r}", name, names)
        if is_first and self.clock is None and not (self.prefix or self.rename or self.leave_out):
            return rig
        own = self.clock or (ROBOT_CLOCK if is_first else self.name)

        def clock_of(clock: str) -> str:
            return own if clock == ROBOT_CLOCK else clock if is_first else f"{self.name}/{clock}"

        streams, sources = [], {}
        for stream in schema.streams:
            path = self.path_of(stream.path)
            if path is not None:
                streams.append(_renamed(stream, path.partition("/")[2]))
                sources[path] = clock_of(rig.source(stream.path))
        if not streams:
            raise DriverError(f"source {self.name!r} leaves out all its streams. Remove it.")
        return replace(
            rig,
            schema=schema.model_copy(update={"streams": tuple(streams)}),
            sources=sources,
            latency_ns={clock_of(clock): delay for clock, delay in rig.latency_ns.items()},
        )


def _renamed(stream: Stream, name: str) -> Stream:
    if name == stream.name:
        return stream
    return Stream.model_validate({**stream.model_dump(), "name": name})


def drivers() -> dict[str, Driver]:
    """All drivers by name."""
    return plugins("corporeal.capture.drivers", "DRIVER", Driver)


def parse_options(driver: Driver, values: Mapping[str, Any]) -> Any:
    """A driver's options from plain values, with an error that names the option.

    A text for an option with parts is `PART:VALUE,PART:VALUE`, also with `=`, a range in it
    `LOW..HIGH`, or JSON.
    """
    fields = driver.options.model_fields
    try:
        return driver.options.model_validate(
            {name: _parse_parts(value, fields.get(name)) for name, value in values.items()}
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(step) for step in first["loc"]) or "options"
        known = ", ".join(fields) or "none"
        option = str(first["loc"][0]) if first["loc"] else ""
        given, expected = first["input"], first["msg"]
        is_vague = error.error_count() > 1 or first["type"] == "dict_type"
        if option in fields and is_vague and fields[option].description:
            # None of several types fits: what the option says of itself is clearer than each.
            name, given = option, values[option]
            expected = f"expected {fields[option].description}"
        raise DriverError(
            f"driver option {name}, got {given!r}; {expected}. Options: {known}."
        ) from None


def _parse_parts(value: Any, field: FieldInfo | None) -> Any:
    """A text for an option that takes a dictionary as one; anything else as it is."""
    if not isinstance(value, str) or field is None or "dict[" not in str(field.annotation):
        return value
    if value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    parts = [part.partition("=" if "=" in part else ":") for part in value.split(",")]
    if not all(name and sign for name, sign, _ in parts):
        return value
    return {name.strip(): _parse_range(text.strip()) for name, _, text in parts}


def _parse_range(text: str) -> Any:
    low, sign, high = text.partition("..")
    return [low, high] if sign else text
