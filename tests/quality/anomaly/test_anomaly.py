from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from bench.partners import PROJECT, PartnerError, partner_python
from tests.quality.reaching import changed
from tests.quality.strokes import episode, strokes

from corporeal import array_file
from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError, MissingExtraError, NotAssessed
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.anomaly.channels import CAMERA, channels_of
from corporeal.quality.anomaly.envelope import Envelope, count_alarms, learn
from corporeal.quality.anomaly.network import (
    NetworkDetector,
    NetworkShape,
    open_detector,
    pack_detector,
    train,
    unpack_detector,
)


@pytest.fixture(scope="module")
def usual() -> Envelope:
    return learn(episode(seed) for seed in range(10))


def test_good_episodes_have_no_segments(usual: Envelope) -> None:
    assert [usual.segments(episode(seed)) for seed in range(100, 106)] == [[]] * 6


def test_a_knock_is_found_where_it_was(usual: Envelope) -> None:
    (segment, *_) = usual.segments(episode(200, knock_s=5.0))
    assert segment.start_ns <= 5.1e9
    assert segment.end_ns >= 4.9e9
    assert segment.end_ns - segment.start_ns < 2e9
    assert segment.score > 1


def test_an_object_that_slips_is_found_from_then_on(usual: Envelope) -> None:
    (segment, *_) = usual.segments(episode(201, slip_s=4.5))
    assert 4.2e9 <= segment.start_ns <= 5.0e9
    assert segment.end_ns >= 6.0e9


def test_an_envelope_is_saved_and_loaded_without_pickles(usual: Envelope, tmp_path: Path) -> None:
    usual.save(tmp_path / "usual.npz")
    again = Envelope.load(tmp_path / "usual.npz")
    bad = episode(202, slip_s=4.0)
    assert again.segments(bad) == usual.segments(bad)
    with pytest.raises(CorporealError, match="not a network"):
        NetworkDetector.load(tmp_path / "usual.npz")


def test_too_few_good_episodes_are_not_enough() -> None:
    with pytest.raises(NotAssessed, match="needed"):
        learn(episode(seed) for seed in range(2))


def test_an_episode_that_lacks_a_channel_is_not_assessed(usual: Envelope) -> None:
    bare = episode(0)
    signals = {label: signal for label, signal in bare.signals.items() if label != "wrench"}
    with pytest.raises(NotAssessed, match="no channel near_force"):
        usual.segments(replace(bare, signals=signals))


def test_channels_are_there_for_a_table_of_states_alone() -> None:
    found = channels_of(Subject(strokes(rate_hz=30.0)))
    assert found.names == ("joint_speed", "joint_jolt", "joint_rest")
    assert found.asked.shape == (len(found.time_ns), 0)
    assert set(found.phase) == {0}
    with pytest.raises(NotAssessed):
        channels_of(Subject(strokes(rate_hz=0.5)))


def test_phases_follow_the_gripper() -> None:
    found = channels_of(Subject(episode(0)))
    second = found.time_ns / 1e9
    assert set(found.phase[second < 2.2]) == {0}
    assert set(found.phase[(second > 2.8) & (second < 6.8)]) == {1}
    assert set(found.phase[second > 7.3]) == {4}
    assert found.progress.max() == 1.0


def test_a_detector_is_the_same_after_it_was_packed(usual: Envelope) -> None:
    again = unpack_detector(pack_detector(usual), "usual")
    knocked = episode(200, knock_s=5.0)
    assert again.segments(knocked) == usual.segments(knocked) != []
    with pytest.raises(CorporealError, match="stack@2 is not a detector"):
        unpack_detector(b"no archive", "stack@2")


def test_alarms_of_good_episodes_are_counted_by_what_the_others_teach() -> None:
    good = [channels_of(Subject(episode(seed))) for seed in range(8)]
    odd = channels_of(Subject(episode(200, knock_s=5.0)))
    assert count_alarms(good) == 0
    assert count_alarms([*good, odd]) == 1
    assert count_alarms(good[:4]) is None


@pytest.fixture(scope="module")
def arms(shared_data: Path) -> list[Recording]:
    """Nine real episodes of a G1 with fingers."""
    dataset = open_dataset(shared_data / "lerobot" / "g1_inspire_v21_part")
    return [dataset.open(number) for number in dataset.episodes[:9]]


def _spoilt(recording: Recording, edit: Callable[[np.ndarray], None]) -> Recording:
    return changed(recording, joint_position=edit, joint_position_target=edit)


def test_fingers_are_hands_whatever_they_are_called(arms: list[Recording]) -> None:
    found = channels_of(Subject(arms[0]))
    assert {"near_opening", "near_gap", "near_grip_pace", "grips"} <= set(found.names)
    assert set(found.phase) >= {0, 1}


