"""Runs exports, edits and smoke training with progress, and says what they made and proved."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from corporeal import hub
from corporeal.cli.export_options import EditChoices, ExportChoices
from corporeal.cli.ledger_table import lost_sentence, show_assumed, show_ledger
from corporeal.cli.output import console, emphasise, make_table, print_json, show_progress, stderr
from corporeal.cli.release_source import ReleaseSource, release_source
from corporeal.cli.sources import opener_of, with_recipe
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions, ExportResult, export
from corporeal.exchange.editing import episode_numbers, format_of, options_of, rows_opener
from corporeal.exchange.format import LOSSES, writer_of
from corporeal.exchange.proof import Proof, add_objects, prove
from corporeal.exchange.training import (
    Normalisation,
    SmokeReport,
    export_hierarchy,
    open_hierarchy,
    smoke_train,
)
from corporeal.words import counted

FIRST = 100
"""Episodes that smoke training looks at."""


def export_paths(
    paths: Sequence[Path], out: Path, choices: ExportChoices, *, as_json: bool
) -> None:
    """Export what people point at as they chose, and print what was made and proved."""
    options, name = choices.options, choices.format_name
    writer_of(name)
    if choices.push is not None:
        hub.require_name(choices.push)
        if choices.hierarchy is not None:
            raise CorporealError("--push with --hierarchy; expected one dataset. Push one of them.")
    source = release_source(paths, choices.root)
    if source is not None and choices.weights is None:
        options = replace(options, weights=source.weigh())
    objects = None if source is None else source.check(choices.split)
    with ExitStack() as stack:
        opener = opener_of(
            paths,
            choices.robot,
            stack,
            root=choices.root,
            splits=choices.split or (),
            rate_hz=choices.source_rate,
        )
        opener = with_recipe(opener, choices.recipe)
        if choices.hierarchy is not None:
            _export_policies(opener, out, choices, options, source, objects, as_json=as_json)
            return
        if choices.smoke:
            smoke_first(opener, options, python=choices.python)
        exported, proof = run(
            opener, out, name, options, verify=choices.verify, python=choices.python
        )
    if source is not None:
        source.describe(exported)
    proof = _with_objects(proof, objects)
    pushed = _push(exported, proof, choices)
    report(
        exported, proof, as_json=as_json, after=next_lines(exported), pushed=pushed,
        said=[] if source is None else _taken_along(exported),
    )  # fmt: skip


def _push(exported: ExportResult, proof: Proof | None, choices: ExportChoices) -> str | None:
    """Put what was proved on the hub; its address there."""
    if choices.push is None or (proof is not None and not proof.holds):
        return None
    episodes = counted(len(exported.episodes), "episode")
    with stderr().status(f"pushing to {choices.push}"):
        return hub.push(exported.out, choices.push, private=not choices.public,
                        message=f"{episodes} as {exported.job.format}, by Corporeal")  # fmt: skip


def _with_objects(proof: Proof | None, objects: int | None) -> Proof | None:
    """The proof, which begins with the objects that the dataset was compared with."""
    if proof is None or objects is None:
        return proof
    return add_objects(proof, objects)


def _taken_along(exported: ExportResult) -> list[str]:
    """What a dataset has from the release that it was made of."""
    lines = ["with the card of the release: README.md, croissant.json, episodes.json, plots"]
    if (exported.out / "corporeal" / "weights.json").is_file():
        lines.append("with sampling weights in corporeal/weights.json (--weights none: without)")
    return lines


def _export_policies(
    opener: Callable[[], Dataset],
    out: Path,
    choices: ExportChoices,
    options: ExportOptions,
    source: ReleaseSource | None,
    objects: int | None,
    *,
    as_json: bool,
) -> None:
    """Export a dataset for each policy of a hierarchy, and print what was made and proved."""
    assert choices.hierarchy is not None
    if choices.smoke:
        raise CorporealError(
            "--smoke-train with --hierarchy; expected one of them. Run corporeal smoke-train on a "
            "dataset of the result."
        )
    name = choices.format_name

    def write(
        source: Callable[[], Dataset], target: Path, options: ExportOptions
    ) -> tuple[ExportResult, Proof | None]:
        return run(source, target, name, options, verify=choices.verify, python=choices.python)

    hierarchy = open_hierarchy(choices.hierarchy)
    written = export_hierarchy(opener, out, name, options, hierarchy, write)
    results = {
        policy: (replace(exported, out=out / policy), _with_objects(proof, objects))
        for policy, (exported, proof) in written.items()
    }
    for exported, _ in results.values():
        if source is not None:
            source.describe(exported)
    if as_json:
        print_json({policy: to_json(*result) for policy, result in results.items()})
    else:
        for policy, (exported, proof) in results.items():
            cuts = {episode.origin for episode in exported.episodes}
            console().print(emphasise(policy, f": from {counted(len(cuts), 'recorded episode')}"))
            show(exported, proof, with_ledger=False)
    if any(proof is not None and not proof.holds for _, proof in results.values()):
        raise typer.Exit(1)


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
    exported: ExportResult,
    proof: Proof | None,
    *,
    as_json: bool,
    after: Sequence[str],
    said: Sequence[str] = (),
    may_lose: bool = False,
    pushed: str | None = None,
) -> None:
    """Print what was made and what was proved; exit with 1 when something differs or is lost."""
    if as_json:
        print_json(to_json(exported, proof) | ({} if pushed is None else {"pushed": pushed}))
    else:
        show(exported, proof)
        for line in (*said, *([] if pushed is None else [f"on the hub: {pushed}"])):
            console().print(line, style="dim")
        if after:
            console().print("next:")
            for line in after:
                console().print(f"  {line}", soft_wrap=True)
    lost = exported.ledger.lost_whole if not may_lose else ()
    if lost:
        stderr().print(lost_sentence(lost), soft_wrap=True, markup=False)
    if lost or (proof is not None and not proof.holds):
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
        "ledger": exported.ledger.to_json(),
        "assumed": exported.assumed,
    }


def show(exported: ExportResult, proof: Proof | None, *, with_ledger: bool = True) -> None:
    """For people: what is in it, what was filled or encoded anew, and the proof."""
    page = console()
    page.print(emphasise(exported.out, f" ({exported.job.format}): {_contents(exported)}"))
    if exported.resumed:
        page.print(f"{counted(exported.resumed, 'episode')} from a run that was interrupted")
    if with_ledger:
        show_ledger(exported.ledger)
    show_assumed(exported.assumed)
    for line in _remarks(exported):
        page.print(line, style="yellow")
    if proof is not None:
        _show_proof(proof)


def _contents(exported: ExportResult) -> str:
    episodes = counted(len(exported.episodes), "episode")
    layout = exported.layout
    if layout is None:
        return f"{episodes}, every stream at its own rate"
    rows = sum(episode.rows for episode in exported.episodes)
    return (
        f"{episodes}, {counted(rows, 'row')} at {layout.rate_hz:g} Hz, "
        f"{counted(len(layout.columns), 'column')}, {counted(len(layout.cameras), 'camera')}"
        + "".join(f"\n{part}: {streams}" for part, streams in layout.composition.items())
    )


def _remarks(exported: ExportResult) -> list[str]:
    filled: dict[str, int] = {}
    for episode in exported.episodes:
        for key, rows in episode.filled.items():
            filled[key] = filled.get(key, 0) + rows
    gaps = {key: counted(rows, "row") for key, rows in filled.items()}
    lines = [f"{key}: {rows} in a gap of the stream, with the nearest value repeated"
             for key, rows in gaps.items()]  # fmt: skip
    movies = [movie for episode in exported.episodes
              for movie in episode.details.get("movies", {}).values()]  # fmt: skip
    if exported.layout is not None and exported.job.options.without_action:
        lines.append("no action, as asked for: nothing that acts can be trained on it")
    mended = sum(int(movie["mended"]) for movie in movies)
    if mended:
        lines.append(f"{counted(mended, 'picture')} encoded anew; all others copied as they are")
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


def next_lines(exported: ExportResult) -> tuple[str, ...]:
    """What to type next: to train on a dataset, if it has an action to train on."""
    out, format_name = exported.out, exported.job.format
    if format_name == "lerobot" and not exported.job.options.without_action:
        return (
            f"corporeal smoke-train {out}",
            f"lerobot-train --dataset.repo_id=local/{out.name} --dataset.root={out} "
            "--policy.type=act --policy.push_to_hub=false --output_dir=out/train",
        )
    if format_name == "rrd":
        return (f"rerun {out}/episode_000000.rrd",)
    return (f"corporeal check {out}",) if format_name != "episodes" else (f"corporeal info {out}",)


def edit(
    paths: Sequence[Path],
    out: Path,
    choices: EditChoices,
    *,
    episodes: Sequence[int] | None = None,
) -> tuple[ExportResult, Proof | None]:
    """Write these episodes of these datasets into a new one of the first one's format."""
    for path in paths:
        _require_dataset(path)
    options, normalisation = options_of(paths)
    numbers = None if episodes is None else tuple(episodes)
    return run(
        rows_opener(paths),
        out,
        format_of(paths[0]),
        replace(options, episodes=numbers, jobs=choices.jobs),
        verify=choices.verify,
        python=choices.python,
        normalisation=normalisation,
    )


