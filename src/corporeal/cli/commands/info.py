"""`corporeal info`: what is in an episode or a bag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from corporeal.capture.driver import Rig
from corporeal.catalog.episodes import (
    assessments_of,
    find_named,
    findings_of,
    not_assessed_of,
)
from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, emphasise, make_table, print_result
from corporeal.cli.workspaces import WorkspaceOption, read_catalog
from corporeal.episode import Episode
from corporeal.episode.overview import EpisodeSummary, StreamSummary, summarise
from corporeal.episode.recording import SOURCE_LEDGER, Ledger, SourceItem
from corporeal.interface import describe_bag
from corporeal.words import byte_size, counted, listed, some_of

_BAG_FACTS = ("static_transforms", "camera_info", "robot_description", "instruction")
_MOST_PROBLEMS = 12
_NAME = re.compile(r"#?[0-9]+|[0-9a-fA-F-]{4,}")
_BARS = "▁▂▃▄▅▆▇█"


def info(
    episode: Annotated[
        str, argument("An episode file (.h5), a bag, or an episode of the workspace, such as 4.")
    ],
    robot: Annotated[
        str | None, option("The robot of a bag: a built-in name, or its file.")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what is in an episode: streams, rates, gaps, sizes, robot, documents.

    Of a bag: every topic, its messages, the streams that they become, and what is wrong with it.
    Of an episode of a workspace, by its number, its id or a part of that: what was found, what
    could not be assessed, and every judgement of it.

    Example: [bold]corporeal info demo.h5[/bold]
    """
    path = Path(episode)
    if not path.exists() and _NAME.fullmatch(episode):
        _show_judgement(episode, root, as_json=as_json)
        return
    rig = describe_bag(path, robot=robot) if path.exists() else None
    if rig is not None:
        print_result(as_json, _bag_values(path, rig), _show_bag(path, rig))
        return
    with Episode.open(path) as opened:
        summary = summarise(opened)
    print_result(as_json, summary, show(summary))


def _show_judgement(name: str, root: Path | None, *, as_json: bool) -> None:
    """What the catalogue holds of the episode that is meant."""
    with read_catalog(root, "read") as connection:
        row = find_named(connection, name)
        findings = findings_of(connection, row.id)
        missing = not_assessed_of(connection, [row.id]).get(row.id, [])
        judgements = assessments_of(connection, row.id)
    values = {"episode": row, "findings": findings, "not_assessed": missing,
              "assessments": judgements}  # fmt: skip
    found = make_table("check", "severity", "what was found")
    for finding in findings:
        found.add_row(finding.check, finding.severity, finding.message)
    blind = make_table("could not run", "why")
    for each in missing:
        blind.add_row(each.check, each.reason)
    history = make_table("judged", "by", "verdict", "score", "policy", "detector", "why")
    for judged in judgements:
        score = "" if judged.score is None else f"{judged.score:.2f}"
        history.add_row(judged.at[:19], judged.who, judged.verdict, score, judged.policy,
                        str(judged.facts.get("detector") or ""), judged.reason or "")  # fmt: skip
    head = f"{row.name}  {row.file}  {row.id}: {row.state}, verdict {row.verdict or 'none'}"
    parts = [table for table in (found, blind, history) if table.row_count]
    print_result(as_json, values, head, *parts)


def show(summary: EpisodeSummary) -> Group:
    """The summary as people read it."""
    return Group(_head(summary), _streams(summary), *_warnings(summary))


