"""Kills what drives the robot, in real time, and says how soon the arms hold.

`python -m bench.lost_streams --kills 20` serves the simulated robot on
loopback. A process that drives over the socket is killed, or frozen with its socket open. Told is
the time from the last message to the tick that holds, and to rest.
With `--slower 10` the host's clock, and who drives, take ten times as long: for busy machines.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from websockets.sync.client import connect

from corporeal.capture.operated_robot import host_time
from corporeal.cli.take_recorder import TeleoperationTerms
from corporeal.cli.teleoperation_run import TeleoperationProgram
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import LoopTurn
from corporeal.teleoperation.operator_input import InputTimes, OperatorHand, OperatorInput
from corporeal.teleoperation.operator_message import write_message
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers

LONGEST_S = 60.0


@dataclass
class Watch:
    """Every turn of the loop as it was: when, in which state, and when the last input came."""

    turns: list[tuple[int, str, str, int, float]] = field(default_factory=list)
    received_ns: int = 0

    def see(self, turn: LoopTurn) -> None:
        """A listener of the loop."""
        for given in turn.given:
            if isinstance(given, OperatorInput):
                self.received_ns = given.times.received_ns
        tick = turn.tick
        fastest = float(np.abs(tick.arms.rates).max())
        self.turns.append((tick.time_ns, tick.state, tick.cause, self.received_ns, fastest))

    @property
    def state(self) -> str:
        """The state now."""
        return self.turns[-1][1] if self.turns else ""

    def comes_to(self, state: str, seconds: float = LONGEST_S) -> bool:
        """Wait for a state."""
        until = time.monotonic() + seconds
        while self.state != state and time.monotonic() < until:
            time.sleep(0.005)
        return self.state == state


def drive(address: str, slower: float) -> None:
    """Move the right hand on a circle, 90 times a second, clutch held, until killed."""
    with connect(f"{address.replace('http', 'ws')}/teleoperate") as socket:
        socket.send(json.dumps({"kind": "hello", "version": 1, "device": "bench"}))
        # What is told is read, so that the way back is never full.
        threading.Thread(target=lambda: [None for _ in socket], daemon=True).start()
        socket.send(json.dumps({"kind": "command", "command": "engage"}))
        begin = time.monotonic_ns()
        for number in range(1_000_000):
            time.sleep(max(0.0, (begin + number * slower * 11_111_111 - time.monotonic_ns()) / 1e9))
            now_ns = begin + round((time.monotonic_ns() - begin) / slower)
            phase = 3.0 * (now_ns - begin) / 1e9
            pose = np.array([0.3, -0.2, 1.2, 1.0, 0.0, 0.0, 0.0])
            pose[[0, 2]] += 0.05 * np.array([np.sin(phase), np.cos(phase)])
            hand = OperatorHand("controller", 1, pose, clutch=number > 10)
            times = InputTimes(now_ns, 0, sent_ns=now_ns)
            socket.send(write_message(OperatorInput(number, times, right=hand)))


def spawn(address: str, slower: float) -> None:
    """Fork a driver for every line that comes in, and say its number."""
    for _ in sys.stdin:
        number = os.fork()
        if number == 0:
            drive(address, slower)
        print(number, flush=True)


@contextmanager
def served(slower: float) -> Iterator[tuple[Watch, str]]:
    """The program, in real time, and its address."""
    link = robot_drivers()["sim"].open(LinkOptions(seed=2))
    terms = TeleoperationTerms("pick_place", StudioSettings(port=0), pictures=False)
    host_ns = host_time()
    begin_ns = host_ns()
    program = TeleoperationProgram(
        terms, link, is_virtual=False,
        clock=lambda: begin_ns + round((host_ns() - begin_ns) / slower),
    )  # fmt: skip
    watch, until, ready = Watch(), threading.Event(), threading.Event()
    addresses: list[str] = []
    program.loop.listeners.append(watch.see)

    def take(address: str) -> None:
        addresses.append(address)
        ready.set()

    thread = threading.Thread(target=program.run, args=(take, until), daemon=True)
    thread.start()
    ready.wait(LONGEST_S)
    yield watch, addresses[0]
    until.set()
    thread.join(timeout=10)


def measured(
    watch: Watch, kill: Callable[[], None], rng: np.random.Generator, slower: float
) -> tuple[float, float, bool] | None:
    """Seconds from the last input to the hold, and from there to rest; None: it held by itself."""
    if not watch.comes_to("engaged"):
        return None
    time.sleep(slower * float(rng.uniform(0.15, 0.3)))
    if watch.state != "engaged":
        return None
    number = len(watch.turns)
    kill()
    watch.comes_to("hold")
    time.sleep(0.6 * slower)
    turns = watch.turns[number - 1 :]
    held = next((turn for turn in turns if turn[1] == "hold"), None)
    if held is None:
        return np.inf, np.inf, False
    after = [turn for turn in turns if turn[0] >= held[0]]
    rest_ns = next((turn[0] for turn in after if turn[4] == 0.0), None)
    stays = all(turn[1] == "hold" for turn in after)
    rest_s = np.inf if rest_ns is None else (rest_ns - held[0]) / 1e9
    return (held[0] - held[3]) / 1e9, rest_s, stays


def processes(
    address: str, watch: Watch, trials: int, number: int, rng: Any, slower: float
) -> list[Any]:
    """Drivers that end by a signal: killed, or frozen (and killed once that was seen)."""
    rows: list[Any] = []
    command = [
        sys.executable,
        "-m",
        "bench.lost_streams",
        "--spawn",
        address,
        "--slower",
        f"{slower}",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as spawner:
        assert spawner.stdin is not None, "it is a pipe"
        assert spawner.stdout is not None, "it is a pipe"
        for _ in range(trials):
            spawner.stdin.write("\n")
            spawner.stdin.flush()
            driver = int(spawner.stdout.readline())
            rows.append(measured(watch, partial(os.kill, driver, number), rng, slower))
            os.kill(driver, signal.SIGKILL)
            time.sleep(0.3)
        spawner.kill()
    return rows


def report(name: str, rows: list[Any]) -> None:
    """One row of the table."""
    seen = [row for row in rows if row is not None]
    if not seen:
        print(f"| {name} | no stream lived to be killed | |", flush=True)
        return
    hold, rest = 1e3 * np.array([row[0] for row in seen]), np.array([row[1] for row in seen])
    within, middle = int((hold <= 100).sum()), np.median(hold)
    print(f"| {name}: median, most to hold; within 100 ms | {middle:.0f}, {hold.max():.0f} "
          f"ms; {within} of {len(seen)} | to rest, most {rest.max():.2f} s; stayed "
          f"{sum(row[2] for row in seen)} | held before {len(rows) - len(seen)} |",
          flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--slower", type=float, default=1.0)
    parser.add_argument("--spawn", help="address that forked drivers drive; the bench's own use")
    given = parser.parse_args()
    if given.spawn:
        spawn(given.spawn, given.slower)
        return
    rng = np.random.default_rng(1)
    with served(given.slower) as (watch, address):
        for name, number in (("killed", signal.SIGKILL), ("frozen", signal.SIGSTOP)):
            if given.kills:
                rows = processes(address, watch, given.kills, number, rng, given.slower)
                report(f"process {name}", rows)


if __name__ == "__main__":
    main()
