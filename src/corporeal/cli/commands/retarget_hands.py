"""`corporeal retarget-hands`: what people's hands did, as episodes of a robot."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from corporeal.cli.command import Command, option
from corporeal.cli.export_options import CORES, Jobs
from corporeal.cli.output import (
    AsJson,
    console,
    make_table,
    print_json,
    print_result,
    show_progress,
    stderr,
)
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.files import publish_file
from corporeal.runner import run
from corporeal.teleoperation.hands import REACHED_M, follow_hands, write_episode
from corporeal.teleoperation.operator_input import input_sources, read_inputs
from corporeal.words import counted, percent

# Less than this share within reach is no motion of this robot.
_LEAST_REACHED = 0.5
# So many files are looked at in a folder.
_MOST_FILES = 100_000


def retarget_hands(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Hands of WebXR, Aria, HOT3D, EgoDex, Vision Pro, gloves, episodes; or folders."
        ),
    ],
    out: Annotated[Path, option("The episode to write; a folder for several.", "--out", "-o")],
    robot: Annotated[str, option("The robot: built-in, or its URDF, MJCF or document.")] = "g1",
    rate_hz: Annotated[float, option("Rate of the episode.", "--rate", min=10.0, max=200.0)] = 50.0,
    task: Annotated[str | None, option("The task that was shown.")] = None,
    instruction: Annotated[str | None, option("What the person was asked to do.")] = None,
    operator: Annotated[str | None, option("Who it was; stored in the episode.")] = None,
    jobs: Jobs = CORES,
    as_json: AsJson = False,
) -> None:
    """Turn hands that a headset or glasses saw into episodes of a robot.

    Arms follow the hands in true size, within all limits and clear of the robot's body; the robot
    stands where most of the hands' places are in reach. What was away for longer than 0.1 s is
    not made up: arm and gripper wait, and the episode says so. Pictures of a recorded episode come
    along.

    Several recordings, or a folder of them, become a folder of episodes; those that are there
    already are left as they are, so that the same command goes on after an interruption.

    Exit 1 when less than half of what was seen is within 2 cm, or a recording cannot be read.

    Example: [bold]corporeal retarget-hands capture.json -o take.h5 --task fold[/bold]
    """
    given = {"task": task, "instruction": instruction, "operator": operator}
    facts = {name: value for name, value in given.items() if value}
    if len(sources) == 1 and not sources[0].is_dir() and out.suffix == ".h5":
        if out.exists():
            raise CorporealError(f"{out}: is there already. Name another --out.")
        result = _follow(_HandsJob(sources[0], out, robot, rate_hz, facts))
        print_result(as_json, result.to_json(),
                     f"{result.sentence}\nnext: corporeal check {result.episode}")  # fmt: skip
        raise typer.Exit(0 if result.is_reached else 1)
    open_robot(robot)
    work = [_HandsJob(source, out / f"{name}.h5", robot, rate_hz, facts)
            for source, name in _named(sources, out)]  # fmt: skip
    results, refused = _follow_all(work, jobs)
    if as_json:
        print_json({
            "episodes": [result.to_json() for result in results],
            "refused": {str(source): str(error) for source, error in refused.items()},
        })  # fmt: skip
    else:
        _show(results, refused, out)
    is_good = not refused and all(result.is_reached for result in results)
    raise typer.Exit(0 if is_good else 1)


@dataclass(frozen=True)
class _HandsJob:
    """One recording and the episode that it becomes."""

    source: Path
    out: Path
    robot: str
    rate_hz: float
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _HandsResult:
    """What became of one recording; `was_there` where an earlier run had written it."""

    source: Path
    episode: Path
    frames: int
    duration_s: float
    reached_share: float
    seen_share: float
    glitches: int
    was_there: bool = False

    @property
    def is_reached(self) -> bool:
        """Whether the robot gets to enough of it."""
        return self.reached_share >= _LEAST_REACHED

    @property
    def sentence(self) -> str:
        """The result for people."""
        said = (f"{self.episode}: {self.duration_s:.1f} s; hands seen in "
                f"{100 * self.seen_share:.0f} % of it, {100 * self.reached_share:.0f} % of "
                f"that within {100 * REACHED_M:.0f} cm")  # fmt: skip
        left_out = counted(self.glitches, "sample") + " that no hand can make left out"
        return f"{said}; {left_out}" if self.glitches else said

    def to_json(self) -> dict[str, Any]:
        """The same as JSON."""
        return {**vars(self), "source": str(self.source), "episode": str(self.episode)}


def _follow(job: _HandsJob) -> _HandsResult:
    """Write the episode of one recording."""
    motion = follow_hands(list(read_inputs(job.source)), open_robot(job.robot), rate_hz=job.rate_hz)
    job.out.parent.mkdir(parents=True, exist_ok=True)
    # A run that is killed leaves no half of an episode where the next one writes.
    with TemporaryDirectory(prefix=".", dir=job.out.parent) as folder:
        draft = write_episode(motion, job.source, Path(folder) / job.out.name, job.facts)
        publish_file(draft, job.out)
    return _HandsResult(
        job.source, job.out, len(motion.joints), len(motion.joints) / job.rate_hz,
        motion.reached_share, motion.seen_share,
        sum(track.glitches for track in motion.tracks.values()),
    )  # fmt: skip


def _follow_or_keep(_: None, job: _HandsJob) -> _HandsResult:
    """The same, unless an earlier run has written it; raises where something else is there."""
    if not job.out.exists():
        return _follow(job)
    with Episode(job.out) as episode:
        made = episode.metadata.get("hands_to_robot")
        is_same = (
            isinstance(made, Mapping)
            and episode.metadata.get("source_sha256") == _digest(job.source)
            and episode.metadata.get("robot") == open_robot(job.robot).name
        )
        if not is_same or not isinstance(made, Mapping):
            raise CorporealError(
                f"{job.out}: is there already and was made of something else. Name another --out."
            )
        frames = len(episode["actions/joint_position_target"])
    return _HandsResult(
        job.source, job.out, frames, frames / job.rate_hz, float(made["reached_share"]),
        float(made["seen_share"]), sum(made["glitches"].values()), was_there=True,
    )  # fmt: skip


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _follow_all(
    work: Sequence[_HandsJob], jobs: int
) -> tuple[list[_HandsResult], dict[Path, CorporealError]]:
    """All that can be made, in order, and why the others cannot."""
    results: dict[int, _HandsResult] = {}
    refused: dict[Path, CorporealError] = {}
    with show_progress("following hands", len(work)) as bar:
        for done in run(_follow_or_keep, work, on="processes", jobs=min(jobs, len(work))):
            if done.value is not None:
                results[done.place] = done.value
            elif done.error is not None:
                refused[work[done.place].source] = done.error
            bar.advance()
    return [results[place] for place in sorted(results)], refused


def _named(sources: Sequence[Path], out: Path) -> Iterator[tuple[Path, str]]:
    """Every recording with a name that no other has; raises CorporealError without any."""
    if out.suffix == ".h5":
        raise CorporealError(f"--out, got {out}; expected a folder for several recordings.")
    taken: set[str] = set()
    for source in sources:
        inside = sorted(_recordings(source, out)) if source.is_dir() else [source]
        for path in inside:
            parts = path.relative_to(source).with_suffix("").parts if source.is_dir() else ()
            name = "_".join(parts) or path.stem
            if name in taken:
                raise CorporealError(
                    f"{path}, got the name {name} twice; expected recordings of different names. "
                    "Name the folder above them, or one after the other."
                )
            taken.add(name)
            yield path, name
    if not taken:
        folders = ", ".join(str(source) for source in sources)
        raise CorporealError(
            f"{folders}, got no recording of hands; expected files of known kinds: "
            f"{', '.join(input_sources())}."
        )


def _recordings(folder: Path, out: Path) -> Iterator[Path]:
    """Files with hands in a folder and those below it, without what is written there."""
    known = [source for source in input_sources().values() if source.streams is None]
    for number, path in enumerate(folder.rglob("*")):
        if number >= _MOST_FILES:
            return
        if path.is_file() and not path.is_relative_to(out):
            # A file of another kind may be damaged: it is nobody's hands.
            with suppress(CorporealError, OSError, ValueError):
                if any(source.accepts(path) for source in known):
                    yield path


def _show(
    results: Sequence[_HandsResult], refused: Mapping[Path, CorporealError], out: Path
) -> None:
    page = console()
    table = make_table("recording", "episode", "s", "seen", "in reach", "",
                       right=("s", "seen", "in reach"))  # fmt: skip
    for result in results:
        table.add_row(
            result.source.name, result.episode.name, f"{result.duration_s:.1f}",
            percent(result.seen_share), percent(result.reached_share),
            "there already" if result.was_there else "",
            style=None if result.is_reached else "yellow",
        )  # fmt: skip
    page.print(table)
    for source, error in refused.items():
        stderr().print(f"{source}: {error}", style="yellow", markup=False, soft_wrap=True)
    there = sum(result.was_there for result in results)
    page.print(f"{len(results) - there} new, {there} there already, {len(refused)} refused")
    if results:
        page.print(f"next: corporeal check {out}", soft_wrap=True)


COMMAND = Command(retarget_hands, panel="Retarget")
