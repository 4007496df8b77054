"""`corporeal retarget`: human motion becomes an episode of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
import yaml

from corporeal.cli.command import Command, spread_options
from corporeal.cli.export_options import CORES, Jobs, On
from corporeal.cli.output import AsJson, print_json
from corporeal.cli.retargeted_clips import run_clips, show_clips
from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.engines import import_mujoco
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.retargeting.goal import draft_map, open_map, robot_map
from corporeal.retargeting.job import ClipJob, find_clips, jobs_of
from corporeal.retargeting.person import AXES, METRES
from corporeal.retargeting.reader import ClipHints, readers
from corporeal.retargeting.settings import POLICIES, RetargetSettings
from corporeal.retargeting.tracking import open_policy
from corporeal.runner import runner_of

_HINTS = "What the file does not say"
_BESIDE = "Beside the episode"
_KNOWN = "What the episode says of itself"


@dataclass(frozen=True)
class RetargetChoices:
    """What people choose of a retargeting."""

    robot: Annotated[
        str, typer.Option(help="The robot: a ready name, or its URDF, MJCF or document.")
    ] = "g1"
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The episode; a folder for many clips.")
    ] = None
    policy: Annotated[
        str, typer.Option(help="Frames out of reach: clip, interpolate, split or reject.")
    ] = "clip"
    cutoff: Annotated[
        float, typer.Option(min=0, help="Low-pass without delay, Hz; 0 for none.")
    ] = 5.0
    rate: Annotated[
        float | None, typer.Option(min=1, max=1000, help="Frames per second of the result.")
    ] = None
    ease: Annotated[
        bool, typer.Option("--ease/--no-ease", help="Keep torques within what motors have.")
    ] = True
    mapping: Annotated[
        Path | None, typer.Option("--map", help="A retargeting map for a robot of your own.")
    ] = None
    draft_map: Annotated[
        bool, typer.Option("--draft-map", help="Print a map of the robot to start from.")
    ] = False
    kind: Annotated[
        str | None, typer.Option("--format", help="The clip's format.", rich_help_panel=_HINTS)
    ] = None
    skeleton: Annotated[
        str | None,
        typer.Option(help="A skeleton or marker set, ready or yours.", rich_help_panel=_HINTS),
    ] = None
    unit: Annotated[str | None, typer.Option(help="m, cm, mm or in.", rich_help_panel=_HINTS)] = (
        None
    )
    up: Annotated[
        str | None, typer.Option(help="x, y, z, -x, -y or -z.", rich_help_panel=_HINTS)
    ] = None
    clip_rate: Annotated[
        float | None,
        typer.Option(min=1, max=2000, help="Samples per second.", rich_help_panel=_HINTS),
    ] = None
    bones: Annotated[
        Path | None, typer.Option(help="The ASF of an AMC.", rich_help_panel=_HINTS)
    ] = None
    person: Annotated[
        str | None, typer.Option(help="Whom to follow of several.", rich_help_panel=_HINTS)
    ] = None
    preview: Annotated[
        Path | None,
        typer.Option(help="Both: .mp4, .png or .rrd; a folder for many.", rich_help_panel=_BESIDE),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(help="Figures: .png, .svg or .pdf; or a folder.", rich_help_panel=_BESIDE),
    ] = None
    track: Annotated[
        bool,
        typer.Option("--track", help="Try it in physics.", rich_help_panel=_BESIDE),
    ] = False
    tracker: Annotated[
        Path | None,
        typer.Option(help="With this ONNX network (and --track).", rich_help_panel=_BESIDE),
    ] = None
    operator: Annotated[
        str | None, typer.Option(help="Who retargets it.", rich_help_panel=_KNOWN)
    ] = None
    demonstrator: Annotated[str | None, typer.Option(help="Who moved.", rich_help_panel=_KNOWN)] = (
        None
    )
    consent: Annotated[
        str | None,
        typer.Option(help="That of the demonstrator: its record.", rich_help_panel=_KNOWN),
    ] = None
    task: Annotated[
        str | None, typer.Option(help="The clip's name if none.", rich_help_panel=_KNOWN)
    ] = None
    meta: Annotated[
        list[str] | None,
        typer.Option(help="Another metadata field, NAME=VALUE.", rich_help_panel=_KNOWN),
    ] = None
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
        for text in self.meta or []:
            name, sign, value = text.partition("=")
            if not sign or not name:
                raise CorporealError(f"--meta, got {text!r}; expected NAME=VALUE.")
            facts[name] = value
        return facts


@spread_options
def retarget(
    choices: RetargetChoices,
    clips: Annotated[
        list[Path] | None, typer.Argument(help="BVH, AMC, C3D, CSV, NPZ, NPY, JSON; or folders.")
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
    """The map of a robot as a document, to be looked over and given back with --map."""
    document = draft_map(robot).model_dump(mode="json", exclude_none=True)
    if as_json:
        print_json(document)
    else:
        typer.echo(yaml.safe_dump(document, sort_keys=False), nl=False)


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


COMMAND = Command(retarget, panel="Retargeting")
