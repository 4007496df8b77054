"""`corporeal rejudge`: judge episodes of a workspace anew, by what is known today."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from corporeal.catalog.ingestion import RejudgedEpisode, Rejudgement, RejudgeOptions
from corporeal.catalog.ingestion import rejudge as judge_anew
from corporeal.catalog.people import require_query
from corporeal.cli.command import Command, argument, option
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import COLOURS, AsJson, console, make_table, print_json, show_progress
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration
from corporeal.quality.policy import open_policy
from corporeal.words import counted, listed

_MOST = 60


def rejudge(
    query: Annotated[
        str | None, argument("Which episodes, such as 'task = reach'; all without it.")
    ] = None,
    root: WorkspaceOption = None,
    policy: Annotated[
        Path | None, option("A policy document; without it, the one each was judged under.")
    ] = None,
    pictures: Annotated[bool, option("Look at pictures as well.")] = True,
    again: Annotated[
        bool, option("Also those that are up to date with policy and program.", "--again")
    ] = False,
    new_reference: Annotated[
        bool, option("Take a new reference of each task to score against.", "--new-reference")
    ] = False,
    calibration_start: Annotated[
        Path | None, option("The calibration document verified before these episodes.")
    ] = None,
    calibration_end: Annotated[
        Path | None, option("The calibration document verified after these episodes.")
    ] = None,
    dry_run: Annotated[
        bool, option("Say what would change, and change nothing.", "--dry-run")
    ] = False,
    on: On = "processes",
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Judge episodes anew: a new check, policy or reference reaches what is in the catalogue.

    What is up to date is passed over; interrupted, it goes on. Verdicts before are kept, what
    people decided stays. A verification of the calibration is kept with every episode of the
    query, and judged by calibration_invalid from then on. Exit 1 when an episode could not be read.

    Example: [bold]corporeal rejudge 'state = accepted' --policy strict.yaml --dry-run[/bold]
    """
    options = RejudgeOptions(
        policy=None if policy is None else open_policy(policy),
        pictures=pictures,
        again=again,
        new_reference=new_reference,
        dry_run=dry_run,
        verified=_verified(query, start=calibration_start, end=calibration_end),
        on=on,
        jobs=jobs,
    )
    with enter_workspace(root, "judge") as (workspace, actor), show_progress("judging") as bar:
        with workspace.database.read() as connection:
            require_query(connection, actor, query)
        done = judge_anew(workspace, query, options, who=actor.name, on_start=bar.start,
                          on_episode=bar.advance)  # fmt: skip
    if as_json:
        values = {"dry_run": dry_run, "current": done.current, "references": done.references}
        print_json(values | {"episodes": done.episodes})
    else:
        show(done, dry_run=dry_run)
    raise typer.Exit(1 if done.having("lost") else 0)


def _verified(query: str | None, **paths: Path | None) -> dict[str, Calibration]:
    given = {when: Calibration.load(path) for when, path in paths.items() if path is not None}
    if given and query is None:
        raise CorporealError(
            f"--calibration-{next(iter(given))}, got no query; expected the episodes that it was "
            "verified for. Name them, such as 'session = monday'."
        )
    return given


def show(done: Rejudgement, *, dry_run: bool = False) -> None:
    """What changed, the worst first, then how many stayed as they were."""
    page = console()
    order = {"lost": 0, "changed": 1, "kept": 2}
    told = sorted(done.having("lost", "changed", "kept"), key=lambda each: order[each.standing])
    table = make_table("episode", "before", "now", "state", "score", "why")
    for each in told[:_MOST]:
        verdicts = (_verdict(each.verdict_before), _verdict(each.verdict))
        name = f"{each.name} {each.file}"
        table.add_row(name, *verdicts, each.state, _scores(each), each.reason or "")
    if told:
        page.print(table)
    if len(told) > _MOST:
        page.print(f"and {len(told) - _MOST} more; all of them: --json")
    if done.references:
        page.print(f"references to score against: {listed(done.references)}")
    changed, same = len(done.having("changed")), len(done.having("same"))
    rescored = sum(each.score != each.score_before for each in done.episodes)
    would = "would change" if dry_run else "changed"
    page.print(
        f"{counted(len(done.episodes), 'episode')} judged: {changed} {would}, {same} as before, "
        f"{len(done.having('kept'))} kept as people decided, {len(done.having('lost'))} lost; "
        f"{rescored} scored otherwise; {done.current} were up to date"
    )


def _verdict(verdict: str | None) -> Text:
    return Text(verdict or "none", style=COLOURS.get(verdict or "", ""))


def _scores(each: RejudgedEpisode) -> str:
    before, now = ("-" if value is None else f"{value:.2f}"
                   for value in (each.score_before, each.score))  # fmt: skip
    return now if before == now else f"{before} > {now}"


COMMAND = Command(rejudge, panel="Workspace")
