"""Runs an export with progress, proves it, and says what it made: what several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from corporeal.cli.export_options import ExportChoices
from corporeal.cli.output import console, make_table, print_json, show_progress, stderr
from corporeal.cli.smoke import smoke_first
from corporeal.cli.sources import opener_of, with_recipe
from corporeal.episode.recording import Dataset
from corporeal.exchange import ExportOptions, ExportResult, export
from corporeal.exchange.format import LOSSES, writer_of
from corporeal.exchange.proof import Proof, prove
from corporeal.exchange.training import Normalisation


def export_paths(
    paths: Sequence[Path], out: Path, choices: ExportChoices, *, as_json: bool
) -> None:
    """Export what people point at as they chose, and print what was made and proved."""
    options, name = choices.options, choices.format_name
    writer_of(name)
    with ExitStack() as stack:
        opener = opener_of(
            paths, choices.robot, stack, root=choices.root, splits=choices.split or ()
        )
        opener = with_recipe(opener, choices.recipe)
        if choices.smoke:
            smoke_first(opener, options, python=choices.python)
        exported, proof = run(
            opener, out, name, options, verify=choices.verify, python=choices.python
        )
    report(exported, proof, as_json=as_json, after=training_lines(out, name))


def run(
    opener: Callable[[], Dataset],
    out: Path,
    format_name: str,
    options: ExportOptions,
    *,
    verify: bool = True,
    python: str | None = None,
    normalisation: Normalisation | None = None,
) -> tuple[ExportResult, Proof | None]:
    """Export with a bar that says how long it will take, then prove the result."""
    with show_progress(f"writing {format_name}") as bar:
        exported = export(
            opener,
            out,
            format_name,
            options,
            normalisation=normalisation,
            on_start=bar.start,
            on_episode=bar.advance,
        )
    if not verify:
        return exported, None
    with stderr().status("reading it back"):
        return exported, prove(exported, python=python)


def report(
    exported: ExportResult, proof: Proof | None, *, as_json: bool, after: Sequence[str]
) -> None:
    """Print what was made and what was proved; exit with 1 when something differs."""
    if as_json:
        print_json(to_json(exported, proof))
    else:
        show(exported, proof)
        if after:
            console().print("next:")
            for line in after:
                console().print(f"  {line}", soft_wrap=True)
    if proof is not None and not proof.holds:
        raise typer.Exit(1)


def to_json(exported: ExportResult, proof: Proof | None) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "out": str(exported.out),
        "format": exported.job.format,
        "rate_hz": exported.layout.rate_hz if exported.layout is not None else None,
        "resumed": exported.resumed,
        "episodes": [episode.to_json() for episode in exported.episodes],
        "proof": proof.to_json() if proof is not None else None,
    }


def show(exported: ExportResult, proof: Proof | None) -> None:
    """For people: what is in it, what was filled or encoded anew, and the proof."""
    page = console()
    page.print(f"[bold]{exported.out}[/bold] ({exported.job.format}): {_contents(exported)}")
    if exported.resumed:
        page.print(f"{_count(exported.resumed, 'episode')} from a run that was interrupted")
    for line in _remarks(exported):
        page.print(line, style="yellow")
    if proof is not None:
        _show_proof(proof)


def _contents(exported: ExportResult) -> str:
    episodes = _count(len(exported.episodes), "episode")
    layout = exported.layout
    if layout is None:
        return f"{episodes}, every stream at its own rate"
    rows = sum(episode.rows for episode in exported.episodes)
    return (
        f"{episodes}, {_count(rows, 'row')} at {layout.rate_hz:g} Hz, "
        f"{_count(len(layout.columns), 'column')}, {_count(len(layout.cameras), 'camera')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _remarks(exported: ExportResult) -> list[str]:
    filled: dict[str, int] = {}
    for episode in exported.episodes:
        for key, rows in episode.filled.items():
            filled[key] = filled.get(key, 0) + rows
    lines = [f"{key}: {_count(rows, 'row')} in a gap of the stream, with the nearest value repeated"
             for key, rows in filled.items()]  # fmt: skip
    movies = [movie for episode in exported.episodes
              for movie in episode.details.get("movies", {}).values()]  # fmt: skip
    mended = sum(int(movie["mended"]) for movie in movies)
    if mended:
        lines.append(f"{_count(mended, 'picture')} encoded anew; all others copied as they are")
    return lines


def _show_proof(proof: Proof) -> None:
    table = make_table("compared", "read by", "", "result")
    for each in proof.evidence:
        mark = Text("same", style="green") if each.holds else Text("DIFFERS", style="bold red")
        table.add_row(each.what, each.by, mark, each.result)
    page = console()
    page.print(table)
    if proof.loses:
        words = "; ".join(LOSSES[loss] for loss in proof.loses)
        page.print(f"lost by the format itself: {words}", style="dim")
    if proof.missing is not None:
        page.print(f"not read by its own library: {proof.missing}", style="yellow")


def training_lines(out: Path, format_name: str) -> tuple[str, ...]:
    """What to type to train on a dataset."""
    if format_name == "lerobot":
        return (
            f"corporeal smoke-train {out}",
            f"lerobot-train --dataset.repo_id=local/{out.name} --dataset.root={out} "
            "--policy.type=act --policy.push_to_hub=false --output_dir=out/train",
        )
    if format_name == "rrd":
        return (f"rerun {out}/episode_000000.rrd",)
    return (f"corporeal check {out}",) if format_name != "episodes" else (f"corporeal info {out}",)
