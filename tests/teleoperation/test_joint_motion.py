"""A robot's motion from a file drives the robot as a leader arm would: gradually, and safely."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corporeal.cli.program import program
from corporeal.cli.take_recorder import TeleoperationTerms
from corporeal.cli.teleoperation_run import TeleoperationProgram
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import LoopTurn
from corporeal.teleoperation.operator_input import InputError, input_streams, read_inputs
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers

pytest.importorskip("daqp", reason="needs the extra robot")

ELBOW, KNEE = "left_elbow_joint", "left_knee_joint"
NAMES = open_robot("g1").joint_names


def _table(path: Path, seconds: Array, columns: Sequence[tuple[str, Array]]) -> Path:
    lines = [",".join(["time_s", *(name for name, _ in columns)])]
    for number, time_s in enumerate(seconds):
        lines.append(",".join(f"{value:.9g}" for value in
                              (time_s, *(values[number] for _, values in columns))))  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


def _motion(path: Path, *, hertz: float = 50.0) -> Path:
    seconds = 7.5 + np.arange(0.0, 5.0, 1 / hertz)
    return _table(path, seconds, [(KNEE, np.ones(len(seconds))),
                                  (ELBOW, 0.3 + 0.2 * np.sin(2.5 * seconds))])  # fmt: skip


def _replayed(path: Path, **terms: Path) -> list[LoopTurn]:
    link = robot_drivers()["sim"].open(LinkOptions(seed=1))
    made = TeleoperationTerms("pick_place", StudioSettings(), pictures=False, out=terms.get("out"))
    desk = TeleoperationProgram(made, link, is_virtual=True)
    turns: list[LoopTurn] = []
    desk.loop.listeners.append(turns.append)
    desk.replay(path, None)
    return turns


@pytest.mark.slow
def test_a_table_of_angles_leads_the_joints_that_are_commanded(tmp_path: Path) -> None:
    path = _motion(tmp_path / "wave.csv")
    assert input_streams(path) == {"motion": (KNEE, ELBOW)}
    turns = _replayed(path)
    told = np.array([turn.sent.joints[NAMES.index(ELBOW)] for turn in turns])
    steps = np.diff(told)
    assert np.abs(steps).max() <= 4.0 * 0.01 + 1e-9
    assert np.abs(np.diff(steps)).max() / 0.01**2 <= 25.0 + 1e-6, "nothing lurches"
    seconds = 7.5 + 0.01 * np.arange(len(turns))
    late = slice(150, 480)
    assert np.abs(told[late] - 0.3 - 0.2 * np.sin(2.5 * seconds[late])).max() < 0.03
    knee = np.array([turn.sent.joints[NAMES.index(KNEE)] for turn in turns])
    assert knee.max() < 0.9, "legs are nobody's but the controller's"


def test_nothing_is_made_up_in_a_gap(tmp_path: Path) -> None:
    seconds = np.concatenate([np.arange(0.0, 1.0, 0.02), np.arange(1.5, 2.5, 0.02)])
    path = _table(tmp_path / "gap.csv", seconds, [(ELBOW, np.sin(seconds))])
    stamps = np.array([given.times.received_ns for given in read_inputs(path)]) / 1e9
    assert not ((stamps > 0.995) & (stamps < 1.495)).any()
    assert np.diff(stamps).max() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("text", "words"), [
    (f"time_s,{ELBOW}\n0,1\n", "two or more"),
    (f"time_s,{ELBOW}\n0,1\n0,2\n", "later than the one before"),
    (f"time_s,{ELBOW}\n0,1\n1,x\n", "x"),
    (f"time_s,{ELBOW}\n0,1,2\n1,2,3\n", "3 columns"),
    (f"time_s,{ELBOW}\n0,1\n9e9,2\n", "less than a second apart"),
])  # fmt: skip
def test_a_table_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        list(read_inputs(path))


def test_a_motion_of_legs_alone_drives_nothing(tmp_path: Path) -> None:
    path = _table(tmp_path / "legs.csv", np.arange(0, 1, 0.02), [(KNEE, np.zeros(50))])
    result = CliRunner().invoke(program(), ["teleoperate", "--input", str(path)])
    assert isinstance(result.exception, CorporealError)
    assert "left_elbow_joint" in str(result.exception)


@pytest.mark.slow
def test_what_was_recorded_is_done_again_and_says_where_it_was_wanted(tmp_path: Path) -> None:
    _replayed(_motion(tmp_path / "wave.csv"), out=tmp_path / "first")
    (first,) = (tmp_path / "first").glob("*.h5")
    _replayed(first, out=tmp_path / "again")
    (again,) = (tmp_path / "again").glob("*.h5")
    with Episode(first) as one, Episode(again) as two:
        column = one["observations/joint_position"].spec.names.index(ELBOW)
        goal = two["debug/joint_goal"]
        wanted = np.asarray(goal[:])[:, goal.spec.names.index(ELBOW)]
        told = np.asarray(two["actions/joint_position_target"][:])[:, column]
        reach = np.ptp(np.asarray(one["observations/joint_position"][:])[:, column])
        assert np.ptp(wanted) == pytest.approx(reach, abs=0.02)
        assert np.ptp(told) == pytest.approx(reach, abs=0.05)
        assert two.metadata["motion_source"] == f"recorded input {first.name}"


@pytest.mark.slow
def test_a_recorded_pick_lifts_the_object_again_and_so_does_the_record_of_that(
    tmp_path: Path,
) -> None:
    """Through filter and link: what the grippers were told is told again, on two generations."""
    run = CliRunner().invoke
    asked = [f"{name}={value}" for name, value in
             {"seed": 1, "pictures": "no", "fault_share": 0}.items()]  # fmt: skip
    command = ["record", "--driver", "sim", "--task", "pick_place", "--episodes", "1"]
    made = run(program(), [*command, "--out", str(tmp_path / "first"),
                           *(word for option in asked for word in ("--set", option))])  # fmt: skip
    assert made.exit_code == 0, made.output
    source = tmp_path / "first"
    for generation in ("again", "once more"):
        (episode,) = source.glob("*.h5")
        assert input_streams(episode)["motion"][-2:] == ("left_gripper", "right_gripper")
        source = tmp_path / generation
        # The simulated driver draws the scene of its first episode from a thousand times its seed.
        replayed = run(program(), ["teleoperate", "--task", "pick_place", "--seed", "1000",
                                   "--input", str(episode), "--record", str(source),
                                   "--no-pictures", "--json"])  # fmt: skip
        assert replayed.exit_code == 0, replayed.output
        (outcome,) = json.loads(replayed.stdout)["outcomes"]
        assert outcome["measures"]["lift_height_m"] > 0.15
        assert outcome["failure"] in (None, "misplaced"), "it was taken, carried and put down"
