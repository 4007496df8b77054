"""`corporeal simulate-robot`: a robot on the network that is none, to try a link with."""

from __future__ import annotations

import signal
import threading
from dataclasses import asdict
from typing import Annotated

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.errors import UnknownNameError


def simulate_robot(
    robot: Annotated[str, option("The robot.")] = "g1",
    interface: Annotated[str, option("Network interface; lo stays on this machine.")] = "lo",
    domain: Annotated[int, option("DDS domain.", min=0, max=232)] = 0,
    rate_hz: Annotated[float, option("States a second.", min=10, max=500)] = 500.0,
    seconds: Annotated[float | None, option("Stop after so long.", min=0.1)] = None,
    switch_held: Annotated[
        bool, option("R1 of its remote is held from the start; the signal USR1 changes it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Be a Unitree G1 on the network: it stands, says LowState, and takes commands of its arms.

    Physics in real time, legs by its own controller. Commands with a wrong checksum are left out;
    half a second without one, and it takes its arms back. Ctrl-C ends it.

    Example: [bold]corporeal simulate-robot --domain 7 --switch-held --seconds 60[/bold]
    """
    if robot != "g1":
        raise UnknownNameError("robot that can be simulated on the network", robot, ["g1"])
    from corporeal.simulation.network_robot import NetworkRobot

    over = threading.Event()
    held = [switch_held]

    def change(*_: object) -> None:
        held[0] = not held[0]

    earlier = {number: signal.signal(number, lambda *_: over.set())
               for number in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    earlier[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, change)
    try:
        with NetworkRobot(
            interface=interface, domain=domain, rate_hz=rate_hz, is_switch_held=lambda: held[0]
        ) as network:
            stderr().print(
                f"a simulated {robot} stands on DDS domain {domain}, interface {interface}"
            )
            summary = network.run(seconds, over.is_set)
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
    if as_json:
        print_json({**asdict(summary), "stands": summary.stands})
        return
    console().print(
        f"{summary.seconds:.1f} s, {summary.states} states, {summary.commands} commands taken, "
        f"{summary.broken} left out; "
        + (f"it stands, pelvis at {summary.pelvis_m:.2f} m" if summary.stands else "it fell")
    )  # fmt: skip


COMMAND = Command(simulate_robot, panel="Record")
