"""kill -9 of a live rig of four cameras at 640x480 beside programs that want its core.

Run: python -m bench.faults --subject live_rig --count 200     # about ten minutes
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.faults.outcome import Outcome, Subject
from corporeal.capture.conversion import episode_from_journal
from corporeal.capture.driver import Driver, Mark, RecordingSource, Rig, Sample
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.cli.commands.record import take_precedence
from corporeal.episode import Episode
from corporeal.episode.file import find_leftovers, open_journal
from corporeal.episode.overview import verify
from corporeal.schema import Part, Schema

PROMISE_MS = 200.0
CAMERAS, HEIGHT, WIDTH, CAMERA_HZ, ARM_HZ = 4, 480, 640, 30, 200
ARM = "observations/arm"
STREAMS = (ARM, *(f"observations/camera{place}" for place in range(CAMERAS)))
# How many programs compute without end on the rig's core (a review tried 14), and whether the
# recorder goes before them, as `corporeal record` does where the system lets it.
PLAN = ((0, True), (0, False), (2, True), (4, True), (4, False), (14, True), (14, False))
# One episode of so many kills is made and compared with its hashes: that takes longer than a kill.
_MADE_EVERY = 10
_LONGEST_S = 900.0


class Options(Part):
    """None."""


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """`count` kills, taking turns in PLAN."""
    folder.mkdir(parents=True, exist_ok=True)
    _pictures()
    for number in range(seed, seed + count):
        beside, is_first = PLAN[number % len(PLAN)]
        rng = np.random.default_rng([20, number])
        with _busy(beside):
            board = _record_and_kill(folder, float(rng.uniform(1.0, 2.5)), first=is_first)
        kind = f"kill -9 beside {beside} busy programs"
        kind += ", going first" if is_first else ", as an equal of theirs"
        yield _outcome(folder, kind, board, make=number % _MADE_EVERY == 0)
        for path in folder.iterdir():
            path.unlink()


def _outcome(folder: Path, kind: str, board: Sequence[float], *, make: bool) -> Outcome:
    """What was taken and is not in the journal is lost; what was refused is counted, and said."""
    (path,) = find_leftovers(folder)
    *taken_s, refused, begin_s = board
    taken = dict(zip(STREAMS, taken_s, strict=True))
    with open_journal(path) as journal:
        last_s = {stream: journal.stamps(stream)[-1, 1] / 1e9
                  for stream in STREAMS if stream in journal.runs}  # fmt: skip
        raw = sum(int(journal.runs[stream].raw.sum()) for stream in last_s)
    losses = {stream: 1e3 * (at_s - last_s.get(stream, begin_s)) if at_s else 0.0
              for stream, at_s in taken.items()}  # fmt: skip
    worst = max(losses, key=lambda stream: losses[stream])
    problems = []
    if losses[worst] > PROMISE_MS:
        problems.append(f"{losses[worst]:.0f} ms of {worst} lost")
    if make:
        episode = episode_from_journal(path)
        problems += [f"{one.path}: {one.message}" for one in verify(episode)]
        with Episode.open(episode) as made:
            for stream in STREAMS[1:]:
                _ = made[stream][len(made[stream]) - 1] if stream in made else None
    told = f"{raw} pictures raw, {refused:.0f} refused"
    return Outcome(kind, not problems, losses[worst], "; ".join([*problems, told]))


@cache
def _pictures() -> list[NDArray[np.uint8]]:
    """Moving stripes under the noise of a sensor."""
    rng = np.random.default_rng(0)
    rows = np.arange(HEIGHT)[:, None, None] + np.arange(WIDTH)[None, :, None]
    return [
        ((rows + 9 * number) % 256 + rng.normal(0, 6, (HEIGHT, WIDTH, 3))).clip(0, 255)
        .astype(np.uint8)
        for number in range(12)
    ]  # fmt: skip


def _rig() -> Rig:
    streams: list[dict[str, Any]] = [
        {"name": "arm", "group": "observations", "shape": [7], "rate_hz": ARM_HZ}
    ]
    streams += [
        {"name": path.rpartition("/")[2], "group": "observations", "kind": "video",
         "shape": [HEIGHT, WIDTH, 3], "rate_hz": CAMERA_HZ}
        for path in STREAMS[1:]
    ]  # fmt: skip
    head = {"document": "schema", "name": "faults", "version": "1.0.0"}
    return Rig(Schema.model_validate({**head, "streams": streams}))


def _read(board: mmap.mmap, refused: Callable[[], int]) -> Iterator[Sample | Mark]:
    """Samples when they are due; the board says which moment of each stream was taken last."""
    begin_s, number, before = time.monotonic(), 0, 0
    struct.pack_into("<d", board, 8 * (len(STREAMS) + 1), begin_s)
    yield Mark("start", time.monotonic_ns(), {"task": "kill"})
    while True:
        time.sleep(max(0.0, begin_s + number / ARM_HZ - time.monotonic()))
        for place, stream in enumerate(STREAMS):
            # The cameras take turns, as they would without a trigger.
            if place and (number + place) * CAMERA_HZ % ARM_HZ >= CAMERA_HZ:
                continue
            value: Any = np.full(7, number, np.float32)
            if place:
                value = _pictures()[(number + 3 * place) % len(_pictures())]
            stamp = time.monotonic_ns()
            yield Sample(stream, stamp, stamp, value)
            if refused() == before:
                struct.pack_into("<d", board, 8 * place, stamp / 1e9)
            before = refused()
            struct.pack_into("<d", board, 8 * len(STREAMS), before)
        number += 1


def _record(folder: Path, board: mmap.mmap) -> None:
    made: list[Recorder] = []

    def refused() -> int:
        return sum(gauge.refused for gauge in made[0]._monitor._gauges.values())

    driver = Driver(Options, lambda _: _rig(), lambda _: _read(board, refused), is_live=True)
    source = RecordingSource("rig", driver, Options())
    made.append(Recorder([source], RecorderSettings(folder, metadata={"session": "kill"})))
    made[0].run()


def _record_and_kill(folder: Path, after_s: float, *, first: bool) -> tuple[float, ...]:
    """Record in a process that is killed; what the board says then."""
    board = mmap.mmap(-1, 8 * (len(STREAMS) + 2))
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, {_core()})
            if first:
                take_precedence()
            _record(folder, board)
        finally:
            os._exit(1)
    begin_s = time.monotonic()
    while not any(board[:]) and time.monotonic() - begin_s < 30:
        time.sleep(0.01)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return struct.unpack(f"<{len(STREAMS) + 2}d", board[:])


def _core() -> int:
    return max(os.sched_getaffinity(0))


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """So many processes that compute on the rig's core, and end with this one."""
    parent, children = os.getpid(), []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {_core()})
            end_s = time.monotonic() + _LONGEST_S
            while os.getppid() == parent and time.monotonic() < end_s:
                sum(range(10_000))
            os._exit(0)
        children.append(child)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


SUBJECT = Subject("live_rig", run)
