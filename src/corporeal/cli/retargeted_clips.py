"""Clips at work with a bar of progress, and what the terminal says of each when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from corporeal.cli.output import console, make_table, show_progress, stderr
from corporeal.errors import CorporealError
from corporeal.retargeting.job import ClipJob, ClipOutcome, run_in_worker, run_job
from corporeal.runner import run

_MOST, _FEW = 60, 3

Refused = dict[Path, CorporealError]


def run_clips(jobs: list[ClipJob], on: str, workers: int) -> tuple[list[ClipOutcome], Refused]:
    """All jobs, one here with its stages shown or many in other processes; and who refused."""
    outcomes: dict[int, ClipOutcome] = {}
    refused: Refused = {}
    if len(jobs) == 1:
        with show_progress("reading", 1.0, counted=False) as bar:
            try:
                outcomes[0] = run_job(jobs[0], bar.move)
            except CorporealError as error:
                refused[jobs[0].clip] = error
        return list(outcomes.values()), refused
    with show_progress("retargeting", len(jobs)) as bar:
        for done in run(run_in_worker, jobs, on=on, jobs=workers):
            if done.value is not None:
                outcomes[done.place] = done.value
            elif done.error is not None:
                refused[jobs[done.place].clip] = done.error
            bar.advance()
    return [outcomes[place] for place in sorted(outcomes)], refused


def show_clips(outcomes: list[ClipOutcome], refused: Refused) -> None:
    """One clip with all that was measured, or many with a line each; then what to do next."""
    page = console()
    if len(outcomes) == 1 and not refused:
        _show_one(page, outcomes[0])
    else:
        _show_many(page, outcomes, refused)
    written = [path for each in outcomes for path in each.episodes]
    if written:
        few = written if len(written) <= _FEW else [_shared_folder(written)]
        where = " ".join(str(path) for path in few)
        page.print(f"\nnext: corporeal check {escape(where)}", soft_wrap=True)


def _show_one(page: Console, each: ClipOutcome) -> None:
    where = ", ".join(str(path) for path in each.episodes) or "no episode"
    again = " (was there already)" if each.was_there else ""
    page.print(f"[bold]{escape(each.clip.name)}[/bold] -> {escape(where)}{again}", soft_wrap=True)
    table = make_table()
    for name, value in each.table:
        table.add_row(name, value)
    if each.table:
        page.print(Padding(table, (0, 0, 0, 2)))
    for sentence, style in (*((note, "dim") for note in each.notes), *_judged(each)):
        page.print(Padding(Text(sentence, style=style), (0, 0, 0, 2)))


def _show_many(page: Console, outcomes: list[ClipOutcome], refused: Refused) -> None:
    table = make_table("clip", "episode", "frames", "hands off", "feet off", "to be said",
                       right=("hands off", "feet off"))  # fmt: skip
    troubled = sorted(outcomes, key=lambda each: each.good and not each.infeasible)
    for each in troubled[:_MOST]:
        said = "; ".join(sentence for sentence, _ in _judged(each))
        names = ", ".join(path.name for path in each.episodes) or "none"
        known = "there already" if each.was_there else ""
        table.add_row(
            escape(each.clip.name),
            escape(names),
            str(each.frames),
            _mean(each, "hand_error"),
            _mean(each, "foot_error"),
            escape("; ".join(filter(None, (said, known)))),
            style="" if each.good else "yellow",
        )
    page.print(table)
    if len(troubled) > _MOST:
        page.print(f"and {len(troubled) - _MOST} more; all of them: --json")
    for clip, error in refused.items():
        stderr().print(f"{clip.name}: {error}", style="yellow", markup=False, soft_wrap=True)
    new = sum(not each.was_there and bool(each.episodes) for each in outcomes)
    there = sum(each.was_there for each in outcomes)
    none = len(refused) + sum(not each.episodes for each in outcomes)
    page.print(f"\n{new} new, {there} there already, {none} without an episode")


def _mean(each: ClipOutcome, name: str) -> str:
    spread = (each.metrics or {}).get(name)
    return f"{100 * spread['mean_m']:.1f} cm" if isinstance(spread, dict) else "-"


def _judged(each: ClipOutcome) -> Iterator[tuple[str, str]]:
    """What is to be said against a result, and how it fared in physics; with a style."""
    if each.infeasible:
        share = 100 * each.infeasible / max(1, each.frames)
        what = "cut out" if each.policy == "split" else "flagged"
        what = what if each.episodes else "so there is no episode"
        far = f"{each.infeasible} of {each.frames} frames ({share:.1f} %)"
        yield f"{far} are out of reach, {what}", "yellow"
    if not each.converged:
        yield "the solve did not come to an end; look at a --preview", "yellow"
    if each.tracked is not None:
        fell = each.tracked["fell_at_s"]
        end = "survived" if fell is None else f"fell at {fell:.1f} s"
        error = 100 * each.tracked["keypoint_error_m"]["mean"]
        yield f"in physics ({each.tracked['method']}): {end}, {error:.1f} cm from the motion", ""


def _shared_folder(paths: list[Path]) -> Path:
    """The folder in which all of them are."""
    first = paths[0].parent
    while not all(path.is_relative_to(first) for path in paths):
        first = first.parent
    return first
