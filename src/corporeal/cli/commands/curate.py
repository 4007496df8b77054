"""`corporeal curate`: which demonstrations are worth training on, and why the others are not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from corporeal import catalog
from corporeal.capture.thumbnail import jpeg
from corporeal.catalog.permission import sees_everybody
from corporeal.cli.command import Command, option
from corporeal.cli.export_options import CORES, Data, Jobs, On, Robot
from corporeal.cli.output import (
    AsJson,
    console,
    make_table,
    print_json,
    show_progress,
    stderr,
)
from corporeal.cli.sources import opener_of
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace, read_catalog
from corporeal.curation import choice as choosing
from corporeal.curation.choice import Choice
from corporeal.curation.comparison import compare_selections
from corporeal.curation.gradients import read_gradients
from corporeal.curation.kept_selections import find_selection, keep_selection
from corporeal.curation.method import find_methods
from corporeal.curation.pool import Demonstration, make_pool, read_demonstration
from corporeal.curation.report import write_report
from corporeal.curation.selection import CurationSelection
from corporeal.curation.summary import CurationSummary, summarise
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.quality import Subject
from corporeal.quality.check import title_of
from corporeal.quality.inspection import EpisodeReport, InspectionOptions, inspect
from corporeal.quality.policy import open_policy
from corporeal.quality.scoring import Measured, measure, open_weighting, score_batch
from corporeal.words import counted, percent

_SHOWN, _PICTURES, _PICTURE_WIDTH = 20, 6, 200
_OPERATOR = "operator"


def curate(
    paths: Data = None,
    keep: Annotated[float, option("The share of every task to keep.", min=0.001, max=1)] = 0.33,
    by: Annotated[
        str, option("Methods, with commas; --methods lists them.", metavar="METHOD")
    ] = "duplicates,quality",
    name: Annotated[str, option("What the selection is called.")] = "curated",
    out: Annotated[Path | None, option("Write the selection, a .json file.", "--out", "-o")] = None,
    report: Annotated[Path | None, option("Write an HTML page to look at.")] = None,
    rollouts: Annotated[
        list[Path] | None,
        option("Episodes of a policy that was trained on these, with outcomes; repeatable."),
    ] = None,
    gradients: Annotated[
        Path | None, option("Gradients of steps from your training, an .npz file.")
    ] = None,
    weighted: Annotated[
        bool, option("Leave nothing out that is no fault: weigh it by its rank.", "--weighted")
    ] = False,
    against: Annotated[
        str | None, option("A selection to compare with: a file, or NAME@VERSION with -w.")
    ] = None,
    seed: Annotated[int, option("Another seed is another chance.", min=0)] = 0,
    methods: Annotated[
        bool, option("Say which methods there are and what they need.", "--methods")
    ] = False,
    robot: Robot = None,
    root: WorkspaceOption = None,
    on: On = "processes",
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Choose demonstrations to train on; each is kept or left out with a reason.

    With -w the selection is kept as a version in the catalogue, for release create --selection.
    Nothing is changed or deleted.

    Example: [bold]corporeal curate 'task = reach' -w lab --keep 0.33 --report cut.html[/bold]
    """
    if methods:
        _list_methods(as_json=as_json)
        return
    _check_out(out, report)
    wanted = [each.strip() for each in by.split(",") if each.strip()]
    with ExitStack() as stack:
        dataset = opener_of(_words(paths, root), robot, stack, root=root)
        episodes, unreadable = _read(dataset, wanted, root, on=on, jobs=jobs)
        rolled = _read_rollouts(rollouts or [], robot, stack)
        table = None if gradients is None else read_gradients(gradients)
        pooled = make_pool(episodes, rollouts=rolled, gradients=table, unreadable=unreadable)
        choice = choosing.curate(pooled, wanted, keep=keep, seed=seed, weighted=weighted)
        hidden, actor = _hidden(root)
        with stderr().status("comparing with the baselines"):
            figures = summarise(choice, hidden=hidden)
        if report is not None:
            shown = _pictures(choice, dataset())
            write_report(choice, figures, report, of=_of(paths), pictures=shown)
    made = choice.to_selection(name, "1.0.0", of=_of(paths), by=actor)
    made, is_new = _keep(made, root)
    if out is not None:
        atomic_write(out, json.dumps(made.model_dump(mode="json", exclude_none=True), indent=1))
    other = None if against is None else _find(against, root)
    if as_json:
        print_json(_facts(made, figures, choice, other) | {"is_new": is_new})
        return
    _show(made, choice, figures, root=root, out=out, is_new=is_new)
    if other is not None:
        console().print(f"beside {other.reference}: {compare_selections(other, made)}")


