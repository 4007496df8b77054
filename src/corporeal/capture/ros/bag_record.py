"""One message of a bag and where it comes from, whatever kind of file it lies in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corporeal.capture.driver import DriverError
from corporeal.episode.facts import BREAKS_OFF
from corporeal.errors import DocumentError
from corporeal.schema.markup import parse_markup

_LAST_NS = 1 << 62
_MAX_PROFILES = 1 << 20


@dataclass(frozen=True, slots=True)
class BagChannel:
    """Where messages come from: topic, type, and the definition as the file states it.

    The definition is text, or for protobuf the bytes of a FileDescriptorSet. `is_latched`: the
    last message is handed to whoever comes late (transient_local), so that it is said once.
    """

    topic: str
    type: str
    definition: str | bytes
    language: str
    encoding: str
    is_latched: bool = False


@dataclass(frozen=True, slots=True)
class BagRecord:
    """One message as it lies in the bag; `log_ns` is when the bag's writer received it."""

    channel: BagChannel
    log_ns: int
    data: bytes


def check_stamp(log_ns: int) -> int:
    """The time when a message was received; ValueError for one that no clock shows."""
    if not -_LAST_NS < log_ns < _LAST_NS:
        raise ValueError(f"a message is stamped {log_ns} ns, which no clock shows")
    return log_ns


def describe_break(path: Path, what: str, count: int, error: Exception, advice: str) -> str:
    """The sentence for a file that breaks off; DriverError for one that never began."""
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    if not count:
        raise DriverError(f"{path}: cannot be read as {what}: {reason}. {advice}") from None
    return f"{path.name} {BREAKS_OFF} {count} messages ({reason})."


def says_latched(profiles: Any) -> bool:
    """Whether all publishers hand their last message to latecomers; ROS wrote 1 for it once."""
    listed = profiles
    if isinstance(profiles, str):
        try:
            listed = parse_markup(profiles[:_MAX_PROFILES], source="profiles").values
        except DocumentError:
            return False
    if not isinstance(listed, list) or not listed:
        return False
    durabilities = [entry.get("durability") for entry in listed if isinstance(entry, dict)]
    return len(durabilities) == len(listed) and all(
        word in (1, "1") or (isinstance(word, str) and word.lower() == "transient_local")
        for word in durabilities
    )
