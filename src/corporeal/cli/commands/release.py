"""`corporeal release`: immutable, versioned sets of episodes, and what stands behind them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from corporeal.cli.command import Command, argument, group, option, read_pairs
from corporeal.cli.output import (
    AsJson,
    console,
    emphasise,
    make_table,
    print_json,
    print_result,
    stderr,
)
from corporeal.cli.tracking import Track, track_release
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace, read_catalog
from corporeal.curation.kept_selections import find_selection
from corporeal.curation.selection import CurationSelection
from corporeal.errors import CorporealError
from corporeal.release import (
    NothingChangedError,
    ReleaseOptions,
    create_release,
    diff_releases,
    read_label_policy,
    verify_release,
)
from corporeal.release.card import write_card
from corporeal.release.lineage import add_model
from corporeal.release.reading import Release, find_release, list_releases, record_verification
from corporeal.words import counted

app = group("Make releases, compare, verify and describe them.")
Reference = Annotated[str, argument("NAME@VERSION, or NAME for its newest version.")]


@app.command("create")
def create(
    name: Annotated[str, argument("Lower case letters, digits and _.")],
    query: Annotated[
        str | None, argument("Which episodes, as for corporeal ls; by default all accepted.")
    ] = None,
    where: Annotated[str | None, option("The same, as it was written before.")] = None,
    split: Annotated[
        str, option("Shares: 0.9/0.1, or train=0.8,validation=0.1,test=0.1.")
    ] = "0.9/0.1",
    stratify: Annotated[
        str, option("What is spread evenly over the splits, with commas.")
    ] = "task,operator",
    group_by: Annotated[
        str | None, option("What is kept together in one split, such as session.")
    ] = None,
    version: Annotated[
        str | None, option("By default what the changes since the last one ask for.")
    ] = None,
    licence: Annotated[str, option("Under which terms.")] = "all rights reserved",
    notes: Annotated[str | None, option("What people should know.")] = None,
    selection: Annotated[
        str | None,
        option("Those that a selection keeps, with its weights: a name of corporeal curate."),
    ] = None,
    negatives: Annotated[
        bool, option("Add failed episodes, in a split of their own.", "--negatives")
    ] = False,
    labels: Annotated[
        str,
        option("asked: as taxonomies in use ask for; required of all, included if any, or none."),
    ] = "asked",
    opened: Annotated[
        bool,
        option("Open every episode first, and compare streams and shapes.", "--open/--no-open"),
    ] = True,
    unlike_splits: Annotated[
        bool, option("Release splits that differ all the same.", "--unlike-splits")
    ] = False,
    seed: Annotated[int, option("Another seed, another draw.", min=0)] = 0,
    retain_days: Annotated[
        int | None, option("Hold the objects against deletion for so long.", min=1, max=36_500)
    ] = None,
    track: Track = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Make an immutable release of the episodes that meet a condition.

    Example: [bold]corporeal release create walks 'task = walk and score > 0.7'[/bold]
    """
    if query is not None and where is not None:
        raise CorporealError("--where beside a query; expected one of them. Write the query alone.")
    chosen = _chosen(selection, query if where is None else where, root)
    options = ReleaseOptions(
        version=version,
        where=chosen.kept if chosen is not None else query if where is None else where,
        splits=shares_of(split),
        stratify=tuple(each for each in stratify.split(",") if each),
        group_by=group_by,
        seed=seed,
        licence=licence,
        notes=notes,
        negatives=negatives,
        retain_until=_until(retain_days),
        labels=read_label_policy(labels),
        deep=opened,
        unlike_splits=unlike_splits,
        selection=None if chosen is None else chosen.reference,
        weights={} if chosen is None else chosen.weights,
    )
    with enter_workspace(root, "release") as (workspace, actor):
        folder, unchanged = workspace.root, None
        with stderr().status("releasing"):
            try:
                made = create_release(workspace, name, options, who=actor.name)
            except NothingChangedError as error:
                made, unchanged = find_release(workspace, name), str(error)
        if unchanged is None:
            track_release(workspace, made, track)
    if as_json:
        print_json(_plain(made) | {"is_new": unchanged is None})
        return
    if unchanged is None:
        show(made)
        if practice := made.facts.get("left_out", {}).get("in practice"):
            console().print(f"{counted(practice, 'episode')} of people without a certificate stay "
                            "out: corporeal ls 'practice is known'")  # fmt: skip
    else:
        console().print(unchanged)
    console().print(f"next: corporeal export {made.reference} --workspace {folder} --out dataset")


def _chosen(
    selection: str | None, query: str | None, root: Path | None
) -> CurationSelection | None:
    """The selection that people name; raises where a query stands beside it."""
    if selection is None:
        return None
    if query is not None:
        raise CorporealError(
            f"--selection beside a query, got {query!r}; expected one of them. Curate the query, "
            "and release that selection."
        )
    with read_catalog(root, "read") as connection:
        return find_selection(connection, selection)


def _until(days: int | None) -> datetime | None:
    return None if days is None else datetime.now(UTC) + timedelta(days=days)


