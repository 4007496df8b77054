"""`corporeal score`: how good each demonstration is, and why."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from corporeal.cli.command import Command, option
from corporeal.cli.export_options import Robot, SomeData
from corporeal.cli.output import AsJson, console, make_table, print_json, show_progress, stderr
from corporeal.cli.sources import opener_of
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.errors import CorporealError
from corporeal.quality import Subject
from corporeal.quality.scoring import (
    EpisodeScore,
    Measured,
    learned,
    measure,
    open_weighting,
    score_batch,
)

_MOST_EPISODES = 60
_BAR = 10


def score(
    paths: SomeData,
    root: WorkspaceOption = None,
    robot: Robot = None,
    weighting: Annotated[
        str, option("A built-in weighting, or a weighting document of your own.")
    ] = "default",
    learn: Annotated[
        bool, option("Take good and bad from the episodes of each task.", "--learn")
    ] = False,
    explain: Annotated[
        bool, option("Open the score of every episode, part by part.", "--explain")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score demonstrations from 0 to 1: smoothness, hesitation, balance, consistency and more.

    Example: [bold]corporeal score recordings --explain[/bold]
    """
    chosen = open_weighting(weighting)
    with ExitStack() as stack:
        measured, unreadable = _measure(paths, robot, root, stack)
    if learn:
        chosen = learned(chosen, measured)
    scored = score_batch(measured, chosen)
    if as_json:
        print_json({
            "weighting": {"name": chosen.reference, "hash": chosen.hash},
            "episodes": scored,
            "unreadable": unreadable,
        })  # fmt: skip
    else:
        _show(scored, explain=explain)
        for number, reason in unreadable.items():
            stderr().print(f"episode {number} has no score: {reason}", style="yellow")
    raise typer.Exit(1 if unreadable else 0)


def _measure(
    paths: list[Path], robot: str | None, root: Path | None, stack: ExitStack
) -> tuple[list[Measured], dict[int, str]]:
    dataset = opener_of(paths, robot, stack, root=root)()
    measured, unreadable = [], {}
    with show_progress("measuring", len(dataset.episodes)) as bar:
        for number in dataset.episodes:
            try:
                measured.append(measure(Subject(dataset.open(number))))
            except CorporealError as error:
                unreadable[number] = str(error)
            bar.advance()
    return measured, unreadable


def _show(scored: list[EpisodeScore], *, explain: bool) -> None:
    page = console()
    ranked = sorted(scored, key=lambda each: -1.0 if each.total is None else each.total)
    table = make_table("episode", "task", "score", "", "why")
    for each in ranked[:_MOST_EPISODES]:
        total = "none" if each.total is None else f"{each.total:.2f}"
        table.add_row(f"{each.index} {Path(each.source).name}", each.task or "", total,
                      _bar(each.total), each.sentence)  # fmt: skip
        if explain:
            for part in sorted(each.parts, key=lambda part: -part.weight):
                label = f"  {part.name}"
                measured = (
                    f"{part.value:.3g} {part.unit} (good {part.good:.3g}, bad {part.bad:.3g})"
                )
                table.add_row(Text(label, style="dim"), "", f"{part.score:.2f}",
                              _bar(part.score), f"{measured}; {part.sentence}")  # fmt: skip
            for name, reason in each.not_assessed.items():
                table.add_row(Text(f"  {name}", style="dim"), "", "", "", f"not assessed: {reason}")
    page.print(table)
    if len(ranked) > _MOST_EPISODES:
        page.print(f"and {len(ranked) - _MOST_EPISODES} more; all of them: --json")
    if not explain:
        page.print("\nnext: corporeal score --explain opens every score part by part")


def _bar(value: float | None) -> Text:
    if value is None:
        return Text("")
    full = round(value * _BAR)
    colour = "green" if value >= 0.7 else "yellow" if value >= 0.4 else "red"
    return Text.assemble(("█" * full, colour), ("░" * (_BAR - full), "dim"))


COMMAND = Command(score, panel="Check")
