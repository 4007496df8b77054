"""`corporeal teleoperate`: one program, one port, one page that drives a robot."""

from __future__ import annotations

import io
import os
import secrets
import signal
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.cli.take_recorder import (
    TeleoperationSummary,
    TeleoperationTerms,
    needed_cameras,
)
from corporeal.cli.teleoperation_run import TeleoperationProgram
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.studio.own_authority import own_certificate
from corporeal.studio.settings import StudioSettings, is_loopback, machine_addresses
from corporeal.teleoperation.operator_input import read_inputs
from corporeal.teleoperation.operator_state import PageWay
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers
from corporeal.words import counted

PORT = 8710
# Of the usual speeds and accelerations, until somebody says that a real robot may have more.
HARDWARE_SHARE = 0.3
_WHY_HARDWARE = (
    "driver of a real robot, got no --hardware; expected it, since people may be near. Clear its "
    "surroundings, have somebody hold R1 of its remote, and say --hardware."
)


def teleoperate(
    robot: Annotated[str, option("The robot.")] = "g1",
    driver: Annotated[
        str, option("How it is reached: sim is the simulation, unitree a robot over DDS.")
    ] = "sim",
    hardware: Annotated[
        bool, option("It is meant to move a real robot; asked for by every driver but sim.")
    ] = False,
    speed_share: Annotated[
        float | None,
        option("Share of the usual speeds; 0.3 of a real robot, else 1.", min=0.01, max=1),
    ] = None,
    interface: Annotated[str, option("Network interface of the robot, such as eth0.")] = "lo",
    domain: Annotated[int, option("DDS domain of the robot.", min=0, max=232)] = 0,
    task: Annotated[str, option("The scene and its judge.")] = "pick_place",
    record: Annotated[Path | None, option("Folder for the episodes.")] = None,
    input_: Annotated[
        Path | None,
        option("Play this input instead of a page: hands, or a robot's joints.", "--input"),
    ] = None,
    seconds: Annotated[float | None, option("Stop after so long.", min=0.1)] = None,
    port: Annotated[int, option("Port of the page; 0 for any.", min=0, max=65535)] = PORT,
    host: Annotated[
        str, option("Where to listen; others than this machine need a token.")
    ] = "127.0.0.1",
    walking_policy: Annotated[
        Path | None, option("ONNX file of a walking policy; legs stand without it.")
    ] = None,
    arm_policy: Annotated[
        Path | None,
        option("ONNX file of a policy that may drive arms and hands; a person takes over."),
    ] = None,
    take_over: Annotated[
        float, option("With --input: the arm policy drives for so long first, s.", min=0)
    ] = 0.0,
    seed: Annotated[int, option("Draws the scene.", min=0)] = 0,
    pictures: Annotated[bool, option("Draw and record the cameras.")] = True,
    camera_hz: Annotated[float, option("Pictures a second of each camera.", min=1, max=60)] = 20.0,
    station: Annotated[str | None, option("Where.")] = None,
    operator: Annotated[str | None, option("Who drives; stored in the episodes.")] = None,
    policy: Annotated[Path | None, option("A policy document of your own to judge by.")] = None,
    countdown: Annotated[
        float, option("A demonstration begins so long after Start, s.", min=0, max=60)
    ] = 0.0,
    root: Annotated[
        Path | None, option("Take every episode into this workspace.", "--workspace", "-w")
    ] = None,
    campaign: Annotated[
        str | None,
        option("Follow the cards of this campaign of the workspace; its protocol is used."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Drive a robot from a page: a headset, hands, a gamepad or a keyboard; Ctrl-C ends it.

    Every command passes the safety filter. A person takes over from --arm-policy without a jump,
    and the episode keeps what both wanted. With --record the page begins and ends demonstrations;
    each is judged. With --input the recording drives in virtual time, and the same recording gives
    the same commands.

    Example: [bold]corporeal teleoperate --robot g1 --driver sim --task pick_place --record demos
    [/bold]
    """
    known = robot_drivers()
    if driver not in known:
        raise UnknownNameError("driver", driver, known)
    if robot not in known[driver].robots:
        raise UnknownNameError(f"robot of the driver {driver}", robot, known[driver].robots)
    if known[driver].is_hardware != hardware:
        raise CorporealError(
            _WHY_HARDWARE
            if known[driver].is_hardware
            else "--hardware, got it with the simulation; expected a robot's driver."
        )
    if hardware and input_ is not None:
        raise CorporealError(
            "--input, got it with --hardware; expected a person who sees the "
            "robot. A recording drives the simulation."
        )
    if input_ is not None:
        # Said before a robot is opened.
        read_inputs(input_)
    if take_over > 0 and (input_ is None or arm_policy is None):
        raise CorporealError(
            f"--take-over, got {take_over:g} s; expected --input and --arm-policy with it. "
            "On a page, a person takes over with the clutch."
        )
    if campaign is not None and root is None:
        raise CorporealError("--campaign, got no workspace; expected --workspace FOLDER beside it.")
    if root is not None and record is None:
        raise CorporealError(
            "--workspace, got nothing that is recorded; expected --record FOLDER beside it."
        )
    people = {"operator": operator, "station": station}
    terms = TeleoperationTerms(
        task,
        StudioSettings(host=host, port=port),
        out=record,
        pictures=pictures,
        camera_hz=camera_hz,
        policy=policy,
        arm_policy=arm_policy,
        speed_share=speed_share or (HARDWARE_SHARE if hardware else 1.0),
        countdown_s=countdown,
        workspace=root,
        campaign=campaign,
        facts={name: value for name, value in people.items() if value},
    )
    if input_ is None and not is_loopback(host):
        terms = _open_to_others(terms)
    link = known[driver].open(LinkOptions(
        robot=robot, interface=interface, domain=domain, task=task, seed=seed,
        walking_policy=walking_policy, cameras=needed_cameras(terms),
    ))  # fmt: skip
    try:
        program = TeleoperationProgram(terms, link, is_virtual=input_ is not None)
        if input_ is not None:
            summary = program.replay(input_, seconds, take_over_s=take_over)
        else:
            summary = _serve(program, seconds, quiet=as_json)
    finally:
        link.close()
    _report(summary, as_json)


def _serve(
    program: TeleoperationProgram, seconds: float | None, *, quiet: bool
) -> TeleoperationSummary:
    until = threading.Event()

    def ready(address: str) -> None:
        program.ways = _ways(program, address)
        _show_ways(program, address, quiet=quiet)

    timer = threading.Timer(seconds, until.set) if seconds is not None else None
    earlier = {number: signal.signal(number, lambda *_: until.set())
               for number in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    try:
        if timer is not None:
            timer.daemon = True
            timer.start()
        return program.run(ready, until)
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _show_ways(program: TeleoperationProgram, address: str, *, quiet: bool) -> None:
    """Say how the page is reached, with what a phone or a headset can scan."""
    page, number = stderr(), address.rpartition(":")[2]
    if program.token is None:
        page.print(f"the operator's page: {address}", soft_wrap=True)
        if not quiet:
            page.print(f"a headset on USB: adb reverse tcp:{number} tcp:{number}, then open "
                       f"http://localhost:{number} in its browser", soft_wrap=True)  # fmt: skip
        return
    for way in program.ways:
        page.print(f"the operator's page: {way.url}", soft_wrap=True, highlight=False)
    if quiet:
        return
    authority = f"{program.ways[0].url.partition('/?')[0]}/ca.crt"
    page.print(f"the certificate authority of this machine: {authority}", soft_wrap=True)
    if page.is_terminal:
        for what, url in (("the authority", authority), ("the page", program.ways[0].url)):
            page.print(f"{what}, to be scanned:\n{_code(url)}", soft_wrap=True, markup=False,
                       highlight=False)  # fmt: skip


def _code(text: str) -> str:
    """A QR code in blocks of a terminal."""
    import segno

    drawn = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(drawn, border=2, compact=True)
    return drawn.getvalue()


def _ways(program: TeleoperationProgram, address: str) -> tuple[PageWay, ...]:
    """How other devices reach the page, best first."""
    number = address.rpartition(":")[2]
    if program.token is None:
        todo = f"adb reverse tcp:{number} tcp:{number}"
        return (PageWay("USB", f"http://localhost:{number}/", todo),)
    query = f"?token={program.token}"
    todo = "install /ca.crt on the device, or accept its certificate"
    return tuple(
        PageWay("network", f"https://{f'[{name}]' if ':' in name else name}:{number}/{query}", todo)
        for name in _names(program.settings.host)
    )


def _open_to_others(terms: TeleoperationTerms) -> TeleoperationTerms:
    """Others come in with a token only, and by https, which WebXR asks for."""
    home = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state"))
    others = _names(terms.settings.host)
    names = {"localhost", "127.0.0.1", socket.gethostname(), *others}
    made = own_certificate(home / "corporeal" / "teleoperation", sorted(names))
    return replace(
        terms, settings=replace(terms.settings, names=others), token=secrets.token_urlsafe(16),
        certificate=made[:2], authority=made[2],
    )  # fmt: skip


def _names(host: str) -> tuple[str, ...]:
    """What other devices call this machine where it listens on `host`, best first.

    Raises CorporealError where it listens to all of no network.
    """
    if host not in ("0.0.0.0", "::"):  # nosec B104
        return (host,)
    addresses = [each for each in machine_addresses() if host == "::" or ":" not in each]
    if not addresses:
        raise CorporealError(
            f"--host {host}, got a machine without an address that others reach; expected a "
            "network. Connect it, or leave --host out and use adb reverse."
        )
    return (*addresses, f"{socket.gethostname().partition('.')[0]}.local")


def _report(summary: TeleoperationSummary, as_json: bool) -> None:
    if as_json:
        print_json({
            "turns": summary.turns, "late": summary.late, "states": summary.states,
            "events": summary.events, "episodes": [str(path) for path in summary.episodes],
            "outcomes": summary.outcomes, "verdicts": summary.verdicts,
            "latency_ms": {"input": summary.input_ms, "command": summary.command_ms},
        })  # fmt: skip
        return
    page = console()
    page.print(f"{counted(summary.turns, 'tick')}, {summary.late} late; "
               + ", ".join(f"{state} {number / 100:.1f} s"
                           for state, number in summary.states.items()))  # fmt: skip
    judged = {verdict.path: verdict for verdict in summary.verdicts}
    for number, path in enumerate(summary.episodes):
        result = summary.outcomes[number] if number < len(summary.outcomes) else None
        how = "" if result is None else "success" if result.success else f"{result.failure}"
        verdict = judged[path].verdict or "unchecked" if path in judged else ""
        page.print(f"  {verdict:12}{path}  {how}", soft_wrap=True)
    if summary.episodes:
        page.print(f"next: corporeal check {summary.episodes[-1]}")
    elif summary.turns == 0:
        raise CorporealError("teleoperation, got not one tick; expected a robot that answers.")


COMMAND = Command(teleoperate, panel="Record")
