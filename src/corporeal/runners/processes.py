"""Processes of this machine; one that is killed is replaced, and only its own item suffers."""

from __future__ import annotations

import atexit
import multiprocessing
import operator
import pickle
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from corporeal.runner import (
    Batch,
    Result,
    Runner,
    RunnerError,
    Work,
    WorkItem,
    answer,
    batches,
    failed,
    packed_error,
    unpacked,
)
from corporeal.runners import serial

_READY = b""
_PATIENCE_S = 2.0


@dataclass(eq=False)
class Member:
    """A worker process, our end of its pipe, and the items it has not answered for."""

    process: SpawnProcess
    pipe: Connection
    waiting: deque[WorkItem] = field(default_factory=deque)
    ready: bool = False

    def give(self, batch: Batch) -> None:
        """Hand over a batch; one that is dying is found out when it is next listened to."""
        self.waiting.extend(batch)
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(batch)

    def ended(self) -> str:
        """How the process ended, in words; waits for it."""
        self.pipe.close()
        self.process.join()
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"it exited with {code}"


class Pool:
    """Workers, each with a batch of its own at a time."""

    def __init__(self, work: Work, coming: Iterator[Batch]) -> None:
        self.work = work
        self.coming = coming
        self.again = deque[Batch]()
        self.members: list[Member] = []
        self.stillborn = 0
        atexit.register(self.stop)

    def start(self, jobs: int) -> None:
        """Start a worker for every job, as long as there is something to do."""
        for _ in range(jobs):
            if (batch := self._next()) is None:
                return
            self._hire()
            self.members[-1].give(batch)

    def results(self) -> Iterator[Result[Any]]:
        """Everything that is done, until nothing is left."""
        while self.members:
            heard = wait([member.pipe for member in self.members])
            for member in [each for each in self.members if each.pipe in heard]:
                yield from self._listen(member)

    def stop(self) -> None:
        """End every worker at once, whatever it is doing."""
        atexit.unregister(self.stop)
        started = [member for member in self.members if member.process.pid is not None]
        for member in started:
            member.process.terminate()
        for member in started:
            member.process.join(_PATIENCE_S)
            if member.process.is_alive():
                member.process.kill()
            member.ended()
        self.members.clear()

    def _hire(self) -> None:
        """Start a worker, deaf to Ctrl-C from its first moment: we end it ourselves."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.work))
        self.members.append(Member(process, ours))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        except (pickle.PicklingError, TypeError, AttributeError) as reason:
            raise RunnerError(
                f"work for other processes, got what cannot be sent to one: {reason}; expected "
                "functions of a module, or functools.partial of them. Or use one job."
            ) from reason
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _next(self) -> Batch | None:
        return self.again.popleft() if self.again else next(self.coming, None)

    def _listen(self, member: Member) -> Iterator[Result[Any]]:
        try:
            said = member.pipe.recv_bytes()
        except (EOFError, ConnectionResetError):
            yield from self._replace(member)
            return
        if said == _READY:
            member.ready, self.stillborn = True, 0
            return
        done = unpacked(said)
        member.waiting.popleft()
        if not member.waiting:
            self._feed(member)
        yield done

    def _feed(self, member: Member) -> None:
        """The next batch, or the end of this worker."""
        if (batch := self._next()) is not None:
            member.give(batch)
            return
        self.members.remove(member)
        member.ended()

    def _replace(self, member: Member) -> Iterator[Result[Any]]:
        """Only the item that a lost worker was at is blamed; the rest of its batch goes on."""
        self.members.remove(member)
        reason = member.ended()
        if not member.ready:
            self._count_stillborn(reason)
            self.again.append(tuple(member.waiting))
        else:
            blamed, *others = member.waiting
            if blamed.attempts > self.work.retries:
                yield failed(blamed, reason)
            else:
                others.insert(0, replace(blamed, attempts=blamed.attempts + 1))
            if others:
                self.again.append(tuple(others))
        self.start(1)

    def _count_stillborn(self, reason: str) -> None:
        self.stillborn += 1
        if self.stillborn > self.work.retries:
            raise RunnerError(
                f"a worker process ended before it could begin, got {self.stillborn} in a row and "
                f"the last one so: {reason}. Try with one job to see why; a script that starts "
                'processes needs `if __name__ == "__main__":` around what it does.'
            )


def _serve(pipe: Connection, work: Work) -> None:
    """The life of a worker: it ends when the other end of its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with pipe, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            state = work.prepared()
        except Exception as error:  # Whatever it is, the caller's process must see it.
            pipe.send_bytes(packed_error(error))
            return
        pipe.send_bytes(_READY)
        while True:
            batch: Batch = pipe.recv()
            for task in batch:
                pipe.send_bytes(answer(work, state, task))


def run(work: Work, items: Iterable[Any], jobs: int) -> Generator[Result[Any], None, None]:
    """Share the items among `jobs` processes; one job, or one item, needs none."""
    if jobs == 1 or operator.length_hint(items, jobs) < 2:
        yield from serial.run(work, items)
        return
    pool = Pool(work, batches(items, jobs))
    try:
        pool.start(jobs)
        yield from pool.results()
    finally:
        pool.stop()


RUNNER = Runner(run, label="processes of this machine")
