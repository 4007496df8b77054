"""No room for catalogue or store while episodes are taken in: no file may grow beyond a limit.

Run: python -m bench.faults --subject full_disk --count 100
"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from bench.faults.ingestion import DONE, ingest_in_process, problems_after, write_episodes
from bench.faults.outcome import Outcome, Subject
from corporeal.catalog.workspace import make_workspace


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Limits up to what everything needs."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = write_episodes(folder / "episodes")
    template, whole = folder / "template", folder / "whole"
    make_workspace(template).close()
    shutil.copytree(template, whole)
    ingest_in_process(whole, paths, lambda _: None)
    object_bytes = max(path.stat().st_size for path in paths)
    # With the catalogue's own files: the store alone fits into less.
    most = max(path.stat().st_size for path in whole.iterdir() if path.is_file())
    for number in range(seed, seed + count):
        rng = np.random.default_rng([60, number])
        in_store = number % 2 == 0
        limit = int(rng.integers(100, object_bytes) if in_store
                    else rng.integers(object_bytes, max(most, 2 * object_bytes)))  # fmt: skip
        yield _fill(template, folder / "filled", paths, limit, "store" if in_store else "catalogue")
    shutil.rmtree(folder)


def _fill(template: Path, root: Path, paths: list[Path], limit: int, where: str) -> Outcome:
    shutil.copytree(template, root)
    made = ingest_in_process(root, paths, lambda _: None, prepare=partial(_limit_files, limit))
    problems = problems_after(root, paths, *made)
    shutil.rmtree(root)
    kind = f"disk full: {where}, {'enough after all' if made[1] == DONE else 'ingest'}"
    return Outcome(kind, not problems, None, "; ".join(problems))


def _limit_files(limit: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


SUBJECT = Subject("full_disk", run)
