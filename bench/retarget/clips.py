"""The clips of human motion that everyone is run on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from corporeal.retargeting.motion import HumanMotion
from corporeal.retargeting.reader import ClipHints, read_motion

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@dataclass(frozen=True)
class Clip:
    """A file of human motion, and the same motion on a robot where its authors published one."""

    name: str
    path: Path
    hints: ClipHints = field(default_factory=ClipHints)
    published: Path | None = None

    def read(self) -> HumanMotion:
        """The motion as its reader gives it."""
        return read_motion(self.path, self.hints)


def clips(data: Path = DATA) -> list[Clip]:
    """Every clip that is there: marker suits first, then motion from video.

    Pyroki's keypoints are left out: they climb a metre, and a ground that is level is measured.
    """
    mocap, retarget = data / "mocap", data / "retarget"
    cmu = mocap / "cmu_asf_amc_bvh"
    found = [
        Clip("cmu 12_01 walk", mocap / "bvh_pybvh" / "cmu_12_01_walk.bvh"),
        Clip("cmu 01_01 jumps", cmu / "01_01.bvh"),
        Clip("cmu 01_01 amc", cmu / "01_01.amc", ClipHints(bones=cmu / "01.asf")),
        Clip("cmu 11_01 amc", cmu / "11_01.amc", ClipHints(bones=cmu / "11.asf")),
        Clip("pymo walk", mocap / "bvh_pymo" / "AV_8Walk_Meredith_HVHA_Rep1.bvh"),
        Clip("mocapbank", mocap / "bvh_bvhpython" / "test_mocapbank.bvh"),
        Clip("freebvh", mocap / "bvh_bvhpython" / "test_freebvh.bvh"),
        Clip("pybvh example", mocap / "bvh_pybvh" / "bvh_example.bvh"),
    ]  # fmt: skip
    for path in sorted((retarget / "asap_smpl_human").glob("video_*.npz")):
        published = f"0-motions_raw_tairantestbed_smpl_{path.stem}.pkl"
        name = path.stem.removeprefix("video_").removesuffix("_filter_amass").replace("_", " ")
        found.append(Clip(f"asap {name}", path, published=retarget / "asap_g1_23dof" / published))
    return [clip for clip in found if clip.path.is_file()]
