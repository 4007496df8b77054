"""Proposals on episodes that teams really recorded: fingers, grippers, tables of one rate."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from corporeal.episode.recording import Recording
from corporeal.interface import open_dataset
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.proposal import propose
from corporeal.labelling.taxonomy import open_taxonomy

PICKED = ["approach", "grasp", "lift", "retract"]
FINE = {"pre_grasp", "place", "release"}
"""Phases that a clip may be too short, or its motion too small, to have."""


def _proposals(path: Path) -> list[tuple[Recording, Annotation | None]]:
    dataset = open_dataset(path)
    taxonomy = open_taxonomy("manipulation")
    recordings = [dataset.open(number) for number in dataset.episodes]
    return [
        (recording, propose(recording, taxonomy, task=recording.facts.task))
        for recording in recordings
    ]


def _worked(annotation: Annotation | None) -> list[str]:
    assert annotation is not None
    # What is carried off in an arc is lifted and under way at once.
    labels = ["lift" if phase.label == "transport" else phase.label
              for phase in annotation.in_lane("phase")
              if phase.label not in FINE | {"rest"}]  # fmt: skip
    return [label for label, _ in groupby(labels)]


def test_a_g1_that_picks_a_bottle_with_its_fingers_runs_through_the_phases(
    shared_data: Path,
) -> None:
    proposals = _proposals(shared_data / "lerobot" / "g1_inspire_v21_part")
    assert len(proposals) == 12
    for recording, annotation in proposals:
        assert _worked(annotation) == PICKED, recording.index
        assert annotation is not None
        assert annotation.outcome is None
        grasp = next(phase for phase in annotation.in_lane("phase") if phase.label == "grasp")
        # The hand is closed when it has grasped: narrower than in nine tenths of the reach.
        state = recording.signals["observation.state"]
        fingers = np.asarray(state[:])[:, 20:24].mean(axis=1)
        before = fingers[state.time_ns < grasp.start_ns]
        after = fingers[(state.time_ns >= grasp.start_ns) & (state.time_ns < grasp.end_ns)]
        assert np.median(after) < np.quantile(before[len(before) // 2 :], 0.9)


def test_hands_of_a_modality_file_are_seen_to_grasp(shared_data: Path) -> None:
    for recording, annotation in _proposals(shared_data / "lerobot" / "gr1_picknplace_v20"):
        assert _worked(annotation) == PICKED, recording.index
        assert annotation is not None
        assert annotation.outcome is None
        assert {phase.attributes.get("hand") for phase in annotation.in_lane("phase")
                if phase.label == "grasp"} == {"right"}  # fmt: skip


def test_a_gripper_without_a_target_is_seen_to_lift(shared_data: Path) -> None:
    folder = shared_data / "hdf5_rlds" / "robomimic" / "robomimic_ph" / "dummy_data"
    for _, annotation in _proposals(folder / "lift_low_dim.hdf5"):
        assert _worked(annotation) == PICKED[:3]


@pytest.mark.parametrize("name", ["lerobot/so101_v30"])
def test_where_nothing_moves_nothing_is_proposed(shared_data: Path, name: str) -> None:
    for _, annotation in _proposals(shared_data / name):
        assert annotation is not None
        assert not annotation.segments
        assert annotation.outcome is None


def test_no_episode_is_said_to_rest_from_end_to_end(shared_data: Path) -> None:
    for recording, annotation in _proposals(shared_data / "hdf5_rlds" / "rlds_bridge"):
        phases = annotation.in_lane("phase") if annotation is not None else ()
        assert [phase.label for phase in phases] != ["rest"], recording.index
        assert annotation is None or annotation.outcome is None


def test_an_arm_that_turns_and_grasps_nothing_has_no_phases(shared_data: Path) -> None:
    logs = shared_data / "robot_logs" / "ros1_interbotix" / "interbotix_ros_xsarms" / "examples"
    bag = logs / "interbotix_xsarm_diagnostic_tool" / "bag" / "waist_diagnostics.bag"
    dataset = open_dataset(bag)
    assert propose(dataset.open(0), open_taxonomy("manipulation"), task="waist") is None
    # That it moves is seen; what for is said by the order of a task alone.
    reached = propose(dataset.open(0), open_taxonomy("manipulation"), task="reach")
    assert reached is not None
    assert "approach" in {phase.label for phase in reached.in_lane("phase")}
