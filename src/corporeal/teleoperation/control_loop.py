"""One session driving one robot, a hundred times a second, in real or in virtual time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.arm_policy import ArmPolicy
from corporeal.teleoperation.clearance import Clearance
from corporeal.teleoperation.leader import LeaderArm, leader_of, motion_leader
from corporeal.teleoperation.limits import CommandLimits
from corporeal.teleoperation.operator_input import InputError, OperatorInput
from corporeal.teleoperation.operator_message import Command, JointMessage
from corporeal.teleoperation.robot_link import RobotLink, SentCommand
from corporeal.teleoperation.safety_filter import SafetyFilter
from corporeal.teleoperation.session import BodyState, SessionEvent, TeleoperationSession, Tick

TICK_NS: Final = 10_000_000
# So much may wait for a tick; more is a flood, of which the newest counts.
_WAITING = 64
# A tick that is later than this was missed: the loop goes on from now.
_LATE_NS = 5 * TICK_NS
# Virtual time begins here, so that the same input gives the same commands on every day.
VIRTUAL_START_NS: Final = 1_000_000_000 * 1_000_000_000
_NO_LEGS = "the robot's own controller keeps its legs: it cannot be told to kneel"
BEFORE_INPUT: Final = "the input is not played yet"
TAKE_COMMANDS: Final = ("start", "end", "discard", "success", "failure")


@dataclass(frozen=True)
class AskedCommand:
    """A command with its reason, when it was asked for on the host's clock."""

    command: Command
    reason: str
    time_ns: int


@dataclass(frozen=True)
class OperatorArrived:
    """Another page, or the same anew, drives from here on; `streams` are its leader arms.

    With `is_motion` they are motions of the robot itself, with nothing to align.
    """

    time_ns: int
    streams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    device: str = ""
    is_motion: bool = False


@dataclass(frozen=True)
class DeviceClock:
    """How far the host's clock is ahead of the device's, to half a round trip."""

    time_ns: int
    offset_ns: int
    round_trip_ns: int


Given = OperatorInput | JointMessage | AskedCommand | OperatorArrived | DeviceClock


@dataclass(frozen=True, eq=False)
class LoopTurn:
    """One turn of the loop: what came in since the last, what the robot said, what it was told.

    `commanded_ns` is when the command had been given, on the host's clock; `columns` (n,) are the
    joints of the robot that are commanded.
    """

    given: tuple[Given, ...]
    body: BodyState
    tick: Tick
    sent: SentCommand
    commanded_ns: int
    columns: NDArray[np.int64]


Listener = Callable[[LoopTurn], None]


def open_session(
    link: RobotLink,
    *,
    limits: CommandLimits | None = None,
    share: float = 1.0,
    scale: float = 1.0,
) -> TeleoperationSession:
    """A session for a robot as it stands now, its arms kept from itself, table and floor.

    `share` is that of the speeds and accelerations which the limits allow.
    """
    bounds = (limits or CommandLimits()).scaled(share)
    arms = ArmModel(link.robot)
    body = link.read(0)
    arms.move_body(body.joints, body.base)
    arms.place(body.joints[arms.columns])
    clearance = Clearance(arms, link.obstacles, clearance_m=bounds.clearance_m)
    limb = SafetyFilter(arms, clearance, bounds)
    limb.start_at(body.joints[arms.columns])
    return TeleoperationSession(limb, scale=scale)


def open_policy(
    path: Path, session: TeleoperationSession, link: RobotLink, *, is_live: bool
) -> ArmPolicy:
    """A policy for the joints that a session commands; raises ModelError for one that is none."""
    return ArmPolicy(path, link, session.limb.arms.names, is_live=is_live)


