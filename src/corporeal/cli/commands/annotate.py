"""`corporeal annotate`: labels proposed, asked of people, agreed upon, and brought out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from corporeal.catalog.episodes import find_named, numbers_of
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.label_files import bring_in, export, write_cards
from corporeal.cli.label_predictions import bring_predictions, write_corrections
from corporeal.cli.label_proposals import (
    Proposed,
    find_episodes,
    find_taxonomy,
    labelled_examples,
    propose_all,
    used_taxonomy,
)
from corporeal.cli.label_tables import (
    plain_impact,
    print_agreement,
    print_coverage,
    print_history,
    print_impact,
    print_queues,
    print_taxonomy,
)
from corporeal.cli.output import AsJson, console, emphasise, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace, read_catalog, write_catalog
from corporeal.errors import CorporealError
from corporeal.labelling.agreement import agreement_of
from corporeal.labelling.labels import coverage_of
from corporeal.labelling.queues import qualifications, queues
from corporeal.labelling.review import (
    Confident,
    accept_confident,
    find_impact,
    history_of,
    requeue_labels,
)
from corporeal.labelling.review import accept as accept_task
from corporeal.labelling.review import give_back as return_task
from corporeal.labelling.tasks import TaskOptions, create_tasks, find_tasks, wanting
from corporeal.labelling.taxonomy import kept_taxonomies

app = group("Propose labels, ask people, see how far they agree, and bring labels out.")
TaxonomyName = Annotated[str, option("Built-in, a file, or name@version.", "--taxonomy", "-t")]
SomeTaxonomy = Annotated[
    str | None, option("name@version or a file; by default the newest used.", "--taxonomy", "-t")
]
Episodes = Annotated[
    list[str] | None,
    argument("Ids of episodes (or how they begin), or one query as for corporeal ls."),
]
QueueName = Annotated[str, option("The queue that people work on.", "--queue", "-q")]


@app.command("taxonomy")
def show_taxonomy(
    name: Annotated[str, argument("A built-in taxonomy by name, or a file.")],
    diff: Annotated[str | None, option("A newer version: what does it touch?")] = None,
    as_json: AsJson = False,
) -> None:
    """Show lanes, labels and the rules that decide each boundary; or what a new version touches.

    Example: [bold]corporeal annotate taxonomy manipulation --diff mine.yaml[/bold]
    """
    found = find_taxonomy(None, name)
    if diff is not None:
        other = find_taxonomy(None, diff)
        touched = find_impact(found, other)
        if as_json:
            print_json({"before": found.reference, "after": other.reference,
                        **plain_impact(touched)})  # fmt: skip
        else:
            print_impact(found, other, touched)
    elif as_json:
        print_json({"hash": found.hash, **found.model_dump(mode="json", exclude_none=True)})
    else:
        print_taxonomy(found)


@app.command("propose")
def propose(
    wanted: Episodes = None,
    queue: QueueName = "labels",
    taxonomy: TaxonomyName = "manipulation",
    using: Annotated[
        str, option("Proposers, with commas between; `none` begins empty.")
    ] = "events",
    learn_from: Annotated[
        int, option("Annotated episodes to show to the proposers.", min=0, max=50)
    ] = 0,
    double: Annotated[float, option("Share that two people do, unseen.")] = 0.1,
    blind: Annotated[float, option("Share that begins without the proposal.")] = 0.1,
    seed: Annotated[int, option("Another seed, other shares.", min=0)] = 0,
    qualified: Annotated[
        bool, option("Only for people who have passed on gold.", "--qualified")
    ] = False,
    review: Annotated[bool, option("A lead looks at what is submitted.")] = True,
    again: Annotated[bool, option("Also what has good labels.", "--again")] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Find events in the signals, propose labels from them, and make tasks for people.

    Example: [bold]corporeal annotate propose 'task = pick_place' --queue monday[/bold]
    """
    options = TaskOptions(
        queue, double_share=double, blind_share=blind, seed=seed, again=again,
        needs_qualification=qualified, review=review,
    )  # fmt: skip
    with enter_workspace(root, "judge") as (workspace, actor):
        with workspace.database.read() as connection:
            document = find_taxonomy(connection, taxonomy)
            asked = find_episodes(connection, wanted or [], by=actor)
            names = wanting(connection, [row.id for row in asked], document, again=again)
            rows = [row for row in asked if row.id in set(names)]
            shown = labelled_examples(connection, document, rows, most=learn_from)
        words = tuple(each.strip() for each in using.split(",") if each.strip() != "none")
        made = propose_all(workspace, rows, document, using=words, examples=shown) if words else (
            Proposed()
        )  # fmt: skip
        with workspace.database.write() as connection:
            tasks = create_tasks(
                connection, names, document, options, by=actor, starts=made.starts,
                frames=made.frames,
            )  # fmt: skip
        folder = workspace.root
    pairs = len({each.pair for each in tasks if each.pair})
    told = {
        "queue": queue, "taxonomy": document.reference, "episodes": len(asked),
        "proposed": len(made.starts), "tasks": len(tasks), "doubled": pairs,
        "without_proposal": sum(each.is_blind for each in tasks), "silent": made.silent,
    }  # fmt: skip
    if as_json:
        print_json(told)
        return
    console().print(
        emphasise(
            queue,
            f": {len(tasks)} tasks for {len({each.episode for each in tasks})} of {len(asked)} "
            f"episodes, {len(made.starts)} proposed under {document.reference}; {pairs} asked "
            f"of two people, {told['without_proposal']} without the proposal",
        )
    )
    called = {row.id: f"#{row.number}" for row in asked}
    for name, why in made.silent.items():
        said = f"{called.get(name, name)}: no proposal: {why}"
        console().print(Text(said, style="yellow"))
    console().print(f"next: corporeal studio {folder} and open Labels", soft_wrap=True)


