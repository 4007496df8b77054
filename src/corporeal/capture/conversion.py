"""Makes the episode of a journal: estimates clocks, converts stamps, passes samples on."""

from __future__ import annotations

import json
import math
import shutil
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from corporeal.capture.clock import ClockEstimate, estimate_clock, to_robot_time
from corporeal.capture.driver import ROBOT_CLOCK
from corporeal.capture.journal import (
    MARKS,
    SUFFIX,
    JournalEntry,
    JournalError,
    JournalReader,
    lock_journal,
)
from corporeal.embodiment import Embodiment
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import spool_folder
from corporeal.episode.video import is_key_frame
from corporeal.schema import Schema
from corporeal.units import SECOND_NS

DAMAGED = ".damaged"


@dataclass
class _Stamps:
    """The two times of every entry of one clock and its stream, as compact as they can be."""

    source: array[int] = field(default_factory=lambda: array("q"))
    arrival: array[int] = field(default_factory=lambda: array("q"))
    stream: array[int] = field(default_factory=lambda: array("H"))


@dataclass
class _Survey:
    """What one pass over a journal finds."""

    clocks: dict[str, ClockEstimate] = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    span_ns: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def epoch_ns(self) -> int:
        """The start of the demonstration, or of the samples, on the recorder's clock."""
        starts = (mark["time_ns"] for mark in self.marks if mark["what"] == "start")
        return next(starts, min((first for first, _ in self.span_ns.values()), default=0))


def find_journals(folder: Path) -> list[Path]:
    """Every journal in, or at, `folder`."""
    if folder.is_file():
        return [folder] if folder.name.endswith(SUFFIX) else []
    return sorted(folder.glob(f"**/*{SUFFIX}"))


def episode_from_journal(journal: Path, *, reason: str | None = None) -> Path:
    """The episode `NAME.h5` of the journal `NAME.journal`, which is removed when that is in place.

    `reason` says why the recording is not complete; a journal that was cut says so itself. Can be
    killed and repeated. A journal that was changed behind a part that could be read is kept under
    another name. Memory grows by 18 bytes for each sample.
    """
    target = journal.with_name(journal.name.removesuffix(SUFFIX) + ".h5")
    try:
        held = journal.open("rb")
    except FileNotFoundError:
        if target.exists():
            # Someone else has recovered it in the meantime.
            return target
        raise JournalError(f"{journal}: No such file or directory.") from None
    except OSError as error:
        raise JournalError(f"{journal}: {error.strerror or error}.") from None
    with held:
        lock_journal(journal, held)
        reader = JournalReader(journal)
        try:
            _convert(reader, target, reason)
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            what = str(error).splitlines()[0]
            raise JournalError(
                f"{journal}: its header is not that of a recording ({what}). Nothing was removed."
            ) from error
        if reader.is_damaged:
            journal.rename(journal.with_name(journal.name + DAMAGED))
        else:
            journal.unlink()
    return target


def _convert(reader: JournalReader, target: Path, reason: str | None) -> None:
    header = reader.header
    if target.exists():
        with Episode.open(target) as episode:
            if episode.id != header["id"]:
                raise JournalError(
                    f"{target} is another episode than that of {reader.path.name}. "
                    "Move one of them away, then recover again."
                )
        # It was killed between the last two steps; what is left of it is of no more use.
        shutil.rmtree(spool_folder(target), ignore_errors=True)
        # So that a damaged journal is known as one.
        _ = sum(1 for _ in reader)
        return
    survey = _survey(reader, header)
    if reason is None and not reader.is_whole:
        reason = f"the recorder ended before the episode did ({reader.ending})"
    # A conversion that was killed left a half-filled folder; the journal has all of it.
    shutil.rmtree(spool_folder(target), ignore_errors=True)
    _write(reader, target, survey, reason)


