"""Wrenches are trained on without tool and bias, where the episode says what these are."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.quality.standing import G1, GRAVITY, standing

from corporeal.calibration.force import GRAVITY as STANDARD_GRAVITY
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.training.compensation import compensated
from corporeal.exchange.training.torch_dataset import EpisodeDataset
from corporeal.protocol import Calibration

NAME = "right_wrist_wrench"
LABEL = f"observations/{NAME}"
BIAS = np.array([10.0, -4.0, 2.0, 0.1, 0.2, -0.3])
TOUCH = np.array([0.0, 0.0, 6.0, 0.0, 0.0, 0.0])
NOISE = 0.02


def calibration(name: str = NAME) -> Calibration:
    """What is known of the sensor of the right wrist: exactly what physics has there."""
    (hand,) = [link.inertia for link in G1.links if link.name == "right_wrist_yaw_link"]
    assert hand is not None
    return Calibration.model_validate({
        "document": "calibration", "name": "cell", "version": "1.0.0", "measured": "2026-11-19",
        "force_sensors": [{
            "name": name, "mass_kg": hand.mass * GRAVITY / STANDARD_GRAVITY, "centre_m": hand.com,
            "force_bias_n": BIAS[:3].tolist(), "torque_bias_nm": BIAS[3:].tolist(),
            "mounting_rpy": [0, 0, 0], "sign": -1,
        }],
    })  # fmt: skip


def biased(known: Calibration | None, **changed: Signal) -> Recording:
    """The standing robot with a wrist that is not zeroed and touches something after 4 s."""
    recording = standing()
    signal = recording.signals[LABEL]
    values = np.array(signal[:]) + BIAS
    values[400:] += TOUCH
    signals = {**recording.signals, LABEL: ArraySignal(signal.spec, signal.time_ns, values)}
    documents = {} if known is None else {"calibration": known.canonical()}
    return replace(recording, signals=signals | changed, documents=documents)


def lacking(recording: Recording, *labels: str) -> Recording:
    """The recording without some signals."""
    kept: Mapping[str, Signal] = {k: v for k, v in recording.signals.items() if k not in labels}
    return replace(recording, signals=kept)


def restated(recording: Recording, label: str, **fields: Any) -> Signal:
    """A signal of the recording that says something else of itself."""
    signal = recording.signals[label]
    return ArraySignal(signal.spec.model_copy(update=fields), signal.time_ns, signal[:])


def rows_of(recording: Recording) -> np.ndarray:
    return np.asarray(compensated(recording, [NAME]).signals[LABEL][:])


def test_only_what_touches_is_left_of_an_episode(tmp_path: Path) -> None:
    write_recording(biased(calibration()), tmp_path / "e0.h5")
    key = f"observation.{NAME}"
    given: dict[str, Any] = {"action": ["none"], "cameras": [], "columns": [key], "chunk": 1}
    plain = EpisodeDataset(tmp_path, **given)
    dataset = pickle.loads(pickle.dumps(EpisodeDataset(tmp_path, compensate=[NAME], **given)))
    assert len(dataset) == len(plain) == 800
    free = np.array([dataset.sample(row)[key] for row in range(0, 800, 40)])
    raw = np.array([plain.sample(row)[key] for row in range(0, 800, 40)])
    assert free.dtype == raw.dtype
    assert np.abs(free[:10]).max() < 5 * NOISE
    assert np.abs(free[10:] - TOUCH).max() < 5 * NOISE
    assert np.abs(raw[:10, 0]).min() > 5


def test_scales_are_those_of_the_compensated_values(tmp_path: Path) -> None:
    write_recording(biased(calibration()), tmp_path / "e0.h5")
    dataset = EpisodeDataset(
        tmp_path, action=["none"], cameras=[], normalisation="quantiles", compensate=[NAME]
    )
    assert dataset.normalisation is not None
    assert np.abs(dataset.normalisation.columns[f"observation.{NAME}"].low).max() < 5 * NOISE


def test_other_streams_and_no_names_change_nothing() -> None:
    recording = biased(calibration())
    changed = compensated(recording, [NAME])
    assert compensated(recording, ()) is recording
    assert [k for k in recording.signals if changed.signals[k] is not recording.signals[k]] == [
        LABEL
    ]


def test_the_imu_of_the_base_tells_where_down_is() -> None:
    rows = rows_of(lacking(biased(calibration()), "debug/base_pose"))
    assert np.abs(rows[:400]).max() < 0.5
    assert np.abs(rows[:400].mean(axis=0)).max() < 0.1


def test_what_an_episode_does_not_say_is_refused_in_a_sentence() -> None:
    known = biased(calibration())
    up = ("debug/base_pose", "observations/pelvis_imu")
    for recording, words in (
        (biased(None), "got no calibration in the episode"),
        (biased(calibration("left_wrist_wrench")), r"\(cell\) of left_wrist_wrench"),
        (lacking(known, *up), "got neither a base_pose nor an IMU of pelvis"),
        (lacking(known, "observations/joint_position"), "got no joints"),
        (replace(known, embodiment=None), "got no robot"),
        (biased(calibration(), **{LABEL: restated(known, LABEL, unit="kgf")}), "forces in N"),
    ):
        with pytest.raises(EpisodeError, match=words):
            compensated(recording, [NAME])
    with pytest.raises(UnknownNameError, match="right_wrist_wrench"):
        compensated(known, ["wrist_wrench"])


def test_a_joint_that_is_missing_before_the_sensor_is_named() -> None:
    known = biased(calibration())
    label = "observations/joint_position"
    joints = known.signals[label]
    place = joints.spec.names.index("right_elbow_joint")
    names = tuple(name for name in joints.spec.names if name != "right_elbow_joint")
    spec = joints.spec.model_copy(update={"shape": (len(names),), "components": names})
    fewer = ArraySignal(spec, joints.time_ns, np.delete(np.array(joints[:]), place, axis=1))
    with pytest.raises(EpisodeError, match="has no right_elbow_joint"):
        compensated(replace(known, signals={**known.signals, label: fewer}), [NAME])