def _words(paths: Sequence[Path] | None, root: Path | None) -> list[Path]:
    if paths:
        return list(paths)
    if root is None and not catalog.workspace.is_here():
        raise CorporealError("curate, got no data; expected files, datasets, or with -w a query. "
                             "Name some: corporeal curate FOLDER.")  # fmt: skip
    return [Path("state in (accepted, annotated, released, quarantined)")]


def _of(paths: Sequence[Path] | None) -> str:
    return " ".join(map(str, paths)) if paths else "the workspace"


def _check_out(out: Path | None, report: Path | None) -> None:
    """Before anything is read: where the results go."""
    if out is not None and out.suffix != ".json":
        raise CorporealError(f"--out, got {out}; expected a name that ends in .json.")
    for path in (out, report):
        if path is not None and not path.parent.is_dir():
            raise CorporealError(f"{path}: no folder {path.parent}; expected one that is there. "
                                 "Make it first.")  # fmt: skip


def _list_methods(*, as_json: bool) -> None:
    every = find_methods()
    if as_json:
        print_json({
            name: {"title": each.title, "needs": each.needs, "is_baseline": each.is_baseline}
            for name, each in every.items()
        })  # fmt: skip
        return
    table = make_table("method", "keeps", "needs", "")
    for name, each in every.items():
        table.add_row(name, each.title, each.needs, "baseline" if each.is_baseline else "")
    console().print(table)


def _read(
    opener: Any, wanted: Sequence[str], root: Path | None, *, on: str, jobs: int
) -> tuple[list[Demonstration], dict[str, str]]:
    """Every demonstration with what its methods need: verdicts, scores, or neither."""
    every = find_methods()
    asked = [every[name] for name in wanted if name in every]
    verdicts: dict[int, EpisodeReport] = {}
    known = _stored(opener(), root) if root is not None else {}
    dataset = opener()
    if any(each.wants_verdicts for each in asked) and not known:
        request = InspectionOptions(policy=open_policy(None), pictures=False, quick=True)
        with show_progress("checking") as bar:
            judged = inspect(opener, request, on=on, jobs=jobs, on_start=bar.start,
                             on_episode=bar.advance)  # fmt: skip
        verdicts = {each.index: each for each in judged.episodes}
    wants_scores = any(each.wants_scores for each in asked)
    episodes: list[Demonstration] = []
    measured: list[Measured] = []
    unreadable: dict[str, str] = {}
    with show_progress("reading", len(dataset.episodes)) as bar:
        for number in dataset.episodes:
            try:
                subject = Subject(dataset.open(number))
                episodes.append(read_demonstration(subject))
                if wants_scores:
                    measured.append(measure(subject))
            except CorporealError as error:
                unreadable[str(number)] = str(error)
            bar.advance()
    if wants_scores:
        scored = {each.index: each for each in score_batch(measured, open_weighting("default"))}
        episodes = [
            replace(each, score=scored.get(each.index),
                    total=scored[each.index].total if each.index in scored else None)
            for each in episodes
        ]  # fmt: skip
    return [_judged(each, verdicts, known) for each in episodes], unreadable


def _judged(
    episode: Demonstration, verdicts: dict[int, EpisodeReport], known: dict[str, Any]
) -> Demonstration:
    """With what checks or the catalogue say of it."""
    row = known.get(episode.id)
    if row is not None:
        total = row["score"] if row["score"] is not None else episode.total
        return replace(episode, verdict=row["verdict"], findings=row["findings"], total=total)
    report = verdicts.get(episode.index)
    if report is None:
        return episode
    grave = [each for each in report.findings if each.severity in ("fail", "quarantine")]
    words = tuple(f"{title_of(each.check)}, {each.message}" for each in grave)
    return replace(episode, verdict=report.verdict, findings=words)


def _stored(dataset: Dataset, root: Path) -> dict[str, Any]:
    """What the catalogue says of the episodes of this dataset that it has, by id."""
    names = [dataset.open(number).id for number in dataset.episodes]
    with read_catalog(root, "read") as connection:
        asked = catalog.query.condition_sql(catalog.query.OneOf("id", tuple(names)))
        rows = list(catalog.query.read_fields(connection, "id", "verdict", "score", where=asked))
        grave = catalog.episodes.gravest_findings(connection, names)
    return {
        row[0]: {
            "verdict": row[1], "score": row[2],
            "findings": (f"{title_of(grave[row[0]].check)}, {grave[row[0]].message}",)
            if row[0] in grave else (),
        }
        for row in rows
    }  # fmt: skip


def _read_rollouts(
    paths: Sequence[Path], robot: str | None, stack: ExitStack
) -> list[Demonstration]:
    if not paths:
        return []
    dataset = opener_of(list(paths), robot, stack)()
    with show_progress("reading rollouts", len(dataset.episodes)) as bar:
        rolled = []
        for number in dataset.episodes:
            rolled.append(read_demonstration(Subject(dataset.open(number))))
            bar.advance()
    return rolled


