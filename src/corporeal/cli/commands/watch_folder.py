"""`corporeal watch-folder`: what comes into a folder is taken in and judged, by itself."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.text import Text

from corporeal import __version__
from corporeal.catalog.ingestion import IngestOutcome, ingest
from corporeal.catalog.workspace import Workspace
from corporeal.cli.arrivals import ArrivalLog, FolderArrival, FolderScan, format_name, is_rosbag
from corporeal.cli.command import Command, argument, option
from corporeal.cli.export_options import Robot, SourceRate
from corporeal.cli.output import COLOURS, AsJson, console, print_json_line
from corporeal.cli.sources import opener_of
from corporeal.cli.workspaces import WorkspaceOption, enter_workspace
from corporeal.episode.file import list_episode_files
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions, export
from corporeal.exchange.editing import require_robot
from corporeal.quality.policy import Policy, open_policy

_FOLDER = "watch-folder"
_NO_ROBOT = "none"


def watch_folder(
    folder: Annotated[Path, argument("The folder that episodes, bags and datasets come into.")],
    root: WorkspaceOption = None,
    robot: Robot = None,
    source_rate: SourceRate = None,
    batch: Annotated[str | None, option("The batch that they belong to.")] = None,
    policy: Annotated[Path | None, option("A policy document of your own.")] = None,
    pictures: Annotated[bool, option("Look at pictures as well.")] = True,
    once: Annotated[bool, option("Take what is complete now, and end: for cron.")] = False,
    every: Annotated[float, option("Seconds between two looks.", min=0.1, max=3600)] = 2.0,
    settle: Annotated[
        float, option("Seconds without a change after which it is complete.", min=0, max=3600)
    ] = 3.0,
    as_json: AsJson = False,
) -> None:
    """Take in what appears in a folder: episodes, bags, datasets of others, each with its verdict.

    Nothing is taken before it is complete, nothing twice, also after a kill. What is refused is
    named once, with the reason, and the rest goes on. Data in the folder is never changed. With
    --json there is one line of JSON for everything that was taken or refused.

    Example: [bold]corporeal watch-folder incoming --workspace floor --robot g1[/bold]
    """
    if not folder.is_dir():
        raise CorporealError(f"{folder}, got no folder; expected one that data comes into.")
    with ExitStack() as stack:
        workspace, actor = stack.enter_context(enter_workspace(root, "ingest"))
        key = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
        home = workspace.root / _FOLDER
        terms = json.dumps([robot, source_rate, __version__])
        log = stack.enter_context(ArrivalLog(home / f"{key}.jsonl", terms))
        intake = ArrivalIntake(workspace, home / key, actor.name, open_policy(policy),
                               pictures=pictures, batch=batch, robot=robot,
                               rate_hz=source_rate)  # fmt: skip
        scan = FolderScan(folder, settle)
        stop = _stop_on_signal(stack)
        waiting: dict[str, str] = {}
        while True:
            for told in take_arrivals(scan, log, intake, waiting, stop):
                _print(told, as_json)
            if once or stop.wait(every):
                break


@dataclass(frozen=True)
class ArrivalResult:
    """What became of one arrival, and of the episodes in it."""

    name: str
    status: Literal["taken", "refused", "waiting"]
    reason: str = ""
    episodes: tuple[IngestOutcome, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """One line of JSON."""
        outcomes = [
            {"episode": each.id, "status": each.status, "verdict": each.state,
             "score": each.score, "reason": each.reason}
            for each in self.episodes
        ]  # fmt: skip
        return {"arrival": self.name, "status": self.status, "reason": self.reason or None,
                "episodes": outcomes}  # fmt: skip


@dataclass(frozen=True)
class ArrivalIntake:
    """How arrivals become episodes of the workspace; `staging` holds those made of others' data."""

    workspace: Workspace
    staging: Path
    who: str
    policy: Policy
    pictures: bool
    batch: str | None
    robot: str | None
    rate_hz: float | None

    def take(self, arrival: FolderArrival) -> tuple[IngestOutcome, ...]:
        """Take in what is in an arrival; raises CorporealError for what cannot be."""
        name, path = format_name(arrival.path), arrival.path
        if name == "episodes":
            return self._ingest([path])
        if name is None and not is_rosbag(path) and path.suffix not in (".bag", ".db3", ".mcap"):
            raise CorporealError("no reader knows it, or it is damaged; expected an episode, a bag "
                                 "or a dataset. Try it alone: corporeal check")  # fmt: skip
        mark = hashlib.sha256(f"{arrival.name}\0{arrival.fingerprint}".encode()).hexdigest()[:16]
        made = self.staging / mark
        if not made.is_dir():
            # Made anew after a kill; once it has its name the episodes in it keep their ids.
            shutil.rmtree(made.with_name(f"{mark}.partial"), ignore_errors=True)
            self._convert(path, made)
        return self._ingest(list_episode_files(made))

    def forget(self, arrival: FolderArrival) -> None:
        """Remove what was made on the way; the workspace has it now, or nobody will."""
        mark = hashlib.sha256(f"{arrival.name}\0{arrival.fingerprint}".encode()).hexdigest()[:16]
        for name in (mark, f"{mark}.partial"):
            shutil.rmtree(self.staging / name, ignore_errors=True)

    def _convert(self, path: Path, made: Path) -> None:
        made.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            named = None if self.robot == _NO_ROBOT else self.robot
            opener = opener_of([path], named, stack, rate_hz=self.rate_hz)
            require_robot(opener(), robot_given=self.robot is not None)
            export(opener, made, "episodes", ExportOptions(on="serial"))

    def _ingest(self, paths: Sequence[Path]) -> tuple[IngestOutcome, ...]:
        return ingest(
            self.workspace,
            paths,
            who=self.who,
            policy=self.policy,
            pictures=self.pictures,
            batch=self.batch,
            on="serial",
        ).outcomes


