"""`corporeal retarget-live`: a person moves, a robot follows, both are seen side by side."""

from __future__ import annotations

import signal
import threading
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.table import Table

from corporeal.cli.command import Command, option
from corporeal.cli.output import (
    AsJson,
    console,
    emphasise,
    make_table,
    print_json,
    print_result,
    stderr,
)
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError
from corporeal.retargeting.live import (
    LiveSettings,
    LiveStatus,
    LiveSummary,
    episode_of_live,
    play_clip,
    run_live,
)


def retarget_live(
    robot: Annotated[str, option("The robot: built-in, or its URDF, MJCF or document.")] = "g1",
    listen: Annotated[
        str, option("Where poses come in: udp://, ws:// or natnet://HOST:PORT.")
    ] = "udp://127.0.0.1:9870",
    send: Annotated[str | None, option("Where joint targets go: udp://HOST:PORT.")] = None,
    view: Annotated[
        int | None, option("Port of the page with person and robot.", min=0, max=65535)
    ] = None,
    record: Annotated[Path | None, option("Keep the session as this episode.")] = None,
    operator: Annotated[str | None, option("Who runs it; stored in the episode.")] = None,
    seconds: Annotated[float | None, option("Stop after so long.", min=0.1)] = None,
    play: Annotated[
        Path | None, option("Send this clip to itself, over and over, to try it out.")
    ] = None,
    recover: Annotated[
        Path | None, option("Make the episode of a session that was cut off (*.live).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow a stream of poses with a robot until Ctrl-C; every latency is measured.

    Exit 1 when not one pose was followed.

    Example: [bold]corporeal retarget-live --listen udp://127.0.0.1:9870 --view 8791[/bold]
    """
    model = open_robot(robot)
    facts = {} if operator is None else {"operator": operator}
    if recover is not None:
        target = record or recover.with_suffix("")
        made = episode_of_live(recover, target, model, facts)
        sentence = f"recovered {made}\nnext: corporeal check {made}"
        print_result(as_json, {"episode": made}, sentence)
        return
    if record is not None and record.exists():
        raise CorporealError(f"{record}: is there already. Name another --record.")
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    settings = LiveSettings(model, listen, send, view, record=record, seconds=seconds)
    try:
        with (
            play_clip(play, listen) if play is not None else nullcontext(),
            Live(console=stderr(), transient=True, auto_refresh=False) as page,
        ):
            summary = run_live(
                settings,
                stop=stop,
                report=lambda status: page.update(_page(status), refresh=True),
            )
    finally:
        signal.signal(signal.SIGINT, before)
    episode = None
    if summary.frames_at is not None and summary.frames:
        episode = episode_of_live(summary.frames_at, Path(str(record)), model, facts)
    if as_json:
        told = asdict(summary)
        del told["frames_at"]
        print_json({**told, "episode": episode})
    else:
        _show(summary, episode)
    raise typer.Exit(0 if summary.frames else 1)


def _page(status: LiveStatus) -> Table:
    """What is on the terminal while it runs."""
    table = make_table()
    table.add_row("listening", status.listening)
    if status.page is not None:
        table.add_row("look at", emphasise(status.page))
    if status.waiting:
        table.add_row("waiting", status.waiting)
    table.add_row("frames", f"{status.frames} at {status.rate_hz:.0f} Hz")
    total = status.latency.total_ms
    table.add_row("latency", f"{total.p50:.1f} ms, 95 % within {total.p95:.1f} ms")
    if status.stale:
        table.add_row("[bold red]silent[/bold red]", "no pose comes; the last target is held")
    table.add_row("", "Ctrl-C ends it")
    return table


def _show(summary: LiveSummary, episode: Path | None) -> None:
    page = console()
    total = summary.latency.total_ms
    page.print(f"{summary.frames} poses in {summary.duration_s:.1f} s ({summary.rate_hz:.0f} Hz)")
    if summary.frames:
        most = f"95 % within {total.p95:.1f} ms, worst {total.worst:.1f} ms"
        page.print(f"latency {total.p50:.1f} ms, {most}")
        share = 100 * summary.infeasible / summary.frames
        page.print(f"{summary.infeasible} frames ({share:.1f} %) with a hand or foot out of reach")
    else:
        page.print("not one pose was followed; is the sender's address this one?", style="yellow")
    for note in summary.notes:
        page.print(f"  {note}", style="dim")
    if episode is not None:
        page.print(f"\nnext: corporeal check {episode}")


COMMAND = Command(retarget_live, panel="Retarget")
