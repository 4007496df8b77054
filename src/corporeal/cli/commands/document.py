"""`corporeal document`: check, show and compare versioned documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.syntax import Syntax

from corporeal.calibration.board import Board
from corporeal.calibration.rig import RigRecordings
from corporeal.capture.rig import RigDocument
from corporeal.catalog.people import Certification, certification_names, open_certification
from corporeal.cli.command import Command, argument, group
from corporeal.cli.output import AsJson, console, emphasise, print_json
from corporeal.curation.selection import CurationSelection
from corporeal.embodiment import Embodiment, open_robot, robot_names
from corporeal.errors import DocumentError, Problem, UnknownNameError
from corporeal.operations.shifts import Roster
from corporeal.protocol import Calibration, Protocol, open_protocol, protocol_names
from corporeal.quality.policy import Policy
from corporeal.quality.scoring import Weighting
from corporeal.retargeting.goal import RetargetingMap
from corporeal.retargeting.person import MarkerSet, SkeletonMap
from corporeal.schema import Document, Schema, open_schema, rig_names
from corporeal.schema.document import changes, kind_of
from corporeal.schema.markup import SUFFIXES, read_markup

_app = group("Check, show and compare documents: schemas, robots, protocols, policies.")
_Path = Annotated[Path, argument("A .yaml, .toml or .json document, or a built-in name.")]


@_app.command()
def check(documents: Annotated[list[Path], typer.Argument()], as_json: AsJson = False) -> None:
    """Validate documents; every problem comes with its line and the fix. Exit 1 if one is bad.

    Example: [bold]corporeal document check my_rig.yaml[/bold]
    """
    report: dict[str, list[str]] = {}
    for path in documents:
        try:
            document = _open(path)
        except DocumentError as error:
            report[str(path)] = [error.describe(problem) for problem in error.problems]
            continue
        report[str(path)] = []
        if not as_json:
            summary = f"{document.kind} {document.reference}  {document.hash[:19]}"
            console().print(emphasise("good", f" {path}: {summary}", style="green"))
    if as_json:
        print_json(report)
    else:
        for problems in report.values():
            for problem in problems:
                console().print(problem, style="red", soft_wrap=True)
    if any(report.values()):
        raise typer.Exit(1)


@_app.command()
def show(document: _Path, as_json: AsJson = False) -> None:
    """Print a document as the platform understands it, defaults filled in.

    Example: [bold]corporeal document show teleop_humanoid[/bold]
    """
    opened = _open(document)
    values = opened.model_dump(mode="json", exclude_none=True)
    if as_json:
        print_json({**values, "hash": opened.hash})
        return
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, default_flow_style=None,
                          width=100)  # fmt: skip
    console().print(f"# {opened.hash}", style="dim")
    console().print(Syntax(text, "yaml", background_color="default"))


@_app.command()
def diff(before: _Path, after: _Path, as_json: AsJson = False) -> None:
    """Say what changed between two versions of a document. Exit 1 if anything did.

    Example: [bold]corporeal document diff rig_v1.yaml rig_v2.yaml[/bold]
    """
    old, new = _open(before), _open(after)
    if old.kind != new.kind:
        message = f"got {new.kind!r}; expected {old.kind!r}, as {before} is."
        raise DocumentError(str(after), [Problem(None, "document", message)])
    found = changes(old, new)
    if as_json:
        print_json(found)
    else:
        for change in found:
            colour = {"+": "green", "-": "red", "~": "yellow"}[str(change)[0]]
            console().print(str(change), style=colour, soft_wrap=True)
        if not found:
            console().print("no change")
    if found:
        raise typer.Exit(1)


def _open(path: Path) -> Document:
    """A document of whatever kind it says it is; a bare name is a built-in one."""
    if path.suffix not in SUFFIXES and not path.exists():
        return _ready(str(path))
    kinds = {model.kind: model for model in _models()}
    markup = read_markup(path)
    kind = kind_of(markup)
    if kind not in kinds:
        line = markup.line(("document",)) or 1
        message = f"got {kind!r}; expected one of: {', '.join(kinds)}."
        raise DocumentError(markup.source, [Problem(line, "document", message)])
    return kinds[kind].from_markup(markup)


def _models() -> tuple[type[Document], ...]:
    motion = (RetargetingMap, SkeletonMap, MarkerSet)
    station = (Calibration, RigDocument, Board, RigRecordings, Roster)
    return (
        Schema,
        Embodiment,
        Protocol,
        Certification,
        *station,
        Policy,
        Weighting,
        CurationSelection,
        *motion,
    )


def _ready(name: str) -> Document:
    if name in rig_names():
        return open_schema(name)
    if name in robot_names():
        return open_robot(name)
    if name in protocol_names():
        return open_protocol(name)
    if name in certification_names():
        return open_certification(name)
    known = (*rig_names(), *robot_names(), *protocol_names(), *certification_names())
    raise UnknownNameError("document", name, known)


COMMAND = Command(_app, panel="Robots and documents")
