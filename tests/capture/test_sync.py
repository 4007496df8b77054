"""The sync test finds the lags that were planted, and passes nothing that it cannot see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.capture.motion_energy import Energy
from corporeal.capture.motion_fit import nonnegative_least_squares
from corporeal.capture.motion_onset import find_onset
from corporeal.capture.sync import SyncReport, plot_sync, sync_test
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.schema import open_schema
from corporeal.simulation.demonstration import simulate
from corporeal.simulation.rig import SENSORS
from corporeal.simulation.sensing import SensorSample, sense

SIZE = (120, 160)
REFERENCE = "observations/joint_position"
CAMERA, IMU, WRENCH = (
    "debug/external_side",
    "observations/pelvis_imu",
    "observations/left_wrist_wrench",
)
SPEED, GRIPPER = "observations/joint_velocity", "observations/left_gripper"
SEEN = (REFERENCE, SPEED, IMU, WRENCH, GRIPPER, CAMERA)

NOTHING: Mapping[str, float] = {}
Plant = Callable[..., Path]


@pytest.fixture(scope="module")
def samples() -> list[SensorSample]:
    """Six jerks of both arms, as some sensors of the simulated humanoid saw them."""
    run = simulate("sync_motion", seed=5, style="steady")
    sensors = {path: SENSORS[path] for path in SEEN}
    return list(sense(run, seed=5, size=SIZE, sensors=sensors))


@pytest.fixture
def plant(samples: list[SensorSample], tmp_path: Path) -> Plant:
    """Write the samples, some streams late by so many milliseconds, some lost from a second on."""
    schema = open_schema("simulated_humanoid")
    said = ("observations/instruction", "debug/outcome")
    streams = [stream for stream in schema.streams if stream.path in (*SEEN, *said)]
    streams = [
        stream.model_copy(update={"shape": (*SIZE, 3)}) if stream.kind == "video" else stream
        for stream in streams
    ]
    chosen = schema.model_copy(update={"streams": tuple(streams)})

    def write(late_ms: Mapping[str, float], lost: Mapping[str, float] = NOTHING) -> Path:
        path = tmp_path / "jerks.h5"
        with EpisodeWriter(
            path, schema=chosen, embodiment=open_robot("g1"), metadata={"task": "jerks"}
        ) as writer:
            for sample in samples:
                if sample.true_ns > lost.get(sample.path, np.inf) * 1e9:
                    continue
                shift_ns = round(late_ms.get(sample.path, 0.0) * 1e6)
                writer.append(sample.path, sample.true_ns + shift_ns, sample.value)
        return path

    return write


def _test(path: Path, **options: Any) -> SyncReport:
    with Episode.open(path) as episode:
        return sync_test(episode, **options)


@pytest.mark.slow
def test_streams_in_sync_are_not_accused(plant: Plant) -> None:
    report = _test(plant({}))
    assert len(report.events_s) == 6
    verdicts = {stream.path: stream.verdict for stream in report.streams}
    assert verdicts[REFERENCE] == "reference"
    assert verdicts[SPEED] == "in sync"
    assert set(verdicts.values()) <= {"reference", "in sync", "cannot tell", "no onset found"}
    assert report.is_in_sync


@pytest.mark.slow
@pytest.mark.parametrize("late_ms", [20.0, 40.0, 80.0, -40.0])
def test_planted_lags_are_found_within_the_stated_uncertainty(plant: Plant, late_ms: float) -> None:
    report = _test(plant(dict.fromkeys((CAMERA, IMU, WRENCH, SPEED), late_ms)))
    assert not report.is_in_sync
    for stream in report.streams:
        if stream.path in (CAMERA, IMU, WRENCH, SPEED):
            assert stream.lag_s is not None
            assert stream.uncertainty_s is not None
            assert stream.verdict == ("late" if late_ms > 0 else "early"), stream.path
            assert stream.uncertainty_s < 0.012, stream.path
            assert abs(stream.lag_s * 1e3 - late_ms) <= stream.uncertainty_s * 1e3, stream.path


@pytest.mark.slow
def test_a_stream_without_an_onset_never_passes(plant: Plant) -> None:
    report = _test(plant({GRIPPER: 200.0}))
    gripper = next(stream for stream in report.streams if stream.path == GRIPPER)
    assert gripper.verdict == "no onset found"
    assert gripper.lag_s is None


@pytest.mark.slow
def test_a_sensor_unplugged_half_way_is_assessed_by_what_it_saw(plant: Plant) -> None:
    report = _test(plant({IMU: 40.0, CAMERA: 40.0}, lost={IMU: 9.0, CAMERA: 9.0}))
    for stream in report.streams:
        if stream.path in (IMU, CAMERA):
            assert stream.verdict == "late"
            assert 3 <= stream.events < len(report.events_s)


@pytest.mark.slow
def test_one_event_is_less_sure_than_all_of_them(plant: Plant) -> None:
    path = plant({})
    one, every = _test(path, event_s=5.0), _test(path)
    assert len(one.events_s) == 1
    for alone, together in zip(one.streams, every.streams, strict=True):
        if alone.path in (IMU, CAMERA) and alone.uncertainty_s and together.uncertainty_s:
            assert alone.uncertainty_s > together.uncertainty_s


@pytest.mark.slow
def test_a_looser_tolerance_lets_a_late_stream_pass(plant: Plant) -> None:
    path = plant({SPEED: 20.0})
    assert not _test(path).is_in_sync
    assert _test(path, tolerance_s=0.05).is_in_sync


@pytest.mark.slow
def test_an_event_far_from_any_motion_is_refused_with_a_list(plant: Plant) -> None:
    with pytest.raises(CorporealError, match=r"within 1 s of a sharp motion: \d"):
        _test(plant({}), event_s=100.0)


@pytest.mark.slow
def test_the_picture_has_a_lane_for_every_stream(plant: Plant) -> None:
    report = _test(plant({CAMERA: 80.0}))
    figure = plot_sync(report, event=1)
    assert len(figure.axes) == len(report.streams) == len(SEEN)
    words = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert any(word.startswith("late by") for word in words)
    with pytest.raises(CorporealError, match="expected 0 to 5"):
        plot_sync(report, event=6)


def test_an_episode_at_rest_has_no_event(tmp_path: Path) -> None:
    schema = open_schema("simulated_humanoid")
    joints = tuple(stream for stream in schema.streams if stream.path == REFERENCE)
    still = schema.model_copy(update={"streams": joints})
    path, noise = tmp_path / "still.h5", np.random.default_rng(0).normal(0, 1e-4, (300, 29))
    with EpisodeWriter(path, schema=still, embodiment=open_robot("g1")) as writer:
        writer.extend(REFERENCE, np.arange(300) * 10_000_000, noise.astype(np.float32))
    with pytest.raises(CorporealError, match="no sharp motion"):
        _test(path)


@pytest.mark.parametrize("begin_s", [0.0, 0.0013, 0.0031, -0.0042])
def test_the_onset_of_a_slope_is_found_between_samples(begin_s: float) -> None:
    time_s = np.arange(-0.6, 0.6, 0.005)
    value = 30.0 * np.maximum(time_s - begin_s, 0.0) + 0.001 * np.sin(1e4 * time_s)
    onset = find_onset(Energy(time_s, time_s, value, "force"), 0.0)
    assert onset is not None
    assert abs(onset.time_s - begin_s) < 0.001


def test_noise_has_no_onset() -> None:
    time_s = np.arange(-0.6, 0.6, 0.005)
    value = np.abs(np.random.default_rng(3).normal(size=len(time_s)))
    assert find_onset(Energy(time_s, time_s, value, "force"), 0.0) is None


def test_weights_are_never_negative_and_fit_what_can_be_fitted() -> None:
    rng = np.random.default_rng(1)
    columns = rng.uniform(size=(2, 40, 5))
    wanted = np.array([0.0, 2.0, 0.0, 1.0, 0.5])
    weights = nonnegative_least_squares(columns, columns[0] @ wanted)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights[0], wanted, atol=0.02)


@pytest.mark.slow
def test_joints_are_known_by_what_they_are_and_not_by_their_name(
    plant: Plant, tmp_path: Path
) -> None:
    """The same recording from a bag that calls its joints otherwise."""
    source = plant({SPEED: 40.0})
    renamed = {REFERENCE: "observations/robot_arm_state", SPEED: "observations/robot_arm_speed"}
    target = tmp_path / "renamed.h5"
    with Episode.open(source) as episode:
        streams = [
            stream.model_copy(update={"name": renamed[stream.path].split("/")[1]})
            if stream.path in renamed
            else stream
            for stream in episode.schema.streams
        ]
        schema = episode.schema.model_copy(update={"streams": tuple(streams)})
        with EpisodeWriter(target, schema=schema, embodiment=episode.embodiment,
                           metadata={"task": "jerks"}) as writer:  # fmt: skip
            for path in (REFERENCE, SPEED, IMU):
                writer.extend(renamed.get(path, path), episode[path].time_ns, episode[path][:])
    report = _test(target)
    assert report.reference == "observations/robot_arm_state"
    verdicts = {stream.path: stream.verdict for stream in report.streams}
    assert verdicts["observations/robot_arm_speed"] == "late"
    with Episode.open(target) as episode:
        named = sync_test(episode, reference_path="observations/robot_arm_speed")
        assert named.reference == "observations/robot_arm_speed"
        with pytest.raises(CorporealError, match="robot_arm_sped"):
            sync_test(episode, reference_path="observations/robot_arm_sped")


def test_a_recording_without_joints_is_refused_with_what_it_has(tmp_path: Path) -> None:
    schema = open_schema("simulated_humanoid")
    streams = tuple(stream for stream in schema.streams if stream.path == IMU)
    path = tmp_path / "imu.h5"
    with EpisodeWriter(path, schema=schema.model_copy(update={"streams": streams})) as writer:
        writer.extend(IMU, np.arange(100) * 5_000_000, np.zeros((100, 6), np.float32))
    with pytest.raises(CorporealError, match=r"no joint state to compare with.*pelvis_imu"):
        _test(path)
