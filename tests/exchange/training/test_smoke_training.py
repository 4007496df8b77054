"""A smoke training is judged by its losses, its actions and the dataset it ran on."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.lerobot_sets import Recipe, read_json, write_json, write_v3

from corporeal.episode.recording import ArraySignal, Dataset, Recording, Signal
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.exchange import ExportOptions, export
from corporeal.exchange.format import Consumer
from corporeal.exchange.lerobot.info import read_info
from corporeal.exchange.training import smoke_training
from corporeal.exchange.training.smoke_training import SmokeReport, learn_hands, smoke_train
from corporeal.schema import Stream

TRAINER = """
import json, sys
from pathlib import Path
def main(request):
    told = json.loads(Path({told!r}).read_text())
    Path({seen!r}).write_text(json.dumps(request))
    return {{"library": "lerobot", "version": "9.9",
             "policies": {{name: told[name] for name in request["policies"]}}}}, None
"""


def course(**changes: Any) -> dict[str, Any]:
    """How a policy trains when all is well."""
    losses = [3.0, 2.8, 2.5, 2.2, 2.1, 1.9]
    well: dict[str, Any] = {
        "losses": losses, "error_before": 1.0, "error_after": 0.8, "largest": 2.0, "seconds": 1.5,
        "parameters": 1000, "frames": 95, "action_shape": [4], "action_finite": True,
    }  # fmt: skip
    return well | changes


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_v3(tmp_path / "dataset", Recipe(camera=True))


@pytest.fixture
def trained(tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Trains with a script that tells what it is told to tell."""
    script, told, seen = (tmp_path / name for name in ("trainer.py", "told.json", "seen.json"))
    script.write_text(TRAINER.format(told=str(told), seen=str(seen)))
    monkeypatch.setattr(smoke_training, "TRAINER", Consumer(str(script), "lerobot", "pip install"))

    def train(told_of: dict[str, Any], **options: Any) -> SmokeReport:
        told.write_text(json.dumps(told_of))
        return smoke_train(dataset, **{"steps": 6, "python": sys.executable, **options})

    return train


def test_losses_that_fall_and_actions_that_fit_pass(trained: Any) -> None:
    steady = [1.0, 1.1, 0.9, 1.0, 1.05, 1.0]
    report = trained({"act": course(), "diffusion": course(losses=steady)})
    assert report.passed
    assert not report.reasons
    assert (report.library, report.version) == ("lerobot", "9.9")
    assert [run.policy for run in report.runs] == ["act", "diffusion"]
    assert report.to_json()["passed"] is True


def test_the_trainer_hears_what_was_asked(trained: Any, tmp_path: Path) -> None:
    trained({"act": course()}, policies=("act",), batch=4, episodes=range(2), seed=3)
    seen = json.loads((tmp_path / "seen.json").read_text())
    path = str((tmp_path / "dataset").resolve())
    assert seen == {"path": path, "policies": ["act"], "steps": 6, "batch": 4, "episodes": [0, 1],
                    "seed": 3}  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "changes", "reason"),
    [
        ("act", {"losses": [3.0, 2.8, float("nan"), 2, 2, 2]}, "the loss is nan at step 2"),
        ("act", {"losses": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]}, "does not fall"),
        ("diffusion", {"losses": [1.0, 1.0, 1.0, 1.0, 1.3, 1.3]}, "the loss grows from 1 to 1.3"),
        ("diffusion", {"error_after": 1.2}, "error of a batch does not fall"),
        ("diffusion", {"error_after": float("nan")}, "error of a batch does not fall"),
        ("act", {"largest": 4e5}, "statistics do not fit"),
        ("act", {"largest": float("nan")}, "statistics do not fit"),
        ("act", {"action_shape": [7]}, r"shape \[7\]; expected \[4\]"),
        ("act", {"action_finite": False}, "not finite"),
    ],
)
def test_a_training_that_goes_wrong_fails_with_the_reason(
    trained: Any, policy: str, changes: dict[str, Any], reason: str
) -> None:
    report = trained({policy: course(**changes)}, policies=(policy,))
    assert not report.passed
    assert len(report.reasons) == 1
    assert re.search(reason, report.reasons[0]), report.reasons


