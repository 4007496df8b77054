"""The rig document: which sources make an episode together, and what the team agreed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from corporeal.capture.driver import (
    Driver,
    DriverError,
    RecordingSource,
    Rig,
    drivers,
    parse_options,
)
from corporeal.capture.trigger_group import TriggerGroup, group_paths
from corporeal.embodiment import Embodiment
from corporeal.episode.facts import check_mode
from corporeal.errors import CorporealError, DocumentError, Problem
from corporeal.protocol import Calibration, Protocol, open_protocol
from corporeal.schema import Document, Part, Schema, Stream, open_schema
from corporeal.schema.document import AnyDocument, Name
from corporeal.schema.markup import FieldPath, Markup, read_markup

_PASSWORD = re.compile(r"(\w+://[^/\s:@]*):[^/\s@]*@")


class RigSource(Part):
    """One driver of the rig."""

    name: Name = Field(description="such as body or head_camera")
    driver: str = Field(description="see corporeal record --list-drivers")
    options: dict[str, Any] = Field(default={}, description="of the driver")
    clock: str | None = Field(default=None, min_length=1, description="whose stamps these are")
    prefix: str = Field(default="", pattern=r"^[a-z0-9_]*$", description="before stream names")
    rename: dict[str, Name] = Field(default={}, description="stream: its name in the episode")
    leave_out: tuple[str, ...] = Field(default=(), description="streams that are not recorded")


Kind = Literal["schema", "protocol", "calibration"]


class RigDocument(Document):
    """Sources that are recorded together, and the documents that their episodes follow."""

    kind: ClassVar[str] = "rig"

    sources: tuple[RigSource, ...]
    follows: dict[Kind, str] = Field(
        default={}, description="the team's documents: built-in names, or files beside this one"
    )
    mode: str | None = Field(default=None, description="how it is collected, of a closed list")
    metadata: dict[str, Any] = Field(default={}, description="facts of every episode")
    triggers: tuple[TriggerGroup, ...] | None = Field(
        default=None, description="cameras that share a hardware trigger"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if not self.sources:
            raise ValueError("a rig without sources; expected at least one")
        names = [source.name for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"source {twice[0]!r} is listed twice; expected unique names")
        shared = [camera for group in self.triggers or () for camera in group.cameras]
        twice = sorted({name for name in shared if shared.count(name) > 1})
        if twice:
            raise ValueError(f"camera {twice[0]!r} is in two trigger groups; expected one")
        if self.mode is not None:
            try:
                check_mode(self.mode)
            except CorporealError as error:
                raise ValueError(str(error).rstrip(".")) from None
        return self

    def without_secrets(self) -> Self:
        """The same document without passwords in addresses: what an episode embeds."""
        sources = tuple(
            source.model_copy(update={"options": _redacted(source.options)})
            for source in self.sources
        )
        return self.model_copy(update={"sources": sources})


@dataclass(frozen=True)
class TeamDocuments:
    """What the team's documents demand of every episode, and what they say about it."""

    schema: Schema | None = None
    protocol: Protocol | None = None
    calibration: Calibration | None = None
    rig: RigDocument | None = None

    @property
    def embedded(self) -> tuple[Document, ...]:
        """The documents that go into the episode beside its schema and its robot."""
        rig = None if self.rig is None else self.rig.without_secrets()
        documents = (self.protocol, self.calibration, rig)
        return tuple(document for document in documents if document is not None)

    @property
    def required(self) -> tuple[str, ...]:
        """Metadata without which an episode is quarantined: the schema's word."""
        return () if self.schema is None else self.schema.metadata

    def facts(self) -> dict[str, Any]:
        """Metadata of every episode."""
        facts: dict[str, Any] = {} if self.calibration is None else self.calibration.facts()
        if self.protocol is not None:
            task = self.protocol.task
            facts |= {"task": task.name, "protocol": self.protocol.reference}
            # A wording with a {placeholder} is one for somebody who knows what varies.
            plain = [text for text in task.instructions if "{" not in text]
            if plain:
                facts |= {"instruction": plain[0], "instructions": plain}
            if self.protocol.questions:
                facts["questions"] = list(self.protocol.questions)
        if self.rig is not None:
            facts |= {"rig": self.rig.reference, **self.rig.metadata}
            if self.rig.mode is not None:
                facts["mode"] = self.rig.mode
        return facts

    @property
    def triggers(self) -> tuple[TriggerGroup, ...]:
        """The groups of cameras that share a hardware trigger."""
        return () if self.rig is None else self.rig.triggers or ()

    @property
    def roll_s(self) -> tuple[float, float] | None:
        """How much the protocol wants before and after a demonstration."""
        rule = None if self.protocol is None else self.protocol.trigger
        return None if rule is None else (rule.pre_roll_s, rule.post_roll_s)

    def complete(self, stated: Mapping[str, Any]) -> dict[str, Any]:
        """What the documents say and, on top of it, what the floor states."""
        facts = {**self.facts(), **stated}
        if "mode" in facts:
            facts["mode"] = check_mode(str(facts["mode"]))
        if self.protocol is not None and facts["task"] != self.protocol.task.name:
            raise CorporealError(
                f"task, got {facts['task']!r}; expected {self.protocol.task.name!r}, as the "
                f"protocol {self.protocol.reference} says. Leave the task out, or use another "
                "protocol."
            )
        if self.protocol is not None:
            _require_listed(self.protocol, facts)
        return facts

    def demand(self, rig: Rig) -> None:
        """Raise if what the sources deliver cannot fulfil protocol and calibration."""
        names = [stream.name for stream in rig.schema.streams]
        for group in self.triggers:
            try:
                group_paths(group, rig.schema)
            except ValueError as error:
                raise CorporealError(f"trigger group {group.name}: {error}.") from None
        if self.protocol is not None:
            robots = self.protocol.task.robots
            robot = rig.embodiment.name if rig.embodiment else None
            if robots and robot not in robots:
                raise CorporealError(
                    f"robot, got {robot or 'none'}; expected one of {', '.join(robots)}, as the "
                    f"protocol {self.protocol.reference} says. Use another protocol or robot."
                )
            for camera in self.protocol.cameras:
                if camera.name not in names and not camera.optional:
                    raise CorporealError(
                        f"the protocol {self.protocol.reference} needs the camera {camera.name}; "
                        "no source delivers it. Add a source, or rename a stream."
                    )
        for known in self.calibration.cameras if self.calibration is not None else ():
            if known.name not in names:
                assert self.calibration is not None
                raise CorporealError(
                    f"the calibration {self.calibration.reference} has the camera {known.name}; "
                    "no source delivers it. Name its cameras as the streams are."
                )


