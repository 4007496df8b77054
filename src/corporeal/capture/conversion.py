"""Makes the episode of a recorder's journal: estimates clocks, converts stamps."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.clock import (
    ClockEstimate,
    ClockStamps,
    describe_far_stamps,
    describe_pace,
    estimate_clock,
    split_clock,
    to_robot_time,
)
from corporeal.capture.driver import ROBOT_CLOCK
from corporeal.capture.rig import RigDocument
from corporeal.capture.trigger_group import COUNTER, group_rate_hz, match_frames, number_frames
from corporeal.embodiment import Embodiment
from corporeal.episode.facts import CORRECTION
from corporeal.episode.file import (
    MARKS,
    Journal,
    JournalError,
    ToEpisodeTime,
    describe_gaps,
    describe_written,
    episode_header,
    recover,
)
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration, Protocol
from corporeal.schema import Document, Schema, roles
from corporeal.units import SECOND_NS

# The streams of a source with the prefix policy_ hold what the policy wanted.
_POLICY = "actions/policy_"


@dataclass
class _Survey:
    """What the stamps and marks of a journal say."""

    clocks: dict[str, ClockEstimate] = field(default_factory=dict)
    marks: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    span_ns: dict[str, tuple[int, int]] = field(default_factory=dict)
    switches: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    warnings: list[tuple[int, str]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    said_by: list[tuple[int, str, str]] = field(default_factory=list)
    """Which marks somebody made who is known."""
    triggers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    actions_ns: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    """The clock of each stream that has samples."""
    refused: dict[str, int] = field(default_factory=dict)
    """How many samples of a stream came and could not be taken."""
    far: dict[str, str] = field(default_factory=dict)
    """The streams with stamps that are far from their arrival, in words."""

    @property
    def epoch_ns(self) -> int:
        """The start of the demonstration, or of the samples, on the recorder's clock."""
        starts = (mark["time_ns"] for mark in self.marks if mark["what"] == "start")
        return next(starts, min((first for first, _ in self.span_ns.values()), default=0))


def episode_from_journal(journal: Path, *, reason: str | None = None) -> Path:
    """The episode of a journal, whoever wrote it, which is removed when that is in place.

    `reason` says why the recording is not complete; a journal that was cut says so itself. Memory
    grows by 18 bytes for each sample.
    """
    return recover(journal, describe=partial(_describe, reason=reason))