@pytest.mark.parametrize(
    "told",
    [
        {"act": course(losses=[1.0, 0.5])},
        {"act": course(losses="many")},
        {"act": {}},
        {"act": []},
    ],
)
def test_a_trainer_that_answers_nonsense_is_an_error(trained: Any, told: dict[str, Any]) -> None:
    with pytest.raises(CorporealError, match="nonsense"):
        trained(told, policies=("act",))


@pytest.mark.parametrize("lost", ["observation.state", "action", "observation.images.head"])
def test_a_dataset_that_lacks_what_a_policy_needs_is_told_so(dataset: Path, lost: str) -> None:
    info = read_json(dataset / "meta" / "info.json")
    del info["features"][lost]
    write_json(dataset / "meta" / "info.json", info)
    name = "a camera" if "images" in lost else lost
    with pytest.raises(CorporealError, match=f"has no {name}, so neither ACT nor Diffusion"):
        smoke_train(dataset, python=sys.executable)


def test_without_lerobot_the_way_to_get_it_is_told(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Consumer("lerobot", "no_such_library", "pip install 'lerobot[training]'")
    monkeypatch.setattr(smoke_training, "TRAINER", absent)
    monkeypatch.delenv("CORPOREAL_NO_SUCH_LIBRARY_PYTHON", raising=False)
    with pytest.raises(CorporealError, match=r"pip install .* CORPOREAL_NO_SUCH_LIBRARY_PYTHON"):
        smoke_train(dataset)


def test_an_unknown_policy_and_too_few_steps_are_refused(dataset: Path) -> None:
    with pytest.raises(UnknownNameError, match="act, diffusion"):
        smoke_train(dataset, policies=("act", "bc"))
    with pytest.raises(CorporealError, match="expected 6 to"):
        smoke_train(dataset, steps=2)


def _grasping(folder: Path, *, told: bool = True, beside: bool = False) -> Path:
    """A dataset whose right hand closes while an arm is low; by chance where it was not told so."""
    joints = ("left_elbow_joint", "right_elbow_joint")
    rng = np.random.default_rng(0)
    times_s = np.arange(2000) / 20
    arms = np.stack([np.sin(0.7 * times_s), np.cos(times_s)], axis=1)
    closed = arms[:, 1] < -0.2 if told else rng.random(100).repeat(20) < 0.5
    values = {
        "observations/joint_position": (joints, arms + rng.normal(0, 0.01, arms.shape)),
        "actions/joint_position_target": (joints, arms),
        "actions/right_gripper_target": (("opening",), 0.08 * (1.0 - closed[:, None])),
    }
    signals: dict[str, Signal] = {}
    for path, (names, numbers) in values.items():
        group, _, name = path.partition("/")
        spec = Stream(name=name, group=group, dtype="float32", shape=(len(names),),
                      components=names, rate_hz=20)  # fmt: skip
        stamps = np.arange(2000, dtype=np.int64) * 50_000_000
        signals[path] = ArraySignal(spec, stamps, numbers.astype(np.float32))
    made = Recording(id="made", source=folder / "made.h5", index=0, signals=signals)
    dataset = Dataset(source=made.source, format="made", episodes=(0,), open=lambda _: made)
    options = ExportOptions(on="serial", action=("joint_position_target",) if beside else ())
    return export(lambda: dataset, folder / "grasping", "lerobot", options).out


def test_a_hand_that_follows_the_arm_is_learnt_and_one_by_chance_is_not(tmp_path: Path) -> None:
    (lesson,) = learn_hands(_grasping(tmp_path / "a"))
    assert lesson.name == "right_gripper_target.opening"
    assert lesson.error < 0.3 * lesson.guess
    assert lesson.learnt
    (lesson,) = learn_hands(_grasping(tmp_path / "b", told=False))
    assert lesson.error > 0.7 * lesson.guess


@pytest.mark.parametrize("beside", [False, True])
def test_a_hand_beside_the_action_fails(
    trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    path = _grasping(tmp_path, beside=beside)
    monkeypatch.setattr(smoke_training, "_trainable", read_info)
    shape = [2 if beside else 3]
    (tmp_path / "told.json").write_text(json.dumps({"act": course(action_shape=shape)}))
    report = smoke_train(path, policies=("act",), steps=6, python=sys.executable)
    assert report.passed is not beside
    assert report.hands_beside == (("action.right_gripper_target",) if beside else ())
    assert [hand.learnt for hand in report.hands] == ([] if beside else [True])
