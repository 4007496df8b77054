"""`corporeal retarget`: human motion becomes an episode of a robot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from corporeal.cli.command import Command, argument, option, read_pairs, spread_options
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import (
    AsJson,
    console,
    emphasise,
    make_table,
    print_json,
    show_progress,
    stderr,
)
from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.engines import import_mujoco
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.retargeting.goal import draft_map, open_map, robot_map
from corporeal.retargeting.job import (
    ClipJob,
    ClipOutcome,
    find_clips,
    jobs_of,
    run_in_worker,
    run_job,
)
from corporeal.retargeting.person import AXES, METRES
from corporeal.retargeting.reader import ClipHints, readers
from corporeal.retargeting.settings import POLICIES, RetargetSettings
from corporeal.retargeting.tracking import open_policy
from corporeal.runner import run, runner_of
from corporeal.words import counted, show_plainly

_hint = partial(option, rich_help_panel="What the file does not say")
_beside = partial(option, rich_help_panel="Beside the episode")
_fact = partial(option, rich_help_panel="What the episode says of itself")


@dataclass(frozen=True)
class RetargetChoices:
    """What people choose of a retargeting."""

    robot: Annotated[str, option("The robot: built-in, or its URDF, MJCF or document.")] = "g1"
    out: Annotated[Path | None, option("The episode; a folder for many clips.", "--out", "-o")] = (
        None
    )
    policy: Annotated[str, option("Frames out of reach: clip, interpolate, split or reject.")] = (
        "clip"
    )
    cutoff: Annotated[float, option("Low-pass without delay, Hz; 0 for none.", min=0)] = 5.0
    rate: Annotated[float | None, option("Frames per second of the result.", min=1, max=1000)] = (
        None
    )
    ease: Annotated[bool, option("Keep torques within what motors have.", "--ease/--no-ease")] = (
        True
    )
    mapping: Annotated[
        Path | None, option("A retargeting map for a robot of your own.", "--map")
    ] = None
    draft_map: Annotated[bool, option("Print a map of the robot to start from.", "--draft-map")] = (
        False
    )
    kind: Annotated[str | None, _hint("The clip's format.", "--format")] = None
    skeleton: Annotated[str | None, _hint("A skeleton or marker set, ready or yours.")] = None
    unit: Annotated[str | None, _hint("m, cm, mm or in.")] = None
    up: Annotated[str | None, _hint("x, y, z, -x, -y or -z.")] = None
    clip_rate: Annotated[float | None, _hint("Samples per second.", min=1, max=2000)] = None
    bones: Annotated[Path | None, _hint("The ASF of an AMC.")] = None
    person: Annotated[str | None, _hint("Whom to follow of several.")] = None
    preview: Annotated[Path | None, _beside("Both: .mp4, .png or .rrd; a folder for many.")] = None
    report: Annotated[Path | None, _beside("Figures: .png, .svg or .pdf; or a folder.")] = None
    track: Annotated[bool, _beside("Try it in physics.", "--track")] = False
    tracker: Annotated[Path | None, _beside("With this ONNX network (and --track).")] = None
    operator: Annotated[str | None, _fact("Who retargets it.")] = None
    demonstrator: Annotated[str | None, _fact("Who moved.")] = None
    consent: Annotated[str | None, _fact("That of the demonstrator: its record.")] = None
    task: Annotated[str | None, _fact("The clip's name if none.")] = None
    meta: Annotated[list[str] | None, _fact("Another metadata field, NAME=VALUE.")] = None
    on: On = "processes"
    jobs: Jobs = CORES

    @property
    def hints(self) -> ClipHints:
        """What the clip's file does not say."""
        return ClipHints(self.skeleton, self.unit, self.up, self.clip_rate, self.bones, self.person)

    @property
    def settings(self) -> RetargetSettings:
        """How the solve goes."""
        policy = next((name for name in POLICIES if name == self.policy), None)
        if policy is None:
            raise UnknownNameError("policy", self.policy, POLICIES)
        return RetargetSettings(
            cutoff_hz=self.cutoff or None, rate_hz=self.rate, policy=policy, ease=self.ease
        )

    @property
    def facts(self) -> dict[str, str]:
        """What the episode says of itself."""
        stated = {"operator": self.operator, "demonstrator": self.demonstrator,
                  "consent": self.consent, "task": self.task}  # fmt: skip
        facts = {name: value for name, value in stated.items() if value}
        return facts | read_pairs(self.meta, "--meta")


