"""One robot, one operator: the loop, the cameras, the recorder and the page as one program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from corporeal.capture.operated_robot import OperatedRobot, host_time
from corporeal.cli.take_recorder import TakeRecorder, TeleoperationSummary, TeleoperationTerms
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.camera_feed import CameraFeed
from corporeal.teleoperation.control_loop import (
    BEFORE_INPUT,
    VIRTUAL_START_NS,
    AskedCommand,
    ControlLoop,
    Given,
    LoopTurn,
    OperatorArrived,
    open_policy,
    open_session,
    play,
)
from corporeal.teleoperation.operator_input import input_streams, read_inputs
from corporeal.teleoperation.operator_state import PageWay, StateReport, welcome
from corporeal.teleoperation.robot_link import RobotLink


class TeleoperationProgram:
    """The desk behind the page; `run` serves, `replay` plays a recording instead of a person."""

    def __init__(
        self,
        terms: TeleoperationTerms,
        link: RobotLink,
        *,
        is_virtual: bool,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.terms, self.link = terms, link
        self.settings, self.token, self.authority = terms.settings, terms.token, terms.authority
        self.summary = TeleoperationSummary()
        self.session = open_session(link, share=terms.speed_share)
        self.report = StateReport(ArmModel(link.robot))
        # Imported here: the page's server is an extra, and --help works without it.
        from corporeal.studio.operator_server import OperatorServer

        self.server = OperatorServer(self)
        cameras = link.cameras if terms.pictures else ()
        self.ways: tuple[PageWay, ...] = ()
        self.feed = CameraFeed(link, cameras, rate_hz=terms.camera_hz)
        self.feed.viewers.append(self.server.see_picture)
        self.policy = None
        if terms.arm_policy is not None:
            self.policy = open_policy(terms.arm_policy, self.session, link, is_live=not is_virtual)
            see = self.policy.see_picture
            self.feed.viewers.append(lambda camera, picture, _: see(camera, picture))
        self.loop = ControlLoop(
            self.session, link, listeners=[self.server.see, self._count], policy=self.policy
        )
        self.takes: TakeRecorder | None = None
        self._is_virtual = is_virtual
        self._now_ns = clock or host_time()

    def now_ns(self) -> int:
        """The host's clock."""
        return self._now_ns()

    def offer(self, given: Given) -> None:
        """What an operator did."""
        self.loop.offer(given)

    def welcome(self, *, may_drive: bool) -> dict[str, Any]:
        """The first message to a page."""
        return welcome(
            self.link, task=self.terms.task, cameras=self.feed.cameras, now_ns=self.now_ns(),
            records=self.takes is not None, may_drive=may_drive, ways=self.ways,
            has_policy=self.policy is not None,
        )  # fmt: skip

    def recording(self) -> Mapping[str, Any]:
        """Where the recording stands."""
        if self.takes is None:
            return {"state": "off", "episode": None, "elapsed_s": None, "countdown_s": None}
        return self.takes.state(self.now_ns())

    def run(self, on_ready: Callable[[str], None], until: threading.Event) -> TeleoperationSummary:
        """Serve the page and drive the robot in real time until an event says so."""
        with ExitStack() as stack:
            self._open_takes(stack)
            if self.policy is not None:
                stack.callback(self.policy.close)
            watcher = threading.Thread(target=self._watch, args=(until,), daemon=True)

            def ready(address: str) -> None:
                self.feed.start(self.now_ns)
                self.loop.start(self.now_ns)
                watcher.start()
                on_ready(address)

            from corporeal.studio.operator_server import serve_operator

            serve_operator(self.server, certificate=self.terms.certificate, on_ready=ready,
                           until=until)  # fmt: skip
            until.set()
            if self.takes is not None and self.takes.is_running:
                self.takes.end(self.now_ns())
            self.loop.stop()
            self.feed.stop()
        return self._sum_up()

    def replay(
        self, path: Path, seconds: float | None, *, take_over_s: float = 0.0
    ) -> TeleoperationSummary:
        """Drive from a recording in virtual time; the same recording gives the same commands.

        A policy, where there is one, drives until `take_over_s`.
        """
        inputs, streams = read_inputs(path), input_streams(path)
        commanded = self.session.limb.arms.names
        if streams and not any(set(names) & set(commanded) for names in streams.values()):
            raise UnknownNameError("joints of the input", path.name, commanded)
        if streams:
            self.loop.offer(OperatorArrived(VIRTUAL_START_NS, streams, is_motion=True))
        with ExitStack() as stack:
            self._open_takes(stack)
            self.loop.listeners.append(lambda turn: self.feed.draw_due(turn.tick.time_ns))
            stack.callback(self.link.release_cameras)
            if self.takes is not None:
                self.takes.name_input(f"recorded input {path.name}")
                if self.policy is not None and take_over_s > 0:
                    self.session.ask("policy", VIRTUAL_START_NS, BEFORE_INPUT)
                self.takes.begin(VIRTUAL_START_NS)
            turns = play(self.loop, inputs, seconds=seconds, take_over_s=take_over_s)
            if self.takes is not None:
                now_ns, after_s = turns[-1].tick.time_ns, self.takes.after_s
                self.takes.end(now_ns)
                self.loop.offer(AskedCommand("hold", "the input ended", now_ns))
                for number in range(1, round((after_s + 0.2) * 100)):
                    self.loop.turn(now_ns + number * 10_000_000)
        return self._sum_up()

    def _open_takes(self, stack: ExitStack) -> None:
        if self.terms.out is None:
            return
        source = OperatedRobot(
            self.link, dict.fromkeys(self.feed.cameras, self.link.picture_size), self.feed.rate_hz,
            is_live=not self._is_virtual,
            facts={**self.link.facts, **self._policy_facts(),
                   "speed_share": self.terms.speed_share},
            has_policy=self.policy is not None,
            columns=tuple(self.session.limb.arms.columns.tolist()),
        )  # fmt: skip
        self.takes = TakeRecorder(
            self.terms, self.link, source, self.summary, self.server.tell, stack
        )
        self.takes.loop = self.loop
        self.loop.at_take = self.takes.at_take
        self.loop.listeners += [source.see, self.takes.see]
        self.feed.viewers.append(source.see_picture)
        stack.callback(self.takes.close)

    def _policy_facts(self) -> dict[str, Any]:
        """Which policy there was, for the episodes."""
        if self.policy is None:
            return {}
        return {"arm_policy": {"name": self.policy.name, "sha256": self.policy.sha256,
                               "rate_hz": self.policy.rate_hz}}  # fmt: skip

    def _watch(self, until: threading.Event) -> None:
        """A loop that broke ends the program: nobody drives a robot that is not commanded."""
        while not until.wait(0.2):
            if self.loop.is_over:
                until.set()

    def _count(self, turn: LoopTurn) -> None:
        states = self.summary.states
        states[turn.tick.state] = states.get(turn.tick.state, 0) + 1
        for event in turn.tick.events[:8]:
            if len(self.summary.events) < 1000:
                self.summary.events.append(f"{event.event}: {event.cause}".rstrip(": "))

    def _sum_up(self) -> TeleoperationSummary:
        for failure in (self.loop.failure, self.takes.failure if self.takes else None,
                        self.feed.failure):  # fmt: skip
            if failure is not None:
                if isinstance(failure, CorporealError):
                    raise failure
                raise CorporealError(f"teleoperation broke off: {failure}.") from failure
        summary = self.summary
        summary.turns, summary.late = self.loop.turns, self.loop.late
        with suppress(TypeError):
            summary.input_ms = round(1e3 * self.report.input_s, 2)  # type: ignore[operator]
            summary.command_ms = round(1e3 * self.report.command_s, 2)  # type: ignore[operator]
        return summary
