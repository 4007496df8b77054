"""A dataset for each policy of a hierarchy: its modes alone, its own state, action and scales."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode import EpisodeWriter
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError, EpisodeError, UnknownNameError
from corporeal.exchange.formats import episodes
from corporeal.exchange.layout import ACTION, STATE, layout_of
from corporeal.exchange.mode import MODES, modes
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import table_of
from corporeal.exchange.training.hierarchy import PolicyHierarchy, SubPolicy, open_hierarchy
from corporeal.exchange.training.sub_policy import PolicyPieces, find_pieces
from corporeal.exchange.training.torch_dataset import EpisodeDataset
from corporeal.schema import Schema

RATE_HZ, SECONDS = 50, 12.0
SPEED_M_S = 0.5
JOINTS = {"shape": ["joints"], "components": "joints", "unit": "rad", "rate_hz": RATE_HZ}
STREAMS: list[dict[str, Any]] = [
    {"name": "joint_position", "group": "observations", **JOINTS},
    {"name": "joint_position_target", "group": "actions", **JOINTS},
    {"name": "left_gripper", "group": "observations", "shape": [1], "rate_hz": RATE_HZ},
    {"name": "left_gripper_target", "group": "actions", "shape": [1], "rate_hz": RATE_HZ},
    {"name": "base_pose", "group": "debug", "shape": [7], "rate_hz": RATE_HZ, "frame": "world",
     "components": ["x", "y", "z", "qw", "qx", "qy", "qz"]},
]  # fmt: skip
LOCOMOTION = SubPolicy(name="walk", modes=("locomotion",), goal=("base_velocity",), moves=("leg",))
ABOVE = SubPolicy(name="above", commands=("mode", "base_velocity", "end_effectors"))


def run_cli(*arguments: object) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _write(path: Path, *, walk_s: tuple[float, float], work_s: tuple[float, float]) -> None:
    """A robot that walks to its left-hand side of the world, then moves an elbow."""
    robot = open_robot("g1")
    time_s = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    walks = (time_s >= walk_s[0]) & (time_s < walk_s[1])
    works = (time_s >= work_s[0]) & (time_s < work_s[1])
    angles = np.random.default_rng(1).normal(0, 1e-4, (len(time_s), len(robot.joint_names)))
    for name, swings, size in (("left_knee", walks, 0.4), ("left_elbow", works, 0.6)):
        angles[:, robot.joint_names.index(f"{name}_joint")] += swings * size * np.sin(6 * time_s)
    pose = np.zeros((len(time_s), 7))
    pose[:, 1] = np.cumsum(walks) * SPEED_M_S / RATE_HZ
    # Turned by 90 degrees, so that forward is along y of the world.
    pose[:, 2], pose[:, 3], pose[:, 6] = 0.75, np.sqrt(0.5), np.sqrt(0.5)
    schema = Schema.model_validate(
        {"document": "schema", "name": "walker", "version": "1.0.0", "streams": STREAMS}
    )
    stamps = (time_s * 1e9).astype(np.int64)
    values = {"observations/joint_position": angles, "actions/joint_position_target": angles + 0.01,
              "debug/base_pose": pose, "observations/left_gripper": np.zeros((len(time_s), 1)),
              "actions/left_gripper_target": np.zeros((len(time_s), 1))}  # fmt: skip
    with EpisodeWriter(path, schema=schema, embodiment=robot, epoch_ns=0,
                       metadata={"task": "fetch", "outcome": True}) as writer:  # fmt: skip
        for stream, samples in values.items():
            writer.extend(stream, stamps, samples.astype(np.float32))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode walks once and works once, the other never walks."""
    place = tmp_path_factory.mktemp("set")
    _write(place / "e0.h5", walk_s=(2, 5), work_s=(7, 11))
    _write(place / "e1.h5", walk_s=(0, 0), work_s=(3, 9))
    return place


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Dataset:
    return episodes.read(folder)


def _rows(found: PolicyPieces, dataset: Dataset, number: int) -> dict[str, NDArray[Any]]:
    piece = found.dataset(dataset).open(number)
    return table_of(piece, found.layout, number=number).whole()


def test_pieces_are_the_rows_of_the_modes_and_know_where_they_are_from(dataset: Dataset) -> None:
    found = find_pieces(dataset, LOCOMOTION, ExportOptions())
    (piece,) = found.pieces
    assert (piece.episode, piece.modes) == (0, ("locomotion",))
    source = dataset.open(0)
    flat = table_of(source, layout_of(source, ExportOptions()), number=0)
    assert piece.span_ns == (flat.time_ns[piece.first], flat.time_ns[piece.stop - 1])
    labels = modes(source, flat.time_ns)
    walking = np.flatnonzero(labels == MODES.index("locomotion"))
    assert (piece.first, piece.stop) == (walking[0], walking[-1] + 1)
    rows, whole = _rows(found, dataset, 0), flat.whole()
    names = found.layout.columns[ACTION].names
    assert names is not None
    legs = [open_robot("g1").joint_names.index(name) for name in names]
    np.testing.assert_array_equal(rows[ACTION], whole[ACTION][piece.first : piece.stop, legs])
    np.testing.assert_array_equal(
        rows[STATE][:, :30], whole[STATE][piece.first : piece.stop, :30], "joints and a gripper"
    )


