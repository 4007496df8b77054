"""Holosoma's retargeting, as its own example runs it; runs where holosoma is.

python bench/retarget/peers/interaction_mesh.py request.npz answer.npz
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np


def main(request: Path, answer: Path) -> None:
    """Positions (T, nq) for joints (T, 22, 3) of a person of the given height, and CPU seconds."""
    package = import_module("holosoma_retargeting")
    settings = import_module("holosoma_retargeting.config_types.retargeting")
    example = import_module("holosoma_retargeting.examples.robot_retarget")
    # Its models are named relative to its own folder.
    os.chdir(Path(str(package.__file__)).parent)
    with tempfile.TemporaryDirectory(prefix="bench-holosoma-") as place:
        asked = settings.RetargetingConfig(
            task_type="robot_only", data_format="smplx", task_name=request.stem,
            data_path=request.parent, save_dir=Path(place),
        )  # fmt: skip
        begun = time.process_time()
        example.main(asked)
        cpu_s = time.process_time() - begun
        with np.load(Path(place) / f"{request.stem}.npz") as found:
            np.savez(answer, qpos=found["qpos"], cpu_s=cpu_s)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