@app.command("gold")
def gold(
    wanted: Episodes = None,
    queue: QueueName = "qualify",
    taxonomy: SomeTaxonomy = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Make labels in force the gold by which a queue measures annotators.

    Example: [bold]corporeal annotate gold 'task = reach and state = annotated'[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        document = used_taxonomy(connection, taxonomy)
        names = [row.id for row in find_episodes(connection, wanted or [], by=actor)]
        options = TaskOptions(queue, kind="qualify")
        made = create_tasks(connection, names, document, options, by=actor)
    print_result(
        as_json,
        {"queue": queue, "taxonomy": document.reference, "gold": len(made)},
        emphasise(queue, f": {len(made)} gold episodes under {document.reference}"),
        "next: annotators open this queue in Studio; then corporeal annotate status",
    )


@app.command("queue")
def show_queue(
    name: Annotated[str | None, argument("One queue; by default all.")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List the queues and how far they are, or the tasks of one.

    Example: [bold]corporeal annotate queue monday[/bold]
    """
    with read_catalog(root, "read") as connection:
        found = queues(connection, queue=name)
        held = find_tasks(connection, queue=name) if name is not None else []
    if as_json:
        unseen = {"start", "content", "settings", "hidden"}
        listed = [{name: value for name, value in asdict(each).items() if name not in unseen}
                  for each in held]  # fmt: skip
        print_json({"queues": found, "tasks": listed})
        return
    if not found:
        console().print("no tasks; next: corporeal annotate propose QUERY")
        return
    print_queues(found, held)


@app.command("status")
def status(
    wanted: Episodes = None,
    taxonomy: SomeTaxonomy = None,
    people_only: Annotated[
        bool, option("What only a machine said does not count.", "--people-only")
    ] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Say which episodes have labels that hold, what the others lack, and who has qualified.

    Exits with 1 when an episode lacks something.
    Example: [bold]corporeal annotate status 'task = pick_place'[/bold]
    """
    with (
        enter_workspace(root, "read") as (workspace, actor),
        workspace.database.read() as connection,
    ):
        asked = None if taxonomy is None else find_taxonomy(connection, taxonomy)
        rows = find_episodes(connection, wanted or [], by=actor)
        found = coverage_of(connection, rows, taxonomy=asked, people_only=people_only)
        names = {each.hash: each.reference for each in kept_taxonomies(connection)}
        passed = qualifications(connection)
        numbers = numbers_of(connection, [name for name, _ in found.missing])
    people = [{"account": each.account, "taxonomy": names.get(each.taxonomy, each.taxonomy),
               "passed": each.passed, "at": each.at} for each in passed]  # fmt: skip
    if as_json:
        print_json(found.to_json() | {"qualifications": people})
    else:
        print_coverage(found, people, numbers)
    if found.missing:
        raise typer.Exit(1)


@app.command("agreement")
def agreement(
    taxonomy: SomeTaxonomy = None,
    queue: Annotated[str | None, option("Only this queue.", "--queue", "-q")] = None,
    since: Annotated[str | None, option("Only since this day, as 2026-01-31.")] = None,
    annotator: Annotated[str | None, option("Only pairs with this person.")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how far people agree: the three gates, each person's bias, and unclear rules.

    Exits with 1 when a gate is not passed.
    Example: [bold]corporeal annotate agreement --queue monday[/bold]
    """
    with read_catalog(root, "judge") as connection:
        document = used_taxonomy(connection, taxonomy)
        found = agreement_of(connection, document, since=since, queue=queue, annotator=annotator)
    if as_json:
        print_json(found.to_json())
    else:
        print_agreement(found)
    if found.summary.episodes and found.summary.failed:
        raise typer.Exit(1)


@app.command("accept")
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


@app.command("return")
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


@app.command("history")
def history(
    episode: Annotated[str, argument("The id of an episode, or how it begins.")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to the labels of an episode: who, when and why.

    Example: [bold]corporeal annotate history 01a1e091[/bold]
    """
    with read_catalog(root, "judge") as connection:
        row = find_named(connection, episode)
        lines = history_of(connection, row.id)
    if as_json:
        print_json(lines)
    else:
        print_history(lines)


@app.command("requeue")
def requeue(
    old: Annotated[str, argument("The version so far: name@version or a file.")],
    new: Annotated[str, argument("The new version: a file, or a built-in one.")],
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


app.command("cards")(write_cards)
app.command("export")(export)
app.command("import")(bring_in)
app.command("predictions")(bring_predictions)
app.command("corrections")(write_corrections)

COMMAND = Command(app, panel="Label")
