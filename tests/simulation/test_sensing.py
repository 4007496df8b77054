from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corporeal.schema import open_schema
from corporeal.simulation.demonstration import simulate
from corporeal.simulation.rig import SENSORS
from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.sensing import (
    TAXEL_M2,
    SensorSample,
    clocks,
    sense,
    stream_sources,
    without_noise,
)
from corporeal.simulation.sensor import SensorClock
from corporeal.units import SECOND_NS

SIZE = (48, 64)
Streams = dict[str, list[SensorSample]]


@pytest.fixture(scope="module")
def noisy(tiny_run: SimulatedRun) -> list[SensorSample]:
    return list(sense(tiny_run, seed=5, size=SIZE))


@pytest.fixture(scope="module")
def perfect(tiny_run: SimulatedRun) -> Streams:
    return _by_path(list(sense(tiny_run, seed=5, pictures=False, sensors=without_noise(SENSORS))))


def _by_path(samples: list[SensorSample]) -> Streams:
    streams: Streams = defaultdict(list)
    for sample in samples:
        streams[sample.path].append(sample)
    return streams


def _values(samples: list[SensorSample]) -> Any:
    return np.array([sample.value for sample in samples], np.float64)


def _true_s(samples: list[SensorSample]) -> Any:
    return np.array([sample.true_ns for sample in samples]) / SECOND_NS


def _logged(run: SimulatedRun, column: Any, samples: list[SensorSample]) -> Any:
    return np.interp(_true_s(samples), run.time_s, column)


def test_every_stream_of_the_rig_comes_in_its_shape_and_rate(
    tiny_run: SimulatedRun, noisy: list[SensorSample]
) -> None:
    rig = open_schema("simulated_humanoid").resolve(tiny_run.world.embodiment.joint_names)
    streams = _by_path(noisy)
    assert set(streams) == {stream.path for stream in rig.streams}
    for stream in rig.streams:
        samples = streams[stream.path]
        value = samples[0].value
        if stream.kind == "text":
            assert isinstance(value, str)
            continue
        assert stream.rate_hz is not None
        assert abs(len(samples) - stream.rate_hz) <= 1
        assert value.dtype == stream.dtype
        if stream.kind == "points":
            assert value.shape[1:] == stream.shape
        elif stream.kind in ("video", "depth"):
            assert value.shape == (*SIZE, *stream.shape[2:])
        else:
            assert value.shape == stream.shape


def test_the_same_seed_gives_the_same_samples_and_another_does_not(
    tiny_run: SimulatedRun, noisy: list[SensorSample]
) -> None:
    again = list(sense(tiny_run, seed=5, size=SIZE))
    assert len(again) == len(noisy)
    for a, b in zip(noisy, again, strict=True):
        stamps = (a.path, a.source_ns, a.arrival_ns, a.true_ns)
        assert stamps == (b.path, b.source_ns, b.arrival_ns, b.true_ns)
        assert np.array_equal(a.value, b.value)
    other = next(s for s in sense(tiny_run, seed=6, pictures=False) if "imu" in s.path)
    mine = next(s for s in noisy if s.path == other.path)
    assert not np.array_equal(mine.value, other.value)


def test_leaving_the_pictures_out_changes_nothing_else(
    tiny_run: SimulatedRun, noisy: list[SensorSample]
) -> None:
    blind = list(sense(tiny_run, seed=5, pictures=False))
    cameras = ("head_left", "head_right", "head_depth", "external_front", "external_side")
    rest = [sample for sample in noisy if sample.path.split("/")[1] not in cameras]
    assert len(blind) == len(rest)
    for a, b in zip(blind, rest, strict=True):
        assert (a.path, a.arrival_ns) == (b.path, b.arrival_ns)
        assert np.array_equal(a.value, b.value)


def test_samples_come_in_order_of_arrival_which_is_not_that_of_capture(
    noisy: list[SensorSample],
) -> None:
    arrival = np.array([sample.arrival_ns for sample in noisy])
    capture = np.array([sample.true_ns for sample in noisy])
    assert (np.diff(arrival) >= 0).all()
    assert (np.diff(capture) < 0).any(), "a camera is later than an encoder"
    for samples in _by_path(noisy).values():
        assert (np.diff([sample.true_ns for sample in samples]) > 0).all()


