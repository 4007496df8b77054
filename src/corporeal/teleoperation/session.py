"""Who drives and what the robot is told: the states of one session, in nobody's real time.

A session is fed with what arrives and asked once a tick. It neither sleeps nor looks at a clock,
so that the same inputs give the same commands, live, in a test and in a replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from corporeal.geometry import Array
from corporeal.teleoperation.clutch import Clutch, heading_of
from corporeal.teleoperation.grip import Grip
from corporeal.teleoperation.hand_objective import HandGoal, HandObjective, JointObjective
from corporeal.teleoperation.leader import LeaderArm
from corporeal.teleoperation.operator_input import SIDES, InputTimes, OperatorInput, Side
from corporeal.teleoperation.operator_message import Command
from corporeal.teleoperation.pose_filter import PoseFilter
from corporeal.teleoperation.safety_filter import ArmCommand, Objective, SafetyFilter

State = Literal["inert", "engaged", "hold", "stopped", "kneeling"]
Driven = Literal["human", "policy"]

# Without input for so long the robot is brought to rest, s.
STREAM_LOST_S: Final = 0.08
# The base speeds that sticks may ask for (m/s, m/s, rad/s), and how fast they come (per s).
_MOST_VELOCITY = np.array([0.6, 0.3, 0.8])
_VELOCITY_RAMP = np.array([1.0, 1.0, 2.0])
# How fast the arms' free posture goes back to that of standing while hands are followed, 1/s.
_HOME_HZ = 0.2
# A gripper opens or shuts wholly in no less than this, s.
_GRIP_S = 0.25
# A person has a gripper that a policy moved once theirs is as open as that, or passes it.
_SAME_GRIP = 0.1
# What a leader arm or a policy asks for is taken over gradually, s.
BLEND_S: Final = 1.0
# Lower than this share of its standing height, or more tilted, a robot has fallen.
_FALLEN_SHARE, _FALLEN_TILT = 0.6, 0.5


@dataclass(frozen=True, eq=False)
class BodyState:
    """What a robot says of itself: joints (J,), base x y z qw qx qy qz, hands 0 shut to 1 open.

    `blocked` is why it must not be moved now, such as a live-man switch that nobody holds.
    """

    time_ns: int
    joints: Array
    base: Array
    openings: Mapping[Side, float] = field(default_factory=dict)
    blocked: str = ""


@dataclass(frozen=True, eq=False)
class PolicyAction:
    """What a policy wants now: commanded joints (n,), hands 0 shut to 1 open, base velocity (3,).

    A joint that it does not command is NaN; hands and velocity are left out where it has none.
    """

    joints: Array
    openings: Mapping[Side, float]
    velocity: Array | None = None


@dataclass(frozen=True)
class SessionEvent:
    """Something that a person has to know: a change of state or driver, and why."""

    event: str
    cause: str
    time_ns: int


@dataclass(frozen=True, eq=False)
class Tick:
    """One tick: what the robot is told, and how it came to that.

    `arms` are the commanded joints, `wanted` the goals of the hands in the axes of the base,
    `asked` what a leader or a policy asked of the joints (n,), `velocity` that of the base.
    `policy` is what a policy wants, also while a person drives.
    """

    time_ns: int
    state: State
    cause: str
    driver: Driven
    arms: ArmCommand
    openings: dict[Side, float]
    velocity: Array
    kneels: bool
    wanted: dict[Side, HandGoal]
    asked: Array | None
    engaged: dict[Side, bool]
    input_times: InputTimes | None
    input_age_ns: int | None
    policy: PolicyAction | None
    events: tuple[SessionEvent, ...]


class TeleoperationSession:
    """The states of one session; see docs/spec/teleoperation.md for what they mean.

    `limb` filters every command, whoever gives it. `leaders` are leader arms by the name of
    their stream.
    """

    def __init__(
        self,
        limb: SafetyFilter,
        *,
        scale: float = 1.0,
        leaders: Mapping[str, LeaderArm] | None = None,
    ) -> None:
        self.limb = limb
        self.leaders = dict(leaders or {})
        self.state: State = "inert"
        self.cause = ""
        self.driver: Driven = "human"
        self._home = limb.positions.copy()
        self._rest = self._home.copy()
        self._input: OperatorInput | None = None
        self._received_ns = 0
        self._filters = {side: PoseFilter() for side in SIDES}
        self._clutches = {side: Clutch(scale) for side in SIDES}
        self._grips = {side: Grip() for side in SIDES}
        self._openings: dict[Side, float] = dict.fromkeys(SIDES, 1.0)
        # By side: how much more open the person's hand was when they took over; None: they have it.
        self._grip_owed: dict[Side, float | None] = dict.fromkeys(SIDES)
        self._asked_from: tuple[int, Array] | None = None
        self._policy: PolicyAction | None = None
        self._blocked = ""
        self._asked_rates = np.zeros(len(limb.positions))
        self._asked_to_follow = self._is_led = False
        self._released: dict[Side, bool] = dict.fromkeys(SIDES, True)
        self._heading: Array | None = None
        self._velocity = np.zeros(3)
        self._offset_ns: int | None = None
        self._origin = 0
        self._events: list[SessionEvent] = []
        self._time_ns: int | None = None

    def receive(self, given: OperatorInput) -> None:
        """Take an input as it arrives; an older one than the last is left out."""
        last = self._input
        if last is not None and 0 < last.sequence - given.sequence < 1 << 31:
            return
        self._input, self._received_ns = given, given.times.received_ns
        self._follow_clock(given.times)
        now_ns = given.times.received_ns
        if last is not None and given.origin != self._origin:
            self._let_go("the headset was recentred", now_ns)
        self._origin = given.origin
        if not given.is_visible:
            self._hold("the page is not in front", now_ns)
        if self._asks_to_stop(given):
            self._stop("both sticks were pressed", now_ns)
        for side in SIDES:
            hand = given.hand(side)
            if hand is None or not hand.is_tracked or hand.pose is None:
                self._filters[side].reset()
            else:
                self._filters[side].update(hand.pose, self._seen_s(given.times))
            if not self._holds_clutch(given, side):
                self._released[side] = True
            self._grips[side].update(hand, now_ns / 1e9)
        for name, joints in given.joints.items():
            if name in self.leaders:
                self.leaders[name].update(joints, now_ns)

    def greet(self, now_ns: int, leaders: Mapping[str, LeaderArm] | None = None) -> None:
        """Somebody else drives from here on: nothing of the last one's input counts."""
        self._rest_all()
        self._take_over("another page drives", now_ns)
        if self.state in ("engaged", "hold"):
            self._enter("inert", "another page drives", now_ns)
        self._input, self._offset_ns, self._heading = None, None, None
        self.leaders = dict(leaders or {})
        for side in SIDES:
            self._filters[side].reset()

    def receive_joints(self, stream: str, joints: Array, received_ns: int) -> None:
        """Take a sample of a leader arm that comes without hands."""
        if stream in self.leaders:
            self.leaders[stream].update(joints, received_ns)
            self._received_ns = received_ns

    def ask(self, command: Command, now_ns: int, reason: str = "") -> None:
        """Do what a page, a pedal or a program asks for."""
        if command == "stop":
            self._stop(reason or "asked for", now_ns)
        elif command == "reset":
            self._reset(now_ns)
        elif command == "hold":
            self._hold(reason or "asked for", now_ns)
        elif command == "disengage":
            self._let_go(reason or "asked for", now_ns)
        elif command == "recenter":
            self._heading = heading_of(self._input.head if self._input else None)
            self._let_go("recentred", now_ns)
        elif command == "kneel" and self.state != "stopped":
            self._rest_all()
            self._enter("kneeling", reason or "asked for", now_ns)
        elif command == "stand" and self.state == "kneeling":
            self._enter("inert", reason or "asked for", now_ns)
        elif command == "policy":
            self._give_to_policy(reason or "asked for", now_ns)
        elif command == "human":
            self._take_over(reason or "asked for", now_ns)
        elif command == "engage" and self.state in ("inert", "hold", "engaged"):
            self._asked_to_follow = True
            self._released = dict.fromkeys(SIDES, True)
            if self.state == "hold":
                self._enter("inert", "", now_ns)

    def tick(
        self, now_ns: int, body: BodyState, *, policy: PolicyAction | None = None, trouble: str = ""
    ) -> Tick:
        """The command of one control tick.

        `policy` is what a policy wants, `trouble` why there is one that wants nothing.
        """
        last_ns = self._time_ns
        dt_s = 0.01 if last_ns is None else float(np.clip((now_ns - last_ns) / 1e9, 0.002, 0.03))
        self._time_ns = now_ns
        self._policy, self._blocked = policy, body.blocked
        self._watch(now_ns, body, trouble)
        self._watch_clutch(now_ns)
        limb = self.limb
        limb.arms.move_body(body.joints, body.base)
        wanted, asked, objective = self._objective(now_ns, dt_s)
        arms = limb.step(objective, dt_s)
        self._move_grips(dt_s)
        self._move_base(dt_s)
        events, self._events = tuple(self._events), []
        return Tick(
            now_ns,
            self.state,
            self.cause or (body.blocked if self.state == "inert" else ""),
            self.driver,
            arms,
            dict(self._openings),
            self._velocity.copy(),
            self.state == "kneeling",
            wanted,
            asked,
            {side: self._clutches[side].is_held for side in SIDES},
            self._input.times if self._input else None,
            now_ns - self._received_ns if self._input else None,
            policy,
            events,
        )

    def _objective(
        self, now_ns: int, dt_s: float
    ) -> tuple[dict[Side, HandGoal], Array | None, Objective | None]:
        goals = self._goals(now_ns) if self.driver == "human" else {}
        asked = self._asked_by_policy() if self.driver == "policy" else self._led()
        free = self.state in ("inert", "engaged")
        self._is_led = self.driver == "human" and asked is not None and not goals and free
        if asked is None or goals or not free:
            self._asked_from = None
        if goals:
            if self.state == "inert":
                # What hands leave free stays as it is: nothing moves when the clutch is taken up.
                self._rest = self.limb.positions.copy()
                self._enter("engaged", "", now_ns)
            self._rest = self._rest + _HOME_HZ * dt_s * (self._home - self._rest)
            base, turn = self.limb.arms.base[:3], self.limb.arms.base_rotation
            world = {
                side: HandGoal(
                    base + turn @ goal.position,
                    turn @ goal.rotation,
                    turn @ goal.velocity,
                    turn @ goal.turning,
                )
                for side, goal in goals.items()
            }
            return goals, None, HandObjective(world, self._rest)
        if asked is not None and free:
            if self.state == "inert":
                self._enter("engaged", "", now_ns)
            return {}, asked, self._blended(asked, now_ns)
        if self.state == "engaged" and not self._asked_to_follow:
            self._enter("inert", "", now_ns)
        return {}, asked, None

    def _goals(self, now_ns: int) -> dict[Side, HandGoal]:
        goals: dict[Side, HandGoal] = {}
        given, arms = self._input, self.limb.arms
        if given is None or self._blocked or self.state not in ("inert", "engaged"):
            return goals
        if self._heading is None:
            self._heading = heading_of(given.head)
        arms.place(self.limb.positions)
        for side in arms.hands:
            hand, person = given.hand(side), self._filters[side].at(self._now_s(now_ns))
            holds = self._holds_clutch(given, side) and self._released[side]
            if not holds:
                self._clutches[side].release()
            if not holds or hand is None or person is None or not hand.is_tracked:
                # Whoever is not seen owes the clutch: it is taken up anew where they reappear.
                self._clutches[side].release()
                continue
            position, rotation = arms.hand(side)
            turn = arms.base_rotation.T
            here = turn @ (position - arms.base[:3]), turn @ rotation
            source = hand.source * 1009 + self._filters[side].jumps
            goals[side] = self._clutches[side].follow(person, source, here, self._heading)
        return goals

    def _led(self) -> Array | None:
        """What leader arms ask of the joints (n,); None where none leads."""
        active = self._active_leaders()
        if not active or not self._asked_to_follow or self._blocked:
            return None
        asked = self.limb.positions.copy()
        self._asked_rates = np.zeros(len(asked))
        for leader in active:
            leader.lead(asked, self._asked_rates)
        return asked

    def _lost_leader(self, now_ns: int) -> str:
        """A leader arm that led and is silent, though others may still be heard; "" for none."""
        for name, leader in self.leaders.items():
            if leader.received_ns and now_ns - leader.received_ns > STREAM_LOST_S * 1e9:
                return name
        return ""

    def _active_leaders(self) -> list[LeaderArm]:
        return [each for each in self.leaders.values() if each.is_ready and each.received_ns]

    def _asked_by_policy(self) -> Array | None:
        """What a policy asks of the joints (n,); those that it does not command stay."""
        if self._policy is None or self._blocked:
            return None
        joints = self._policy.joints
        self._asked_rates = np.zeros(len(joints))
        return np.where(np.isfinite(joints), joints, self.limb.positions)

    def _blended(self, asked: Array, now_ns: int) -> JointObjective:
        """From where the arms were to what is asked, smoothly, so that nothing lurches."""
        if self._asked_from is None:
            self._asked_from = now_ns, self.limb.positions.copy()
        begun_ns, start = self._asked_from
        share = min((now_ns - begun_ns) / 1e9 / BLEND_S, 1.0)
        share = share * share * (3.0 - 2.0 * share)
        return JointObjective(start + share * (asked - start), share * self._asked_rates)

    def _watch_clutch(self, now_ns: int) -> None:
        """Whoever takes up the clutch, or engages, has the robot from the policy at once."""
        given = self._input
        if self.driver != "policy":
            return
        for side in SIDES:
            hand = None if given is None else given.hand(side)
            if given is None or hand is None or not hand.is_tracked:
                continue
            if self._released[side] and self._holds_clutch(given, side):
                self._take_over("the clutch was taken up", now_ns, keeps_clutch=True)
                return
        if self._asked_to_follow and any(each.is_ready for each in self.leaders.values()):
            self._take_over("a leader arm was engaged", now_ns, keeps_clutch=True)

    def _watch(self, now_ns: int, body: BodyState, trouble: str) -> None:
        silent_s = (now_ns - self._received_ns) / 1e9
        # Who watches a policy is as much needed as who drives; a program without a page has nobody.
        is_driven = self.state == "engaged" and (self.driver == "human" or self._input is not None)
        if is_driven and silent_s > STREAM_LOST_S:
            self._hold("no input for 0.1 s", now_ns)
        if self._is_led and self.state == "engaged" and self._lost_leader(now_ns):
            self._hold(f"no input of {self._lost_leader(now_ns)} for 0.1 s", now_ns)
        if self.driver == "policy" and self._policy is None and trouble:
            self._hold(trouble, now_ns)
        if body.blocked and (self.state == "engaged" or self.driver == "policy"):
            self._hold(body.blocked, now_ns)
        standing = self.limb.arms.robot.standing
        if standing is None or self.state in ("stopped", "kneeling"):
            return
        w, x, y = float(body.base[3]), float(body.base[4]), float(body.base[5])
        upright = 1.0 - 2.0 * (x * x + y * y) if w or x or y else 1.0
        if upright < _FALLEN_TILT or body.base[2] < _FALLEN_SHARE * standing.height:
            self._stop("the robot fell", now_ns)

    def _holds_clutch(self, given: OperatorInput, side: Side) -> bool:
        hand = given.hand(side)
        if hand is None:
            return False
        if hand.clutch is not None:
            return hand.clutch
        squeezed = hand.tracker == "controller" and hand.is_pressed("squeeze")
        return squeezed or self._asked_to_follow

    def _asks_to_stop(self, given: OperatorInput) -> bool:
        hands = [given.hand(side) for side in SIDES]
        return all(hand is not None and hand.is_pressed("stick") for hand in hands)

    def _move_grips(self, dt_s: float) -> None:
        if self.state not in ("inert", "engaged"):
            return
        most = dt_s / _GRIP_S
        for side in SIDES:
            wanted = self._wanted_opening(side)
            if wanted is not None:
                step = wanted - self._openings[side]
                self._openings[side] += float(np.clip(step, -most, most))

    def _wanted_opening(self, side: Side) -> float | None:
        if self.driver == "policy":
            self._grip_owed[side] = self._persons_opening(side) - self._openings[side]
            return None if self._policy is None else self._policy.openings.get(side)
        if not (self._clutches[side].is_held or self._is_led):
            return None
        opening = self._persons_opening(side)
        owed, apart = self._grip_owed[side], opening - self._openings[side]
        # What a policy holds is not let go because the person's own hand happens to be open.
        if owed is not None and abs(apart) > _SAME_GRIP and apart * owed > 0:
            return None
        self._grip_owed[side] = None
        return opening

    def _persons_opening(self, side: Side) -> float:
        """How open a person wants a hand: by a gripper of their leader arm, else by their own."""
        given = self._input
        if given is None or given.hand(side) is None or not self._clutches[side].is_held:
            for leader in self._active_leaders():
                if side in leader.openings:
                    return leader.openings[side]
        return self._grips[side].opening

    def _move_base(self, dt_s: float) -> None:
        wanted = np.zeros(3)
        given = self._input
        policy = self._policy
        if self.driver == "policy":
            if self.state == "engaged" and policy is not None and policy.velocity is not None:
                wanted = np.clip(policy.velocity, -_MOST_VELOCITY, _MOST_VELOCITY)
        elif self.state in ("inert", "engaged") and given is not None:
            fresh = given.base_velocity is not None and given.is_visible
            silent_s = ((self._time_ns or 0) - self._received_ns) / 1e9
            if fresh and silent_s <= STREAM_LOST_S and given.base_velocity is not None:
                wanted = np.clip(given.base_velocity, -_MOST_VELOCITY, _MOST_VELOCITY)
        most = _VELOCITY_RAMP * dt_s
        self._velocity = self._velocity + np.clip(wanted - self._velocity, -most, most)

    def _hold(self, cause: str, now_ns: int) -> None:
        if self.state in ("inert", "engaged"):
            self._rest_all()
            self._enter("hold", cause, now_ns)

    def _stop(self, cause: str, now_ns: int) -> None:
        if self.state != "stopped":
            self._rest_all()
            self._enter("stopped", cause, now_ns)

    def _reset(self, now_ns: int) -> None:
        if self.state != "stopped":
            return
        given = self._input
        if given is not None and any(self._holds_clutch(given, side) for side in SIDES):
            self._note("reset refused", "release the clutch first", now_ns)
            return
        self._enter("inert", "", now_ns)

    def _let_go(self, cause: str, now_ns: int) -> None:
        self._take_over(cause, now_ns)
        if self.state == "engaged":
            self._rest_all()
            self._enter("inert", cause, now_ns)
        else:
            self._rest_all()

    def _give_to_policy(self, reason: str, now_ns: int) -> None:
        if self.state in ("stopped", "kneeling"):
            self._note("refused", "a robot that is stopped or kneels takes no policy", now_ns)
        elif self.driver != "policy":
            self._rest_all()
            self.driver = "policy"
            self._note("policy drives", reason, now_ns)
            self._enter("inert", "", now_ns)

    def _take_over(self, reason: str, now_ns: int, *, keeps_clutch: bool = False) -> None:
        """A person has the robot again; nothing moves because of it."""
        if self.driver != "human":
            self.driver = "human"
            if not keeps_clutch:
                self._rest_all()
            self._asked_from = None
            self._note("human drives", reason, now_ns)

    def _rest_all(self) -> None:
        """Nobody is followed until the clutch was let go and taken up, or was asked for anew."""
        self._asked_to_follow = False
        for side in SIDES:
            self._clutches[side].release()
            self._released[side] = False

    def _enter(self, state: State, cause: str, now_ns: int) -> None:
        if state in ("hold", "stopped", "kneeling"):
            # A policy never goes on by itself.
            self._take_over(cause, now_ns)
        if state != self.state:
            self.state, self.cause = state, cause
            self._note(state, cause, now_ns)

    def _note(self, event: str, cause: str, now_ns: int) -> None:
        self._events.append(SessionEvent(event, cause, now_ns))

    def _follow_clock(self, times: InputTimes) -> None:
        """The device's clock on ours, by the quickest message; it drifts up to 50 ppm."""
        told_ns = times.sent_ns if times.sent_ns is not None else times.device_ns
        offset_ns = times.received_ns - told_ns
        if self._offset_ns is None or offset_ns < self._offset_ns:
            self._offset_ns = offset_ns
        else:
            self._offset_ns += min(offset_ns - self._offset_ns, 1_000)

    def _seen_s(self, times: InputTimes) -> float:
        return (times.device_ns + (self._offset_ns or 0)) / 1e9

    def _now_s(self, now_ns: int) -> float:
        return now_ns / 1e9