def take_arrivals(
    scan: FolderScan,
    log: ArrivalLog,
    intake: ArrivalIntake,
    waiting: dict[str, str],
    stop: threading.Event,
) -> Iterator[ArrivalResult]:
    """One look at the folder: everything new that is complete, taken or refused.

    `waiting` remembers what was said to be waiting, so that it is said once.
    """
    for arrival in scan.arrivals():
        if stop.is_set():
            return
        if log.is_done(arrival):
            continue
        if arrival.condition == "waiting":
            if waiting.get(arrival.name) != arrival.reason:
                waiting[arrival.name] = arrival.reason
                yield ArrivalResult(arrival.name, "waiting", arrival.reason)
            continue
        waiting.pop(arrival.name, None)
        yield _take(arrival, log, intake)


def _take(arrival: FolderArrival, log: ArrivalLog, intake: ArrivalIntake) -> ArrivalResult:
    reason = arrival.reason
    outcomes: tuple[IngestOutcome, ...] = ()
    if arrival.condition == "complete":
        reason, outcomes = _attempt(arrival, log, intake)
    lost = [each for each in outcomes if each.status in ("refused", "damaged")]
    if not reason and len(lost) == len(outcomes):
        reason = str(lost[0].reason) if lost else "no episode is in it"
    status: Literal["taken", "refused"] = "refused" if reason else "taken"
    log.end(arrival, status, reason)
    intake.forget(arrival)
    return ArrivalResult(arrival.name, status, reason, outcomes)


def _attempt(
    arrival: FolderArrival, log: ArrivalLog, intake: ArrivalIntake
) -> tuple[str, tuple[IngestOutcome, ...]]:
    """The reason why it cannot be taken, or what became of its episodes."""
    if log.was_taken(arrival) and arrival.path.is_dir():
        return ("was changed after it was taken in; expected data that stays as it is. Give what "
                "is new a folder of its own"), ()  # fmt: skip
    if not log.begin(arrival):
        return "it has ended this program three times; look at it alone: corporeal check", ()
    try:
        return "", intake.take(arrival)
    except (CorporealError, OSError) as error:
        return " ".join(str(error).removeprefix(f"{arrival.path}: ").split()), ()
    except KeyboardInterrupt:
        log.withdraw(arrival)
        raise
    except Exception as error:  # Whatever a reader stumbles over: what comes next must not wait.
        return f"cannot be read ({type(error).__name__}: {' '.join(str(error).split())[:200]})", ()


def _stop_on_signal(stack: ExitStack) -> threading.Event:
    """Set by Ctrl-C or a polite kill: what is being taken is taken, then it ends."""
    stop = threading.Event()

    def ask(number: int, frame: object) -> None:
        del frame
        stop.set()
        signal.signal(number, signal.default_int_handler)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, ask))
    return stop


def _print(told: ArrivalResult, as_json: bool) -> None:
    if as_json:
        print_json_line(told.to_json())
        return
    page = console()
    colour = {"taken": "green", "refused": "red", "waiting": "dim"}[told.status]
    tail = f": {told.reason}" if told.reason else ""
    page.print(Text.assemble((told.status, colour), f" {told.name}{tail}"), soft_wrap=True)
    for each in told.episodes if told.status == "taken" else ():
        verdict = each.state or each.status
        why = f": {each.reason}" if each.reason else ""
        page.print(Text.assemble("  ", (verdict, COLOURS.get(verdict, "")), f" {each.id}{why}"),
                   soft_wrap=True)  # fmt: skip


COMMAND = Command(watch_folder, panel="Workspace")