def test_stamps_are_those_of_the_clock_of_the_stream(noisy: list[SensorSample]) -> None:
    truth, sources = clocks(5), stream_sources()
    for sample in noisy:
        assert sample.source == sources[sample.path]
        assert sample.source_ns == int(truth[sample.source].stamp(sample.true_ns))


def test_the_eyes_open_at_the_same_instant_but_the_clocks_of_the_room_do_not_agree(
    noisy: list[SensorSample],
) -> None:
    streams = _by_path(noisy)
    left, right, front = (
        [sample.true_ns for sample in streams[path]]
        for path in ("observations/head_left", "observations/head_right", "debug/external_front")
    )
    assert left == right
    assert left != front


def test_an_imu_at_rest_measures_gravity_upwards(perfect: Streams) -> None:
    pelvis = _values(perfect["observations/pelvis_imu"])
    assert pelvis[:, 2] == pytest.approx(9.81, abs=1e-4)
    assert np.abs(pelvis[:, [0, 1, 3, 4, 5]]).max() < 1e-5


def test_perfect_sensors_equal_the_log_at_their_own_instants(
    tiny_run: SimulatedRun, perfect: Streams
) -> None:
    world = tiny_run.world
    elbow = world.embodiment.joint_names.index("left_elbow_joint")
    for path, log in (
        ("joint_position", tiny_run.qpos[:, world.joint_qpos[elbow]]),
        ("joint_velocity", tiny_run.qvel[:, world.joint_qvel[elbow]]),
        ("joint_torque", tiny_run.torque_nm[:, elbow]),
    ):
        samples = perfect[f"observations/{path}"]
        expected = _logged(tiny_run, log, samples)
        assert _values(samples)[:, elbow] == pytest.approx(expected, abs=1e-6)
    force = perfect["observations/left_wrist_wrench"]
    column = tiny_run.sensordata[:, world.sensors["left_wrist_force"].start + 2]
    expected = _logged(tiny_run, column, force)
    assert _values(force)[:, 2] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    gripper = perfect["observations/left_gripper"]
    expected = 0.08 - 0.05 * _true_s(gripper)
    assert _values(gripper)[:, 0] == pytest.approx(expected, abs=1e-6)


def test_a_command_is_held_not_blended(tiny_run: SimulatedRun, perfect: Streams) -> None:
    targets = tiny_run.target_rad.astype(np.float32)
    for sample in perfect["actions/joint_position_target"]:
        row = int(sample.true_ns / SECOND_NS / tiny_run.step_s + 1e-9)
        assert np.array_equal(sample.value, targets[row])


def test_base_and_object_are_where_they_are(tiny_run: SimulatedRun, perfect: Streams) -> None:
    ball = perfect["debug/object_pose"]
    assert _values(ball)[:, 1] == pytest.approx(-0.3 + 0.6 * _true_s(ball), abs=1e-6)
    base = _values(perfect["debug/base_pose"])
    assert base[:, :7] == pytest.approx(np.tile(tiny_run.qpos[0, :7], (len(base), 1)), abs=1e-6)


def test_a_noisy_pose_keeps_a_unit_quaternion(noisy: list[SensorSample]) -> None:
    base = _values(_by_path(noisy)["debug/base_pose"])
    assert np.linalg.norm(base[:, 3:], axis=1) == pytest.approx(1.0, abs=1e-6)
    assert 1e-4 < base[:, 0].std() < 1e-3


def test_noise_has_the_size_that_the_rig_states(
    noisy: list[SensorSample], perfect: Streams
) -> None:
    path = "observations/pelvis_imu"
    error = _values(_by_path(noisy)[path]) - _values(perfect[path])
    noise: Any = SENSORS[path].noise
    assert error.std(axis=0) == pytest.approx(np.array(noise.white), rel=0.25)
    assert np.abs(error.mean(axis=0) / np.array(noise.bias)).max() < 4


