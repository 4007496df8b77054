"""How many source files three walks pass: a sample to the catalogue, a dataset, a clip.

A file counts when one of its functions is called on the way, whoever calls it; what only runs
while modules are imported does not. Checks and parts of the score are left out, all but one.

Run: python -m bench.walks --data ../shared/data --out out/walks.json
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from unittest import mock

import corporeal
from corporeal.cli.program import main as run_program

SOURCE = Path(corporeal.__file__).parent
IS_FUNCTION = 1
"""The flag CO_OPTIMIZED of a code object: functions have it, bodies of classes do not."""


@contextlib.contextmanager
def traced_files() -> Iterator[set[Path]]:
    """Collect the files of the package in which a function is called, in all threads."""
    files: set[Path] = set()
    seen: set[str] = set()

    def note_call(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename in seen or not code.co_flags & IS_FUNCTION:
            return
        path = Path(code.co_filename)
        if not path.is_relative_to(SOURCE) or path.name == "__init__.py":
            seen.add(code.co_filename)
        elif not _is_importing(frame):
            seen.add(code.co_filename)
            files.add(path.relative_to(SOURCE))

    threading.setprofile(note_call)
    sys.setprofile(note_call)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(SOURCE)):
            return True
        frame = frame.f_back
    return False


def run_command(*words: str) -> None:
    """One call of the program in this process; a refusal is an error of the benchmark."""
    with (
        mock.patch.object(sys, "argv", ["corporeal", *words]),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            run_program()
        except SystemExit as end:
            if end.code not in (0, 1, None):
                raise RuntimeError(f"corporeal {' '.join(words)} ended with {end.code}") from None


def walk_a_sample(folder: Path, _: Path) -> None:
    """Record, look for one fault, take into a catalogue."""
    settings = ("seconds=1", "height=48", "width=64")
    options = [word for setting in settings for word in ("--set", setting)]
    run_command("record", "--driver", "synthetic", "--episodes", "1", *options,
                "--out", str(folder / "recorded"))  # fmt: skip
    (episode,) = (folder / "recorded").rglob("*.h5")
    run_command("check", str(episode), "--only", "gap_in_stream")
    run_command("init", str(folder / "workspace"))
    run_command("ingest", str(episode), "-w", str(folder / "workspace"))


def walk_a_dataset(folder: Path, data: Path) -> None:
    """A LeRobot set into episodes, and those out to RLDS."""
    run_command("import", str(data / "lerobot" / "so101_v30"), "--robot", "none",
                "--out", str(folder / "episodes"))  # fmt: skip
    run_command("export", str(folder / "episodes"), "--format", "rlds", "--on", "serial",
                "--out", str(folder / "rlds"))  # fmt: skip


def walk_a_clip(folder: Path, data: Path) -> None:
    """A BVH clip to an episode of a G1."""
    clip = data / "mocap" / "bvh_pybvh" / "cmu_12_01_walk.bvh"
    run_command("retarget", str(clip), "--robot", "g1", "--out", str(folder / "walk.h5"))


WALKS: dict[str, Callable[[Path, Path], None]] = {
    "a sample from a driver to the catalogue": walk_a_sample,
    "a LeRobot set into episodes and out to RLDS": walk_a_dataset,
    "a BVH clip to an episode of a G1": walk_a_clip,
}
ALIKE = (Path("quality/checks"), Path("quality/scores"))


def main() -> None:
    """Print one table and write the files of each walk as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    walks: dict[str, list[str]] = {}
    for title, walk in WALKS.items():
        with tempfile.TemporaryDirectory() as folder, traced_files() as files:
            walk(Path(folder), arguments.data.resolve())
        alike = {path for path in files if path.parent in ALIKE}
        walks[title] = sorted(map(str, files - alike | set(sorted(alike)[:1])))
        print(f"{title:48} {len(walks[title]):4} files")
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(walks, indent=1))


if __name__ == "__main__":
    main()
