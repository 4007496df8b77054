"""A demonstration begins after its countdown, and only where it was not taken back."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from corporeal.cli.take_recorder import TeleoperationTerms
from corporeal.cli.teleoperation_run import TeleoperationProgram
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import TICK_NS, AskedCommand
from corporeal.teleoperation.operator_message import Command
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers

pytest.importorskip("daqp", reason="needs the extra robot")
BEGIN_NS = 1_700_000_000_000_000_000


@pytest.mark.slow
def test_a_countdown_can_be_taken_back_and_a_stop_takes_it_back(tmp_path: Path) -> None:
    link = robot_drivers()["sim"].open(LinkOptions(seed=2))
    terms = TeleoperationTerms("pick_place", StudioSettings(), out=tmp_path, pictures=False,
                               countdown_s=0.1)  # fmt: skip
    program = TeleoperationProgram(terms, link, is_virtual=True)
    now_ns = BEGIN_NS

    def turn(count: int, *commands: Command) -> list[str]:
        nonlocal now_ns
        for command in commands:
            program.loop.offer(AskedCommand(command, "", now_ns))
        told = []
        for _ in range(count):
            now_ns += TICK_NS
            told += [event.event for event in program.loop.turn(now_ns).tick.events]
        return told

    with ExitStack() as stack:
        program._open_takes(stack)
        takes = program.takes
        assert takes is not None
        assert "countdown" in turn(2, "start")
        assert takes.state(now_ns)["state"] == "countdown"
        assert 0.07 <= takes.state(now_ns)["countdown_s"] <= 0.1
        assert "refused" in turn(1, "start")
        assert "countdown cancelled" in turn(20, "end")
        assert takes.state(now_ns)["state"] == "idle"
        turn(3, "start")
        turn(20, "stop")
        assert takes.state(now_ns)["state"] == "idle"
        assert takes.state(now_ns)["countdown_s"] is None
        turn(1, "reset")
        turn(20, "start")
        assert takes.state(now_ns)["state"] == "recording"
        turn(5, "end")
    assert len(program.summary.episodes) == 1