def test_the_total_of_a_tactile_map_is_the_force_of_the_contacts(perfect: Streams) -> None:
    for hand, force_n in (("left", 10.0), ("right", 4.0)):
        samples = perfect[f"observations/{hand}_tactile"]
        total = _values(samples).sum(axis=(1, 2)) * TAXEL_M2
        time_s = _true_s(samples)
        assert total[time_s < 0.49] == pytest.approx(0.0)
        assert total[time_s > 0.51] == pytest.approx(force_n, rel=1e-5)


def test_noisy_touch_is_never_negative_and_mostly_silent_without_contact(
    noisy: list[SensorSample],
) -> None:
    samples = _by_path(noisy)["observations/left_tactile"]
    maps = _values(samples)
    assert maps.min() == 0
    silent = maps[_true_s(samples) < 0.49]
    assert (silent == 0).mean() > 0.7
    assert maps[_true_s(samples) > 0.51].sum(axis=(1, 2)).mean() * TAXEL_M2 > 8


def test_what_was_said_comes_as_text(tiny_run: SimulatedRun, noisy: list[SensorSample]) -> None:
    streams = _by_path(noisy)
    (instruction,) = streams["observations/instruction"]
    assert (instruction.value, instruction.true_ns) == (tiny_run.instruction, 0)
    said = streams["debug/outcome"]
    assert [sample.true_ns for sample in said] == [SECOND_NS // 4, SECOND_NS // 2, SECOND_NS]
    assert json.loads(said[0].value) == {"event": "grasp", "detail": "left hand"}
    outcome = json.loads(said[-1].value)
    assert outcome == {"success": False, "failure": "drop", "measures": {"lift_height_m": 0.12}}


def test_a_later_start_moves_all_times_and_drift_goes_on(tiny_run: SimulatedRun) -> None:
    hour = 3600 * SECOND_NS
    devices = {name: SensorClock(name, 0, 20.0) for name in clocks(0)}
    options: dict[str, Any] = {"seed": 0, "pictures": False, "devices": devices}
    late = list(sense(tiny_run, start_ns=hour, **options))
    assert all(hour <= sample.true_ns <= hour + SECOND_NS for sample in late)
    ahead = np.array([sample.source_ns - sample.true_ns for sample in late])
    assert ahead == pytest.approx(20e-6 * hour, rel=1e-3)


def test_a_world_without_objects_has_no_object_pose(tiny_run: SimulatedRun) -> None:
    bare: Any = replace(tiny_run.world, objects=())
    samples = sense(replace(tiny_run, world=bare), seed=0, pictures=False)
    assert "debug/object_pose" not in {sample.path for sample in samples}


def test_a_run_can_be_left_half_way(tiny_run: SimulatedRun) -> None:
    samples = sense(tiny_run, seed=0, size=SIZE)
    assert next(samples).path == "observations/instruction"
    samples.close()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_demonstration_in_the_real_room_can_be_sensed() -> None:
    run = simulate("reach", seed=2)
    samples = list(sense(run, seed=2, size=SIZE, sensors=without_noise(SENSORS)))
    streams = _by_path(samples)
    rig = open_schema("simulated_humanoid")
    needed = {stream.path for stream in rig.streams if not stream.optional}
    assert needed <= set(streams)
    upright = _values(streams["observations/pelvis_imu"])[:, :3].mean(axis=0)
    assert np.linalg.norm(upright) == pytest.approx(9.81, abs=0.1)
    weight = 9.81 * run.world.model.body_subtreemass[run.world.model.body("pelvis").id]
    legs = [_values(streams[f"observations/{side}_ankle_wrench"]) for side in ("left", "right")]
    carried = sum(np.linalg.norm(leg[:, :3], axis=1).mean() for leg in legs)
    assert carried == pytest.approx(weight, rel=0.06), "all but the feet stands on the ankles"
    assert all(sample.value.std() > 5 for sample in streams["observations/head_left"])
    assert all(len(sample.value) > 500 for sample in streams["observations/lidar"])
