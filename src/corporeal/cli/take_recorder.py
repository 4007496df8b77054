"""The demonstrations of a session: begun and ended as the operator asks, recorded and judged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corporeal import __version__
from corporeal.capture.driver import Mark
from corporeal.capture.operated_robot import OperatedRobot, mark_outcome
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments
from corporeal.capture.trigger import Automatic
from corporeal.cli.card_desk import CardDesk
from corporeal.cli.judging import EpisodeJudge, EpisodeVerdict, JudgingTerms
from corporeal.cli.recording_view import RecordingView
from corporeal.cli.workspaces import enter_workspace
from corporeal.episode.facts import AUTONOMOUS, CORRECTION, TELEOPERATION
from corporeal.operations.campaign import find_campaign
from corporeal.quality.policy import open_policy
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import (
    AskedCommand,
    ControlLoop,
    LoopTurn,
    OperatorArrived,
)
from corporeal.teleoperation.robot_link import RobotLink, TaskResult
from corporeal.teleoperation.session import Driven, SessionEvent

# What a recorder takes before and after a demonstration, s.
BEFORE_S, AFTER_S = 1.0, 2.0
# The scene is put back when the recording of what came before is over, s.
_BACK_S = 0.3
_SESSION = "teleoperation"


@dataclass(frozen=True)
class TeleoperationTerms:
    """What is driven, how it is reached and what is kept.

    Episodes are taken into the `workspace`, where there is one, and follow the cards of its
    `campaign`. A demonstration that is asked for begins after `countdown_s`.
    """

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
    countdown_s: float = 0.0
    workspace: Path | None = None
    campaign: str | None = None


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
    """Begins and ends demonstrations as the operator asks; the recorder runs in a thread.

    Live, its health and pictures are published where Studio's floor looks for them. What it opens
    closes with the `stack`, after `close`.
    """

    def __init__(
        self, terms: TeleoperationTerms, link: RobotLink, source: OperatedRobot,
        summary: TeleoperationSummary, tell: Callable[[Mapping[str, Any]], None], stack: ExitStack,
    ) -> None:  # fmt: skip
        assert terms.out is not None, "only what is kept is recorded"
        self._terms, self._link, self._source = terms, link, source
        self._summary, self._tell = summary, tell
        self._begun_ns: int | None = None
        self._due_ns: int | None = None
        self._takes = 0
        self._asked = link.instruction
        self._device = "input"
        self._driver: Driven = "human"
        self._policy_drove = False
        self.loop: ControlLoop | None = None
        self.failure: BaseException | None = None
        facts = {"software": f"corporeal {__version__}", "session": _SESSION,
                 "task": terms.task, **terms.facts}  # fmt: skip
        self._cards = _open_cards(terms, stack)
        self._view = None
        if source.is_live:
            self._view = RecordingView(stack, terms.out, None, quiet=True)
        self._judge = _open_judge(terms, self._show_verdict)
        self.recorder = Recorder(
            (source.source,),
            RecorderSettings(terms.out, facts, pre_roll_s=BEFORE_S, post_roll_s=AFTER_S),
            team=None if self._cards is None else TeamDocuments(protocol=self._cards.protocol),
            trigger=Automatic(), on_episode=self._take_episode, cards=self._cards,
            on_health=None if self._view is None else self._view.show,
            on_picture=None if self._view is None else self._view.show_picture,
        )  # fmt: skip
        if self._view is not None:
            self._view.take_marks(self.recorder)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def at_take(self, asked: AskedCommand) -> SessionEvent | None:
        """What a command about demonstrations comes to."""
        now_ns, command = asked.time_ns, asked.command
        if command == "start":
            if self._begun_ns is not None or self._due_ns is not None:
                return SessionEvent("refused", "a demonstration is being recorded", now_ns)
            if self.recorder.state == "post-roll":
                return SessionEvent("refused", "the last demonstration is still being recorded",
                                    now_ns)  # fmt: skip
            if self.recorder.refusal:
                return SessionEvent("refused", self.recorder.refusal, now_ns)
            if self._terms.countdown_s > 0:
                self._due_ns = now_ns + round(self._terms.countdown_s * 1e9)
                return SessionEvent("countdown", f"{self._terms.countdown_s:g} s", now_ns)
            self.begin(now_ns)
            return SessionEvent("start", "", now_ns)
        if command in ("end", "discard") and self._due_ns is not None:
            self._due_ns = None
            return SessionEvent("countdown cancelled", "asked for", now_ns)
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
        """A listener of the loop: whoever drives from a tick on begins a segment of its own.

        A countdown runs by its ticks, and ends where the robot is stopped.
        """
        self._count_down(turn)
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

    def _count_down(self, turn: LoopTurn) -> None:
        now_ns = turn.tick.time_ns
        if self._due_ns is None:
            return
        if turn.tick.state == "stopped":
            self._due_ns = None
            self._tell_event("countdown cancelled", "the robot was stopped", now_ns)
        elif now_ns >= self._due_ns:
            self.begin(now_ns)
            self._tell_event("start", "", now_ns)

    def _tell_event(self, event: str, cause: str, time_ns: int) -> None:
        self._tell({"kind": "event", "event": event, "cause": cause, "time_ns": time_ns})

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
        self._begun_ns, self._due_ns, self._policy_drove = now_ns, None, False
        if self.loop is not None:
            self._driver = self.loop.session.driver
        self._takes += 1
        card = None if self._cards is None else self._cards.card
        self._asked = self._link.instruction if card is None else card.instruction
        self._link.begin_task()
        self._source.mark(Mark("start", now_ns, {
            "task": self._terms.task, "instruction": self._asked,
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
            self.loop.put_back_at(now_ns + round((self.after_s + _BACK_S) * 1e9))
        return result

    def state(self, now_ns: int) -> dict[str, Any]:
        """Where it stands, for pages."""
        said: dict[str, Any] = {
            "state": "recording" if self._begun_ns is not None else self.recorder.state,
            "episode": None,
            "elapsed_s": None,
            "countdown_s": None,
            "lost": self._source.lost,
        }
        if self._cards is not None:
            said["card"] = self._asked if self._begun_ns is not None else self._next_card()
        if self._due_ns is not None:
            said["state"] = "countdown"
            said["countdown_s"] = round(max(self._due_ns - now_ns, 0) / 1e9, 2)
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

    def _next_card(self) -> str:
        """What the campaign asks for next, or why it asks for nothing."""
        assert self._cards is not None
        card = self._cards.card
        return self._cards.problem if card is None else card.instruction

    @property
    def after_s(self) -> float:
        """What still belongs to a demonstration after its end: a protocol may want more."""
        return self.recorder.settings.post_roll_s

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
        if self._view is not None:
            self._view.show_verdict(verdict)
        cause = f"{verdict.path.name}: {verdict.verdict or 'unchecked'}"
        self._tell_event("verdict", cause, time.time_ns())


def needed_cameras(terms: TeleoperationTerms) -> tuple[str, ...]:
    """The cameras without which the protocol of the campaign takes no episode."""
    if terms.campaign is None or terms.workspace is None:
        return ()
    with (
        enter_workspace(terms.workspace, "ingest") as (workspace, _),
        workspace.database.read() as connection,
    ):
        protocol = find_campaign(connection, terms.campaign).protocol
    return tuple(camera.name for camera in protocol.cameras if not camera.optional)


def _open_cards(terms: TeleoperationTerms, stack: ExitStack) -> CardDesk | None:
    """The cards of a campaign, which the page on the floor shows."""
    if terms.campaign is None or terms.workspace is None:
        return None
    station, operator = (terms.facts.get(name) for name in ("station", "operator"))
    desk = CardDesk(terms.campaign, terms.workspace, station=station, operator=operator)
    return stack.enter_context(desk)


def _open_judge(terms: TeleoperationTerms, show: Callable[[EpisodeVerdict], None]) -> EpisodeJudge:
    """The judge; what is wrong with its terms is said before anybody drives."""
    open_policy(terms.policy)
    if terms.workspace is None:
        return EpisodeJudge(JudgingTerms(terms.policy), show)
    with enter_workspace(terms.workspace, "ingest"):
        pass
    return EpisodeJudge(JudgingTerms(terms.policy, workspace=terms.workspace, batch=_SESSION), show)


def _words(result: TaskResult | None) -> str:
    if result is None:
        return "nobody can tell how it ended"
    return "success" if result.success else f"failure: {result.failure}"
