"""`corporeal ingest`: episodes into a workspace, judged, stored and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from corporeal.catalog.episodes import count_unreferenced, numbers_of
from corporeal.catalog.ingestion import Ingested, Rejudgement, RejudgeOptions, count_unlearnt
from corporeal.catalog.ingestion import ingest as take_in
from corporeal.catalog.ingestion import rejudge as judge_anew
from corporeal.catalog.query import OneOf
from corporeal.catalog.workspace import Workspace
from corporeal.cli.command import Command, argument, option
from corporeal.cli.commands.rejudge import show as show_anew
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import COLOURS, AsJson, console, make_table, print_json, show_progress
from corporeal.cli.tracking import Track, track_batch
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.quality.policy import open_policy
from corporeal.words import counted, listed, some_of

_MOST = 60


def ingest(
    paths: Annotated[list[Path], argument("Episodes, or folders of them.")],
    root: WorkspaceOption = None,
    batch: Annotated[str | None, option("The batch that they belong to.")] = None,
    policy: Annotated[Path | None, option("A policy document of your own.")] = None,
    pictures: Annotated[bool, option("Look at pictures as well.")] = True,
    check: Annotated[bool, option("Judge and score them now.")] = True,
    rejudge: Annotated[
        bool, option("Judge known ones anew, if by another policy or program.", "--rejudge")
    ] = False,
    track: Track = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Take episodes into a workspace. The same episode twice is one; interrupted, it goes on.

    The stored object of a known episode is read, and replaced if it was lost or changed.

    Exit 0 when all are there, 1 when one could not be ingested.

    Example: [bold]corporeal ingest recordings --batch monday[/bold]
    """
    with enter_workspace(root, "ingest") as (workspace, actor):
        with show_progress("ingesting") as bar:
            done = take_in(
                workspace,
                paths,
                who=actor.name,
                policy=None if policy is None else open_policy(policy),
                pictures=pictures,
                batch=batch,
                on=on,
                jobs=jobs,
                check=check,
                on_start=bar.start,
                on_episode=bar.advance,
            )
        track_batch(workspace, batch, track)
        known = [each.id for each in done.having("known") if each.id is not None]
        anew = None
        if rejudge and known:
            options = RejudgeOptions(policy=None if policy is None else open_policy(policy),
                                     pictures=pictures, on=on, jobs=jobs)  # fmt: skip
            anew = judge_anew(workspace, OneOf("id", tuple(known)), options, who=actor.name)
        _report(done, anew, workspace, as_json=as_json)
    refused = done.having("refused", "damaged")
    raise typer.Exit(1 if refused else 0)


def _report(
    done: Ingested, anew: Rejudgement | None, workspace: Workspace, *, as_json: bool
) -> None:
    if as_json:
        told = {} if anew is None else {"rejudged": anew.episodes}
        of_set = [finding.to_json() for finding in done.set_findings]
        print_json({"episodes": done.outcomes, "set": of_set, **told})
        return
    with workspace.database.read() as connection:
        numbers = numbers_of(connection, [each.id for each in done.outcomes if each.id])
    show(done, numbers)
    if anew is not None:
        show_anew(anew)
    else:
        _hint(done, workspace)
    console().print(f"next: corporeal ls 'state = accepted' --workspace {workspace.root}")


def _hint(done: Ingested, workspace: Workspace) -> None:
    """What a second judgement would add."""
    where = f"--workspace {workspace.root}"
    if outdated := sum(each.is_outdated for each in done.outcomes):
        console().print(
            f"{counted(outdated, 'known episode')} stay as judged under another policy; judge "
            f"them anew with: corporeal rejudge {where}, with the same --policy"
        )
    with workspace.database.read() as connection:
        tasks = count_unreferenced(connection)
        unlearnt = count_unlearnt(connection)
    for task, _, count in tasks:
        console().print(
            f"{count} good episodes of {_named(task)}, and none is scored against the others "
            f"yet; take them as the reference with: corporeal rejudge {where}"
        )
    if unlearnt:
        named = listed([_named(task) for task, _, _ in unlearnt[:3]])
        more = f" and {len(unlearnt) - 3} more" if len(unlearnt) > 3 else ""
        console().print(
            f"nothing is known of the usual seconds of {named}{more}; learn them from the good "
            f"episodes with: corporeal learn {where}"
        )


def _named(task: str | None) -> str:
    return "no task" if task is None else f"'{task}'"


def show(done: Ingested, numbers: Mapping[str, int]) -> None:
    """What became of every file, the troubled ones first; `numbers` name the episodes by id."""
    order = {"damaged": 0, "refused": 1, "added": 2, "judged": 3, "known": 4}
    table = make_table("episode", "file", "", "state", "score", "why")
    ranked = sorted(done.outcomes, key=lambda each: order.get(each.status, 9))
    for each in ranked[:_MOST]:
        state = Text(each.state or "", style=COLOURS.get(each.state or "", ""))
        score = "" if each.score is None else f"{each.score:.2f}"
        number = numbers.get(each.id or "")
        name = "" if number is None else f"#{number}"
        table.add_row(name, each.path.name, each.status, state, score, each.reason or "")
    page = console()
    page.print(table)
    if len(ranked) > _MOST:
        page.print(f"and {len(ranked) - _MOST} more; all of them: --json")
    for finding in done.set_findings:
        colour = COLOURS.get(str(finding.severity), "")
        page.print(Text.assemble("set: ", (finding.check, colour), " ", finding.message))
    if practice := [each.practice for each in done.outcomes if each.practice]:
        page.print(f"{counted(len(practice), 'episode')} into the practice partition, which no "
                   f"release takes: {some_of(sorted(set(practice)))}")  # fmt: skip
    new = len(done.having("added", "judged"))
    if mended := sum(each.is_mended for each in done.outcomes):
        page.print(f"{counted(mended, 'object')} of the store replaced: lost or changed before")
    page.print(
        f"{new} new, {len(done.having('known'))} known, "
        f"{len(done.having('refused', 'damaged'))} not ingested"
    )


COMMAND = Command(ingest, panel="Workspace")
