"""One robot, one operator: the loop, the cameras, the recorder and the page as one program."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corporeal import __version__
from corporeal.capture.driver import Mark
from corporeal.capture.operated_robot import OperatedRobot, host_time, mark_outcome
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.trigger import Automatic
from corporeal.cli.judging import EpisodeJudge, EpisodeVerdict, JudgingTerms
from corporeal.episode.facts import AUTONOMOUS, CORRECTION, TELEOPERATION
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.studio.settings import StudioSettings
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
from corporeal.teleoperation.robot_link import RobotLink, TaskResult
from corporeal.teleoperation.session import Driven, SessionEvent

# What a recorder takes before and after a demonstration, s.
BEFORE_S, AFTER_S = 1.0, 2.0
# The scene is put back when the recording of what came before is over, s.
_BACK_S = 0.3


@dataclass(frozen=True)
class TeleoperationTerms:
    """What is driven, how it is reached and what is kept."""

    task: str
    settings: StudioSettings
    token: str | None = None
    certificate: tuple[Path, Path] | None = None
    authority: Path | None = None
    out: Path | None = None
    pictures: bool = True
    camera_hz: float = 20.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    policy: Path | None = None
    arm_policy: Path | None = None
    speed_share: float = 1.0


@dataclass
class TeleoperationSummary:
    """What became of a session: turns, late turns, states as seen, episodes with verdicts."""

    turns: int = 0
    late: int = 0
    states: dict[str, int] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    episodes: list[Path] = field(default_factory=list)
    outcomes: list[TaskResult | None] = field(default_factory=list)
    verdicts: list[EpisodeVerdict] = field(default_factory=list)
    input_ms: float | None = None
    command_ms: float | None = None


class TakeRecorder:
    """Begins and ends demonstrations as the operator asks; the recorder runs in a thread."""

    def __init__(
        self, terms: TeleoperationTerms, link: RobotLink, source: OperatedRobot,
        summary: TeleoperationSummary, tell: Callable[[Mapping[str, Any]], None],
    ) -> None:  # fmt: skip
        assert terms.out is not None, "only what is kept is recorded"
        self._terms, self._link, self._source = terms, link, source
        self._summary, self._tell = summary, tell
        self._begun_ns: int | None = None
        self._takes = 0
        self._device = "input"
        self._driver: Driven = "human"
        self._policy_drove = False
        self.loop: ControlLoop | None = None
        self.failure: BaseException | None = None
        facts = {"software": f"corporeal {__version__}", "session": "teleoperation",
                 "task": terms.task, **terms.facts}  # fmt: skip
        self._judge = EpisodeJudge(JudgingTerms(terms.policy), self._show_verdict)
        self.recorder = Recorder(
            (source.source,),
            RecorderSettings(terms.out, facts, pre_roll_s=BEFORE_S, post_roll_s=AFTER_S),
            trigger=Automatic(), on_episode=self._take_episode,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def at_take(self, asked: AskedCommand) -> SessionEvent | None:
        """What a command about demonstrations comes to."""
        now_ns, command = asked.time_ns, asked.command
        if command == "start":
            if self._begun_ns is not None:
                return SessionEvent("refused", "a demonstration is being recorded", now_ns)
            if self.recorder.state == "post-roll":
                return SessionEvent("refused", "the last demonstration is still being recorded",
                                    now_ns)  # fmt: skip
            self.begin(now_ns)
            return SessionEvent("start", "", now_ns)
        if command in ("end", "discard"):
            if self._begun_ns is None:
                return SessionEvent("refused", "no demonstration is being recorded", now_ns)
            result = self.end(now_ns, is_discarded=command == "discard")
            return SessionEvent(command, _words(result), now_ns)
        said = mark_outcome(
            self.recorder, success=command == "success", failure=asked.reason or None
        )
        return SessionEvent("refused" if said else command, said or "", now_ns)

    def see(self, turn: LoopTurn) -> None:
        """A listener of the loop: whoever drives from a tick on begins a segment of its own."""
        for given in turn.given:
            if isinstance(given, OperatorArrived):
                self._device = given.device or self._device
        if turn.tick.driver == self._driver:
            return
        self._driver = turn.tick.driver
        if self._begun_ns is not None:
            cause = next((event.cause for event in turn.tick.events
                          if event.event == f"{self._driver} drives"), "")  # fmt: skip
            facts = {"mode": self._mode(), "source": self._mover(), "note": cause or None}
            self._source.mark(Mark("segment", turn.tick.time_ns, facts))

    def name_input(self, name: str) -> None:
        """What a person's commands come from, where no page says so."""
        self._device = name

    def _mode(self) -> str:
        """The mode of the demonstration from here on: a person corrects what a policy began."""
        if self._driver == "policy":
            self._policy_drove = True
            return AUTONOMOUS
        return CORRECTION if self._policy_drove else TELEOPERATION

    def _mover(self) -> str:
        policy = None if self.loop is None else self.loop.policy
        if self._driver == "policy" and policy is not None:
            return f"policy {policy.name} {policy.sha256[:12]}"
        return self._device

    def begin(self, now_ns: int) -> None:
        """A demonstration begins now."""
        self._begun_ns, self._policy_drove = now_ns, False
        if self.loop is not None:
            self._driver = self.loop.session.driver
        self._takes += 1
        self._link.begin_task()
        self._source.mark(Mark("start", now_ns, {
            "task": self._terms.task, "instruction": self._link.instruction,
            "mode": self._mode(), "motion_source": self._mover(),
            **{name: value for name, value in self._link.facts.items() if name == "variation"},
        }))  # fmt: skip

    def end(self, now_ns: int, *, is_discarded: bool = False) -> TaskResult | None:
        """It ends now; the judge of the task says how."""
        self._begun_ns = None
        result = self._link.judge_task()
        self._summary.outcomes.append(result)
        facts: dict[str, Any] = {}
        if is_discarded:
            facts = {"outcome": {"success": False, "failure": "discarded by the operator"}}
        elif result is not None:
            facts = {"outcome": {**asdict(result), "measures": dict(result.measures)}}
        self._source.mark(Mark("end", now_ns, facts))
        if self.loop is not None:
            self.loop.put_back_at(now_ns + round((AFTER_S + _BACK_S) * 1e9))
        return result

    def state(self, now_ns: int) -> dict[str, Any]:
        """Where it stands, for pages."""
        said: dict[str, Any] = {
            "state": "recording" if self._begun_ns is not None else self.recorder.state,
            "episode": None,
            "elapsed_s": None,
            "countdown_s": None,
        }
        if self._begun_ns is not None:
            said["elapsed_s"] = round((now_ns - self._begun_ns) / 1e9, 2)
            said["episode"] = f"{self._terms.task} {self._takes}"
        if self._summary.verdicts:
            verdict = self._summary.verdicts[-1]
            said["last"] = {
                "episode": verdict.path.name,
                "verdict": verdict.verdict,
                "findings": [] if verdict.reason is None else [verdict.reason],
            }
        return said

    @property
    def is_running(self) -> bool:
        """Whether a demonstration is being recorded."""
        return self._begun_ns is not None

    def close(self) -> None:
        """Let the recorder finish and the judge say the last verdict."""
        self._source.end()
        self._thread.join()
        self._judge.close()
        self._summary.episodes = list(self.recorder.episodes)

    def _run(self) -> None:
        try:
            self.recorder.run()
        except BaseException as error:  # Told when the session ends.
            self.failure = error

    def _take_episode(self, path: Path) -> None:
        self._judge.judge(path)

    def _show_verdict(self, verdict: EpisodeVerdict) -> None:
        self._summary.verdicts.append(verdict)
        self._tell({"kind": "event", "event": "verdict",
                    "cause": f"{verdict.path.name}: {verdict.verdict or 'unchecked'}",
                    "time_ns": time.time_ns()})  # fmt: skip


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
                now_ns = turns[-1].tick.time_ns
                self.takes.end(now_ns)
                self.loop.offer(AskedCommand("hold", "the input ended", now_ns))
                for number in range(1, round((AFTER_S + 0.2) * 100)):
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
        self.takes = TakeRecorder(self.terms, self.link, source, self.summary, self.server.tell)
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


def _words(result: TaskResult | None) -> str:
    if result is None:
        return "nobody can tell how it ended"
    return "success" if result.success else f"failure: {result.failure}"
