"""SMPL and AMASS archives (npz): joint rotations of a body model, whose body is estimated here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.array_file import names_in_npz, read_npz
from corporeal.geometry import Array, matrix_from_vector
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, MotionError, Origin, account
from corporeal.retargeting.person.standard_axes import standardise
from corporeal.retargeting.reader import ClipHints, MotionReader

JOINTS = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2",
    "left_ankle", "right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar",
    "right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow",
    "left_wrist", "right_wrist",
)  # fmt: skip
PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
STATURE_M = 1.72
# The first shape number is mostly stature: this part of it, per unit.
_STATURE_PER_BETA = 0.06
_MOST = 0.25

# A body in T-pose seen from its pelvis, in metres: x to its left, y up, z forward. Rounded to half
# a centimetre and the same on both sides, as good as an estimate of a stranger's body can be.
_TRUNK = {
    "pelvis": (0.0, 0.0, 0.0), "spine1": (0.0, 0.11, -0.025), "spine2": (0.0, 0.245, -0.025),
    "spine3": (0.0, 0.295, 0.0), "neck": (0.0, 0.51, -0.045), "head": (0.0, 0.575, 0.01),
}  # fmt: skip
_LEFT = {
    "hip": (0.07, -0.09, -0.005), "knee": (0.105, -0.47, -0.01), "ankle": (0.09, -0.87, -0.055),
    "foot": (0.115, -0.925, 0.065), "collar": (0.08, 0.415, -0.035),
    "shoulder": (0.175, 0.45, -0.045), "elbow": (0.43, 0.435, -0.07),
    "wrist": (0.68, 0.445, -0.075),
}  # fmt: skip
# Points that are no joints, and the joint that carries each.
_LEFT_ENDS = {
    "heel": ("ankle", (0.085, -0.965, -0.11)),
    "toe": ("foot", (0.12, -0.965, 0.145)),
    "hand": ("wrist", (0.765, 0.435, -0.08)),
}
_HEAD_CENTRE = (0.0, 0.66, 0.03)
# Where the model has its pelvis, which its translation is counted from.
PELVIS_M = np.array([0.0, -0.22, 0.03])
_JOINT_OF_POINT = {"spine": "spine1", "chest": "spine3"}


def _mirrored(place: tuple[float, float, float], side: str) -> Array:
    return np.array(place) * (1.0 if side == "left" else -1.0, 1.0, 1.0)


def rest_joints() -> Array:
    """The joints (22, 3) of the average body in T-pose, from the pelvis."""
    places = []
    for name in JOINTS:
        side, _, part = name.partition("_")
        places.append(_mirrored(_LEFT[part], side) if side in SIDES else np.array(_TRUNK[name]))
    return np.stack(places)


def scale_of(betas: Array) -> float:
    """How much larger than the average a body of these shape numbers is, an estimate."""
    first = float(betas.ravel()[0]) if betas.size else 0.0
    return 1.0 + float(np.clip(_STATURE_PER_BETA * first, -_MOST, _MOST))


def pose_body(rotations: Array, translation: Array, scale: float) -> tuple[Array, dict[str, Array]]:
    """Positions (T, P, 3) of POINTS and rotations of SEGMENTS of a body in motion.

    `rotations` (T, 22, 3, 3) are those of the joints against their parents, the first of the
    pelvis in the world; `translation` (T, 3) is the model's.
    """
    rest = rest_joints() * scale
    world = np.empty_like(rotations)
    places = np.empty((*rotations.shape[:2], 3))
    for joint, parent in enumerate(PARENTS):
        if parent < 0:
            world[:, joint] = rotations[:, joint]
            places[:, joint] = translation + PELVIS_M * scale
        else:
            world[:, joint] = world[:, parent] @ rotations[:, joint]
            offset = rest[joint] - rest[parent]
            places[:, joint] = places[:, parent] + world[:, parent] @ offset
    points = np.stack([_point(name, places, world, rest, scale) for name in POINTS], axis=1)
    return points, _rotations(world)


def _point(name: str, places: Array, world: Array, rest: Array, scale: float) -> Array:
    side, _, part = name.partition("_")
    if part in _LEFT_ENDS:
        carrier, place = _LEFT_ENDS[part]
        joint = JOINTS.index(f"{side}_{carrier}")
        offset = _mirrored(place, side) * scale - rest[joint]
    elif name == "head":
        joint = JOINTS.index("head")
        offset = np.array(_HEAD_CENTRE) * scale - rest[joint]
    else:
        return places[:, JOINTS.index(_JOINT_OF_POINT.get(name, name))]
    return np.asarray(places[:, joint] + world[:, joint] @ offset)


def _rotations(world: Array) -> dict[str, Array]:
    """Rotations of the segments; in T-pose the palms face down."""
    upright = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    rotations = {
        name: world[:, JOINTS.index(joint)] @ upright
        for name, joint in (("pelvis", "pelvis"), ("chest", "spine3"), ("head", "head"))
    }
    for side in SIDES:
        along = _mirrored(_LEFT_ENDS["toe"][1], side) - _mirrored(_LEFT_ENDS["heel"][1], side)
        foot = _axes(along, np.array([0.0, 1.0, 0.0]))
        hand = _axes(_mirrored((1.0, 0.0, 0.0), side), np.array([0.0, 1.0, 0.0]))
        rotations[f"{side}_foot"] = world[:, JOINTS.index(f"{side}_ankle")] @ foot
        rotations[f"{side}_hand"] = world[:, JOINTS.index(f"{side}_wrist")] @ hand
    return rotations


def _axes(along: Array, up: Array) -> Array:
    x = along / np.linalg.norm(along)
    return np.stack([x, np.cross(up, x), up], axis=1)


MAX_FRAMES = 2_000_000
# Numbers per frame: SMPL's 24 joints, SMPL+H with fingers, SMPL-X with face, and bare bodies.
_WIDTHS = {66: "SMPL", 72: "SMPL", 156: "SMPL+H", 165: "SMPL-X"}
_RATES = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate")
_ARRAYS = ("poses", "root_orient", "pose_body", "trans", "transl", "betas", "gender", *_RATES)


def recognises(path: Path) -> bool:
    """Whether the file is an archive with the rotations of a body."""
    if path.suffix.lower() != ".npz":
        return False
    names = names_in_npz(path)
    return ("poses" in names or "pose_body" in names) and bool({"trans", "transl"} & {*names})


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The motion of an average body with these rotations, as tall as its shape says."""
    arrays = read_npz(path, _ARRAYS)
    poses, model = _poses(arrays, path)
    translation = _floats(arrays.get("trans", arrays.get("transl")), "trans", path)
    if translation.shape != (len(poses), 3):
        raise MotionError(
            f"{path}: got trans of shape {translation.shape}; expected ({len(poses)}, 3). "
            "Export the clip again."
        )
    betas = _floats(arrays["betas"], "betas", path) if "betas" in arrays else np.zeros(0)
    scale = scale_of(np.nan_to_num(betas.reshape(-1)))
    joints = matrix_from_vector(poses.reshape(len(poses), -1, 3)[:, : len(JOINTS)])
    positions, rotations = pose_body(joints, translation, scale)
    upright = standardise(positions, unit=hints.unit or "m", up=hints.up, source=path)
    notes = (
        f"body estimated as average and {STATURE_M * scale:.2f} m tall: the licensed model is "
        "not used, so joints may be off by a few centimetres",
    )
    known = np.all(np.isfinite(upright.positions), axis=2)
    used = arrays.keys() - {"gender"}
    ledger = account(names_in_npz(path), used, "the average body does not need it")
    return HumanMotion(
        name=path.stem,
        rate_hz=_rate(arrays, hints, path),
        positions=upright.positions,
        confidence=np.where(known, 1.0, 0.0),
        origin=Origin(path, "smpl", model, (*notes, *upright.notes), ledger),
        rotations={name: upright.rotation @ rotation for name, rotation in rotations.items()},
    )


