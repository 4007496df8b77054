"""A recording while it runs: its health on the terminal, in a file, and on a port."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from corporeal.capture.broadcast import Broadcast, open_broadcast
from corporeal.capture.health import Health, StreamHealth, write_health
from corporeal.capture.recorder import Recorder
from corporeal.cli.judging import EpisodeVerdict
from corporeal.cli.output import make_table, stderr
from corporeal.files import remove_old_drafts
from corporeal.words import counted

_COLOURS = {"good": "green", "waiting": "dim", "slow": "yellow", "silent": "bold red"}


class RecordingView:
    """Shows the health on the terminal, as a file and on a port, where Studio finds it."""

    def __init__(self, stack: ExitStack, out: Path, port: int | None, *, quiet: bool) -> None:
        self._file = out / "health.json"
        remove_old_drafts(self._file)
        self._messages = stderr()
        self._recorder: Recorder | None = None
        self._live = None
        if not quiet:
            self._live = stack.enter_context(Live(console=self._messages, transient=True))

        # Unless told where, it publishes where Studio looks, or not at all.
        self._broadcast = open_broadcast() if port is None else Broadcast(port)
        if self._broadcast is not None:
            stack.enter_context(self._broadcast)

    def take_marks(self, recorder: Recorder) -> None:
        """Hand marks of pages and pedals to the recorder; where and with which token is a file."""
        self._recorder = recorder
        if self._broadcast is not None:
            self._broadcast.take_marks(recorder.enter, self._file.with_name("marks.json"))

    def show(self, health: Health) -> None:
        """Everywhere at once."""
        write_health(self._file, health)
        if self._broadcast is not None:
            self._broadcast.publish(health)
        if self._live is not None:
            self._live.update(_page(health))

    def show_verdict(self, verdict: EpisodeVerdict) -> None:
        """A line that stays above the table of streams, and in the health."""
        for line in (verdict.line(), *verdict.feedback()):
            self._messages.print(line, soft_wrap=True)
        if self._recorder is not None:
            self._recorder.note_verdict(
                verdict.path, verdict.verdict, verdict.words,
                suggestion=verdict.suggestion, rules=verdict.rules,
            )  # fmt: skip
            if self._recorder.state == "ended":
                self.show(self._recorder.health())

    def show_picture(self, stream: str, picture: Any) -> None:
        """What a camera sees, for whoever looks."""
        if self._broadcast is not None:
            self._broadcast.show(stream, picture)


def _page(health: Health) -> Group:
    figures = ("rate", "age", "samples", "missed", "dropped", "skew")
    table = make_table("stream", "state", *figures, right=figures)
    for stream in health.streams:
        table.add_row(*_row(stream))
    done, waiting, free = health.written_bytes, health.waiting_bytes, health.disk_free_bytes
    disk = f"{done / 1e6:.1f} MB on disk, {waiting / 1e6:.1f} MB waiting, {free / 1e9:.0f} GB free"
    head = Text.assemble(
        (health.state, "bold cyan"),
        f"  {health.episode}  {counted(health.episodes, 'episode')} done, {_today(health)}  ",
        (f"{disk}, {health.elapsed_s:.0f} s", "dim"),
    )
    asks = [Text(f"> {line}", style="cyan") for line in health.asks]
    if health.calibration is not None and health.calibration.state in ("good", "due"):
        asks.insert(0, Text(health.calibration.sentence, style="dim"))
    asks += [Text(f"trigger group {group.name}: {group.skew_ms:.1f} ms apart", style="dim")
             for group in health.triggers if group.skew_ms is not None]  # fmt: skip
    alarms = (Text(f"! {alarm}", style="bold red") for alarm in health.alarms)
    return Group(head, table, *asks, *alarms)


def _today(health: Health) -> str:
    plan = "" if health.floor.plan is None else f" of {health.floor.plan}"
    return f"{health.floor.today}{plan} today"


def _row(stream: StreamHealth) -> tuple[str | Text, ...]:
    nominal = f" / {stream.nominal_hz:.0f}" if stream.nominal_hz else ""
    return (
        stream.path,
        Text(stream.state, style=_COLOURS[stream.state]),
        f"{stream.rate_hz:.1f}{nominal} Hz" if stream.nominal_hz else "events",
        "" if stream.age_s is None else f"{1e3 * stream.age_s:.0f} ms",
        f"{stream.samples:,}",
        Text(str(stream.late), style="yellow" if stream.late else "dim"),
        Text(str(stream.refused), style="red" if stream.refused else "dim"),
        _skew(stream),
    )


def _skew(stream: StreamHealth) -> str:
    if not stream.samples:
        return ""
    if stream.skew_ms is None:
        return "estimating" if stream.clock == "estimating" else stream.clock
    return f"{stream.skew_ms:+.1f} ± {stream.skew_error_ms or 0.0:.1f} ms"
