"""`corporeal floor`: a simulated floor at work, to see how a day is supervised."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

from rich.text import Text

from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.cli.command import Command, group, option
from corporeal.cli.output import AsJson, console, print_json, show_progress
from corporeal.floor import (
    FloorRun,
    FloorTruth,
    make_roster,
    make_truth,
    measure_day,
    open_floor,
    replaying,
)
from corporeal.studio.settings import PORT, StudioSettings
from corporeal.words import counted

app = group("A simulated floor at work: what a supervisor sees of a day.")
_EPISODES = 500
# Hours of every task that twelve stations bring in a day, and the fewest that people can share.
_HOURS_A_DAY, _LEAST_HOURS = 14.0, 8.0
_SIMULATED = Privacy(
    "managed",
    purpose="to show the board of a floor, all of whose people are simulated",
    notice="none: nobody on this floor is a person",
    human_review="whoever runs the demo",
    objection="corporeal operator privacy data-only",
)


@app.callback()
def floor() -> None:
    """A simulated floor at work: what a supervisor sees of a day."""


@app.command("demo")
def demo(
    speed: Annotated[float, option("How many times as fast as life.", min=1, max=1e7)] = 100.0,
    stations: Annotated[int, option("How many stations.", min=3, max=20)] = 12,
    operators: Annotated[int, option("How many people.", min=10, max=40)] = 20,
    hours: Annotated[float, option("Hours of the day that are played.", min=0.1, max=24)] = 24.0,
    history: Annotated[int, option("Days of work that lie before it.", min=0, max=9)] = 1,
    seed: Annotated[int, option("Another seed, another floor.", min=0)] = 1,
    out: Annotated[
        Path | None, option("Keep the workspace in this folder; else it goes.", "--out", "-o")
    ] = None,
    port: Annotated[int, option("Port of Studio; 0 takes a free one.", min=0, max=65535)] = PORT,
    open_browser: Annotated[bool, option("Open the board in the browser.", "--open/--no-open")] = (
        True
    ),
    as_json: AsJson = False,
) -> None:
    """Play a day of a simulated floor at 100 times its pace, with the supervisor's board open.

    Shifts are planned, cards handed out and taken, breaks kept and episodes put into a workspace by
    the real functions; only people, takes and clock are made up. It ends by itself when the day is
    over, ten hours in six minutes, or with Ctrl-C.

    Example: [bold]corporeal floor demo[/bold]
    """
    with _folder(out) as folder, make_workspace(folder / "floor") as workspace:
        with workspace.database.write() as connection:
            set_privacy(connection, _SIMULATED, by=Actor("demo", "admin"))
        with show_progress("planning shifts", counted=False):
            run = _open(workspace, make_truth(seed, stations=stations, operators=operators),
                        history)  # fmt: skip
        with show_progress("days before", counted=False):
            for day in range(history):
                for _ in run.work(day):
                    pass
                measure_day(run, day)
        before = len(run.takes)
        _play(workspace, run, history, speed, port, hours=hours, open_browser=open_browser,
              as_json=as_json)  # fmt: skip
        takes = run.takes[before:]
        verdicts = Counter(take.verdict for take in takes)
        if as_json:
            print_json({"takes": len(takes), **verdicts, "halted": sum(run.halted.values())})
        else:
            console().print(f"The day is over: {counted(len(takes), 'take')}, "
                            f"{verdicts['accepted']} accepted.")  # fmt: skip


def _open(workspace: Workspace, truth: FloorTruth, history: int) -> FloorRun:
    """The floor, with something going wrong on the day that is played."""
    rooms = tuple(
        replace(station, outage=(history, 11, 14) if station.outage else None,
                drifts_from=history if station.drifts_from is not None else None)
        for station in truth.stations
    )  # fmt: skip
    # Whoever shows what was not asked for makes the rest be planned anew, which takes a while.
    people = tuple(replace(person, favourite=None) for person in truth.operators)
    truth = replace(truth, operators=people, stations=rooms, ill=())
    roster = make_roster(truth, date.today() - timedelta(days=history), history + 1,
                         hours=max(_LEAST_HOURS, _HOURS_A_DAY * len(rooms) / 12) * (history + 1),
                         weekend=True)  # fmt: skip
    return open_floor(workspace.database, truth, roster, episodes=_EPISODES, seconds=8.0)


def _play(
    workspace: Workspace, run: FloorRun, day: int, speed: float, port: int, *,
    hours: float, open_browser: bool, as_json: bool,
) -> None:  # fmt: skip
    import webbrowser

    from corporeal.studio.server import serve

    over = threading.Event()
    with replaying(run, day, speed=speed, folder=workspace.root) as replay:

        def work() -> None:
            try:
                for _ in replay.play(over, hours=hours):
                    pass
            finally:
                over.set()

        worker = threading.Thread(target=work, name="the floor", daemon=True)

        def ready(address: str) -> None:
            board = f"{address}/board"
            if as_json:
                print_json({"address": board, "workspace": str(workspace.root)})
            else:
                console().print(Text.assemble("Board: ", (board, "bold"), "  (Ctrl-C ends it)"))
            worker.start()
            if open_browser:
                webbrowser.open(board)

        settings = StudioSettings(port=port, recorders=replay.addresses,
                                  clock=lambda: replay.clock.now())  # fmt: skip
        try:
            serve(workspace, settings, on_ready=ready, until=over)
        finally:
            over.set()
            if worker.is_alive():
                worker.join()


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="corporeal-floor-") as folder:
        yield Path(folder)


COMMAND = Command(app, panel="Record")
