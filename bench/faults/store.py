"""Objects that rot, are cut or vanish, and kill -9 of whoever stores them.

Run: python -m bench.faults --subject store --count 200
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.faults.outcome import Outcome, Subject
from corporeal.catalog.store import digest_of, verify_store
from corporeal.catalog.stores.folder import FolderStore

_OBJECTS, _BYTES = 5, 30_000
_KINDS = ("one bit changed", "cut", "longer", "removed", "exchanged with another")


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Damage by turns, and every fifth time a kill."""
    for number in range(seed, seed + count):
        rng = np.random.default_rng([40, number])
        folder.mkdir(parents=True)
        if number % 5 == 0:
            yield _kill(folder, rng)
        else:
            yield _damage(folder, rng, _KINDS[(number // 5) % len(_KINDS)])
        shutil.rmtree(folder)


def _damage(folder: Path, rng: np.random.Generator, kind: str) -> Outcome:
    store = FolderStore(folder / "objects")
    digests = []
    for place in range(_OBJECTS):
        source = folder / f"file{place}"
        source.write_bytes(rng.bytes(_BYTES))
        digests.append(store.put(source))
    hit, other = (str(each) for each in rng.choice(digests, 2, replace=False))
    path = store.path(hit)
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    if kind == "one bit changed":
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del data[place:]
    elif kind == "longer":
        data += rng.bytes(place + 1)
    elif kind == "exchanged with another":
        data[:] = store.path(other).read_bytes()
    path.write_bytes(data)
    if kind == "removed":
        path.unlink()
    found = {lost.digest for lost in verify_store(store, digests)}
    problems = [] if found == {hit} else [f"{kind}: {len(found)} objects named; expected one"]
    # What is put in again from its source is whole again.
    store.put(folder / f"file{digests.index(hit)}", replace=True)
    problems += [f"{kind}: {lost.reason} after it was mended" for lost in verify_store(store)]
    return Outcome(f"object: {kind}", not problems, None, "; ".join(problems))


def _kill(folder: Path, rng: np.random.Generator) -> Outcome:
    sources = []
    for place in range(40):
        sources.append(folder / f"file{place}")
        sources[-1].write_bytes(rng.bytes(_BYTES * 10))
    store = FolderStore(folder / "objects")
    child = os.fork()
    if child == 0:
        for source in sources:
            store.put(source)
        os._exit(0)
    time.sleep(float(rng.uniform(0, 0.1)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    problems = [f"{lost.digest} {lost.reason}" for lost in verify_store(store)]
    again = [store.put(source) for source in sources]
    if sorted(again) != sorted(map(digest_of, sources)) or list(verify_store(store, again)):
        problems.append("not all were stored when it was done again")
    return Outcome("kill -9 while objects are stored", not problems, None, "; ".join(problems))


SUBJECT = Subject("store", run)