def _survey(reader: JournalReader, header: Mapping[str, Any]) -> _Survey:
    stamps: dict[str, _Stamps] = {}
    numbers: dict[str, int] = {}
    found = _Survey()
    for entry in reader:
        if entry.stream == MARKS:
            said = json.loads(entry.payload)
            found.facts.update(said["metadata"])
            if said["what"] in ("start", "end"):
                found.marks.append({"what": said["what"], "time_ns": entry.arrival_ns})
            continue
        first, last = found.span_ns.get(entry.stream, (entry.arrival_ns, entry.arrival_ns))
        found.span_ns[entry.stream] = min(first, entry.arrival_ns), max(last, entry.arrival_ns)
        pair = stamps.setdefault(_source(header, entry), _Stamps())
        pair.source.append(entry.source_ns)
        pair.arrival.append(entry.arrival_ns)
        pair.stream.append(numbers.setdefault(entry.stream, len(numbers)))
    if not found.span_ns:
        if reader.is_damaged:
            raise JournalError(f"{reader.path}: damaged before its first sample ({reader.ending}).")
        raise JournalError(f"{reader.path}: no sample was recorded before it was cut. Remove it.")
    for source, pair in stamps.items():
        found.clocks[source] = estimate_clock(
            source,
            np.frombuffer(pair.source, np.int64),
            np.frombuffer(pair.arrival, np.int64),
            latency_ns=header["latency_ns"].get(source, 0),
            streams=np.frombuffer(pair.stream, np.uint16),
        )
    return found


def _source(header: Mapping[str, Any], entry: JournalEntry) -> str:
    return str(header["sources"].get(entry.stream, ROBOT_CLOCK))


def _write(reader: JournalReader, target: Path, survey: _Survey, reason: str | None) -> None:
    header, epoch_ns = reader.header, survey.epoch_ns
    robot = header["embodiment"]
    schema = Schema.model_validate(header["schema"])
    waiting_for_key = {stream.path for stream in schema.streams if stream.kind == "video"}
    with EpisodeWriter(
        target,
        schema=schema,
        embodiment=Embodiment.model_validate(robot) if robot is not None else None,
        metadata=_plain(_metadata(header, schema, survey, reason)),
        epoch_ns=epoch_ns,
        episode_id=header["id"],
        recovered=reason,
    ) as writer:
        for entry in reader:
            if entry.stream == MARKS:
                continue
            if entry.stream in waiting_for_key:
                if not is_key_frame(entry.payload):
                    continue
                waiting_for_key.remove(entry.stream)
            stamps = np.array([entry.source_ns])
            stamp = to_robot_time(survey.clocks, _source(header, entry), stamps, epoch_ns)
            writer.append_packed(entry.stream, int(stamp[0]), entry.payload)


def _metadata(
    header: Mapping[str, Any], schema: Schema, survey: _Survey, reason: str | None
) -> dict[str, Any]:
    metadata = {**header["metadata"], **survey.facts}
    metadata["marks"] = [
        {**mark, "time_ns": mark["time_ns"] - survey.epoch_ns} for mark in survey.marks
    ]
    metadata["clocks"] = {source: clock.to_json() for source, clock in survey.clocks.items()}
    metadata["stream_sources"] = dict(header["sources"])
    if header.get("roll") is not None:
        metadata["roll"] = _roll(header["roll"], schema, survey)
    if reason is not None:
        metadata["quarantine"] = reason
    return metadata


def _roll(wanted: Mapping[str, float], schema: Schema, survey: _Survey) -> dict[str, Any]:
    """How much every stream has before the start and after the end, and which have too little.

    Only streams with a rate count, and of those only the ones that came. One and a half periods
    may be missing, since no sample falls on the very edge.
    """
    ends = [mark["time_ns"] for mark in survey.marks if mark["what"] == "end"]
    there: dict[str, float] = {}
    short: list[str] = []
    for stream in schema.streams:
        if stream.rate_hz is None or stream.path not in survey.span_ns:
            continue
        first, last = survey.span_ns[stream.path]
        before_s = max(0.0, (survey.epoch_ns - first) / SECOND_NS)
        after_s = max(0.0, (last - ends[-1]) / SECOND_NS) if ends else 0.0
        for name, value in (("pre_s", before_s), ("post_s", after_s)):
            there[name] = min(there.get(name, value), value)
            if value + 1.5 / stream.rate_hz < wanted[name]:
                short.append(f"{stream.path}: {name} is {value:.2f}; expected {wanted[name]:.2f}")
    return {**{name: round(value, 3) for name, value in there.items()}, "short": short}


def _plain(value: Any) -> Any:
    """JSON that every reader takes: no NaN, no half characters; a fact must not cost the rest."""
    if isinstance(value, Mapping):
        return {_plain(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return value
