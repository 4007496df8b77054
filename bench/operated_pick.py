"""A scripted person drives the simulated G1 over the page's own socket, in virtual time.

`python -m bench.operated_pick --out FOLDER [--seeds 3] [--pictures]` prints how long each took to
lift the object, how it was judged and the latency. Virtual time, since physics on a busy machine is
no laptop's: a frame arrives a few milliseconds after it was made, a tick comes every ten.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from starlette.testclient import TestClient

from bench.scripted_operator import FRAME_S, ScriptedOperator
from corporeal.cli.take_recorder import AFTER_S, TeleoperationSummary, TeleoperationTerms
from corporeal.cli.teleoperation_run import TeleoperationProgram
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import TICK_NS, VIRTUAL_START_NS, LoopTurn
from corporeal.teleoperation.operator_message import write_message
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers

HELLO = {"kind": "hello", "version": 1, "device": "scripted operator"}
# From a frame of the headset to its sending, and what the way takes, ns; half a minute is enough.
SENT_NS, WAY_NS, JITTER_NS, LONGEST_S = 2_000_000, 3_000_000, 1_500_000, 60.0
# The headset has been on for an hour: its clock says nothing of the host's.
DEVICE_NS = 3_600_000_000_000


class Socket(Protocol):
    """A WebSocket as Starlette's test client has it."""

    def send_json(self, data: Any) -> None: ...

    def send_bytes(self, data: bytes) -> None: ...

    def receive(self) -> MutableMapping[str, Any]: ...


@dataclass
class OperatedSession:
    """A program whose time goes on as its operator's does; `watch` sees every turn."""

    out: Path | None
    seed: int = 0
    pictures: bool = False
    size: tuple[int, int] = (240, 320)
    page: Path | None = None
    watch: Callable[[LoopTurn], None] | None = None
    turns: list[LoopTurn] = field(default_factory=list)
    summary: TeleoperationSummary = field(default_factory=TeleoperationSummary)

    def __post_init__(self) -> None:
        self.now_ns = VIRTUAL_START_NS
        self.link = robot_drivers()["sim"].open(
            LinkOptions(seed=self.seed, height=self.size[0], width=self.size[1])
        )
        names = ("testserver",)
        settings = StudioSettings(names=names) if self.page is None else StudioSettings(
            page=self.page, names=names)  # fmt: skip
        terms = TeleoperationTerms("pick_place", settings, out=self.out, pictures=self.pictures,
                                   camera_hz=20.0,
                                   facts={"operator": "scripted", "station": "bench"})  # fmt: skip
        self.program = TeleoperationProgram(
            terms, self.link, is_virtual=True, clock=lambda: self.now_ns
        )
        self.operator = ScriptedOperator(self.link.facts["variation"], self.seed)

    def drive(self) -> TeleoperationSummary:
        """Until the operator is done and the episode is judged."""
        with self.opened(), TestClient(self.program.server.application()) as client:
            with client.websocket_connect("/teleoperate") as socket:
                self.operate(socket)
            self.settle()
        return self.summary

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Recorder and cameras, until the episode is judged."""
        with ExitStack() as stack:
            self.program._open_takes(stack)
            stack.callback(self.link.release_cameras)
            if self.pictures:
                draw = self.program.feed.draw_due
                self.program.loop.listeners.append(lambda _: draw(self.now_ns))
            yield
        self.summary = self.program._sum_up()

    def settle(self) -> None:
        """What a recorder takes after a demonstration."""
        for _ in range(round((AFTER_S + 0.2) * 100)):
            self._tick()

    def operate(self, socket: Socket) -> None:
        """Drive from a socket, a frame and a tick at a time, until the operator is done."""
        socket.send_json(HELLO)
        rng = np.random.default_rng([self.seed, 5])
        sync = _Sync(socket, self.operator)
        sync.wait()
        frame, operator = 0, self.operator
        next_tick_ns = self.now_ns + TICK_NS
        while not operator.is_done and frame * FRAME_S < LONGEST_S:
            made_ns = round(frame * FRAME_S * 1e9)
            arrives_ns = VIRTUAL_START_NS + made_ns + SENT_NS + WAY_NS
            arrives_ns += int(rng.uniform(0, JITTER_NS))
            while next_tick_ns <= arrives_ns:
                self.now_ns = next_tick_ns
                self._tick()
                next_tick_ns += TICK_NS
            self.now_ns = arrives_ns
            given = operator.act(DEVICE_NS + made_ns, DEVICE_NS + made_ns + SENT_NS)
            socket.send_bytes(write_message(given))
            for command in operator.commands:
                socket.send_json({"kind": "command", "command": command, "reason": "scripted"})
            operator.commands.clear()
            sync.wait()
            frame += 1

    def _tick(self) -> None:
        if self.now_ns <= (self.turns[-1].tick.time_ns if self.turns else 0):
            self.now_ns = self.turns[-1].tick.time_ns + TICK_NS
        turn = self.program.loop.turn(self.now_ns)
        self.turns.append(turn)
        if self.watch is not None:
            self.watch(turn)


@dataclass
class _Sync:
    """Waits until the host has read what was sent, keeps the newest state, compares the clocks."""

    socket: Socket
    operator: ScriptedOperator
    count: int = 0

    def wait(self) -> None:
        self.count += 1
        ping: dict[str, Any] = {"kind": "ping", "sent_ms": float(self.count)}
        if self.count % 90 == 1:
            ping |= {"host_offset_ms": (VIRTUAL_START_NS - DEVICE_NS) / 1e6, "round_trip_ms": 2.0}
        self.socket.send_json(ping)
        while True:
            message = self.socket.receive()
            if message.get("text") is None:
                continue
            told = json.loads(message["text"])
            if told["kind"] == "state":
                self.operator.state = told
            elif told["kind"] == "pong" and told["sent_ms"] == self.count:
                return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 3])
    parser.add_argument("--pictures", action="store_true")
    given = parser.parse_args()
    print("| scene | lifted after | end | placed off | input, command | verdict |")
    for seed in given.seeds:
        session = OperatedSession(given.out / f"seed_{seed}", seed, pictures=given.pictures)
        summary = session.drive()
        (result,), operator = summary.outcomes, session.operator
        lifted = operator.lifted_s
        after = "never" if lifted is None else f"{lifted - operator.begun_s:.1f} s"
        assert result is not None, "the simulation has a judge"
        off = 1e3 * result.measures["placement_error_m"]
        verdict = summary.verdicts[0].verdict if summary.verdicts else "none"
        print(f"| {seed} | {after} | {result.failure or 'success'} | {off:.0f} mm | "
              f"{summary.input_ms}, {summary.command_ms} ms | {verdict} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
