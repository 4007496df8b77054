"""SMPL and AMASS archives (npz): joint rotations of a body model, whose body is estimated here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array
from corporeal.retargeting.cleaning.standard_axes import standardise
from corporeal.retargeting.keypoint.array_file import names_in_npz, read_npz
from corporeal.retargeting.keypoint.smpl_body import JOINTS, STATURE_M, pose_body, scale_of
from corporeal.retargeting.motion import HumanMotion, MotionError, Origin
from corporeal.retargeting.reader import ClipHints, MotionReader

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
    rotations = _rotations(poses.reshape(len(poses), -1, 3)[:, : len(JOINTS)])
    positions, turns = pose_body(rotations, translation, scale)
    upright = standardise(positions, unit=hints.unit or "m", up=hints.up, source=path)
    notes = (
        f"body estimated as average and {STATURE_M * scale:.2f} m tall: the licensed model is "
        "not used, so joints may be off by a few centimetres",
    )
    known = np.all(np.isfinite(upright.positions), axis=2)
    return HumanMotion(
        name=path.stem,
        rate_hz=_rate(arrays, hints, path),
        positions=upright.positions,
        confidence=np.where(known, 1.0, 0.0),
        origin=Origin(path, "smpl", model, (*notes, *upright.notes)),
        turns={name: upright.rotation @ turn for name, turn in turns.items()},
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


def _rotations(axis_angles: Array) -> Array:
    """Rotation matrices (..., 3, 3) of axes times angles (..., 3)."""
    angle = np.linalg.norm(axis_angles, axis=-1)
    small = angle < 1e-8
    safe = np.where(small, 1.0, angle)
    axis = axis_angles / safe[..., None]
    skew = np.zeros((*axis.shape, 3))
    skew[..., [2, 0, 1], [1, 2, 0]] = axis
    skew[..., [1, 2, 0], [2, 0, 1]] = -axis
    sine = np.sin(angle)[..., None, None]
    cosine = np.cos(angle)[..., None, None]
    return np.asarray(np.eye(3) + sine * skew + (1 - cosine) * (skew @ skew))


READER = MotionReader(
    recognises=recognises,
    read=read,
    description="SMPL, SMPL+H, SMPL-X and AMASS rotations (.npz)",
)