def edit_and_report(
    paths: Sequence[Path],
    out: Path,
    choices: EditChoices,
    *,
    as_json: bool,
    episodes: Sequence[int] | None = None,
) -> None:
    """Edit, and print what was made and proved."""
    exported, proof = edit(paths, out, choices, episodes=episodes)
    after = (f"corporeal check {out}",)
    report(exported, proof, as_json=as_json, after=after, may_lose=True)


def numbers_in(path: Path, wanted: Sequence[int] = ()) -> tuple[int, ...]:
    """All numbers of a dataset's episodes, when every wanted one is among them."""
    _require_dataset(path)
    there = episode_numbers(path)
    strange = sorted(set(wanted) - set(there))
    if strange:
        raise CorporealError(
            f"{path} has no episode {', '.join(map(str, strange[:8]))}; it has {len(there)}, "
            f"numbered {min(there)} to {max(there)}. Nothing was written."
        )
    return there


def _require_dataset(path: Path) -> None:
    if not path.exists():
        raise CorporealError(f"{path} does not exist; expected a dataset.")


def smoke_first(
    opener: Callable[[], Dataset], options: ExportOptions, *, python: str | None
) -> None:
    """Export the first episodes to LeRobot, train on them, and stop when that fails."""
    report = smoke_on(opener, options, python=python)
    show_smoke(report)
    if not report.passed:
        raise CorporealError(
            "smoke training failed, so nothing was exported: " + "; ".join(report.reasons) + "."
        )


