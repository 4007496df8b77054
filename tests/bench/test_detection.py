"""The yardstick itself: faults change what they say and nothing else, and are counted right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.detection import held_out, report
from bench.detection.editing import encode
from bench.detection.fault import EpisodeSet, Fault, NotApplicable, Truth
from bench.detection.faults import every_fault
from bench.detection.harness import Outcome, Trial, judge, off_by
from bench.detection.lerobot_writer import Head, Movie, TableEpisode, write
from bench.detection.peers import Message, words_of
from bench.detection.real import JUDGED
from bench.detection.real_page import FIRST_LOOK, RealFinding, section

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording, Signal, VideoFile
from corporeal.exchange.opening import open_dataset
from corporeal.quality.check import Finding, checks
from corporeal.schema import Stream, open_schema

FAULTS = every_fault()
RNG_SEED = 5


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Eight seconds of every stream that faults are planted in, moving smoothly."""
    robot = open_robot("g1")
    schema = robot.resolve(open_schema("simulated_humanoid"))
    signals: dict[str, Signal] = {}
    for stream in schema.streams:
        if stream.kind == "array" and stream.rate_hz:
            signals[stream.path] = _smooth(stream)
        elif stream.kind == "text":
            signals[stream.path] = ArraySignal(stream, np.zeros(1, np.int64), ["Lift the box."])
    for number, name in enumerate(("head_left", "external_front")):
        signals[f"observations/{name}"] = _camera(name, number)
    metadata = {"task": "pick_place", "instruction": "Lift the box.", "operator": "op1",
                "outcome": {"success": False, "failure": "drop"}}  # fmt: skip
    return Recording("made", Path("made.h5"), 0, signals, robot, metadata)


def _smooth(stream: Stream) -> ArraySignal:
    rng = np.random.default_rng([3, *stream.name.encode()])
    assert stream.rate_hz is not None
    count = round(8 * stream.rate_hz)
    time_ns = np.rint(np.arange(count) * 1e9 / stream.rate_hz).astype(np.int64)
    width = int(np.prod([size for size in stream.shape if isinstance(size, int)]))
    # The same motion for reading and command, different from joint to joint.
    phase = np.linspace(0, 5, width)
    values = 0.3 * np.sin(1.5 * time_ns[:, None] * 1e-9 + phase)
    if stream.name.endswith("_gripper") or stream.name.endswith("_gripper_target"):
        values = 0.05 + 0.04 * np.sin(time_ns[:, None] * 1e-9)
    if stream.quaternion_columns is not None:
        values[:, 3:] = [1, 0, 0, 0]
        values[:, 2] = 0.75
    if stream.name == "joint_torque":
        values *= 60
    if stream.name.endswith("_ankle_wrench"):
        values[:, 2] = 200 + 150 * np.sin(time_ns * 1e-9 + ("left" in stream.name) * np.pi)
    values += rng.normal(0, 1e-4, values.shape) * (stream.quaternion_columns is None)
    sizes = tuple(size for size in stream.shape if isinstance(size, int))
    return ArraySignal(stream, time_ns, values.reshape(count, *sizes).astype(stream.dtype))


def _camera(name: str, number: int) -> VideoFile:
    rng = np.random.default_rng(number)
    scene = rng.integers(30, 220, (48, 96, 3), np.uint8)
    pictures = np.stack([np.roll(scene, shift, axis=1)[:, :64] for shift in range(90)])
    stream = Stream(name=name, group="observations", kind="video", shape=(48, 64, 3), rate_hz=30)
    data = encode(pictures, rate_hz=30)
    time_ns = np.rint(np.arange(90) * 1e9 / 30).astype(np.int64)
    return VideoFile(stream, time_ns, lambda: _opened(data), count=90)


def _opened(data: bytes) -> Any:
    from io import BytesIO

    return BytesIO(data)


@pytest.fixture(scope="module")
def table(recording: Recording) -> Recording:
    """The same as a table of one rate: state and action."""
    signals: dict[str, Signal] = {}
    for label, path in (
        ("observation.state", "observations/joint_position"),
        ("action", "actions/joint_position_target"),
    ):
        signal = recording.signals[path]
        grid = np.rint(np.arange(230) * 1e9 / 30).astype(np.int64)
        rows = np.searchsorted(signal.time_ns, grid, side="right") - 1
        signals[label] = ArraySignal(
            signal.spec.model_copy(update={"rate_hz": 30.0}), grid, signal[:][rows]
        )
    facts = {"task": "Lift the box.", "instruction": "Lift the box."}
    return replace(recording, signals=signals, metadata=facts, regridded=True)


def _injected(fault: Fault, subject: Any) -> Iterator[tuple[float, Any, Truth]]:
    for strength in fault.strengths:
        rng = np.random.default_rng(RNG_SEED)
        try:
            yield strength, *fault.inject(subject, rng, strength)
        except NotApplicable:
            continue


