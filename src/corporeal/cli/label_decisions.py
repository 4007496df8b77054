"""What leads decide about labels on the command line: accept, give back, carry over; and why."""

from __future__ import annotations

from typing import Annotated

from rich.text import Text

from corporeal.cli.command import argument, option
from corporeal.cli.label_proposals import find_episodes, find_taxonomy
from corporeal.cli.label_tables import print_history
from corporeal.cli.output import AsJson, console, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, read_catalog, write_catalog
from corporeal.errors import CorporealError
from corporeal.labelling.review import Confident, accept_confident, history_of, requeue_labels
from corporeal.labelling.review import accept as accept_task
from corporeal.labelling.review import give_back as return_task


def accept(
    task: Annotated[str | None, argument("The id of a submitted task.")] = None,
    all_confident: Annotated[
        float | None, option("Let proposals count unseen whose every segment is at least so sure.")
    ] = None,
    queue: Annotated[str, option("For --all-confident.", "--queue", "-q")] = "labels",
    why: Annotated[str | None, option("For the log.")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Let submitted work count; or, marked as the machine's, proposals that nobody looked at.

    Example: [bold]corporeal annotate accept --all-confident 0.95 --queue monday[/bold]
    """
    if (task is None) == (all_confident is None):
        raise CorporealError("accept, got both or nothing; expected a TASK or --all-confident.")
    with write_catalog(root, "judge") as (connection, actor):
        if task is not None:
            done = Confident((accept_task(connection, task, by=actor, why=why),), ())
        else:
            done = accept_confident(connection, queue, float(all_confident or 0), by=actor)
    if as_json:
        print_json({
            "accepted": [{"episode": each.episode, "number": each.number, "who": each.who,
                          "hash": each.hash} for each in done.accepted],
            "left": [{"task": name, "reason": reason} for name, reason in done.left],
        })  # fmt: skip
        return
    for each in done.accepted:
        console().print(f"{each.episode}: labels {each.number} by {each.who} are in force")
    for name, reason in done.left:
        console().print(Text(f"task {name} is left to people: {reason}"))
    console().print("next: corporeal annotate status")


def give_back(
    task: Annotated[str, argument("The id of a submitted task.")],
    why: Annotated[str, option("What is to be changed; the annotator reads it.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Give submitted work back to whoever made it, with a reason.

    Example: [bold]corporeal annotate return 3f2a --why 'the grasp begins two frames later'[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        held = return_task(connection, task, why, by=actor)
    values = {"task": held.id, "state": held.state, "assigned_to": held.assigned_to}
    print_result(as_json, values, f"task {held.id} is with {held.assigned_to} again")


def history(
    episode: Annotated[str, argument("The id of an episode, or how it begins.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to the labels of an episode: who, when and why.

    Example: [bold]corporeal annotate history 01a1e091[/bold]
    """
    with read_catalog(root, "judge") as connection:
        (row,) = find_episodes(connection, [episode])
        lines = history_of(connection, row.id)
    if as_json:
        print_json(lines)
    else:
        print_history(lines)


def requeue(
    old: Annotated[str, argument("The version so far: name@version or a file.")],
    new: Annotated[str, argument("The new version: a file, or a ready one.")],
    queue: Annotated[str | None, option("By default name-version.", "--queue", "-q")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Carry labels to a new version of a taxonomy, and ask again for what it touches only.

    Example: [bold]corporeal annotate requeue manipulation@1.0.0 mine.yaml[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        before, after = find_taxonomy(connection, old), find_taxonomy(connection, new)
        done = requeue_labels(connection, before, after, by=actor, queue=queue)
    if as_json:
        print_json({
            "before": before.reference, "after": after.reference,
            "touched": [{"episode": name, "reason": why} for name, why in done.touched],
            "carried": list(done.carried), "tasks": [each.id for each in done.tasks],
            "moved": done.moved, "under_way": done.under_way,
        })  # fmt: skip
        return
    console().print(
        f"{before.reference} to {after.reference}: {len(done.touched)} episodes are asked again, "
        f"{len(done.carried)} carried over, {done.moved} open tasks moved, {done.under_way} go on "
        "under the old version"
    )
    for name, why in done.touched:
        console().print(Text(f"{name}: {why}"))
    if done.tasks:
        console().print(f"next: corporeal annotate queue {done.tasks[0].queue}")
