"""kill -9 of whoever writes the catalogue, and changes made behind its back.

Run: python -m bench.faults --subject catalog --count 200
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import time
from collections.abc import Callable, Iterator
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from bench.faults.outcome import Outcome, Subject
from corporeal.catalog.audit import (
    GENESIS,
    chain_hash,
    head,
    note_head,
    noted_heads,
    unexplained_rows,
    verify,
)
from corporeal.catalog.episodes import EpisodeEntry, EpisodeRow, add_episodes
from corporeal.catalog.tables import EPISODE, EVENT, HEAD
from corporeal.catalog.workspace import Workspace, make_workspace, open_workspace

_GROUP = 7
_EVENTS = 40


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Kills and changes by turns."""
    folder.mkdir(parents=True, exist_ok=True)
    template = _make(folder / "template")
    for number in range(seed, seed + count):
        rng = np.random.default_rng([30, number])
        if number % 4 == 0:
            yield _kill(folder / "killed", rng)
        else:
            names = list(_CHANGES)
            yield _tamper(template, folder / "changed", names[number % len(names)], rng)
    shutil.rmtree(folder)


def _entries(first: int, count: int) -> list[EpisodeEntry]:
    return [
        EpisodeEntry(EpisodeRow(id=f"{number:08}-0000-4000-8000-000000000000", state="recorded",
                                hash=f"sha256:{number:064x}", bytes=1, file=f"{number}.h5"))
        for number in range(first, first + count)
    ]  # fmt: skip


def _make(root: Path) -> Path:
    """A workspace with a log, whose end is noted in the store."""
    with make_workspace(root) as made:
        for first in range(0, _EVENTS, _GROUP):
            with made.database.write() as connection:
                add_episodes(connection, _entries(first, _GROUP), who="anna")
        with made.database.read() as connection:
            note_head(made.notes, head(connection))
    return root


def _reasons(workspace: Workspace) -> list[str]:
    heads, lost = noted_heads(workspace.notes)
    with workspace.database.read() as connection:
        breaks = [*lost, *verify(connection, noted=heads)]
        return [each.reason for each in breaks or unexplained_rows(connection)]


def _kill(root: Path, rng: np.random.Generator) -> Outcome:
    """Groups are written until the writer is killed: each is there as a whole, or not at all."""
    make_workspace(root).close()
    board = mmap(-1, 8)
    child = os.fork()
    if child == 0:
        try:
            with open_workspace(root) as workspace:
                for first in range(0, 1 << 30, _GROUP):
                    with workspace.database.write() as connection:
                        add_episodes(connection, _entries(first, _GROUP), who="anna")
                    struct.pack_into("<q", board, 0, first + _GROUP)
        finally:
            os._exit(1)
    begin_s = time.monotonic()
    while not any(board[:]) and time.monotonic() - begin_s < 20:
        time.sleep(0.001)
    time.sleep(float(rng.uniform(0, 0.15)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    (acknowledged,) = struct.unpack("<q", board[:])
    with open_workspace(root) as workspace:
        problems = _reasons(workspace)
        with workspace.database.read() as connection:
            there = int(connection.execute(select(func.count()).select_from(EPISODE)).scalar() or 0)
    if there % _GROUP or there < acknowledged:
        problems.append(f"{there} episodes, {acknowledged} were acknowledged")
    shutil.rmtree(root)
    return Outcome("kill -9 while groups are written", not problems, None, "; ".join(problems))


def _tamper(template: Path, root: Path, kind: str, rng: np.random.Generator) -> Outcome:
    shutil.copytree(template, root)
    with open_workspace(root) as workspace:
        before = _reasons(workspace)
        with workspace.database.write() as connection:
            _CHANGES[kind](connection, rng)
        found = _reasons(workspace)
    shutil.rmtree(root)
    problem = f"{kind}: not found" if not found else f"{before[0]}" if before else ""
    return Outcome(f"log or rows: {kind}", not problem, None, problem)


def _any_event(rng: np.random.Generator) -> int:
    return int(rng.integers(1, _EVENTS + 1))


def _rewrite(connection: Connection, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Another log that holds together: the hashes computed anew, and the head set to match."""
    query = select(EVENT).order_by(EVENT.c.number)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    connection.execute(delete(EVENT))
    end, previous = 0, GENESIS
    for row in change(rows):
        end += 1
        row |= {"number": end, "previous": previous}
        row["hash"] = previous = chain_hash(row)
        connection.execute(insert(EVENT).values(**row))
    connection.execute(update(HEAD).values(number=end, hash=previous))


def _change_event(connection: Connection, rng: np.random.Generator) -> None:
    connection.execute(update(EVENT).where(EVENT.c.number == _any_event(rng)).values(who="mallory"))


def _remove_event(connection: Connection, rng: np.random.Generator) -> None:
    connection.execute(delete(EVENT).where(EVENT.c.number == _any_event(rng)))


def _cut(connection: Connection, rng: np.random.Generator) -> None:
    left = _any_event(rng) - 1
    _rewrite(connection, lambda rows: rows[:left])


def _rewritten(connection: Connection, rng: np.random.Generator) -> None:
    place = _any_event(rng) - 1
    _rewrite(connection, lambda rows: [{**row, "who": "mallory"} if number == place else row
                                       for number, row in enumerate(rows)])  # fmt: skip


def _empty(connection: Connection, rng: np.random.Generator) -> None:
    del rng
    _rewrite(connection, lambda rows: rows[:0])


def _change_state(connection: Connection, rng: np.random.Generator) -> None:
    one = _entries(_any_event(rng) - 1, 1)[0].id
    connection.execute(update(EPISODE).where(EPISODE.c.id == one).values(state="accepted"))


def _remove_row(connection: Connection, rng: np.random.Generator) -> None:
    one = _entries(_any_event(rng) - 1, 1)[0].id
    connection.execute(delete(EPISODE).where(EPISODE.c.id == one))


_CHANGES: dict[str, Callable[[Connection, np.random.Generator], None]] = {
    "an event changed": _change_event,
    "an event removed": _remove_event,
    "the tail cut, the head set back": _cut,
    "the chain computed anew": _rewritten,
    "the log emptied": _empty,
    "a state changed": _change_state,
    "an episode's row removed": _remove_row,
}

SUBJECT = Subject("catalog", run)