def test_a_jerk_and_a_stop_of_a_real_arm_are_found_where_they_are(arms: list[Recording]) -> None:
    def jerk(values: np.ndarray) -> None:
        values[200:212, 10] += 0.4 * np.sin(np.linspace(0, np.pi, 12))

    def stop(values: np.ndarray) -> None:
        values[150:240] = values[150]

    usual = learn(arms[1:])
    assert usual.segments(arms[0]) == []
    for edit, begin_s, end_s in ((jerk, 6.6, 7.1), (stop, 5.0, 8.1)):
        segments = usual.segments(_spoilt(arms[0], edit))
        assert any(each.end_ns > begin_s * 1e9 and each.start_ns < end_s * 1e9 + 1e9
                   for each in segments)  # fmt: skip


def test_what_cameras_see_is_a_channel(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "lerobot" / "gr1_picknplace_v20")
    found = channels_of(Subject(dataset.open(dataset.episodes[0])), pictures=True)
    cameras = [name for name in found.names if name.startswith(CAMERA)]
    assert {name.rpartition("_")[2] for name in cameras} == {"light", "change", "scene"}
    assert np.isfinite(found.felt).all()


def test_training_without_torch_says_what_to_install() -> None:
    if find_spec("torch") is not None:
        pytest.skip("torch is installed here")
    with pytest.raises(MissingExtraError, match=r"corporeal\[train\]"):
        train(episode(seed) for seed in range(12))


def test_a_network_that_is_saved_says_the_same_when_loaded(tmp_path: Path) -> None:
    found = channels_of(Subject(episode(0)))
    width = (len(found.names) + len(found.asked_names),)
    shape = NetworkShape(
        found.names, found.asked_names, ("strokes",), np.zeros(width), np.ones(width)
    )
    felt, given = shape.windows(found, "strokes")
    sizes = {
        "encoder": (felt.shape[1] + given.shape[1], 8),
        "code": (8, 4),
        "decoder": (2 + given.shape[1], 8),
        "decoded": (8, 2 * felt.shape[1]),
    }
    dice = np.random.default_rng(0)
    weights = {}
    for layer, (inputs, outputs) in sizes.items():
        weights[f"{layer}.weight"] = dice.normal(0, 0.1, (outputs, inputs))
        weights[f"{layer}.bias"] = np.zeros(outputs)
    before = NetworkDetector(shape, weights, 1.0)
    before.save(tmp_path / "network.npz")
    after = NetworkDetector.load(tmp_path / "network.npz")
    deviation = before.deviation(found, "strokes")
    assert deviation.shape == (len(found.time_ns),)
    assert np.array_equal(after.deviation(found, "strokes"), deviation)
    assert after.segments(episode(0)) == before.segments(episode(0))


def test_a_detector_of_a_stranger_takes_no_more_memory_than_its_numbers_need(
    usual: Envelope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual.save(tmp_path / "usual.npz")
    with np.load(tmp_path / "usual.npz") as held:
        arrays = dict(held)
    monkeypatch.setattr(array_file, "MAX_BYTES", 1 << 20)
    path = tmp_path / "huge.npz"
    np.savez_compressed(path, **arrays | {"middle": np.zeros(1 << 20)})
    with pytest.raises(CorporealError, match=r"not a detector .*expected at most 1\."):
        open_detector(path)
    np.savez(path, **arrays | {"limits": arrays["limits"][1:]})
    with pytest.raises(CorporealError, match=r"not a detector .*Learn it again"):
        open_detector(path)


_TRAINS = """
import json, sys
from pathlib import Path
from corporeal.quality.anomaly.network import train
from tests.quality.reaching import changed
from tests.quality.strokes import episode
found = train([episode(seed) for seed in range(30)], epochs=60)
found.save(Path(sys.argv[1]))
print(json.dumps(found.limit))
"""


@pytest.mark.slow
def test_a_trained_network_finds_what_it_never_saw(tmp_path: Path) -> None:
    try:
        python = partner_python("train")
    except PartnerError as reason:
        pytest.skip(f"no environment with torch: {reason}")
    path = tmp_path / "network.npz"
    done = subprocess.run(
        [str(python), "-c", _TRAINS, str(path)], cwd=PROJECT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) > 0
    network = NetworkDetector.load(path)
    quiet = [network.segments(episode(seed)) for seed in range(100, 110)]
    assert sum(bool(each) for each in quiet) <= 1
    for bad in (episode(200, knock_s=5.0), episode(201, slip_s=4.5)):
        assert any(segment.end_ns > 4e9 and segment.start_ns < 6e9
                   for segment in network.segments(bad))  # fmt: skip