class ControlLoop:
    """Reads the robot, lets the session decide, commands the robot; `listeners` see every turn.

    `offer` may be called from any thread. `at_take` is told of commands about demonstrations.
    """

    def __init__(
        self,
        session: TeleoperationSession,
        link: RobotLink,
        *,
        listeners: Iterable[Listener] = (),
        at_take: Callable[[AskedCommand], SessionEvent | None] | None = None,
        policy: ArmPolicy | None = None,
    ) -> None:
        self.session, self.link, self.policy = session, link, policy
        self.listeners = list(listeners)
        self.at_take = at_take
        self.streams: tuple[tuple[str, LeaderArm], ...] = ()
        self.turns = self.late = 0
        self.failure: BaseException | None = None
        self._waiting: deque[Given] = deque(maxlen=_WAITING)
        self._asked: deque[Given] = deque(maxlen=_WAITING)
        self._stopping = threading.Event()
        self._put_back_ns: int | None = None
        self._thread: threading.Thread | None = None

    def offer(self, given: Given) -> None:
        """Take what an operator sent; it counts from the next turn on."""
        # Commands wait in a row of their own: no flood of input pushes a stop out.
        is_asked = isinstance(given, AskedCommand | OperatorArrived)
        (self._asked if is_asked else self._waiting).append(given)

    def turn(self, now_ns: int, clock: Callable[[], int] | None = None) -> LoopTurn:
        """One turn at a time of the host's clock."""
        given = self._take()
        notes = [note for one in given if (note := self._pass_on(one)) is not None]
        if self._put_back_ns is not None and now_ns >= self._put_back_ns:
            notes += self._put_back(now_ns)
        body = self.link.read(now_ns)
        action = None if self.policy is None else self.policy.act(now_ns)
        trouble = "" if self.policy is None else self.policy.trouble
        tick = self.session.tick(now_ns, body, policy=action, trouble=trouble)
        if notes:
            tick = replace(tick, events=(*tick.events, *notes))
        sent = self.link.send(tick)
        columns = self.session.limb.arms.columns
        turn = LoopTurn(given, body, tick, sent, clock() if clock else now_ns, columns)
        self.turns += 1
        for listener in self.listeners:
            listener(turn)
        return turn

    def put_back_at(self, time_ns: int) -> None:
        """Put the scene back at a time, once the recording of the last demonstration is over."""
        self._put_back_ns = time_ns

    def start(self, clock: Callable[[], int]) -> None:
        """Run in a thread of its own until `stop`, in real time."""
        self._thread = threading.Thread(
            target=self._run, args=(clock,), name="control loop", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the robot keeps its last command, which is to stand."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self, clock: Callable[[], int]) -> None:
        due_ns = clock()
        try:
            while not self._stopping.is_set():
                now_ns = clock()
                if now_ns < due_ns:
                    time.sleep((due_ns - now_ns) / 1e9)
                    continue
                if now_ns - due_ns > _LATE_NS:
                    self.late += (now_ns - due_ns) // TICK_NS
                    due_ns = now_ns
                self.turn(now_ns, clock)
                due_ns += TICK_NS
        except BaseException as error:  # Told by whoever waits for the loop.
            self.failure = error
            self._stopping.set()

    @property
    def is_over(self) -> bool:
        """Whether it was stopped, or broke."""
        return self._stopping.is_set()

    def _take(self) -> tuple[Given, ...]:
        taken: list[Given] = []
        for row in (self._asked, self._waiting):
            with suppress(IndexError):
                while len(taken) < 2 * _WAITING:
                    taken.append(row.popleft())
        return tuple(taken)

    def _pass_on(self, given: Given) -> SessionEvent | None:
        session = self.session
        if isinstance(given, OperatorInput):
            session.receive(given)
        elif isinstance(given, DeviceClock):
            return None  # Of interest to who records and who reports.
        elif isinstance(given, OperatorArrived):
            return self._greet(given)
        elif isinstance(given, JointMessage):
            if given.stream < len(self.streams):
                name, _ = self.streams[given.stream]
                session.receive_joints(name, given.positions, given.times.received_ns)
        elif given.command in TAKE_COMMANDS:
            if self.at_take is None:
                return SessionEvent("refused", "nothing is recorded: start it with --record",
                                    given.time_ns)  # fmt: skip
            return self.at_take(given)
        elif given.command == "policy" and self.policy is None:
            return SessionEvent("refused", "no policy was given", given.time_ns)
        elif given.command == "kneel" and not self.link.kneels:
            return SessionEvent("refused", _NO_LEGS, given.time_ns)
        else:
            session.ask(given.command, given.time_ns, given.reason)
            if given.command == "engage":
                return self._align(given.time_ns)
        return None

    def _greet(self, arrived: OperatorArrived) -> SessionEvent | None:
        named = self.session.limb.arms.names
        opening_m = self.link.opening_m
        try:
            made = [
                (name, motion_leader(joints, named, opening_m=opening_m)
                 if arrived.is_motion else leader_of(joints, named))
                for name, joints in arrived.streams.items()
            ]  # fmt: skip
        except CorporealError as error:
            return SessionEvent("refused", str(error), arrived.time_ns)
        self.streams = tuple(made)
        self.session.greet(arrived.time_ns, dict(made))
        return None

    def _align(self, now_ns: int) -> SessionEvent | None:
        """Leader arms that are not aligned yet are, where both hold the same pose."""
        for leader in self.session.leaders.values():
            if not leader.is_ready and leader.received_ns:
                try:
                    leader.align(self.session.limb.positions)
                except InputError as error:
                    return SessionEvent("refused", str(error), now_ns)
        return None

    def _put_back(self, now_ns: int) -> list[SessionEvent]:
        self._put_back_ns = None
        if not self.link.put_back():
            return []
        session = self.session
        if self.policy is not None:
            self.policy.forget()
        session.ask("human", now_ns, "the scene was put back")
        session.ask("disengage", now_ns, "the scene was put back")
        body = self.link.read(now_ns)
        session.limb.arms.move_body(body.joints, body.base)
        session.limb.start_at(body.joints[session.limb.arms.columns])
        return [SessionEvent("scene", "the scene was put back", now_ns)]


def play(
    loop: ControlLoop, inputs: Iterable[OperatorInput], *, seconds: float | None = None,
    start_ns: int = VIRTUAL_START_NS, clutch: bool = True, take_over_s: float = 0.0,
) -> list[LoopTurn]:  # fmt: skip
    """Drive a robot from recorded inputs in virtual time, as fast as it goes.

    With `clutch` it is held throughout, whatever the recording says. A policy that the loop has
    drives until `take_over_s`.
    """
    turns: list[LoopTurn] = []
    rows = iter(inputs)
    row = next(rows, None)
    if row is None:
        raise CorporealError("input, got no frames; expected a recording. Record it again.")
    offset_ns = start_ns - row.times.received_ns
    now_ns, longest = start_ns, None if seconds is None else start_ns + round(seconds * 1e9)
    has_policy = loop.policy is not None and take_over_s > 0
    if has_policy:
        loop.offer(AskedCommand("policy", BEFORE_INPUT, start_ns))
    taken_ns = start_ns + round(take_over_s * 1e9) if has_policy else start_ns
    is_due = clutch
    while row is not None and (longest is None or now_ns < longest) and not loop.is_over:
        now_ns += TICK_NS
        if is_due and now_ns > taken_ns:
            loop.offer(AskedCommand("engage", "the input is played", now_ns))
            is_due = False
        while row is not None and row.times.received_ns + offset_ns <= now_ns:
            loop.offer(_moved(row, offset_ns))
            row = next(rows, None)
        turns.append(loop.turn(now_ns))
        _reengage(loop, turns[-1], clutch=clutch)
    return turns


def _reengage(loop: ControlLoop, turn: LoopTurn, *, clutch: bool) -> None:
    """A recording does not press the button again after a gap, or a new origin: this does."""
    tick = turn.tick
    is_fresh = tick.input_age_ns is not None and tick.input_age_ns < 5 * TICK_NS
    if clutch and tick.state in ("hold", "inert") and is_fresh and turn.tick.driver == "human":
        loop.offer(AskedCommand("engage", "the input is played", tick.time_ns))


def _moved(given: OperatorInput, offset_ns: int) -> OperatorInput:
    times = replace(given.times, received_ns=given.times.received_ns + offset_ns)
    return replace(given, times=times)
