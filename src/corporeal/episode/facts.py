"""What an episode says of itself, read from metadata, streams and labels in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from corporeal.episode.collection_mode import read_mode
from corporeal.episode.label_track import LabelTrack
from corporeal.episode.outcome import EpisodeOutcome, Samples, read_outcome
from corporeal.errors import CorporealError
from corporeal.schema import roles
from corporeal.units import SECOND_NS

_MOST_TEXTS = 1000
_READ = ("task", "instruction", "instructions", "outcome", "success", "failure", "operator",
         "station", "session", "batch", "environment", "mode", "software", "marks")  # fmt: skip


@dataclass(frozen=True)
class EpisodeFacts:
    """What is known of an episode beside its samples; None where nobody says.

    `instruction` is what the operator was told first: the stream says what was said at the time,
    the metadata what was meant to be said, and the task names it. `instructions` are all of the
    first two. `marks_ns` are the recorder's marks by name, such as start and end. `other` is
    whatever else the metadata states.
    """

    task: str | None = None
    instruction: str | None = None
    instructions: tuple[str, ...] = ()
    outcome: EpisodeOutcome = field(default_factory=EpisodeOutcome)
    operator: str | None = None
    station: str | None = None
    session: str | None = None
    batch: str | None = None
    environment: str | None = None
    mode: str | None = None
    software: str | None = None
    marks_ns: Mapping[str, int] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def demonstration_s(self) -> tuple[float, float] | None:
        """Start and end of the demonstration on the episode's clock, where both are marked."""
        start, end = self.marks_ns.get("start"), self.marks_ns.get("end")
        return None if start is None or end is None else (start / SECOND_NS, end / SECOND_NS)


def read_facts(
    metadata: Mapping[str, Any],
    signals: Iterable[Samples] = (),
    labels: LabelTrack | None = None,
) -> EpisodeFacts:
    """The facts of an episode; a value of an unknown kind is not stated, never guessed."""
    streams = tuple(signals)
    names = ("task", "operator", "station", "session", "batch", "environment", "software")
    plain = {name: _text(metadata.get(name)) for name in names}
    mode = _text(metadata.get("mode"))
    texts = tuple(dict.fromkeys(_instructions(metadata, streams)))
    return EpisodeFacts(
        **plain,
        instruction=texts[0] if texts else plain["task"],
        instructions=texts,
        outcome=read_outcome(metadata, streams, labels),
        mode=None if mode is None else read_mode(mode),
        marks_ns=dict(_marks(metadata.get("marks"))),
        other={name: value for name, value in metadata.items() if name not in _READ},
    )


def _text(value: Any) -> str | None:
    """A name as text; None for nothing, and for what is no name."""
    if value is None or value == "" or isinstance(value, Mapping | list | tuple):
        return None
    return str(value)


def _instructions(metadata: Mapping[str, Any], signals: Iterable[Samples]) -> Iterator[str]:
    for signal in signals:
        if signal.spec.name == roles.INSTRUCTION and signal.spec.kind == "text":
            try:
                given = [str(text) for text in signal[: min(len(signal), _MOST_TEXTS)]]
            except (CorporealError, ValueError):
                continue  # A stream that cannot be read says nothing; a check reports it.
            yield from (text for text in given if text.strip())
    stated = metadata.get("instruction")
    listed = metadata.get("instructions")
    for text in (stated, *(listed if isinstance(listed, list | tuple) else ())):
        if isinstance(text, str) and text.strip():
            yield text


def _marks(marks: Any) -> Iterator[tuple[str, int]]:
    for mark in marks if isinstance(marks, list | tuple) else ():
        if isinstance(mark, Mapping):
            name, time_ns = mark.get("what"), mark.get("time_ns")
            if isinstance(name, str) and isinstance(time_ns, int | float):
                yield name, int(time_ns)
