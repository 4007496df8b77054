"""What mrcal says of the same corners: run by the Python that Debian's python3-mrcal is for.

Reads corners, where they are on the board, a start, and points to project; writes the lens and
the covariance of the projected pixels. Nothing of ours is imported here.
"""

import sys

import mrcal
import numpy as np

given = np.load(sys.argv[1])
seen = given["observations"]  # (views, rows, columns, 3): x, y, weight (negative: not seen)
count = len(seen)
indices = np.zeros((count, 3), np.int32)
indices[:, 0] = np.arange(count)
indices[:, 2] = -1
inputs = {
    "intrinsics": given["intrinsics"][None].copy(),
    "extrinsics_rt_fromref": np.zeros((0, 6)),
    "frames_rt_toref": given["poses"].copy(),
    "points": None,
    "observations_board": seen,
    "indices_frame_camintrinsics_camextrinsics": indices,
    "observations_point": None,
    "indices_point_camintrinsics_camextrinsics": None,
    "lensmodel": str(given["lensmodel"]),
    "imagersizes": given["size"][None].astype(np.int32),
    "calobject_warp": np.zeros(2) if given["warp"] else None,
    "calibration_object_spacing": float(given["spacing"]),
    "do_optimize_intrinsics_core": True,
    "do_optimize_intrinsics_distortions": True,
    "do_optimize_extrinsics": True,
    "do_optimize_frames": True,
    "do_optimize_calobject_warp": bool(given["warp"]),
    "do_apply_regularization": False,
    "do_apply_outlier_rejection": False,
    "imagepaths": None,
    "verbose": False,
}
mrcal.optimize(**inputs)
model = mrcal.cameramodel(optimization_inputs=inputs, icam_intrinsics=0)
covariance = mrcal.projection_uncertainty(given["points"], model, what="covariance")
np.savez(
    sys.argv[2],
    intrinsics=model.intrinsics()[1],
    covariance=covariance,
    warp=np.zeros(2) if inputs["calobject_warp"] is None else inputs["calobject_warp"],
)
