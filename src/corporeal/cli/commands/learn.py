"""`corporeal learn`: what good episodes of a task look like, second by second."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from corporeal.catalog.ingestion import ANY_TASK, LearnOptions, LearntTask, learn_detectors
from corporeal.cli.command import Command, argument, option
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import (
    AsJson,
    console,
    make_table,
    print_json,
    print_result,
    show_progress,
    stderr,
)
from corporeal.cli.sources import opener_of
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.anomaly import CAMERA, envelope
from corporeal.quality.anomaly import network as networks
from corporeal.words import counted


def learn(
    paths: Annotated[
        list[Path] | None,
        argument("Good episodes, or datasets with them; without any, those of the workspace."),
    ] = None,
    out: Annotated[
        Path | None, option("File for the detector of these paths; usual.npz.", "--out", "-o")
    ] = None,
    where: Annotated[
        str | None, option("Which episodes of the workspace, such as 'task = reach'.", "--where")
    ] = None,
    root: WorkspaceOption = None,
    network: Annotated[
        bool, option("Train a network: needs the extra train.", "--network")
    ] = False,
    pictures: Annotated[
        bool, option("Learn what the cameras see as well.", "--pictures/--no-pictures")
    ] = True,
    together: Annotated[
        bool,
        option("In a workspace: one of all tasks that have too few episodes.", "--together"),
    ] = False,
    robot: Annotated[str | None, option("The robot, where the data does not say.")] = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Learn from good episodes, so that seconds that are unlike them are found.

    Without paths: a detector for every task and robot of the workspace, from its accepted
    episodes; ingest and rejudge use it from then on. With paths: a file for check --baseline.
    Failed demonstrations are left out. Without --network ten episodes of one task are enough; what
    fewer teach is a note, as is what is learnt where good episodes would be flagged.

    Example: [bold]corporeal learn --workspace lab[/bold]
    """
    if not paths:
        if out is not None:
            raise CorporealError(
                f"--out, got {out} without a path; expected good episodes to learn from. "
                "What is learnt in a workspace stays in its catalogue."
            )
        options = LearnOptions(network, pictures, together, on, jobs)
        _learn_here(where, root, options, as_json=as_json)
        return
    if where is not None or root is not None:
        raise CorporealError(
            f"learn, got paths ({paths[0]}) and a workspace; expected one of the two."
        )
    _learn_file(paths, out or Path("usual.npz"), robot, network, pictures, as_json=as_json)


def _learn_file(
    paths: list[Path], out: Path, robot: str | None, network: bool, pictures: bool, *, as_json: bool
) -> None:
    if out.suffix != ".npz":
        raise CorporealError(f"--out, got {out}; expected a name that ends in .npz.")
    with ExitStack() as stack:
        good = _successes(opener_of(paths, robot, stack)())
        try:
            if network:
                networks.train(good, pictures=pictures).save(out)
            else:
                envelope.learn(good, pictures=pictures).save(out)
        except NotAssessed as reason:
            raise CorporealError(f"nothing was learnt: {reason}.") from None
    sentence = f"learnt from {len(good)} episodes: {out}"
    after = f"next: corporeal check EPISODES --baseline {out}"
    print_result(as_json, {"detector": out, "episodes": len(good)}, sentence, after)


def _learn_here(
    where: str | None, root: Path | None, options: LearnOptions, *, as_json: bool
) -> None:
    with enter_workspace(root, "judge") as (workspace, actor), show_progress("learning") as bar:
        told = learn_detectors(workspace, where, options, who=actor.name, on_start=bar.start,
                               on_episode=bar.advance)  # fmt: skip
        folder = workspace.root
    if as_json:
        print_json({"tasks": told})
    elif told:
        _show(told, folder)
    else:
        console().print("no good episode to learn from: none is accepted, annotated or released")
    raise typer.Exit(0 if any(each.status != "not learnt" for each in told) else 1)


def _show(told: list[LearntTask], folder: Path) -> None:
    table = make_table("task", "robot", "", "detector", "episodes", "would be flagged", "looks at")
    for each in told:
        alarms = "" if each.alarms is None else f"{each.alarms} of {each.episodes}"
        looks = each.reason or f"{len(each.sees)} channels{_kinds(each.sees)}"
        if each.status == "current":
            looks = "has learnt from these episodes already"
        table.add_row(each.task or "none", each.robot or "none", each.status, each.detector or "",
                      str(each.episodes), alarms, looks)  # fmt: skip
    page = console()
    page.print(table)
    if any(each.alarms is not None for each in told):
        page.print("would be flagged: good episodes, each by a detector that did not see it")
    few = [each for each in told if each.status == "not learnt" and each.task != ANY_TASK]
    if len(few) > 1:
        page.print("tasks with too few episodes, all of a robot as one: corporeal learn --together")
    if any(each.status == "learnt" for each in told):
        page.print(f"next: corporeal rejudge --workspace {folder}")


def _kinds(names: tuple[str, ...]) -> str:
    """What people want to know of the channels: whether hands and cameras are among them."""
    cameras = len({name.rsplit("_", 1)[0] for name in names if name.startswith(CAMERA)})
    parts = ["hands"] if any(name.endswith("_opening") for name in names) else ["no hand"]
    parts.append(counted(cameras, "camera") if cameras else "no camera")
    return f": {', '.join(parts)}"


def _successes(dataset: Dataset) -> list[Recording]:
    found = []
    for number in track(dataset.episodes, "reading", console=stderr(), transient=True):
        recording = dataset.open(number)
        if recording.facts.outcome.success is not False:
            found.append(recording)
    return found


COMMAND = Command(learn, panel="Check")