def _head(summary: EpisodeSummary) -> Panel:
    when = datetime.fromtimestamp(summary.epoch_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    grid.add_row("robot", summary.robot or "none")
    grid.add_row("recorded", f"{when}, {summary.duration_s:.2f} s")
    plain = {name: value for name, value in summary.metadata.items() if _is_plain(value)}
    grid.add_row("metadata", ", ".join(f"{key} {value}" for key, value in plain.items()) or "none")
    for title, words in (("outcome", _outcome(summary)), ("clocks", _clocks(summary))):
        if words:
            grid.add_row(title, words)
    for kind, reference in summary.documents.items():
        name, _, digest = reference.partition(" ")
        grid.add_row(kind, Text.assemble(name, "  ", (digest[:19], "dim")))
    grid.add_row("content", Text(f"{summary.content_hash[:19]}  {byte_size(summary.bytes)}"))
    return Panel(grid, title=emphasise(Path(summary.path).name, f"  {summary.id}"),
                 title_align="left", border_style="cyan")  # fmt: skip


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""


def _outcome(summary: EpisodeSummary) -> str:
    is_stated = summary.outcome.success is not None or summary.outcome.unclear
    return str(summary.outcome) if is_stated else ""


def _clocks(summary: EpisodeSummary) -> str:
    """How many clocks stamped the streams, and how well they were estimated."""
    clocks = summary.metadata.get("clocks")
    if not isinstance(clocks, dict) or not clocks:
        return ""
    worst = max(clocks.values(), key=lambda clock: float(clock.get("residual_ns", 0)))
    residual_ms = float(worst.get("residual_ns", 0)) / 1e6
    late = [name for name, clock in clocks.items() if clock.get("on_arrival")]
    untold = f"; how late {listed(late)} is cannot be told: stamped on arrival" if late else ""
    known = f"the least certain is {worst.get('source')}: {residual_ms:.2f} ms"
    return f"{len(clocks)}, {known}{untold}"


def _streams(summary: EpisodeSummary) -> Table:
    figures = ("samples", "rate", "jitter", "gaps", "size")
    table = make_table("stream", "holds", *figures, "over time", right=figures, wrap=False)
    for stream in summary.streams:
        group, _, name = stream.path.partition("/")
        table.add_row(
            Text.assemble((f"{group}/", "dim"), name),
            Text.assemble(
                _holds(stream), (f"  {stream.unit}" if stream.unit != "1" else "", "dim")
            ),
            f"{stream.samples:,}",
            _rate(stream),
            "" if stream.jitter_ms is None else f"{stream.jitter_ms:.2f} ms",
            _gap_count(stream),
            byte_size(stream.bytes),
            Text(_sparkline(stream.activity), style="green"),
        )
    return table


def _warnings(summary: EpisodeSummary) -> list[Text]:
    lines = []
    if summary.recovered:
        lines.append(f"not complete: {summary.recovered}")
    problems = summary.metadata.get("source_problems")
    lines += [str(problem) for problem in problems] if isinstance(problems, list) else []
    if summary.missing_streams:
        lines.append(f"missing streams: {', '.join(summary.missing_streams)}")
    if summary.missing_metadata:
        lines.append(f"missing metadata: {', '.join(summary.missing_metadata)}")
    for stream in summary.streams:
        if stream.backwards:
            lines.append(f"{stream.path}: the clock goes back {stream.backwards} times")
        if stream.not_finite:
            lines.append(f"{stream.path}: {stream.not_finite} values are NaN or infinite")
        for gap in stream.gaps[:3]:
            length_ms = 1e3 * gap.length_s
            lines.append(f"{stream.path}: no samples for {length_ms:.0f} ms at {gap.start_s:.3f} s")
    return [Text(f"! {line}", style="yellow") for line in lines]


def _holds(stream: StreamSummary) -> str:
    shape = "x".join(map(str, stream.shape))
    return f"{stream.kind} {shape}".strip()


def _rate(stream: StreamSummary) -> Text:
    if stream.measured_hz is None or stream.nominal_hz is None:
        return Text("events" if stream.nominal_hz is None else "-", style="dim")
    off = abs(stream.measured_hz / stream.nominal_hz - 1) > 0.02
    return Text(f"{stream.measured_hz:.1f} Hz", style="yellow" if off else "")


def _gap_count(stream: StreamSummary) -> Text:
    return Text(str(len(stream.gaps)), style="yellow" if stream.gaps else "dim")


def _sparkline(activity: tuple[float | None, ...]) -> str:
    return "".join(
        " " if value is None else _BARS[min(int(value * len(_BARS)), len(_BARS) - 1)]
        for value in activity
    )


def _bag_values(path: Path, rig: Rig) -> dict[str, Any]:
    """What is known of a bag, as JSON has it."""
    facts = {name: value for name, value in rig.metadata.items() if name != SOURCE_LEDGER}
    return {
        "path": str(path),
        "robot": rig.embodiment.name if rig.embodiment is not None else None,
        "topics": rig.metadata[SOURCE_LEDGER],
        "streams": {
            stream.path: {"kind": stream.kind, "shape": stream.shape, "unit": stream.unit,
                          "rate_hz": stream.rate_hz, "frame": stream.frame}
            for stream in rig.schema.streams
        },
        "metadata": facts,
        "problems": list(rig.problems),
    }  # fmt: skip


def _show_bag(path: Path, rig: Rig) -> Group:
    """A bag as people read it: a row for every topic, a line for every problem."""
    items = Ledger.from_json(rig.metadata[SOURCE_LEDGER]).items
    start_ns, end_ns = rig.metadata["bag_start_ns"], rig.metadata["bag_end_ns"]
    when = datetime.fromtimestamp(start_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    count = sum(item.samples or 0 for item in items)
    grid.add_row("bag", f"{counted(len(items), 'topic')}, {counted(count, 'message')}")
    grid.add_row("written", f"{when}, {(end_ns - start_ns) / 1e9:.2f} s")
    grid.add_row("robot", rig.embodiment.name if rig.embodiment is not None else "not given")
    facts = [name for name in _BAG_FACTS if rig.metadata.get(name)]
    grid.add_row("states", listed(facts) if facts else "no calibration, frames or instruction")
    head = Panel(grid, title=emphasise(path.name), title_align="left", border_style="cyan")
    lines = [Text(f"! {text}", style="yellow") for text in rig.problems[:_MOST_PROBLEMS]]
    if len(rig.problems) > _MOST_PROBLEMS:
        lines.append(Text(f"and {len(rig.problems) - _MOST_PROBLEMS} more: --json", style="dim"))
    return Group(head, _topics(items, rig), *lines)


def _topics(items: Sequence[SourceItem], rig: Rig) -> Table:
    rates = {stream.path: stream.rate_hz for stream in rig.schema.streams}
    types = rig.metadata["topic_types"]
    table = make_table("topic", "type", "messages", "rate", "becomes", right=("messages", "rate"))
    for item in items:
        known = [rate for path in item.taken_as if (rate := rates.get(path)) is not None]
        becomes = Text(some_of(item.taken_as, most=4)) if item.taken_as else Text("")
        if item.reason is not None:
            becomes.append(f"{' ' * bool(item.taken_as)}({item.reason})", style="yellow")
        table.add_row(
            item.name,
            Text(types.get(item.name, "").replace("/msg/", "/"), style="dim"),
            f"{item.samples or 0:,}",
            f"{max(known):g} Hz" if known else Text("events", style="dim"),
            becomes,
        )
    return table


COMMAND = Command(info, panel="Start")