def _describe(journal: Journal, *, reason: str | None) -> tuple[Mapping[str, Any], ToEpisodeTime]:
    header = journal.header
    if "epoch_ns" in header:
        return describe_written(journal)
    if not journal.is_whole and (reason is None or journal.is_damaged):
        ended = f"the recorder ended before the episode did ({journal.ending})"
        reason = ended if reason is None else f"{reason}; {journal.ending}"
    try:
        survey = _survey(journal)
        matched = _match_triggers(journal, survey)
        schema, robot = Schema.model_validate(header["schema"]), header["embodiment"]
        described = episode_header(
            journal.path,
            schema=schema,
            embodiment=Embodiment.model_validate(robot) if robot is not None else None,
            metadata=_plain(_metadata(journal, schema, survey, reason)),
            epoch_ns=survey.epoch_ns,
            episode_id=header["id"],
            documents=[_document(item, journal.path) for item in header.get("documents", ())],
            recovered=reason,
        )
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, CorporealError):
            raise
        what = (str(error) or type(error).__name__).splitlines()[0]
        raise JournalError(
            f"{journal.path}: its header is not that of a recording ({what}). Nothing was removed."
        ) from error

    def to_episode_time(stream: str, source_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        times = to_robot_time(survey.clocks, survey.sources[stream], source_ns, survey.epoch_ns)
        if stream in matched:
            stamps, shared = matched[stream]
            place = np.minimum(np.searchsorted(stamps, source_ns), len(stamps) - 1)
            times = np.where(stamps[place] == source_ns, shared[place], times)
        return times

    return described, to_episode_time


def _match_triggers(
    journal: Journal, survey: _Survey
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For cameras of a trigger group: their stamps in order, and the time that each gets."""
    schema = Schema.model_validate(journal.header["schema"])
    matched: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for name, paths in journal.header.get("triggers", {}).items():
        own = {
            path: np.unique(journal.stamps(path)[:, 1]) for path in paths if path in journal.runs
        }
        if len(own) < 2:
            survey.triggers[name] = {"cameras": list(own), "triggers": 0, "missed": {
                path: {"count": 0, "at_ns": []} for path in paths if path not in own}}  # fmt: skip
            continue
        period_ns = SECOND_NS / group_rate_hz(paths, schema)
        times = {path: to_robot_time(survey.clocks, survey.sources[path], stamps, survey.epoch_ns)
                 for path, stamps in own.items()}  # fmt: skip
        numbers = {path: number_frames(stamps, period_ns, _counted(journal, path))
                   for path, stamps in own.items()}  # fmt: skip
        match = match_frames(times, numbers, period_ns)
        survey.triggers[name] = match.facts
        matched |= {path: (stamps, match.stamps[path]) for path, stamps in own.items()}
    return matched


def _counted(journal: Journal, path: str) -> dict[int, int]:
    """The device's own number of every frame by its stamp, where a stream beside it has them."""
    counter = f"{path}{COUNTER}"
    if counter not in journal.runs:
        return {}
    stamps = journal.stamps(counter)[:, 1].tolist()
    schema = Schema.model_validate(journal.header["schema"])
    (kind,) = (stream.dtype for stream in schema.streams if stream.path == counter)
    values = (np.frombuffer(data, kind)[0] for data in journal.samples(counter))
    return {stamp: int(value) for stamp, value in zip(stamps, values, strict=True)}


def _survey(journal: Journal) -> _Survey:
    survey, header = _Survey(), journal.header
    streams = [stream for stream in journal.runs if stream != MARKS]
    if not streams:
        if journal.is_damaged:
            raise JournalError(
                f"{journal.path}: damaged before its first sample ({journal.ending})."
            )
        raise JournalError(f"{journal.path}: no sample was recorded before it was cut. Remove it.")
    _read_marks(journal, survey)
    survey.sources = _sources(journal, streams)
    sharing: dict[str, list[str]] = defaultdict(list)
    for stream, source in survey.sources.items():
        sharing[source].append(stream)
    for source, names in sharing.items():
        stamps = {name: journal.stamps(name) for name in names}
        for name, pair in stamps.items():
            if name.startswith("actions/"):
                survey.actions_ns[name] = pair[:, 0]
            survey.span_ns[name] = int(pair[:, 0].min()), int(pair[:, 0].max())
        arrival_ns, source_ns = np.concatenate(list(stamps.values())).T
        numbers = np.arange(len(names), dtype=np.uint16)
        survey.clocks[source] = estimate_clock(
            source,
            source_ns,
            arrival_ns,
            latency_ns=header["latency_ns"].get(source, 0),
            streams=np.repeat(numbers, [len(pair) for pair in stamps.values()]),
        )
        for name, pair in stamps.items():
            odd = describe_pace(pair[:, 1], pair[:, 0])
            if odd is not None:
                survey.warnings.append((int(pair[:, 0].max()), f"{name}: {odd}"))
            words = describe_far_stamps(survey.clocks[source], pair[:, 1], pair[:, 0])
            if words is not None:
                survey.far[name] = words
    return survey


def _read_marks(journal: Journal, survey: _Survey) -> None:
    if MARKS not in journal.runs:
        return
    arrivals = journal.stamps(MARKS)[:, 0].tolist()
    for arrival_ns, text in zip(arrivals, journal.samples(MARKS), strict=True):
        try:
            mark = json.loads(text)
            if not isinstance(mark["what"], str):
                raise TypeError(mark["what"])
            _take_mark(survey, arrival_ns, mark["what"], dict(mark["metadata"]))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            survey.warnings.append((arrival_ns, "a mark that cannot be read was left out"))


def _take_mark(survey: _Survey, arrival_ns: int, what: str, said: dict[str, Any]) -> None:
    if "by" in said:
        survey.said_by.append((arrival_ns, what, str(said.pop("by"))))
    if what == "discard":
        survey.facts["discarded"] = {"reason": said["reason"]}
    elif what == "segment":
        survey.switches.append((arrival_ns, said))
    elif what == "losses":
        survey.facts["losses"] = said["losses"]
        survey.refused = {stream: int(each["refused"]) for stream, each in said["losses"].items()
                          if each["refused"]}  # fmt: skip
    elif what == "warning":
        survey.warnings.append((arrival_ns, said["message"]))
    elif what == "note":
        survey.notes.append((arrival_ns, said["text"]))
    elif what == "answer":
        survey.facts.setdefault("answers", {})[said["question"]] = said["answer"]
    else:
        survey.facts.update(said)
        if what in ("start", "end"):
            survey.marks.append({"what": what, "time_ns": arrival_ns})


def _sources(journal: Journal, streams: Sequence[str]) -> dict[str, str]:
    """The clock of every stream: the driver's word, and where it cannot know, what stamps tell."""
    header = journal.header
    sources = {stream: str(header["sources"].get(stream, ROBOT_CLOCK)) for stream in streams}
    if not header.get("is_networked"):
        return sources
    kinds = {stream.path: stream.kind for stream in Schema.model_validate(header["schema"]).streams}
    mixed = {}
    for stream in (stream for stream in streams if sources[stream] == ROBOT_CLOCK):
        arrival_ns, source_ns = journal.stamps(stream).T
        is_heavy = kinds.get(stream) not in ("array", "text")
        mixed[stream] = ClockStamps(source_ns, arrival_ns, is_heavy=is_heavy)
    return sources | split_clock(mixed, f"observations/{roles.JOINT_POSITION}")


def _metadata(
    journal: Journal, schema: Schema, survey: _Survey, reason: str | None
) -> dict[str, Any]:
    header = journal.header
    metadata = {**header["metadata"], **survey.facts}
    gaps = describe_gaps(journal, epoch_ns=survey.epoch_ns)
    if gaps:
        metadata["gaps"] = gaps
    metadata["marks"] = [
        {**mark, "time_ns": mark["time_ns"] - survey.epoch_ns} for mark in survey.marks
    ]
    if survey.triggers:
        metadata["trigger_groups"] = dict(survey.triggers)
    for name, field_name, texts in (
        ("warnings", "message", survey.warnings), ("notes", "text", survey.notes)
    ):  # fmt: skip
        if texts:
            metadata[name] = [{"time_ns": time_ns - survey.epoch_ns, field_name: text}
                              for time_ns, text in texts]  # fmt: skip
    if survey.said_by:
        metadata["marked_by"] = [{"time_ns": time_ns - survey.epoch_ns, "what": what, "by": by}
                                 for time_ns, what, by in survey.said_by]  # fmt: skip
    metadata["clocks"] = {source: clock.to_json() for source, clock in survey.clocks.items()}
    metadata["stream_sources"] = {**header["sources"], **survey.sources}
    if header.get("roll") is not None:
        metadata["roll"] = _roll(header["roll"], schema, survey)
    empty: tuple[Any, ...] = (None, "", {}, [])
    holes = [name for name in header.get("required", ()) if metadata.get(name) in empty]
    reasons = [] if reason is None else [reason]
    reasons += [f"{stream}: {words}: its clock was set, or is broken"
                for stream, words in survey.far.items()]  # fmt: skip
    reasons += [f"{stream}: {count} samples were refused while it was recorded"
                for stream, count in survey.refused.items()]  # fmt: skip
    if "discarded" in survey.facts:
        why = survey.facts["discarded"]["reason"]
        reasons.append("the operator discarded it" + (f": {why}" if why else ""))
    if survey.switches:
        metadata["segments"] = _segments(metadata, survey)
        reasons += _missing_actions(metadata["segments"], survey)
    if holes:
        reasons.append(f"the metadata does not name: {', '.join(holes)}")
    if reasons:
        metadata["quarantine"] = "; ".join(reasons)
    return metadata


def _segments(metadata: Mapping[str, Any], survey: _Survey) -> list[dict[str, Any]]:
    """The demonstration cut where somebody marked another mode or source, without gaps."""
    ends = [mark["time_ns"] for mark in survey.marks if mark["what"] == "end"]
    last_ns = ends[-1] if ends else max(last for _, last in survey.span_ns.values())
    begins: list[tuple[int, dict[str, Any]]] = [(survey.epoch_ns, {}), *survey.switches]
    stops = [*(time_ns for time_ns, _ in survey.switches), last_ns]
    segments = []
    for (start_ns, facts), stop_ns in zip(begins, stops, strict=True):
        segment = {
            "start_ns": start_ns - survey.epoch_ns,
            "end_ns": stop_ns - survey.epoch_ns,
            "mode": facts.get("mode") or metadata.get("mode"),
        }
        source = facts.get("source") or metadata.get("motion_source")
        if source:
            segment["source"] = source
        if facts.get("note"):
            segment["note"] = facts["note"]
        if segment["mode"] == CORRECTION:
            policy = [path for path in survey.actions_ns if path.startswith(_POLICY)]
            segment["policy_action"] = policy
            segment["human_action"] = [path for path in survey.actions_ns if path not in policy]
        segments.append(segment)
    return segments


def _missing_actions(segments: list[dict[str, Any]], survey: _Survey) -> list[str]:
    """Interventions in which the policy's action, or the person's, was not recorded."""
    missing = []
    for segment in segments:
        start_ns, stop_ns = (survey.epoch_ns + segment[end] for end in ("start_ns", "end_ns"))
        for name, whose in (("policy_action", "policy"), ("human_action", "person")):
            arrivals = [survey.actions_ns[path] for path in segment.get(name, ())]
            there = any(((one >= start_ns) & (one < stop_ns)).any() for one in arrivals)
            if name in segment and not there:
                at_s = segment["start_ns"] / SECOND_NS
                missing.append(f"the intervention at {at_s:.1f} s has no action of the {whose}")
    return missing


def _document(item: Mapping[str, str], path: Path) -> Document:
    kinds: dict[str, type[Document]] = {
        model.kind: model for model in (Protocol, Calibration, RigDocument)
    }
    return kinds[item["kind"]].parse(item["text"], source=f"{path}:{item['kind']}", suffix=".json")


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