def _poses(arrays: dict[str, NDArray[Any]], path: Path) -> tuple[Array, str]:
    if "poses" in arrays:
        poses = _floats(arrays["poses"], "poses", path)
        poses = poses.reshape(len(poses), -1) if poses.ndim == 3 else poses
    elif "pose_body" in arrays and "root_orient" in arrays:
        parts = [_floats(arrays[name], name, path) for name in ("root_orient", "pose_body")]
        if any(part.ndim != 2 for part in parts) or len(parts[0]) != len(parts[1]):
            raise MotionError(f"{path}: root_orient and pose_body differ in length. Export again.")
        poses = np.concatenate(parts, axis=1)
    else:
        raise MotionError(f"{path}: has no poses; expected poses, or root_orient and pose_body.")
    if poses.ndim != 2 or poses.shape[1] not in _WIDTHS:
        raise MotionError(
            f"{path}: got poses of shape {poses.shape}; expected (frames, "
            f"{', '.join(map(str, _WIDTHS))}). Export axis-angle rotations."
        )
    if not 0 < len(poses) <= MAX_FRAMES:
        raise MotionError(
            f"{path}: got {len(poses)} frames; expected 1 to {MAX_FRAMES}. Cut the clip."
        )
    return poses, _WIDTHS[poses.shape[1]]


def _floats(array: NDArray[Any] | None, name: str, path: Path) -> Array:
    if array is None or array.dtype.kind not in "fiu":
        kind = "nothing" if array is None else f"{array.dtype}"
        raise MotionError(f"{path}: got {kind} as {name}; expected numbers. Export it again.")
    return np.asarray(array, np.float64)


def _rate(arrays: dict[str, NDArray[Any]], hints: ClipHints, path: Path) -> float:
    for name in _RATES:
        if hints.rate_hz is None and name in arrays and arrays[name].size == 1:
            return float(_floats(arrays[name], name, path).reshape(-1)[0])
    if hints.rate_hz is None:
        raise MotionError(f"{path}: does not say its rate (mocap_framerate). Give --clip-rate.")
    return hints.rate_hz


READER = MotionReader(
    recognises=recognises,
    read=read,
    description="SMPL, SMPL+H, SMPL-X and AMASS rotations (.npz)",
)
