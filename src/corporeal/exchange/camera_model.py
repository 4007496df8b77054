"""What the calibration of an episode says of each camera, as other formats say it.

It is read from the document that the episode carries, checked, and scaled to pictures that were
made smaller on the way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.geometry import Array, matrix_from_rpy, quaternion_from_matrix

# Lenses as ROS calls their models, and how many numbers of distortion each has there.
_MODELS = {"pinhole": ("plumb_bob", 5), "rational": ("rational_polynomial", 8),
           "fisheye": ("equidistant", 4)}  # fmt: skip
_LARGEST_PX = 1e6


@dataclass(frozen=True, eq=False)
class CameraModel:
    """A camera: its lens in pixels of `width` by `height`, and its pose in `frame` if known.

    `quaternion` is w x y z; x runs right in the picture, y down, z ahead.
    """

    name: str
    calibration: str
    width: int
    height: int
    matrix: Array
    distortion: tuple[float, ...]
    distortion_model: str
    frame: str | None = None
    xyz: tuple[float, float, float] | None = None
    quaternion: tuple[float, float, float, float] | None = None

    def scaled(self, width: int, height: int) -> CameraModel:
        """The same for pictures of another size."""
        across, down = width / self.width, height / self.height
        matrix = self.matrix.copy()
        # The middle of the first pixel is at 0, its edge half a pixel before it.
        matrix[0] *= across
        matrix[1] *= down
        matrix[0, 2] += (across - 1) / 2
        matrix[1, 2] += (down - 1) / 2
        return replace(self, width=width, height=height, matrix=matrix)

    @property
    def optical_frame(self) -> str:
        """What its own frame is called among the transforms of other formats."""
        return f"{self.name}_optical"

    def to_json(self) -> dict[str, Any]:
        """Plain values, by names that say what they are."""
        said: dict[str, Any] = {
            "calibration": self.calibration, "width": self.width, "height": self.height,
            "camera_matrix": self.matrix.tolist(), "distortion": list(self.distortion),
            "distortion_model": self.distortion_model,
        }  # fmt: skip
        if self.frame is not None and self.xyz is not None and self.quaternion is not None:
            said |= {"frame": self.frame, "xyz_m": list(self.xyz),
                     "quaternion_wxyz": list(self.quaternion)}  # fmt: skip
        return said


def camera_models(recording: Recording) -> dict[str, CameraModel]:
    """The cameras of the episode's calibration document by name; none where it has no lenses."""
    text = recording.documents.get("calibration")
    try:
        document = json.loads(text) if text else {}
    except ValueError:
        return {}
    if not isinstance(document, Mapping):
        return {}
    reference = f"{document.get('name', 'calibration')}@{document.get('version', '?')}"
    listed = document.get("cameras")
    found = [_model(entry, reference) for entry in listed if isinstance(entry, Mapping)
             ] if isinstance(listed, list) else []  # fmt: skip
    return {model.name: model for model in found if model is not None}


def _model(entry: Mapping[str, Any], reference: str) -> CameraModel | None:
    """One camera; None where its lens is not stated, or not in numbers."""
    try:
        fx, fy = (float(value) for value in entry["focal_px"])
        cx, cy = (float(value) for value in entry["centre_px"])
        width, height = int(entry["width"]), int(entry["height"])
        name, count = _MODELS[str(entry.get("lens") or "pinhole")]
        bends = [float(value) for value in entry.get("distortion") or ()][:count]
    except (KeyError, TypeError, ValueError):
        return None
    numbers = np.array([fx, fy, cx, cy, *bends])
    if not np.isfinite(numbers).all() or np.abs(numbers[:4]).max() > _LARGEST_PX:
        return None
    if min(width, height) < 1 or min(fx, fy) <= 0:
        return None
    matrix = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
    distortion = tuple([*bends, *(0.0,) * count][:count])
    lens = CameraModel(str(entry.get("name")), reference, width, height, matrix, distortion, name)
    return _placed(lens, entry)


def _placed(lens: CameraModel, entry: Mapping[str, Any]) -> CameraModel:
    """The same with its pose, where that is stated."""
    try:
        x, y, z = (float(value) for value in entry["xyz"])
        turn = np.array([float(value) for value in entry.get("rpy") or (0.0, 0.0, 0.0)])
        frame = str(entry["frame"])
    except (KeyError, TypeError, ValueError):
        return lens
    if turn.shape != (3,) or not np.isfinite([x, y, z, *turn]).all():
        return lens
    a, b, c, d = (float(value) for value in quaternion_from_matrix(matrix_from_rpy(turn)))
    return replace(lens, frame=frame, xyz=(x, y, z), quaternion=(a, b, c, d))