def _require_listed(protocol: Protocol, facts: Mapping[str, Any]) -> None:
    """Raise for a control interface or an edge case that the protocol does not know."""
    lists: dict[str, list[str]] = {
        "interface": [each.interface for each in protocol.interfaces or ()],
        "edge_case": [each.case for each in protocol.edge_cases],
    }
    for name, known in lists.items():
        if known and name in facts and facts[name] not in known:
            raise CorporealError(
                f"{name}, got {facts[name]!r}; expected one of: {'; '.join(known)}, as the "
                f"protocol {protocol.reference} says."
            )


def join_sources(sources: Sequence[RecordingSource], schema: Schema | None = None) -> Rig:
    """What all sources deliver together, under the team's schema where there is one."""
    if not sources:
        raise DriverError("no source; expected at least one.")
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DriverError(f"two sources are called {twice[0]!r}; expected a name for each.")
    rigs = {
        source.name: source.describe(is_first=not number) for number, source in enumerate(sources)
    }
    joined = rigs[names[0]] if len(rigs) == 1 else _joined(rigs)
    return joined if schema is None else replace(joined, schema=_as_agreed(schema, joined))


def _joined(rigs: Mapping[str, Rig]) -> Rig:
    robot: tuple[str, Embodiment] | None = None
    streams: dict[str, Stream] = {}
    owner: dict[str, str] = {}
    sources: dict[str, str] = {}
    latency_ns: dict[str, int] = {}
    metadata: dict[str, Any] = {}
    problems: list[str] = []
    for name, rig in rigs.items():
        if rig.embodiment is not None:
            if robot is not None and robot[1].hash != rig.embodiment.hash:
                raise DriverError(
                    f"source {name!r} is of the robot {rig.embodiment.name}, source {robot[0]!r} "
                    f"of {robot[1].name}; expected one robot. Give both the same."
                )
            robot = robot or (name, rig.embodiment)
        resolved = rig.resolve()
        for stream in resolved.streams:
            if stream.path in streams:
                raise DriverError(
                    f"the sources {owner[stream.path]!r} and {name!r} both have {stream.path}; "
                    f"expected names of their own. Give {name!r} a prefix, or rename the stream."
                )
            streams[stream.path], owner[stream.path] = stream, name
            sources[stream.path] = rig.source(stream.path)
        latency_ns |= rig.latency_ns
        metadata = {**rig.metadata, **metadata}
        problems += [f"{name}: {problem}" for problem in rig.problems]
    first = next(iter(rigs.values())).schema
    schema = first.model_copy(update={
        "name": "_".join(rigs)[:64].rstrip("_"), "version": "1.0.0",
        "description": f"what the sources {', '.join(rigs)} deliver",
        "streams": tuple(streams.values()),
    })  # fmt: skip
    return Rig(
        schema,
        robot[1] if robot else None,
        sources,
        latency_ns,
        metadata,
        tuple(problems),
        is_networked=next(iter(rigs.values())).is_networked,
    )


