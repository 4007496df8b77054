"""A policy drives, a person takes over: nothing jumps, nothing is dropped, both are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.teleoperation.captures import QUEST, quest_inputs
from tests.teleoperation.onnx_file import write_policy
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.errors import CorporealError, ModelError, UnknownNameError
from corporeal.geometry import Array
from corporeal.teleoperation.arm_policy import ArmPolicy
from corporeal.teleoperation.control_loop import (
    TICK_NS,
    AskedCommand,
    ControlLoop,
    LoopTurn,
    open_session,
    play,
)
from corporeal.teleoperation.operator_input import InputTimes, OperatorHand, OperatorInput
from corporeal.teleoperation.operator_message import Command
from corporeal.teleoperation.robot_link import LinkOptions, RobotLink, robot_drivers

pytest.importorskip("daqp", reason="needs the extra robot")
pytest.importorskip("onnxruntime", reason="needs the extra vision")

ELBOW = "left_elbow_joint"
GRIPPER = "right_gripper_target.opening"
START_NS = 1_000_000_000
AGAIN: tuple[Command, ...] = ("reset", "stand")


@pytest.fixture(scope="module")
def link() -> RobotLink:
    return robot_drivers()["sim"].open(LinkOptions(seed=1))


def _policy(folder: Path, target: float = 0.3, **changes: Any) -> Path:
    """A policy that bends the elbow to an angle and shuts the right gripper."""
    given: dict[str, Any] = {
        "states": [ELBOW, "right_gripper.opening"], "actions": [ELBOW, GRIPPER],
        "weights": np.zeros((2, 2)), "offset": [target, 0.0], **changes,
    }  # fmt: skip
    return write_policy(folder / "reach.onnx", **given)


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


class _Desk:
    """A loop with a policy and an operator whose right hand rests in the air."""

    def __init__(self, link: RobotLink, path: Path, *, is_live: bool = False) -> None:
        link.put_back()
        session = open_session(link)
        self.policy = ArmPolicy(path, link, session.limb.arms.names, is_live=is_live)
        self.loop = ControlLoop(session, link, policy=self.policy)
        self.now_ns, self.sequence = START_NS, 0
        self.elbow = session.limb.arms.names.index(ELBOW)

    def ask(self, command: Command, reason: str = "") -> None:
        self.loop.offer(AskedCommand(command, reason, self.now_ns))

    def go(self, seconds: float, *, clutch: bool | None = False, trigger: float = 0.0
           ) -> list[LoopTurn]:  # fmt: skip
        """Time goes on; with `clutch` None nobody is there."""
        turns = []
        for _ in range(round(seconds * 100)):
            self.now_ns += TICK_NS
            if clutch is not None:
                self.loop.offer(self.input(clutch=clutch, trigger=trigger))
            turns.append(self.loop.turn(self.now_ns))
        return turns

    def input(self, *, clutch: bool, trigger: float) -> OperatorInput:
        self.sequence += 1
        pose = np.array([0.3, -0.2, 1.2, 1.0, 0.0, 0.0, 0.0])
        hand = OperatorHand("controller", 1, pose, buttons=np.array([trigger]),
                            pressed=np.array([trigger > 0.5]), clutch=clutch)  # fmt: skip
        return OperatorInput(self.sequence, InputTimes(self.now_ns, self.now_ns), right=hand)


def _rates(turns: list[LoopTurn]) -> Array:
    return np.array([turn.tick.arms.rates for turn in turns])


def test_a_policy_is_taken_over_gradually_and_gets_where_it_wants(
    link: RobotLink, tmp_path: Path
) -> None:
    desk = _Desk(link, _policy(tmp_path))
    before = desk.go(0.1)[-1].tick
    assert (before.driver, before.policy is not None) == ("human", True)
    desk.ask("policy")
    turns = desk.go(1.5)
    step = np.abs(turns[0].tick.arms.positions - before.arms.positions).max()
    assert step < 1e-6, "nothing lurches as it begins"
    gains = np.diff(_rates(turns), axis=0) / 0.01
    assert np.abs(gains).max() <= 25.0 + 1e-6
    assert turns[-1].tick.arms.positions[desk.elbow] == pytest.approx(0.3, abs=0.01)
    assert turns[-1].tick.openings == {"left": 1.0, "right": 0.0}
    assert [event.event for event in turns[0].tick.events] == ["policy drives", "engaged"]


def test_whoever_takes_up_the_clutch_has_the_robot_at_once_and_nothing_jumps(
    link: RobotLink, tmp_path: Path
) -> None:
    desk = _Desk(link, _policy(tmp_path, target=0.8))
    desk.ask("policy")
    driven = desk.go(0.5)
    moving = driven[-1].tick.arms
    assert np.abs(moving.rates).max() > 0.2, "in the middle of a motion"
    taken = desk.go(1.0, clutch=True)
    assert taken[0].tick.driver == "human"
    assert taken[0].tick.events[0].cause == "the clutch was taken up"
    rates = np.concatenate([[moving.rates], _rates(taken)])
    assert np.abs(np.diff(rates, axis=0) / 0.01).max() <= 25.0 + 1e-6
    assert np.abs(rates[-1]).max() < 0.05, "the hand stays where the person's rests"
    assert taken[-1].tick.policy is not None, "the policy goes on to say what it would do"


def test_what_the_policy_holds_is_not_let_go_until_the_person_holds_it(
    link: RobotLink, tmp_path: Path
) -> None:
    desk = _Desk(link, _policy(tmp_path))
    desk.ask("policy")
    desk.go(1.0)
    taken = desk.go(0.5, clutch=True, trigger=0.0)
    assert taken[-1].tick.openings["right"] == 0.0
    assert desk.go(0.5, clutch=True, trigger=1.0)[-1].tick.openings["right"] == 0.0
    assert desk.go(0.5, clutch=True, trigger=0.0)[-1].tick.openings["right"] == 1.0


@pytest.mark.parametrize(("command", "most"), [
    ("stop", 0.0), ("hold", 0.0), ("disengage", 0.0),
    ("kneel", 0.2),  # Its thighs come up, and the hands give way to them.
])  # fmt: skip
def test_a_policy_does_not_go_on_by_itself(
    link: RobotLink, tmp_path: Path, command: Command, most: float
) -> None:
    desk = _Desk(link, _policy(tmp_path, target=0.8))
    desk.ask("policy")
    desk.go(0.4)
    desk.ask(command)
    rested = desk.go(0.6)
    assert rested[0].tick.driver == "human"
    assert np.abs(rested[-1].tick.arms.rates).max() <= most
    for again in AGAIN:
        desk.ask(again)
    assert np.abs(_rates(desk.go(0.3))).max() <= most
    desk.ask("policy")
    assert desk.go(0.6)[-1].tick.driver == "policy"


def test_a_policy_that_nobody_watches_any_more_is_held(link: RobotLink, tmp_path: Path) -> None:
    desk = _Desk(link, _policy(tmp_path, target=0.8))
    desk.go(0.1)
    desk.ask("policy")
    desk.go(0.3)
    lost = desk.go(0.2, clutch=None)
    held = next(number for number, turn in enumerate(lost) if turn.tick.state == "hold")
    assert held <= 10
    assert lost[-1].tick.cause == "no input for 0.1 s"


@pytest.mark.parametrize(("changes", "words"), [
    ({"divisor": 0.0}, "not finite"),
    ({"pictures": {"head_left": (480, 640)}}, "waits for a picture of head_left"),
])  # fmt: skip
def test_a_policy_without_an_answer_is_held_with_the_reason(
    link: RobotLink, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    desk = _Desk(link, _policy(tmp_path, **changes))
    desk.ask("policy")
    tick = desk.go(0.7)[-1].tick
    assert (tick.state, tick.driver) == ("hold", "human")
    assert words in tick.cause


def test_a_policy_sees_pictures_as_shares_of_white(link: RobotLink, tmp_path: Path) -> None:
    path = _policy(tmp_path, pictures={"head_left": (480, 640)}, weights=np.eye(2), offset=[0, 0])
    desk = _Desk(link, path)
    desk.policy.see_picture("head_left", np.full((480, 640, 3), 51, np.uint8))
    turn = desk.go(0.02)[-1]
    assert turn.tick.policy is not None
    seen = float(link.measure()["observations/joint_position"][
        link.robot.joint_names.index(ELBOW)])  # fmt: skip
    assert turn.tick.policy.joints[desk.elbow] == pytest.approx(seen + 0.2, abs=0.02)


def test_steps_are_played_at_their_rate_and_asked_for_anew(link: RobotLink, tmp_path: Path) -> None:
    path = _policy(tmp_path, steps=10, metadata={"rate_hz": "20", "played_steps": "5"})
    desk = _Desk(link, path)
    asked: list[int] = []
    think = desk.policy._think

    def noted(given: Mapping[str, Any], now_ns: int) -> Any:
        asked.append(now_ns)
        return think(given, now_ns)

    desk.policy._think = noted  # type: ignore[method-assign]
    desk.go(1.0)
    assert np.diff(asked).tolist() == [250_000_000] * 3


def test_a_policy_that_thinks_in_its_own_thread_is_waited_for_by_nobody(
    link: RobotLink, tmp_path: Path
) -> None:
    desk = _Desk(link, _policy(tmp_path, steps=100), is_live=True)
    turns = desk.go(0.02)
    for _ in range(200):
        if turns[-1].tick.policy is not None:
            break
        assert desk.policy._thinking is None or desk.policy._thinking.result(timeout=10)
        turns = desk.go(0.01)
    assert turns[-1].tick.policy is not None
    desk.policy.close()


@pytest.mark.parametrize(("changes", "words"), [
    ({"states": ["no_joint", "right_gripper.opening"]}, "no_joint"),
    ({"actions": [ELBOW, "left_knee_joint"]}, "left_knee_joint"),
    ({"metadata": {"rate_hz": "fast"}}, "rate_hz"),
    ({"metadata": {"played_steps": "many"}}, "played_steps"),
    ({"metadata": {"state_names": "[1]"}}, "state_names"),
    ({"metadata": {"state_names": json.dumps([ELBOW])}}, "observation.state"),
    ({"pictures": {"head_left": (48, 64)}}, "(1, 3, 480, 640)"),
    ({"pictures": {"nose": (48, 64)}}, "observation.images.nose"),
])  # fmt: skip
def test_a_file_that_does_not_fit_the_robot_is_refused_in_a_sentence(
    link: RobotLink, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = _policy(tmp_path, **changes)
    with pytest.raises((ModelError, UnknownNameError)) as refused:
        ArmPolicy(path, link, [ELBOW], is_live=False)
    assert words in str(refused.value)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_bytes_that_are_no_policy_are_refused(
    link: RobotLink, tmp_path: Path, data: st.DataObject
) -> None:
    whole = _policy(tmp_path).read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    junk = data.draw(st.binary(max_size=40))
    path = tmp_path / "broken.onnx"
    path.write_bytes(whole[:cut] + junk)
    refused = "broken.onnx"
    try:
        ArmPolicy(path, link, [ELBOW], is_live=False)
    except CorporealError as error:
        refused = str(error)
    assert "broken.onnx" in refused


def test_metadata_that_are_no_text_are_refused(link: RobotLink, tmp_path: Path) -> None:
    whole = _policy(tmp_path).read_bytes()
    path = tmp_path / "broken.onnx"
    path.write_bytes(whole.replace(b"rate_hz", b"rate\xffhz"))
    with pytest.raises(CorporealError, match=r"broken\.onnx, got metadata that are no text"):
        ArmPolicy(path, link, [ELBOW], is_live=False)


def test_the_same_recording_takes_over_from_a_policy_in_the_same_way(tmp_path: Path) -> None:
    inputs = quest_inputs()[:180]
    made = []
    for _ in range(2):
        fresh = robot_drivers()["sim"].open(LinkOptions(seed=1))
        turns = play(_Desk(fresh, _policy(tmp_path)).loop, inputs, take_over_s=0.8)
        made.append(turns)
    first, second = (np.array([turn.tick.arms.positions for turn in turns]) for turns in made)
    assert (first == second).all()
    drivers = [turn.tick.driver for turn in made[0]]
    assert {"policy", "human"} == set(drivers)
    assert 0.7 <= drivers.count("policy") / 100 <= 1.1
    gains = np.diff(_rates(made[0]), axis=0) / 0.01
    assert np.abs(gains).max() <= 25.0 + 1e-6


@pytest.mark.slow
@pytest.mark.alone
def test_an_intervention_is_recorded_with_both_actions_and_who_did_what(
    tmp_path: Path,
) -> None:
    assert quest_inputs()
    path = _policy(tmp_path)
    # In a process of its own: a browser's test may have left a loop in this thread.
    result = subprocess.run(
        [sys.executable, "-m", "corporeal", "teleoperate", "--input", QUEST, "--arm-policy", path,
         "--take-over", "2", "--seconds", "5", "--no-pictures", "--record", tmp_path / "demos",
         "--json"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    said = json.loads(result.stdout)
    with Episode(Path(said["episodes"][0])) as episode:
        facts = read_facts(episode.metadata)
        assert facts.mode == "autonomous rollout"
        rollout, corrected = facts.segments
        assert rollout.source is not None
        assert rollout.source.startswith("policy reach.onnx ")
        assert corrected.source == f"recorded input {QUEST.name}"
        assert facts.interventions == (corrected,)
        assert corrected.start_ns == pytest.approx(2e9, abs=0.2e9)
        wanted = episode["actions/policy_joint_position_target"]
        told = episode["actions/joint_position_target"]
        assert set(corrected.policy_action) >= {"actions/policy_joint_position_target"}
        assert "actions/joint_position_target" in corrected.human_action
        late = told.time_ns > corrected.start_ns + 1_000_000_000
        elbow = wanted.spec.names.index(ELBOW)
        assert np.abs(np.asarray(wanted[:])[late, elbow] - 0.3).max() < 1e-6
        assert np.abs(np.asarray(told[:])[late, elbow] - 0.3).max() > 0.1
        assert "quarantine" not in episode.metadata
    exported = _run("export", tmp_path / "demos", "--format", "lerobot", "--out", tmp_path / "set")
    assert exported.exit_code == 0, exported.output
    info = json.loads((tmp_path / "set" / "meta" / "info.json").read_text())
    names = info["features"]["action"]["names"]
    assert not [name for name in names if "policy" in name]


def test_a_take_over_needs_something_to_take_over_from() -> None:
    result = _run("teleoperate", "--take-over", "2")
    assert isinstance(result.exception, CorporealError)
    assert "--arm-policy" in str(result.exception)


def test_an_input_of_nothing_leaves_the_policy_alone(link: RobotLink, tmp_path: Path) -> None:
    desk = _Desk(link, _policy(tmp_path))
    desk.ask("policy")
    unseen = replace(desk.input(clutch=False, trigger=0.0), right=None)
    desk.loop.offer(unseen)
    assert desk.loop.turn(desk.now_ns + TICK_NS).tick.driver == "policy"