def _changed(before: Recording, after: Recording) -> set[str]:
    """Labels whose stamps, numbers or pictures differ."""
    found = set(before.signals) ^ set(after.signals)
    for label in set(before.signals) & set(after.signals):
        one, two = before.signals[label], after.signals[label]
        if one is two:
            continue
        if not np.array_equal(one.time_ns, two.time_ns) or isinstance(one, VideoFile):
            found.add(label)
        elif isinstance(one[:], np.ndarray):
            if not np.array_equal(one[:], two[:], equal_nan=True):
                found.add(label)
        elif list(one[:]) != list(two[:]):
            found.add(label)
    return found


# Faults that touch more than the streams a finding should name, and why.
WIDER = {
    "late_force", "idle_padding", "fall_called_success", "failure_called_success",
    "arms_swapped_both", "joints_swapped_both", "sign_flipped_both", "degrees_both", "hidden_drops",
}  # fmt: skip
EPISODE_FAULTS = [name for name, fault in FAULTS.items() if fault.scope == "episode"]


@pytest.mark.parametrize("name", EPISODE_FAULTS)
def test_a_fault_changes_the_streams_it_names_and_no_others(
    name: str, recording: Recording, table: Recording
) -> None:
    fault = FAULTS[name]
    planted = 0
    for subject in (recording, table):
        for _, faulty, truth in _injected(fault, subject):
            changed = _changed(subject, faulty)
            planted += 1
            assert changed or faulty.metadata != subject.metadata
            if name not in WIDER:
                assert changed <= set(truth.streams)
    assert planted


@pytest.mark.parametrize("name", EPISODE_FAULTS)
def test_frames_of_a_fault_lie_inside_its_stream(
    name: str, recording: Recording, table: Recording
) -> None:
    for subject in (recording, table):
        for _, faulty, truth in _injected(FAULTS[name], subject):
            for first, stop in truth.frames:
                assert 0 <= first < stop <= len(faulty.signals[truth.streams[0]])


@pytest.mark.parametrize("name", EPISODE_FAULTS)
def test_a_fault_leaves_the_clean_recording_as_it_was(name: str, table: Recording) -> None:
    before = {label: np.array(signal[:]) for label, signal in table.signals.items()}
    stamps = {label: np.array(signal.time_ns) for label, signal in table.signals.items()}
    for _ in _injected(FAULTS[name], table):
        for label, signal in table.signals.items():
            assert np.array_equal(before[label], signal[:])
            assert np.array_equal(stamps[label], signal.time_ns)


def test_a_swap_exchanges_two_columns_and_keeps_the_rest(table: Recording) -> None:
    rng = np.random.default_rng(RNG_SEED)
    faulty, _ = FAULTS["joints_swapped_state"].inject(table, rng, 1.0)
    before, after = table.signals["observation.state"][:], faulty.signals["observation.state"][:]
    moved = np.flatnonzero((before != after).any(axis=0))
    assert len(moved) == 2
    assert np.array_equal(after[:, moved], before[:, moved[::-1]])


def test_a_gap_is_as_long_as_it_says(recording: Recording) -> None:
    rng = np.random.default_rng(RNG_SEED)
    faulty, truth = FAULTS["gap"].inject(recording, rng, 0.2)
    stamps = faulty.signals[truth.streams[0]].time_ns
    ((first, stop),) = truth.frames
    assert 0.2e9 <= stamps[stop - 1] - stamps[first] <= 0.25e9


def test_hidden_drops_leave_stamps_without_a_gap(table: Recording) -> None:
    rng = np.random.default_rng(RNG_SEED)
    faulty, _ = FAULTS["hidden_drops"].inject(table, rng, 5.0)
    signal = faulty.signals["observation.state"]
    assert len(signal) == len(table.signals["observation.state"]) - 5
    assert np.ptp(np.diff(signal.time_ns)) <= 1


def test_set_faults_change_the_episodes_they_name(recording: Recording) -> None:
    tasks = ("reach",) * 6 + ("handover",) * 2
    episodes = EpisodeSet(
        tuple(
            replace(recording, id=f"{n}", index=n, metadata={**recording.metadata, "task": task})
            for n, task in enumerate(tasks)
        )
    )
    for name in ("exact_duplicate", "near_duplicate", "outlier_motion"):
        for _, faulty, truth in _injected(FAULTS[name], episodes):
            changed = {
                each.index
                for each, clean in zip(faulty.recordings, episodes.recordings, strict=True)
                if each is not clean
            }
            assert changed
            assert changed <= set(truth.episodes)


def test_there_are_faults_enough_and_each_is_named_by_a_check_that_exists() -> None:
    assert len(FAULTS) >= 60
    for fault in FAULTS.values():
        assert fault.expected & set(checks()), fault.name
        assert fault.tolerance in fault.strengths
        assert fault.what.endswith((".", ")."))


