"""What a source of samples is: described without touching the device, then read as a generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from corporeal.embodiment import Embodiment
from corporeal.errors import CorporealError
from corporeal.registry import plugins
from corporeal.schema import Part, Schema

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
    """The source itself says that a demonstration begins or ends, and what it knows of it."""

    what: Literal["start", "end"]
    arrival_ns: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


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

    def source(self, stream: str) -> str:
        """The clock that stamps a stream."""
        return self.sources.get(stream, ROBOT_CLOCK)


@dataclass(frozen=True)
class Driver:
    """A plugin: `describe(options)` opens nothing, `read(options)` yields until it is closed.

    `read` is a generator; it frees its device in `finally`, since the recorder closes it at any
    moment. `is_live` sources cannot wait: what is not taken in time is lost, and counted.
    """

    options: type[Part]
    describe: Callable[[Any], Rig]
    read: Callable[[Any], Iterator[Sample | Mark]]
    is_live: bool = False


def drivers() -> dict[str, Driver]:
    """All drivers by name."""
    return plugins("corporeal.capture.drivers", "DRIVER", Driver)


def parse_options(driver: Driver, values: Mapping[str, Any]) -> Any:
    """A driver's options from plain values, with an error that names the option."""
    try:
        return driver.options.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(step) for step in first["loc"]) or "options"
        known = ", ".join(driver.options.model_fields) or "none"
        raise DriverError(
            f"driver option {name}, got {first['input']!r}; {first['msg']}. Options: {known}."
        ) from None