def _as_agreed(schema: Schema, rig: Rig) -> Schema:
    """The team's schema, if the sources deliver what it lists, and nothing else."""
    agreed = rig.embodiment.resolve(schema) if rig.embodiment else schema
    resolved = rig.resolve()
    wanted = {stream.path: stream for stream in agreed.streams}
    given = {stream.path: stream for stream in resolved.streams}
    for path, stream in given.items():
        if path not in wanted:
            raise DriverError(
                f"{path} is delivered, and not in the schema {schema.reference}. Add it there, or "
                "to leave_out of its source."
            )
        for what in ("kind", "shape", "unit", "components"):
            ours, theirs = getattr(wanted[path], what), getattr(stream, what)
            if ours != theirs and not (what == "components" and None in (ours, theirs)):
                raise DriverError(
                    f"{path}: its {what}, got {_short(theirs)} from the source; expected "
                    f"{_short(ours)}, as the schema {schema.reference} says. Change one of them."
                )
    missing = [path for path, stream in wanted.items() if path not in given and not stream.optional]
    if missing:
        raise DriverError(
            f"the schema {schema.reference} lists {', '.join(missing)}; no source delivers "
            f"{'it' if len(missing) == 1 else 'them'}. Add a source, or mark optional."
        )
    return schema


def _short(value: Any) -> str:
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def open_team_documents(
    *,
    schema: str | Path | None = None,
    protocol: str | Path | None = None,
    calibration: str | Path | None = None,
) -> TeamDocuments:
    """The documents of these names or files."""
    return TeamDocuments(
        None if schema is None else open_schema(schema),
        None if protocol is None else open_protocol(protocol),
        None if calibration is None else Calibration.load(calibration),
    )


def open_rig(path: Path | str) -> tuple[tuple[RecordingSource, ...], TeamDocuments]:
    """The sources and the documents of a rig; every problem comes with its line."""
    file = Path(path)
    markup = read_markup(file)
    document = RigDocument.from_markup(markup)
    known = drivers()
    sources = []
    for number, listed in enumerate(document.sources):
        here: FieldPath = ("sources", number)
        if listed.driver not in known:
            names = ", ".join(known)
            raise _error(markup, (*here, "driver"),
                         f"got {listed.driver!r}; expected one of: {names}.")  # fmt: skip
        driver = known[listed.driver]
        try:
            options = parse_options(driver, _beside(listed.options, driver, file.parent))
        except CorporealError as error:
            raise _error(markup, (*here, "options"), str(error)) from None
        sources.append(
            RecordingSource(
                listed.name,
                driver,
                options,
                clock=listed.clock,
                prefix=listed.prefix,
                rename=listed.rename,
                leave_out=listed.leave_out,
            )
        )
    team = TeamDocuments(
        _open(markup, file, "schema", document.follows, open_schema),
        _open(markup, file, "protocol", document.follows, open_protocol),
        _open(markup, file, "calibration", document.follows, Calibration.load),
        document,
    )
    return tuple(sources), team


def _open(
    markup: Markup, file: Path, kind: Kind, follows: Mapping[Kind, str],
    opener: Callable[[str | Path], AnyDocument],
) -> AnyDocument | None:  # fmt: skip
    if kind not in follows:
        return None
    name = follows[kind]
    beside = file.parent / name
    try:
        return opener(beside if beside.is_file() else name)
    except DocumentError as error:
        if error.source != name:
            raise  # It knows its own file and line.
        raise _error(markup, ("follows", kind), str(error)) from None
    except CorporealError as error:
        raise _error(markup, ("follows", kind), str(error)) from None


def _error(markup: Markup, path: FieldPath, message: str) -> DocumentError:
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return DocumentError(
        markup.source, [Problem(markup.line(path), dotted.removeprefix("."), message)]
    )


def _beside(options: Mapping[str, Any], driver: Driver, folder: Path) -> dict[str, Any]:
    """Options whose paths are those of the rig's file, not of where the command was called."""
    values = dict(options)
    for name, field in driver.options.model_fields.items():
        value = values.get(name)
        if field.annotation is Path and isinstance(value, str) and (folder / value).exists():
            values[name] = str(folder / value)
    return values


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return _PASSWORD.sub(r"\1:***@", value)
    if isinstance(value, Mapping):
        return {name: _redacted(inner) for name, inner in value.items()}
    return [_redacted(inner) for inner in value] if isinstance(value, list) else value