def shares_of(text: str) -> dict[str, float]:
    """`0.9/0.1`, or names with shares, as shares by name."""
    names = ("train", "validation", "test")
    parts = text.split("/") if "=" not in text else []
    if parts and len(parts) <= len(names):
        pairs = list(zip(names, parts, strict=False))
    else:
        pairs = [(each.partition("=")[0].strip(), each.partition("=")[2])
                 for each in text.split(",")]  # fmt: skip
    try:
        return {name: float(share) for name, share in pairs}
    except ValueError:
        raise CorporealError(
            f"split, got {text!r}; expected shares such as 0.9/0.1 or train=0.9,validation=0.1."
        ) from None


def show(made: Release) -> None:
    """A release for people: what is in it and whether its splits are alike."""
    page = console()
    where = f", where {made.condition}" if made.condition else ""
    page.print(emphasise(made.reference, f": {made.episodes} episodes{where}"))
    splits = made.facts.get("splits")
    if isinstance(splits, dict):
        page.print("  ".join(f"{name} {count}" for name, count in splits.items()))
    alike = made.facts.get("representativeness")
    if isinstance(alike, dict) and alike.get("words"):
        page.print(str(alike["words"]))
    kept = made.facts.get("retention")
    if isinstance(kept, dict):
        until = str(kept["until"])[:10]
        if kept["write_once"]:
            page.print(f"held by the store until {until}")
        else:
            page.print(f"to be kept until {until}; this store cannot see to that", style="yellow")
    labels = made.facts.get("labels")
    if isinstance(labels, dict):
        under = ", ".join(map(str, labels["taxonomies"]))
        page.print(f"labels of {labels['episodes']} episodes ({under})")
    else:
        page.print("without labels: nothing is labelled, or none was asked for", style="dim")
    left = {why: number for why, number in dict(made.facts.get("left_out") or {}).items() if number}
    if left:
        said = ", ".join(f"{number} {why}" for why, number in left.items())
        page.print(f"left out: {said}", style="dim")
    page.print(f"manifest {made.manifest}", style="dim")


def _plain(made: Release) -> dict[str, Any]:
    return {"reference": made.reference, "manifest": made.manifest, "condition": made.condition,
            "episodes": made.episodes, "created_at": made.created_at,
            "created_by": made.created_by, "facts": dict(made.facts)}  # fmt: skip


@app.command("list")
def list_all(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List all releases.

    Example: [bold]corporeal release list[/bold]
    """
    with enter_workspace(root, "read") as (workspace, _):
        found = list_releases(workspace)
    table = make_table("release", "episodes", "made", "by", "condition")
    for each in found:
        table.add_row(each.reference, str(each.episodes), each.created_at[:19], each.created_by,
                      each.condition)  # fmt: skip
    values = [_plain(each) for each in found]
    print_result(as_json, values, table if found else "no release yet")


@app.command("verify")
def verify(
    release: Reference,
    objects: Annotated[bool, option("Read and hash every byte.")] = True,
    deep: Annotated[
        bool, option("Open every episode and compare shapes and joints.", "--deep")
    ] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare a release with its manifest, its objects and the audit log; exit 1 if they differ.

    Example: [bold]corporeal release verify walks@1.0.0[/bold]
    """
    with enter_workspace(root, "verify") as (workspace, actor), stderr().status("verifying"):
        found = verify_release(workspace, release, objects=objects, deep=deep)
        with workspace.database.write() as connection:
            record_verification(
                connection, found.reference, good=found.good, problems=len(found.problems),
                who=actor.name,
            )  # fmt: skip
    words = Text(found.words, style="green" if found.good else "red")
    print_result(as_json, found, words, *found.notes)
    raise typer.Exit(0 if found.good else 1)


@app.command("diff")
def diff(
    old: Reference, new: Reference, root: WorkspaceOption = None, as_json: AsJson = False
) -> None:
    """Say in words what changed from one release to another.

    Example: [bold]corporeal release diff walks@1.0.0 walks@1.1.0[/bold]
    """
    with enter_workspace(root, "read") as (workspace, _):
        found = diff_releases(workspace, old, new)
    print_result(as_json, found, *found.lines)


@app.command("card")
def card(
    release: Reference,
    out: Annotated[Path, option("A folder for README, Croissant, plots.", "--out", "-o")],
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write the dataset card: README.md with plots, and croissant.json.

    Example: [bold]corporeal release card walks@1.0.0 --out card[/bold]
    """
    with enter_workspace(root, "read") as (workspace, _):
        written = write_card(workspace, release, out)
    print_result(as_json, written, *(f"wrote {path}" for path in written))


@app.command("add-model")
def record_model(
    release: Reference,
    name: Annotated[str, argument("What the model is called, such as act-walks-1.")],
    file: Annotated[Path | None, option("Its file: the hash is recorded, not the file.")] = None,
    meta: Annotated[list[str] | None, option("A fact, NAME=VALUE; repeatable.")] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Record that a model was trained on a release, for its lineage.

    Example: [bold]corporeal release add-model walks@1.0.0 act-walks --file model.safetensors[/bold]
    """
    with enter_workspace(root, "export") as (workspace, actor):
        model = add_model(workspace, name, release, who=actor.name, file=file,
                          metadata=read_pairs(meta, "--meta"))  # fmt: skip
    told = f" ({model.file}, {model.hash})" if model.hash is not None else ""
    print_result(
        as_json, asdict(model), Text(f"model {model.name} was trained on {model.release}{told}"),
        f"next: corporeal lineage {model.subject}",
    )  # fmt: skip


COMMAND = Command(app, panel="Release")
