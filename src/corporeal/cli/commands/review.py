"""`corporeal review`: people look at a sample, and its outcome says something of the whole lot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from rich.table import Table
from rich.text import Text

from corporeal.catalog.episodes import numbers_of
from corporeal.catalog.people import require_query
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.output import AsJson, console, emphasise, make_table, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace, read_catalog, write_catalog
from corporeal.errors import UnknownNameError
from corporeal.operations.review import (
    Review,
    ReviewChoice,
    ReviewItem,
    ReviewProgress,
    SamplingRequest,
    close_review,
    create_review,
    decide,
    find_item,
    hide_operators,
    items_of,
    progress_of,
    review_of,
    reviews,
    undo,
)

app = group("Draw samples for people to look at, decide, and judge the batch.")
Name = Annotated[str, argument("The name of the review.")]
_COLOURS = {"accepted": "green", "not accepted": "red"}


@app.command("create")
def create(
    name: Annotated[str, argument("Small letters, digits, points and dashes.")],
    query: Annotated[
        str | None, argument("As for corporeal ls; by default all accepted and quarantined.")
    ] = None,
    share: Annotated[float, option("Sample size, as a share of the batch.")] = 0.12,
    limit: Annotated[
        float | None, option("Maximum defect rate to prove, which decides the sample size.")
    ] = None,
    confidence: Annotated[float, option("How sure that is to be.")] = 0.95,
    seed: Annotated[int, option("Another seed, another draw.", min=0)] = 0,
    all_quarantined: Annotated[
        bool, option("Look at every quarantined one, too.", "--all-quarantined")
    ] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Draw a random sample by operator, station, hour and variant, and say what it will prove.

    Example: [bold]corporeal review create monday 'batch = monday' --share 0.12[/bold]
    """
    wanted = SamplingRequest(share, limit, confidence, seed, all_quarantined)
    with enter_workspace(root, "judge") as (workspace, actor):
        folder = workspace.root
        with workspace.database.write() as connection:
            require_query(connection, actor, query)
            made = create_review(connection, name, query, wanted, by=actor)
            progress = progress_of(connection, made)
    if as_json:
        print_json(_plain(made, progress))
        return
    by = " x ".join(made.settings["by"]) or "chance alone"
    console().print(emphasise(made.name, f": {progress.items} episodes, drawn by {by}"))
    console().print(Text(made.plan.words))
    console().print(f"next: corporeal studio {folder} and open Review", soft_wrap=True)


@app.command("list")
def list_all(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List all reviews and how far they are.

    Example: [bold]corporeal review list[/bold]
    """
    with read_catalog(root, "read") as connection:
        found = [(each, progress_of(connection, each)) for each in reviews(connection)]
    table = make_table(
        "review", "decided", "rejected", "unseen", "batch", "at most bad", "", "condition"
    )
    for review, progress in found:
        bound = progress.lot.most_bad
        table.add_row(
            review.name, f"{progress.decided} of {progress.items}", str(progress.rejected),
            str(progress.unseen),
            Text(progress.lot.state, style=_COLOURS.get(progress.lot.state, "")),
            "-" if bound is None else f"{100 * bound:.1f} %",
            "closed" if review.closed_at else "", review.condition,
        )  # fmt: skip
    empty = "no review yet; next: corporeal review create NAME"
    print_result(as_json, [_plain(*each) for each in found], table if found else empty)


@app.command("show")
def show(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Show the progress of a review, every decision, and the verdict on the batch.

    Example: [bold]corporeal review show monday[/bold]
    """
    with (
        enter_workspace(root, "read") as (workspace, actor),
        workspace.database.read() as connection,
    ):
        review = review_of(connection, name)
        progress = progress_of(connection, review)
        items = hide_operators(items_of(connection, review), actor)
        numbers = numbers_of(connection, [item.episode for item in items])
    if as_json:
        print_json(_plain(review, progress) | {"episodes": items})
        return
    page = console()
    page.print(emphasise(
        review.name,
        f": {progress.decided} of {progress.items} decided, {progress.rejected} rejected, "
        f"{progress.unseen} accepted unseen, "
        f"{progress.neighbours} neighbours added (not counted for the batch)",
    ))  # fmt: skip
    page.print(Text(f"plan: {progress.plan.words}"))
    page.print(Text(progress.lot.words, style=_COLOURS.get(progress.lot.state, "")))
    page.print(_decisions(items, numbers))
    if progress.decided < progress.items:
        page.print("next: corporeal studio and open Review, or corporeal review decide")
    elif review.closed_at is None:
        page.print(f"next: corporeal review close {review.name}")


@app.command("decide")
def decide_one(
    name: Name,
    episode: Annotated[str, argument("The episode: its number such as 4, or its id.")],
    decision: Annotated[str, argument("accept, reject or undo.")],
    why: Annotated[
        str | None,
        option("For reject: fall, task not done, wrong label, camera, sync, privacy, "
                     "other; words may follow behind a colon."),
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Accept or reject an episode of a review, or take that back.

    Example: [bold]corporeal review decide monday 4 reject --why 'camera: covered'[/bold]
    """
    verb = _verb(decision)
    reason, _, words = (why or "").partition(":")
    with write_catalog(root, "annotate") as (connection, actor):
        review = review_of(connection, name)
        item = find_item(connection, review, episode)
        if verb == "undo":
            outcome = undo(connection, review, item.episode, by=actor)
        else:
            why_not = (reason.strip(), words.strip()) if verb == "reject" else (None, "")
            choice = ReviewChoice(verb, *why_not)
            outcome = decide(connection, review, item.episode, choice, by=actor)
    if as_json:
        print_json(outcome)
        return
    console().print(f"{outcome.item.episode}: {decision}, now {outcome.state}")
    if outcome.pulled:
        console().print(f"{len(outcome.pulled)} neighbours added, next in the queue")
    if outcome.note:
        console().print(Text(f"note: {outcome.note}", style="yellow"))


@app.command("close")
def close(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """End a review; decisions that wait for a lead take effect.

    Example: [bold]corporeal review close monday[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        closed, progress = close_review(connection, review_of(connection, name), by=actor)
    sentence = f"{closed.name} is closed: {progress.lot.words}"
    print_result(as_json, _plain(closed, progress), sentence)


def _verb(decision: str) -> Any:
    known = ("accept", "reject", "undo")
    if decision not in known:
        raise UnknownNameError("decision", decision[:40], known)
    return decision


def _plain(review: Review, progress: ReviewProgress) -> dict[str, Any]:
    said = asdict(progress)
    said["plan"]["words"] = progress.plan.words
    return asdict(review) | {"progress": said}


def _decisions(items: list[ReviewItem], numbers: Mapping[str, int]) -> Table:
    table = make_table("episode", "decision", "shown", "why", "by", "because")
    for each in items:
        colour = {"accept": "green", "reject": "red"}.get(each.decision or "", "dim")
        because = f"{each.because} ({each.stratum})" if each.stratum else each.because
        decision = Text(each.decision or "open", style=colour)
        name = f"#{numbers[each.episode]}"
        table.add_row(name, decision, _shown(each), each.why or "", each.decided_by or "", because)
    return table


def _shown(item: ReviewItem) -> Text:
    if item.shown is None:
        return Text("not known" if item.decision else "", style="dim")
    share = f"{100 * item.shown:.0f} %"
    return Text(f"{share}, unseen" if item.is_unseen else share, "red" if item.is_unseen else "")


COMMAND = Command(app, panel="Label")