def smoke_on(
    opener: Callable[[], Dataset],
    options: ExportOptions,
    *,
    steps: int = 20,
    policies: tuple[str, ...] = ("act", "diffusion"),
    python: str | None = None,
) -> SmokeReport:
    """Train on the first episodes of any dataset, which are converted to LeRobot for it."""
    with tempfile.TemporaryDirectory(prefix="corporeal-smoke-") as folder:
        numbers = opener().episodes[:FIRST]
        with stderr().status(f"exporting the first {len(numbers)} episodes"):
            some = replace(options, episodes=numbers, weights=None, on="processes", jobs=1)
            export(opener, Path(folder) / "first", "lerobot", some)
        with stderr().status(f"training on {len(numbers)} episodes"):
            return smoke_train(
                Path(folder) / "first", policies=policies, steps=steps, python=python
            )


def show_smoke(report: SmokeReport) -> None:
    """The losses, for people."""
    table = make_table("policy", "loss, first to last", "steps", "seconds", "")
    for each in report.runs:
        mark = Text("trains", style="green")
        if not each.passed:
            mark = Text("; ".join(each.reasons), style="red")
        ends = f"{each.losses[0]:.3g} to {each.losses[-1]:.3g}" if each.losses else "-"
        table.add_row(each.policy, ends, str(len(each.losses)), f"{each.seconds:.1f}", mark)
    console().print(table)
    for hand in report.hands:
        console().print(
            f"{hand.name} from the joints, in seconds held out: off by {hand.error:.3g}, the mean "
            f"by {hand.guess:.3g}: {'it can be learnt' if hand.learnt else 'not learnt'}",
            style=None if hand.learnt else "yellow",
        )
    for key in report.hands_beside:
        console().print(f"{key} is no part of the action: no policy learns it", style="red")
    console().print(f"trained by {report.library} {report.version}", style="dim")
