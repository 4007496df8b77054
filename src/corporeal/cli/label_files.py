"""Labels as files that other programs read: out of the catalogue, and into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from rich.text import Text
from sqlalchemy import Connection

from corporeal.cli.command import argument, option
from corporeal.cli.label_proposals import find_episodes, find_taxonomy, used_taxonomy
from corporeal.cli.output import AsJson, console, print_json, print_result
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.labelling.labels import (
    EpisodeLabels,
    LabelFormat,
    Labels,
    accept_label_files,
    format_of,
    labels_in_force,
    reference_cards,
    write_label_file,
)
from corporeal.labelling.tasks import frames_about
from corporeal.words import counted


def export(
    wanted: Annotated[
        list[str] | None,
        argument("Ids of episodes (or how they begin), or one query; by default all."),
    ] = None,
    out: Annotated[Path, option("The new file; a folder for one file each.", "--out", "-o")] = Path(
        "labels.csv"
    ),
    format_name: Annotated[
        str | None, option("csv, elan or json; else by the ending.", "--format", "-f")
    ] = None,
    stale: Annotated[bool, option("Also labels that do not hold any more.", "--stale")] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write labels in force as CSV, for ELAN, or as JSON with nothing left out.

    Example: [bold]corporeal annotate export 'task = reach' --out reach.csv[/bold]
    """
    chosen = format_of(out, format_name)
    with (
        enter_workspace(root, "export") as (workspace, actor),
        workspace.database.read() as connection,
    ):
        names = [row.id for row in find_episodes(connection, wanted or [], by=actor)]
        held = labels_in_force(connection, names)
        kept = [held[name] for name in names if name in held
                and (stale or held[name].stale is None)]  # fmt: skip
        if not kept:
            raise CorporealError(
                f"labels, got none for {len(names)} episodes; expected some in force. See: "
                "corporeal annotate status."
            )
        labels = _labels(connection, kept)
    files = _write(out, labels, chosen, format_name)
    left = [name for name in names if name not in {each.episode for each in kept}]
    if as_json:
        print_json({"files": files, "episodes": len(labels), "without_labels": left,
                    "loses": list(chosen.loses)})  # fmt: skip
        return
    console().print(f"labels of {counted(len(labels), 'episode')} as {chosen.title}: {out}")
    for sentence in chosen.loses:
        console().print(Text(f"not in it: {sentence}"))
    if left:
        number = counted(len(left), "episode")
        console().print(f"{number} without labels in force: corporeal annotate status")


def _labels(connection: Connection, held: Sequence[Labels]) -> list[EpisodeLabels]:
    frames = frames_about(connection, [each.episode for each in held])
    stamps = {name: each.stamps for name, each in frames.items()}
    return [EpisodeLabels(each.episode, each.annotation, stamps.get(each.episode))
            for each in held]  # fmt: skip


def _write(
    out: Path, labels: Iterable[EpisodeLabels], chosen: LabelFormat, format_name: str | None
) -> list[Path]:
    """One file, or where a format holds one episode only, one for each in a folder."""
    given = list(labels)
    if chosen.many or (len(given) == 1 and out.suffix == chosen.suffix):
        write_label_file(out, given, format_name=format_name)
        return [out]
    if out.suffix:
        raise CorporealError(
            f"{out}: got {len(given)} episodes; expected one, since a file of {chosen.title} holds "
            "no more. Name a folder: --out labels --format elan."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CorporealError(f"{out}: cannot be made: {error.strerror}.") from None
    files = [out / f"{each.episode}{chosen.suffix}" for each in given]
    for path, each in zip(files, given, strict=True):
        write_label_file(path, [each], format_name=format_name)
    return files


FormatName = Annotated[
    str | None, option("csv, elan or json; by default as the name ends.", "--format", "-f")
]


def bring_in(
    files: Annotated[list[Path], argument("Files of labels; episodes by their ids.")],
    taxonomy: Annotated[
        str, option("A built-in one, a file, or name@version.", "--taxonomy", "-t")
    ] = "manipulation",
    format_name: FormatName = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Let the labels in files count, all or none; boundaries go to the nearest frame.

    Example: [bold]corporeal annotate import labels.csv --taxonomy manipulation[/bold]
    """
    with enter_workspace(root, "judge") as (workspace, actor):
        with workspace.database.read() as connection:
            document = find_taxonomy(connection, taxonomy)
        made = accept_label_files(workspace, files, document, by=actor, format_name=format_name)
    values = [{"episode": each.episode, "number": each.number, "hash": each.hash} for each in made]
    lines = (f"{each.episode}: labels {each.number} are in force" for each in made)
    print_result(as_json, values, *lines)


def write_cards(
    out: Annotated[Path, option("The page to write.", "--out", "-o")] = Path("cards.html"),
    taxonomy: Annotated[
        str | None,
        option("name@version or a file; by default the newest used.", "--taxonomy", "-t"),
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Write reference cards: every label with its rule and key, and pictures of your own episodes.

    One HTML page to print or forward, with the pictures inside. They are cut from episodes whose
    labels people confirmed under exactly this version of the taxonomy.

    Example: [bold]corporeal annotate cards --out cards.html[/bold]
    """
    with (
        enter_workspace(root, "export") as (workspace, _),
        workspace.database.read() as connection,
    ):
        document = used_taxonomy(connection, taxonomy)
        page = reference_cards(connection, workspace.store, document)
    out.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(out, page.html)
    told = {"page": out, "taxonomy": document.reference, "episodes": page.episodes,
            "pictures": page.pictures, "without_pictures": page.without}  # fmt: skip
    sentence = (
        f"{out}: the cards of {document.reference}, {counted(page.pictures, 'picture')} from "
        f"{counted(page.episodes, 'labelled episode')}; {len(page.without)} labels and values "
        "have none yet"
    )
    print_result(as_json, told, sentence)
