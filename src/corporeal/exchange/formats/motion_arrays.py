"""Motions of a robot as pickle or npz: ASAP, PBHC, GMR, BeyondMimic, Isaac Lab, LocoMuJoCo."""

from __future__ import annotations

import zipfile
from functools import partial
from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Format
from corporeal.exchange.motion.layouts import load_content, split_motions
from corporeal.exchange.motion.robot_motion import RobotMotion, read_motion

RATE_HZ = 30.0
"""Taken where neither the file nor its velocities tell; most retargeted motions have it."""
_PICKLES = (".pkl", ".pickle", ".joblib")
_KEYS = (b"root_trans_offset", b"root_rot", b"dof_pos", b"dof")
_LOOKED_AT = 1 << 16
_MEMBERS = (
    {"joint_pos.npy", "body_pos_w.npy"},
    {"dof_positions.npy", "body_positions.npy"},
    {"qpos.npy", "jnt_type.npy"},
    {"root_pos.npy", "dof_pos.npy"},
    {"q_pelvis_tx.npy", "dq_pelvis_tx.npy"},
)


def recognises(path: Path) -> bool:
    """Whether the file holds such a motion, or the folder such files."""
    return any(map(_is_motion, _files(path)))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The motions in order of their files; `rate_hz` takes the place of the one in them."""
    files = [file for file in _files(path) if path.is_file() or _is_motion(file)]
    numbered = [(file, number) for file in files for number in range(_count(file))]
    opener = partial(_open, tuple(numbered), robot, rate_hz)
    return Dataset(
        source=path, format="motion_arrays", episodes=tuple(range(len(numbered))), open=opener
    )


def _open(
    numbered: tuple[tuple[Path, int], ...],
    robot: Embodiment | None,
    rate_hz: float | None,
    index: int,
) -> Recording:
    if not 0 <= index < len(numbered):
        raise EpisodeError(f"motion {index} is not here; expected 0 to {len(numbered) - 1}.")
    file, number = numbered[index]
    motion = _motions(file)[number]
    return read_motion(motion, file, index, robot=robot, stated_hz=rate_hz, assumed_hz=RATE_HZ)


def _count(file: Path) -> int:
    return len(_motions(file))


def _motions(file: Path) -> list[RobotMotion]:
    motions = split_motions(load_content(file), file.stem)
    if not motions:
        raise EpisodeError(
            f"{file}: no motion of a robot in it; expected root_pos, root_rot and dof_pos or "
            "another layout that `corporeal convert --help` names."
        )
    return motions


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix in (*_PICKLES, ".npz") else []
    if not path.is_dir():
        return []
    return sorted(file for file in path.iterdir() if file.suffix in (*_PICKLES, ".npz"))


def _is_motion(path: Path) -> bool:
    try:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                members = set(archive.namelist())
            return any(wanted <= members for wanted in _MEMBERS)
        with path.open("rb") as file:
            head = file.read(_LOOKED_AT)
    except (OSError, zipfile.BadZipFile):
        return False
    if head[:1] == b"\x80":
        return sum(key in head for key in _KEYS) > 1 or b"root_" in head
    # Compressed: the names show only when it is read.
    return head[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7", b"x\x9c", b"x^", b"x\x01")


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="motion of a robot as pickle or npz",
)
