"""`corporeal demo`: the main job on embedded defaults, in a minute or two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from corporeal import __version__
from corporeal.cli.command import Command
from corporeal.cli.commands.info import show
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.errors import EpisodeError

if TYPE_CHECKING:
    from corporeal.capture.health import Health
    from corporeal.episode.summary import EpisodeSummary

TASK = "pick_place"


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the demo.")] = Path("demo"),
    episodes: Annotated[int, typer.Option(min=1, max=50, help="How many demonstrations.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other demonstrations.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Record a simulated Unitree G1 at pick and place, failures included, and show the episodes.

    Example: [bold]corporeal demo --out demo[/bold]
    """
    from corporeal.episode.episode import Episode
    from corporeal.episode.plot import plot_episode
    from corporeal.episode.summary import summarise
    from corporeal.episode.verification import verify

    paths = _record(out, episodes, seed, pictures=_can_draw())
    summaries = []
    for path in paths:
        damage = verify(path)
        if damage:
            raise EpisodeError(f"{path}: {damage[0].path} {damage[0].message}.")
        with Episode.open(path) as episode:
            summaries.append(summarise(episode))
            if path == paths[0]:
                picture = path.with_suffix(".png")
                plot_episode(episode).savefig(picture)
                skew_ms = float(episode.align(rate_hz=50).skew_ns.max()) / 1e6
    if as_json:
        print_json({"episodes": [summary.to_json() for summary in summaries],
                    "picture": str(picture)})  # fmt: skip
        return
    page = console()
    page.print(show(summaries[0]))
    page.print(f"\nall read back whole; on a 50 Hz grid the values of a row of {paths[0].name} are "
               f"at most {skew_ms:.1f} ms apart\n")  # fmt: skip
    page.print(_table(summaries))
    page.print(f"\npicture: [bold]{picture}[/bold]\nnext:")
    for line in (f"corporeal info {paths[-1]}", f"corporeal plot {paths[-1]} -o page.png",
                 f"corporeal record --driver sim --task reach --episodes 3 --out {out}",
                 "corporeal robot show g1"):  # fmt: skip
        page.print(f"  {line}")


def _can_draw() -> bool:
    """Cameras need OpenGL; without it the demo goes on and says what is missing."""
    from corporeal.simulation.rendering import CameraError, check_rendering

    try:
        check_rendering()
    except CameraError as error:
        stderr().print(f"without cameras: {error}", style="yellow")
        return False
    return True


def _record(out: Path, episodes: int, seed: int, *, pictures: bool) -> list[Path]:
    from corporeal.capture.driver import drivers, parse_options
    from corporeal.capture.recorder import Recorder, Settings

    driver = drivers()["sim"]
    options = {"task": TASK, "episodes": episodes, "seed": seed, "fault_share": 0.3,
               "pictures": pictures, "height": 240, "width": 320}  # fmt: skip
    facts = {"operator": "op00", "station": "demo", "session": "demo",
             "software": f"corporeal {__version__}"}  # fmt: skip
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr(), transient=True) as progress:
        task = progress.add_task("simulating and recording", total=episodes)

        def on_health(health: Health) -> None:
            doing = f"{health.state} {health.episode}" if health.episode else "simulating"
            progress.update(task, completed=health.episodes, description=doing)

        settings = Settings(out, metadata=facts, episodes=episodes)
        recorder = Recorder(driver, parse_options(driver, options), settings, on_health=on_health)
        return recorder.run()


def _table(summaries: list[EpisodeSummary]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("episode", "outcome", "instruction", "length", "size"):
        table.add_column(title, justify="right" if title in ("length", "size") else "left")
    for summary in summaries:
        table.add_row(
            Path(summary.path).name,
            _outcome(summary.metadata.get("outcome", {})),
            str(summary.metadata.get("instruction", "")),
            f"{summary.duration_s:.1f} s",
            f"{summary.bytes / 1e6:.1f} MB",
        )
    return table


def _outcome(outcome: dict[str, Any]) -> Text:
    if outcome.get("success"):
        return Text("success", style="green")
    return Text(f"failure: {outcome.get('failure')}".replace("_", " "), style="red")


COMMAND = Command(demo, panel="Start here")