def test_a_policy_that_moves_legs_has_legs_and_no_gripper_in_its_action(dataset: Dataset) -> None:
    found = find_pieces(dataset, LOCOMOTION, ExportOptions())
    names = found.layout.columns[ACTION].names
    assert names is not None
    assert len(names) == 12
    assert all("hip" in name or "knee" in name or "ankle" in name for name in names)
    work = SubPolicy(name="work", modes=("manipulation",), sees=("arm", "hand"), moves=("hand",))
    layout = find_pieces(dataset, work, ExportOptions()).layout
    assert layout.columns[ACTION].names is None
    assert [stream.name for stream in layout.columns[ACTION].streams] == ["left_gripper_target"]
    assert layout.columns[STATE].shape == (15,)


def test_the_velocity_of_the_base_is_told_in_its_own_frame(dataset: Dataset) -> None:
    found = find_pieces(dataset, LOCOMOTION, ExportOptions())
    goal = _rows(found, dataset, 0)[STATE][:, -3:]
    middle = goal[len(goal) // 3 : -len(goal) // 3]
    np.testing.assert_allclose(middle, [[SPEED_M_S, 0, 0]] * len(middle), atol=0.02)


def test_the_level_above_has_all_rows_and_tells_modes_and_poses(dataset: Dataset) -> None:
    found = find_pieces(dataset, ABOVE, ExportOptions())
    assert len(found.pieces) == 2
    recording = dataset.open(0)
    flat = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    action = _rows(found, dataset, 0)[ACTION]
    assert len(action) == len(flat)
    told = action[:, :4].argmax(axis=1)
    assert np.mean(told == modes(recording, flat.time_ns)) > 0.98
    np.testing.assert_array_equal(action[:, :4].sum(axis=1), 1)
    robot = open_robot("g1")
    poses = Kinematics(robot).end_effectors(flat.whole()[ACTION][:, :29])
    hands = [poses.names.index(name) for name in ("left_hand", "right_hand")]
    np.testing.assert_allclose(
        action[:, [7, 8, 9, 14, 15, 16]], poses.positions[:, hands].reshape(-1, 6), atol=1e-5
    )


def test_each_policy_has_scales_of_its_own(folder: Path) -> None:
    work = SubPolicy(name="work", modes=("manipulation",), moves=("arm",))
    walk = EpisodeDataset(folder, policy=LOCOMOTION, normalisation="quantiles")
    arms = EpisodeDataset(folder, policy=work, normalisation="quantiles")
    assert walk.normalisation is not None
    assert arms.normalisation is not None
    knee = open_robot("g1").joint_names.index("left_knee_joint")
    wide, narrow = walk.normalisation.columns[STATE], arms.normalisation.columns[STATE]
    assert wide.high[knee] - wide.low[knee] > 100 * (narrow.high[knee] - narrow.low[knee])


def test_a_torch_dataset_has_the_same_rows(folder: Path, dataset: Dataset) -> None:
    work = SubPolicy(name="work", modes=("manipulation",), moves=("arm", "hand"))
    found = find_pieces(dataset, work, ExportOptions())
    first, second = dataset.open(0).id, dataset.open(1).id
    samples = EpisodeDataset(folder, policy=work, chunk=2, weights={first: 2.0, second: 0.5})
    samples = pickle.loads(pickle.dumps(samples))
    assert [entry.length for entry in samples.episodes] == [
        piece.stop - piece.first for piece in found.pieces
    ]
    assert list(samples.weights.values()) == [2.0, 0.5]
    entry, rows = samples.episodes[1], _rows(found, dataset, 1)
    item = samples.sample(entry.first + 3)
    np.testing.assert_array_equal(item[ACTION], rows[ACTION][3:5])
    np.testing.assert_array_equal(item[STATE], rows[STATE][3])


def test_an_export_writes_and_proves_a_dataset_for_each_policy(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "policies"
    document = tmp_path / "hierarchy.yaml"
    document.write_text(_TWO)
    result = run_cli("export", folder, "--hierarchy", document, "--out", out, "--json",
                     "--jobs", "1", "--normalise", "limits")  # fmt: skip
    assert result.exit_code == 0, result.output
    stated = json.loads(result.stdout)
    assert set(stated) == {"walk", "above"}
    for policy in stated:
        assert stated[policy]["proof"]["holds"]
        assert (out / policy / "meta" / "info.json").is_file()
        assert (out / policy / "corporeal" / "normalisation.json").is_file()
    assert PolicyHierarchy.load(out / "hierarchy.json").name == "two"
    (line,) = (out / "walk" / "corporeal" / "episodes.jsonl").read_text().splitlines()
    cut = json.loads(line)["cut"]
    assert cut["rows"][1] - cut["rows"][0] == json.loads(line)["length"]
    assert not list(tmp_path.glob("*.partial"))


_TWO = """
document: hierarchy
name: two
version: 1.0.0
policies:
  - {name: walk, modes: [locomotion, loco_manipulation], goal: [base_velocity], moves: [leg]}
  - {name: above, commands: [mode, base_velocity]}
"""


def test_an_export_that_was_interrupted_goes_on(folder: Path, tmp_path: Path) -> None:
    out, document = tmp_path / "policies", tmp_path / "two.yaml"
    document.write_text(_TWO)
    left = tmp_path / "policies.partial"
    (left / "walk").mkdir(parents=True)
    (left / "walk" / "half").write_text("of an earlier run")
    arguments = ("export", folder, "--hierarchy", document, "--out", out, "--jobs", "1",
                 "--no-verify")  # fmt: skip
    refused = run_cli(*arguments)
    assert "no export has made it" in str(refused.exception)
    (left / "hierarchy.json").write_text("{}")
    assert run_cli(*arguments).exit_code == 0
    assert not (out / "walk" / "half").exists()


def test_what_cannot_be_is_said_in_one_sentence(dataset: Dataset) -> None:
    carry = SubPolicy(name="carry", modes=("loco_manipulation",), moves=("leg",))
    with pytest.raises(EpisodeError, match="no row for the policy carry, got 2 episodes without"):
        find_pieces(dataset, carry, ExportOptions())
    neck = SubPolicy(name="look", moves=("neck",))
    with pytest.raises(EpisodeError, match="got no joint of neck in joint_position_target"):
        find_pieces(dataset, neck, ExportOptions())
    with pytest.raises(CorporealError, match="a hierarchy says what state and action"):
        find_pieces(dataset, LOCOMOTION, ExportOptions(action=("joint_position_target",)))


def test_entries_of_no_known_limb_are_a_choice(tmp_path: Path) -> None:
    schema = Schema.model_validate(
        {"document": "schema", "name": "motors", "version": "1.0.0", "streams": [
            {"name": name, "group": group, "shape": [3], "rate_hz": 10, "unit": "rad",
             "components": ["left_elbow", "motor_7", "motor_8"]}
            for name, group in (("joint_position", "observations"),
                                ("joint_position_target", "actions"))]}
    )  # fmt: skip
    values = np.arange(60, dtype=np.float32).reshape(20, 3)
    with EpisodeWriter(tmp_path / "e.h5", schema=schema) as writer:
        for path in ("observations/joint_position", "actions/joint_position_target"):
            writer.extend(path, np.arange(20) * 100_000_000, values)
    dataset = episodes.read(tmp_path / "e.h5")
    arm = SubPolicy(name="arm", moves=("arm",))
    with pytest.raises(EpisodeError, match=r"no known limb: motor_7, motor_8|motor_7 and motor_8"):
        find_pieces(dataset, arm, ExportOptions())
    found = find_pieces(dataset, arm.model_copy(update={"entries": ("motor_8",)}), ExportOptions())
    np.testing.assert_array_equal(_rows(found, dataset, 0)[ACTION], values[:, [0, 2]])


def test_the_ready_hierarchies_open_and_unknown_ones_are_named() -> None:
    for name in ("loco_manipulation", "end_effectors"):
        assert open_hierarchy(name).policy("high_level").commands
    with pytest.raises(UnknownNameError, match="loco_manipulation"):
        open_hierarchy("walking")
    with pytest.raises(UnknownNameError, match="locomotion"):
        open_hierarchy("loco_manipulation").policy("dance")


@pytest.mark.parametrize(
    ("policies", "sentence"),
    [
        ([{"name": "a"}], "neither moves nor commands"),
        ([{"name": "a", "moves": ["leg"], "commands": ["mode"]}], "both moves and commands"),
        ([{"name": "a", "moves": ["leg"]}] * 2, "two policies are called 'a'"),
        ([{"name": "a", "moves": ["leg"], "modes": []}], "an empty list"),
    ],
)
def test_a_hierarchy_that_makes_no_sense_is_refused(
    policies: list[dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        PolicyHierarchy.model_validate(
            {"document": "hierarchy", "name": "h", "version": "1.0.0", "policies": policies}
        )
