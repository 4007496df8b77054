"""`corporeal demo`: the main job on embedded defaults, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from corporeal.cli.command import Command
from corporeal.cli.commands.info import show
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.errors import EpisodeError

if TYPE_CHECKING:
    from corporeal.testing import Workload


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the demo.")] = Path("demo"),
    seconds: Annotated[float, typer.Option(min=0.5, max=60, help="Length of the episode.")] = 6.0,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another episode.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make a synthetic episode of a Unitree G1, check that it reads back, show what is in it.

    Example: [bold]corporeal demo --out demo[/bold]
    """
    from corporeal.embodiment.library import open_robot
    from corporeal.episode.episode import Episode
    from corporeal.episode.plot import plot_episode
    from corporeal.episode.summary import summarise
    from corporeal.episode.verification import verify
    from corporeal.testing import Workload

    workload = Workload(open_robot("g1"), duration_s=seconds, seed=seed)
    path = _free_name(workload, out)
    _write(workload, path)
    damage = verify(path)
    if damage:
        raise EpisodeError(f"{path}: {damage[0].path} {damage[0].message}.")
    picture = path.with_suffix(".png")
    with Episode.open(path) as episode:
        summary = summarise(episode)
        aligned = episode.align(rate_hz=50)
        plot_episode(episode).savefig(picture)
    if as_json:
        print_json({"episode": str(path), "picture": str(picture), **summary.to_json()})
        return
    page = console()
    page.print(show(summary))
    worst_ms = float(aligned.skew_ns.max()) / 1e6
    page.print(f"\nread back whole; aligned to 50 Hz: {len(aligned)} rows, "
               f"values of a row at most {worst_ms:.1f} ms apart")  # fmt: skip
    page.print(f"episode [bold]{path}[/bold]   picture [bold]{picture}[/bold]")
    page.print("next:")
    for line in (f"corporeal plot {path} -o page.png", f"corporeal verify {path}",
                 "corporeal robot show g1", "corporeal robot diff g1 g1_23dof"):  # fmt: skip
        page.print(f"  {line}")


def _free_name(workload: Workload, folder: Path) -> Path:
    """Episodes are immutable: the demo never writes over an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    index = 1
    while True:
        path = folder / workload.schema.episode_name(workload.metadata, index)
        if not path.exists() and not path.with_name(path.name + ".partial").exists():
            return path
        index += 1


def _write(workload: Workload, path: Path) -> None:
    from corporeal.episode.writer import EpisodeWriter

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, console=stderr(), transient=True) as progress,
        EpisodeWriter(
            path,
            schema=workload.schema,
            embodiment=workload.embodiment,
            metadata=workload.metadata,
        ) as writer,
    ):
        task = progress.add_task(f"writing {path.name}", total=workload.duration_s)
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
            progress.update(task, completed=time_ns / 1e9)


COMMAND = Command(demo, panel="Start here")
