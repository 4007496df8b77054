"""What is damaged of sets that others publish, of people without a skeleton, rosters and networks.

Each is written as its published description has it, small enough to be tried a thousand times.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tests.cli.test_shifts import ROSTER
from tests.exchange.formats import test_d4rl, test_humanoid_everyday, test_rh20t, test_unitree_json
from tests.retargeting.readers import test_keypoints, test_smpl
from tests.teleoperation.hands import test_umetrack
from tests.teleoperation.onnx_file import write_policy

from bench.fuzz.readers import JOINT, Sample
from corporeal.retargeting.person.keypoint_layouts import LAYOUTS

_STEPS = 4


def published_samples(folder: Path) -> Iterator[Sample]:
    """Datasets of others of which no small real one is at hand."""
    folder.mkdir(parents=True)
    yield Sample("d4rl", str(test_d4rl.write_steps(folder / "hopper.hdf5")), "dataset")
    scene = folder / "rh20t" / "task_0001_user_0007_scene_0002_cfg_0005"
    test_rh20t.write(scene)
    yield Sample("rh20t", str(scene.parent), "dataset")
    for name, module in (("humanoid_everyday", test_humanoid_everyday),
                         ("unitree_json", test_unitree_json)):  # fmt: skip
        episode = folder / name / "task" / "episode_0"
        steps = [module.step(episode, number) for number in range(_STEPS)]
        module.write(episode, steps)
        yield Sample(name, str(episode.parent), "dataset")
    hands = folder / "hot3d"
    test_umetrack._write(hands)
    yield Sample("hands of HOT3D", str(hands), "umetrack")


def body_samples(folder: Path, data: Path) -> Iterator[Sample]:
    """Keypoints of cameras, and bodies of SMPL."""
    folder.mkdir(parents=True)
    points = test_keypoints.array_of("coco17")
    np.save(folder / "keypoints.npy", points)
    named = {name: points[:, number] for number, name in
             enumerate(LAYOUTS["coco17"])}  # fmt: skip
    (folder / "keypoints.csv").write_text(test_keypoints.csv_text(named), "utf-8")
    test_smpl.write(folder / "smpl.npz")
    for clip in sorted(data.glob("retarget/asap_smpl_human/*.npz"))[:1]:
        shutil.copy(clip, folder / "smpl_real.npz")
    for path in sorted(folder.iterdir()):
        yield Sample(f"person {path.name}", str(path), "motion")


def floor_samples(folder: Path) -> Iterator[Sample]:
    """A roster, and a policy that drives an arm."""
    folder.mkdir(parents=True)
    (folder / "week.yaml").write_text(ROSTER, "utf-8")
    yield Sample("roster", str(folder / "week.yaml"), "roster")
    write_policy(folder / "reach.onnx", states=[JOINT], actions=[JOINT], weights=np.zeros((1, 1)),
                 offset=[0.3])  # fmt: skip
    yield Sample("policy .onnx", str(folder / "reach.onnx"), "policy")
