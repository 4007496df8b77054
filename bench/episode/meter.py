"""What a contestant's own process measures of itself, and how it hands the figures back."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from bench.episode.workload_files import Sample, WorkloadFiles

Figures = dict[str, Any]
"""Measured values of one contestant; `note` says why there are none."""

# A picture is late when the writer has it only after the next one is due (30 Hz).
LATE_NS = 33_000_000


@dataclass(frozen=True)
class Turns:
    """Two pipes by which contestants who run at the same time are let go one after the other.

    On a shared machine the same work costs half as much again in a bad second. Taking short turns
    gives everyone the same good and bad seconds. Without pipes there is nobody to wait for.
    """

    ready: int | None = None
    go: int | None = None

    def wait(self) -> None:
        """Say that the last turn is over, and wait for the next."""
        if self.ready is None or self.go is None:
            return
        os.write(self.ready, b"r")
        if not os.read(self.go, 1):
            raise EOFError("the run was given up while this contestant waited for its turn")


@dataclass(frozen=True)
class Plan:
    """How often and how much to measure."""

    repeats: int
    samples: int
    turns: Turns = Turns()


Job = Callable[[WorkloadFiles, Path, Plan], dict[str, Figures]]
"""(workload, an empty folder to work in, plan) -> figures by contestant."""


class Meter:
    """CPU seconds of this process, its threads and its finished children, and wall seconds."""

    def __enter__(self) -> Self:
        self._cpu_s, self._wall_s = _cpu_s(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = _cpu_s() - self._cpu_s
        self.wall_s = time.perf_counter() - self._wall_s


@dataclass
class Live:
    """Hands out samples no earlier than they were captured, and counts those taken late.

    The clock starts with the first sample. A writer that falls behind gets the rest at once.
    """

    samples: Iterator[Sample]
    pictures: frozenset[str]
    late: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[Sample]:
        begin_ns = time.monotonic_ns()
        for sample in self.samples:
            due_ns = begin_ns + sample[1]
            wait_ns = due_ns - time.monotonic_ns()
            if wait_ns > 500_000:
                time.sleep(wait_ns / 1e9)
            yield sample
            if sample[0] in self.pictures and time.monotonic_ns() - due_ns > LATE_NS:
                self.late += 1


def median_cpu_ms(work: Callable[[], object], *, times: int) -> float:
    """The median CPU milliseconds of one call, after one call that does not count."""
    work()
    spent = []
    for _ in range(times):
        begin = time.process_time_ns()
        work()
        spent.append((time.process_time_ns() - begin) / 1e6)
    return statistics.median(spent)


def peak_mb() -> float:
    """The most memory this process has held; not getrusage's figure, which knows its parent's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def size_of(path: Path) -> int:
    """Bytes on disk of a file, or of everything in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def run_job(jobs: dict[str, Job]) -> None:
    """The main function of a contestant: do one job, write its figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=sorted(jobs))
    parser.add_argument("workload", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--turns", type=int, nargs=2, default=(None, None))
    asked = parser.parse_args()
    plan = Plan(asked.repeats, asked.samples, Turns(*asked.turns))
    figures = jobs[asked.job](WorkloadFiles(asked.workload), asked.folder, plan)
    asked.report.write_text(json.dumps(figures))


def _cpu_s() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