@spread_options
def retarget(
    choices: RetargetChoices,
    clips: Annotated[
        list[Path] | None, argument("BVH, AMC, C3D, CSV, NPZ, NPY, JSON; or folders.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn human motion into a robot's: feet hold, limits hold, nothing collides.

    The result is an ordinary episode; [bold]corporeal check[/bold] judges it by the usual gates.
    Of many clips, those that are there already are kept; interrupted, it goes on. Exit 0 when
    every clip gave an episode, 1 when one gave none or its solve did not come to an end, 2 when
    the one clip or an option is no good.

    Example: [bold]corporeal retarget walk.bvh --robot g1 --out walk.h5 --preview walk.mp4[/bold]
    """
    model = open_robot(choices.robot)
    if choices.draft_map:
        _print_draft(model, as_json=as_json)
        return
    jobs = _plan(clips or [], model, choices)
    outcomes, refused = run_clips(jobs, choices.on, choices.jobs)
    if as_json:
        print_json({
            "clips": [outcome.to_json() for outcome in outcomes],
            "refused": {str(clip): str(error) for clip, error in refused.items()},
        })  # fmt: skip
    elif outcomes or len(jobs) > 1:
        show_clips(outcomes, refused)
    if len(jobs) == 1 and refused:
        raise next(iter(refused.values()))
    raise typer.Exit(0 if not refused and all(outcome.good for outcome in outcomes) else 1)


def _plan(clips: list[Path], robot: Embodiment, choices: RetargetChoices) -> list[ClipJob]:
    """A job for every clip; every mistake in the options is found before a clip is read."""
    settings = choices.settings
    if choices.out is None:
        raise CorporealError("no --out; name the episode to write, or a folder for many clips.")
    _check_hints(choices.hints, choices.kind)
    runner_of(choices.on)
    document = None if choices.mapping is None else open_map(choices.mapping)
    robot_map(robot, document)
    like = ClipJob(
        clip=Path(),
        episode=choices.out,
        robot=robot,
        mapping=document,
        hints=choices.hints,
        kind=choices.kind,
        settings=settings,
        preview=choices.preview,
        report=choices.report,
        tracked=choices.track or choices.tracker is not None,
        tracker=choices.tracker,
        facts=choices.facts,
    )
    files = find_clips(clips, kind=choices.kind)
    many = len(files) > 1 or any(path.is_dir() for path in clips)
    jobs = jobs_of(files, like, many=many)
    for job in jobs:
        job.check()
    if like.tracked:
        _check_physics(robot, choices.tracker)
    return jobs


def _print_draft(robot: Embodiment, *, as_json: bool) -> None:
    """The map of a robot as a document, to be looked over and given back with --map.

    What could not be told stands in it as comments.
    """
    draft = draft_map(robot)
    document = draft.document.model_dump(mode="json", exclude_none=True)
    if as_json:
        print_json(document)
    else:
        typer.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
        for sentence in draft.missing:
            typer.echo(f"# missing {show_plainly(' '.join(sentence.split()))}")
    if draft.missing:
        count = counted(len(draft.missing), "thing")
        message = f"the map is a part of one: {count} could not be told"
        names = ", ".join(sentence.split(":")[0] for sentence in draft.missing)
        stderr().print(f"{message} ({names})", style="yellow", markup=False, soft_wrap=True)


def _check_hints(hints: ClipHints, kind: str | None) -> None:
    """Raise an error that lists the valid ones for a word that no reader knows."""
    for what, word, known in (
        ("--format", kind, readers()),
        ("--unit", hints.unit, METRES),
        ("--up", hints.up, AXES),
    ):
        if word is not None and word not in known:
            raise UnknownNameError(what, word, known)
    if hints.bones is not None and not hints.bones.is_file():
        raise CorporealError(f"{hints.bones}: no such file; expected the ASF of an AMC.")


def _check_physics(robot: Embodiment, tracker: Path | None) -> None:
    """Raise an error where a motion could not be tried in physics, before any is made."""
    import_mujoco()
    if tracker is not None:
        open_policy(tracker, robot)


_MOST, _FEW = 60, 3

Refused = dict[Path, CorporealError]


def run_clips(jobs: list[ClipJob], on: str, workers: int) -> tuple[list[ClipOutcome], Refused]:
    """All jobs, one here with its stages shown or many in other processes; and who refused."""
    outcomes: dict[int, ClipOutcome] = {}
    refused: Refused = {}
    if len(jobs) == 1:
        with show_progress("reading", 1.0, counted=False) as bar:
            try:
                outcomes[0] = run_job(jobs[0], bar.move)
            except CorporealError as error:
                refused[jobs[0].clip] = error
        return list(outcomes.values()), refused
    with show_progress("retargeting", len(jobs)) as bar:
        for done in run(run_in_worker, jobs, on=on, jobs=workers):
            if done.value is not None:
                outcomes[done.place] = done.value
            elif done.error is not None:
                refused[jobs[done.place].clip] = done.error
            bar.advance()
    return [outcomes[place] for place in sorted(outcomes)], refused


def show_clips(outcomes: list[ClipOutcome], refused: Refused) -> None:
    """One clip with all that was measured, or many with a line each; then what to do next."""
    page = console()
    if len(outcomes) == 1 and not refused:
        _show_one(page, outcomes[0])
    else:
        _show_many(page, outcomes, refused)
    written = [path for each in outcomes for path in each.episodes]
    if written:
        few = written if len(written) <= _FEW else [_shared_folder(written)]
        where = " ".join(str(path) for path in few)
        page.print(f"\nnext: corporeal check {where}", soft_wrap=True)


def _show_one(page: Console, each: ClipOutcome) -> None:
    where = ", ".join(str(path) for path in each.episodes) or "no episode"
    again = " (was there already)" if each.was_there else ""
    page.print(emphasise(each.clip.name, f" -> {where}{again}"), soft_wrap=True)
    table = make_table()
    for name, value in each.table:
        table.add_row(name, value)
    if each.table:
        page.print(Padding(table, (0, 0, 0, 2)))
    for sentence, style in (*((note, "dim") for note in each.notes), *_judged(each)):
        page.print(Padding(Text(sentence, style=style), (0, 0, 0, 2)))


def _show_many(page: Console, outcomes: list[ClipOutcome], refused: Refused) -> None:
    table = make_table("clip", "episode", "frames", "hands off", "feet off", "to be said",
                       right=("hands off", "feet off"))  # fmt: skip
    troubled = sorted(outcomes, key=lambda each: each.good and not each.infeasible)
    for each in troubled[:_MOST]:
        said = "; ".join(sentence for sentence, _ in _judged(each))
        names = ", ".join(path.name for path in each.episodes) or "none"
        known = "there already" if each.was_there else ""
        table.add_row(
            each.clip.name,
            names,
            str(each.frames),
            _mean(each, "hand_error"),
            _mean(each, "foot_error"),
            "; ".join(filter(None, (said, known))),
            style="" if each.good else "yellow",
        )
    page.print(table)
    if len(troubled) > _MOST:
        page.print(f"and {len(troubled) - _MOST} more; all of them: --json")
    for clip, error in refused.items():
        stderr().print(f"{clip.name}: {error}", style="yellow", markup=False, soft_wrap=True)
    new = sum(not each.was_there and bool(each.episodes) for each in outcomes)
    there = sum(each.was_there for each in outcomes)
    none = len(refused) + sum(not each.episodes for each in outcomes)
    page.print(f"\n{new} new, {there} there already, {none} without an episode")


def _mean(each: ClipOutcome, name: str) -> str:
    spread = (each.metrics or {}).get(name)
    return f"{100 * spread['mean_m']:.1f} cm" if isinstance(spread, dict) else "-"


def _judged(each: ClipOutcome) -> Iterator[tuple[str, str]]:
    """What is to be said against a result, and how it fared in physics; with a style."""
    if each.infeasible:
        share = 100 * each.infeasible / max(1, each.frames)
        what = "cut out" if each.policy == "split" else "flagged"
        what = what if each.episodes else "so there is no episode"
        far = f"{each.infeasible} of {each.frames} frames ({share:.1f} %)"
        yield f"{far} are out of reach, {what}", "yellow"
    if not each.converged:
        yield "the solve did not come to an end; look at a --preview", "yellow"
    if each.tracked is not None:
        fell = each.tracked["fell_at_s"]
        end = "survived" if fell is None else f"fell at {fell:.1f} s"
        error = 100 * each.tracked["keypoint_error_m"]["mean"]
        yield f"in physics ({each.tracked['method']}): {end}, {error:.1f} cm from the motion", ""


def _shared_folder(paths: list[Path]) -> Path:
    """The folder in which all of them are."""
    first = paths[0].parent
    while not all(path.is_relative_to(first) for path in paths):
        first = first.parent
    return first


COMMAND = Command(retarget, panel="Retarget")