def _fault(**changes: Any) -> Fault:
    made = Fault("x", "time", "It.", lambda *_: None, frozenset({"gap_in_stream"}))  # type: ignore[arg-type]
    return replace(made, **changes)


def _finding(check: str, stream: str | None = "a", **more: Any) -> Finding:
    return Finding("text", stream, check=check, severity=more.pop("severity", "fail"), **more)


def test_a_finding_of_another_check_detects_but_does_not_name() -> None:
    judged = judge([_finding("picture_blurred")], set(), Truth(("a",)), _fault())
    assert judged["detected"]
    assert not judged["named"]
    assert judged["others"] == ("picture_blurred",)


def test_a_finding_about_another_stream_does_not_name() -> None:
    judged = judge([_finding("gap_in_stream", "b")], set(), Truth(("a",)), _fault())
    assert not judged["named"]
    assert judged["wrong_stream"] == ("gap_in_stream:b",)


def test_notes_and_what_the_clean_episode_has_do_not_count() -> None:
    found = [_finding("gap_in_stream", severity="note"), _finding("picture_blurred", "b")]
    judged = judge(found, {("picture_blurred", "b")}, Truth(("a",)), _fault())
    assert not judged["detected"]


def test_the_distance_to_the_reported_frames_is_in_frames() -> None:
    assert off_by(((10, 12),), [_finding("gap_in_stream", frames=((11, 20),))]) == 0
    assert off_by(((10, 12),), [_finding("gap_in_stream", frames=((15, 20),))]) == 4
    assert off_by(((10, 12),), [_finding("gap_in_stream", frames=((2, 5),))]) == 6
    assert off_by(((10, 12),), [_finding("gap_in_stream")]) is None


def test_outcomes_are_counted_by_fault_kind_and_strength() -> None:
    trial = Trial("gap", "table", 0, 0.2, 0)
    outcomes = [
        Outcome(trial, detected=True, named=True, off_by=2.0, verdict="failed"),
        Outcome(trial, detected=True, others=("picture_blurred",), verdict="quarantined"),
        Outcome(trial, skipped="no"),
        Outcome(replace(trial, strength=0.03)),
    ]
    below, counted = report.rows(outcomes)
    assert (counted.tried, counted.recall, counted.named_recall) == (2, 1.0, 0.5)
    assert not below.counted
    assert report.total([below, counted]).tried == 2


def test_a_written_dataset_is_read_back_as_it_was(tmp_path: Path) -> None:
    robot = open_robot("g1")
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.2, (40, 29)).astype(np.float32)
    pictures = rng.integers(0, 255, (40, 32, 48, 3), np.uint8)
    movie = Movie(encode(pictures, rate_hz=30), pictures[:3])
    columns = {"observation.state": values, "action": values + 1}
    movies = {"observation.images.head": movie}
    episode = TableEpisode(columns, np.arange(40) / 30, "Lift it.", movies)
    names = dict.fromkeys(("observation.state", "action"), robot.joint_names)
    head = Head(30.0, "unitree_g1", names)
    for version in ("v2.1", "v3.0"):
        folder = write(tmp_path / version, head, [episode, episode], version=version)
        dataset = open_dataset(folder, robot=robot)
        assert not dataset.defects
        recording = dataset.open(1)
        assert np.array_equal(recording.signals["observation.state"][:], values)
        assert recording.signals["observation.images.head"][39].shape == (32, 48, 3)


def test_two_texts_of_a_peer_that_differ_in_a_number_are_the_same() -> None:
    one = Message("drift", "action[3]: off by 0.5 in Episode 2")
    assert one.pattern == Message("drift", "action[3]: off by 0.7 in Episode 2").pattern
    assert one.pattern != Message("drift", "action[3]: off by 0.5 in Episode 4").pattern
    assert all(words_of(fault) for fault in FAULTS.values())


def test_every_verdict_on_real_data_names_a_check_and_gives_a_reason() -> None:
    rows = json.loads(JUDGED.read_text())
    looked = json.loads(FIRST_LOOK.read_text())
    for row in [*rows, *looked["findings"]]:
        assert row["check"] in checks()
        assert row["reason"]
    assert {row["set"] for row in looked["findings"]} <= set(held_out.SETS)
    assert set(looked["episodes"]) == set(held_out.SETS)


def test_a_section_counts_what_is_true_and_leaves_out_notes() -> None:
    true = RealFinding("a", "nothing_moves", "fail", 3, "", True, "still")
    rows = [true, replace(true, is_true=False, findings=1), replace(true, severity="note")]
    text = section(rows, {"a": 50, held_out.SETS[0]: 2})
    assert "50 episodes of 1 sets: 3 findings are true, 1 false, 0 undecided. 75.0%" in text
    assert "1.0 false findings per 50 episodes" in text
    assert "2 episodes of 1 sets: 0 findings are true" in text
