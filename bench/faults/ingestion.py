"""Small episodes, and a process that takes them in a group at a time while something goes wrong."""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from corporeal.catalog.audit import verify
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.store import verify_store
from corporeal.catalog.tables import EPISODE
from corporeal.catalog.workspace import open_workspace
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.schema import Schema

GROUP = 2
EPISODES = 10
SAID, UNSAID, DONE = 1, 2, 3
"""How the process ended: with a sentence, with anything else, or with all episodes taken in."""
_LONGEST_S = 90.0


def write_episodes(folder: Path) -> list[Path]:
    """Episodes of one arm, 50 kB each."""
    folder.mkdir(parents=True)
    stream = {"name": "arm", "group": "observations", "shape": [60], "rate_hz": 200}
    head = {"document": "schema", "name": "faults", "version": "1.0.0"}
    schema = Schema.model_validate({**head, "streams": [stream]})
    rng = np.random.default_rng(0)
    paths = [folder / f"e{number}.h5" for number in range(EPISODES)]
    for path in paths:
        with EpisodeWriter(path, schema=schema, metadata={"task": "reach"}, epoch_ns=0) as writer:
            for place in range(200):
                value = rng.normal(size=60).astype(np.float32)
                writer.append("observations/arm", place * 5_000_000, value)
    return paths


def ingest_in_process(
    root: Path, paths: Sequence[Path], disturb: Callable[[Callable[[], int]], None],
    *, prepare: Callable[[], None] = lambda: None,
) -> tuple[int, int, str]:  # fmt: skip
    """Groups are taken in by a process while `disturb`, which is told how many are, does its work.

    How many episodes were acknowledged, how it ended, and its last words. `prepare` is called in
    the process.
    """
    board = mmap.mmap(-1, 4096)
    child = os.fork()
    if child == 0:
        try:
            prepare()
            _ingest(root, paths, board)
        finally:
            os._exit(0)
    disturb(lambda: int(struct.unpack_from("<q", board, 0)[0]))
    begin_s = time.monotonic()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() - begin_s > _LONGEST_S:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return struct.unpack_from("<q", board, 0)[0], UNSAID, "it hung"
        time.sleep(0.01)
    acknowledged, ending = struct.unpack_from("<qq", board, 0)
    return acknowledged, ending, board[16:].split(b"\0")[0].decode(errors="replace")


def _ingest(root: Path, paths: Sequence[Path], board: mmap.mmap) -> None:
    ending, words = DONE, ""
    try:
        with open_workspace(root) as workspace:
            for first in range(0, len(paths), GROUP):
                done = ingest(workspace, paths[first : first + GROUP], who="anna", check=False,
                              on="serial")  # fmt: skip
                if refused := done.having("refused"):
                    raise CorporealError(str(refused[0].reason))
                struct.pack_into("<q", board, 0, first + GROUP)
    except CorporealError as error:
        ending, words = (UNSAID if "\n" in str(error) else SAID), str(error)
    except BaseException as error:
        ending, words = UNSAID, f"{type(error).__name__}: {error}"
    told = words.encode()[:2000]
    board[16 : 16 + len(told)] = told
    struct.pack_into("<q", board, 8, ending)


def problems_after(
    root: Path, paths: Sequence[Path], acknowledged: int, ending: int, words: str
) -> list[str]:
    """What is lost, half done or doubled, and whether doing it again brings all in."""
    problems = [] if ending in (SAID, DONE) else [f"ended with {words!r}"]
    with open_workspace(root) as workspace:
        with workspace.database.read() as connection:
            there = int(connection.execute(select(func.count()).select_from(EPISODE)).scalar() or 0)
            problems += [each.reason for each in verify(connection)]
        if there % GROUP or there < acknowledged:
            problems.append(f"{there} episodes, {acknowledged} were acknowledged")
        ingest(workspace, paths, who="anna", check=False, on="serial")
        with workspace.database.read() as connection:
            digests = list(connection.execute(select(EPISODE.c.hash)).scalars())
            problems += [each.reason for each in verify(connection)]
        if len(digests) != len(paths):
            problems.append(f"{len(digests)} of {len(paths)} episodes when it was done again")
        problems += [each.reason for each in verify_store(workspace.store, digests)]
    return problems