def _hidden(root: Path | None) -> tuple[tuple[str, ...], str | None]:
    """What a report must not count by, and who asks."""
    if root is None:
        return (), None
    with enter_workspace(root, "judge") as (_, actor):
        return (() if sees_everybody(actor) else (_OPERATOR,)), actor.name


def _keep(made: CurationSelection, root: Path | None) -> tuple[CurationSelection, bool]:
    if root is None:
        return made, True
    with enter_workspace(root, "judge") as (workspace, actor), workspace.database.write() as writer:
        return keep_selection(writer, actor, made)


def _find(word: str, root: Path | None) -> CurationSelection:
    if Path(word).is_file():
        return CurationSelection.load(word)
    if root is None:
        raise CorporealError(f"--against, got {word!r}; expected the file of a selection, or with "
                             "-w its NAME@VERSION.")  # fmt: skip
    with read_catalog(root, "read") as connection:
        return find_selection(connection, word)


def _pictures(choice: Choice, dataset: Dataset) -> dict[int, bytes]:
    """A picture of the middle of some that are kept, best first, and of some that are not."""
    order = sorted(range(len(choice.pool)), key=lambda n: -float(choice.weights[n]))
    chosen = [n for n in order if choice.kept[n]][:_PICTURES]
    chosen += [n for n in reversed(order) if not choice.kept[n]][:_PICTURES]
    pictures: dict[int, bytes] = {}
    for number in chosen:
        try:
            footage = Subject(dataset.open(choice.pool.episodes[number].index)).footage
            camera = next((each for each in footage.values() if len(each)), None)
            if camera is not None:
                pictures[number] = jpeg(camera[len(camera) // 2], width=_PICTURE_WIDTH)
        except CorporealError:
            continue  # Without a picture the words are still there.
    return pictures


def _facts(
    made: CurationSelection, figures: CurationSummary, choice: Choice,
    other: CurationSelection | None,
) -> dict[str, Any]:  # fmt: skip
    values = {
        "selection": made.model_dump(mode="json", exclude_none=True),
        "kept": len(made.kept),
        "summary": figures.to_json(),
        "uncertainty": {
            name: dict(zip((each.id for each in choice.pool.episodes),
                           map(float, scores.uncertainty), strict=True))
            for name, scores in choice.scores.items()
        },
        "figures": {name: dict(scores.figures) for name, scores in choice.scores.items()},
        "unreadable": dict(choice.pool.unreadable),
    }  # fmt: skip
    if other is not None:
        difference = compare_selections(other, made)
        values["against"] = {"selection": other.reference, "likeness": difference.likeness,
                             **vars(difference)}  # fmt: skip
    return values


def _show(
    made: CurationSelection, choice: Choice, figures: CurationSummary, *,
    root: Path | None, out: Path | None, is_new: bool,
) -> None:  # fmt: skip
    page = console()
    kept = len(made.kept)
    page.print(Text(f"{kept} of {counted(len(made.episodes), 'demonstration')} kept", "bold"))
    for name, why in choice.refused.items():
        page.print(f"{name} could not say: {why}", style="yellow")
    table = make_table("", "episodes", "minutes", "median", "succeeded", "score", "the same",
                       "diversity", right=("episodes", "minutes", "median"))  # fmt: skip
    for each in figures.sets:
        table.add_row(
            each.name, str(each.episodes), f"{each.minutes:.1f}",
            "" if each.median_s is None else f"{each.median_s:.1f} s",
            "not known" if each.success is None else percent(each.success),
            "none" if each.score is None else f"{each.score:.2f}",
            "" if each.name in ("all", "chosen") else percent(each.overlap),
            f"{each.vendi['1']:.1f}",
        )  # fmt: skip
    page.print(table)
    left = make_table("left out", "episodes", right=("episodes",))
    for why, count in figures.reasons:
        left.add_row(why, str(count))
    if figures.reasons:
        page.print(left)
    for number, why in list(choice.pool.unreadable.items())[:_SHOWN]:
        stderr().print(f"{number} was not read: {why}", style="yellow")
    if root is not None:
        state = "kept as" if is_new else "the same as"
        page.print(f"{state} {made.reference}")
        page.print(f"next: corporeal release create NAME --selection {made.name} -w {root}")
    elif out is None:
        page.print("next: add --out selection.json to keep it, --report cut.html to look at it")
    else:
        page.print(f"next: corporeal export DATA --format lerobot --weights {out} --out dataset")


COMMAND = Command(curate, panel="Curate")
