"""Runs every contestant in a process of its own, in turns, and collects what it reports."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.episode.meter import Figures, Plan
from bench.partners import PartnerError, partner_python

ROOT = Path(__file__).resolve().parents[2]
_LOOK_EVERY_S = 0.1
# One thread, and an allocator that keeps its memory: whether it hands pages back to the system and
# gets them again for every picture is luck otherwise, and costs up to 3 ms for a training sample.
_STEADY = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}

Rows = dict[str, Figures]


@dataclass(frozen=True)
class Entry:
    """One job of one module; `partner` names the environment it needs, if not ours."""

    topic: str
    peer: str
    module: str
    job: str
    partner: str | None = None
    package: str = "bench.episode"

    def __str__(self) -> str:
        return f"{self.module} {self.job}"


ENTRIES = (
    Entry("write", "ours", "ours", "write"),
    Entry("write", "ours", "ours", "write_rounded"),
    Entry("write", "h5", "peer_h5", "write_raw"),
    Entry("write", "h5", "peer_h5", "write_jpeg"),
    Entry("write", "lerobot", "peer_lerobot", "write_default", "lerobot"),
    Entry("write", "lerobot", "peer_lerobot", "write_av1", "lerobot"),
    Entry("write", "lerobot", "peer_lerobot", "write_h264", "lerobot"),
    Entry("random", "ours", "ours", "random"),
    Entry("random", "h5", "peer_h5", "random_raw"),
    Entry("random", "h5", "peer_h5", "random_jpeg"),
    Entry("random", "lerobot", "peer_lerobot", "random_av1", "lerobot"),
    Entry("random", "lerobot", "peer_lerobot", "random_h264", "lerobot"),
    Entry("random", "lerobot", "peer_lerobot", "random_all", "lerobot"),
    Entry("read", "ours", "ours", "read"),
    Entry("align", "ours", "ours", "align"),
    Entry("align", "arrays", "peer_align", "align"),
)
PEERS = tuple(dict.fromkeys(entry.peer for entry in ENTRIES if entry.peer != "ours"))


def run_topic(
    entries: list[Entry], workload: Path, plan: Plan, tell: Callable[[str], None]
) -> Rows:
    """Figures by contestant; one that cannot run gets a `note` instead.

    Writing goes in rounds, a fresh process each, because the peak of memory belongs to a process.
    Random access goes in short turns among processes that stay. The rest repeats by itself.
    """
    runs: dict[Entry, list[Rows]] = {entry: [] for entry in entries}
    notes: Rows = {}
    by_topic = {"write": (plan.repeats, 1), "export": (plan.repeats, 1),
                "random": (1, len(entries))}  # fmt: skip
    rounds, together = by_topic.get(entries[0].topic, (1, 1))
    for number in range(rounds):
        for first in range(0, len(entries), together):
            field = [e for e in entries[first : first + together] if str(e) not in notes]
            tell(f"{', '.join(map(str, field))} (round {number + 1} of {rounds})")
            started: dict[Entry, Contestant] = {}
            for entry in field:
                try:
                    started[entry] = Contestant(entry, workload, plan)
                except PartnerError as error:
                    notes[str(entry)] = {"note": str(error)}
            _take_turns(list(started.values()))
            for entry, contestant in started.items():
                try:
                    runs[entry].append(contestant.result())
                except subprocess.CalledProcessError as error:
                    notes[str(entry)] = {"note": f"failed: {error.stderr}", "failed": True}
    rows = [_medians(runs[entry]) for entry in entries if runs[entry] and str(entry) not in notes]
    return {name: figures for each in (*rows, notes) for name, figures in each.items()}


class Contestant:
    """A running process, and the folder it works in; `result` waits for it and cleans up."""

    def __init__(self, entry: Entry, workload: Path, plan: Plan) -> None:
        python = partner_python(entry.partner) if entry.partner else Path(sys.executable)
        self._place = tempfile.TemporaryDirectory(prefix="bench-episode-")
        place = Path(self._place.name)
        (place / "work").mkdir()
        self._ready, ready = os.pipe()
        go, self._go = os.pipe()
        command = [str(python), "-m", f"{entry.package}.{entry.module}", entry.job, str(workload),
                   str(place / "work"), str(place / "report.json"), "--turns", str(ready), str(go),
                   "--repeats", str(plan.repeats), "--samples", str(plan.samples)]  # fmt: skip
        settings = {"HF_HOME": str(place / "hf"), "HF_HUB_OFFLINE": "1"}
        if entry.topic not in ("write", "export"):
            settings |= _STEADY
        with (place / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **settings}, stdout=log, stderr=log,
                pass_fds=(ready, go),
            )  # fmt: skip
        os.close(ready)
        os.close(go)
        self._takes_turns = entry.topic == "random"

    def wait_until_ready(self) -> bool:
        """Whether it asks for another turn; False once it has ended."""
        return self._takes_turns and bool(os.read(self._ready, 1))

    def let_go(self) -> None:
        """Give it its turn."""
        os.write(self._go, b"g")

    def result(self) -> Rows:
        """Wait for the end; figures by contestant."""
        place = Path(self._place.name)
        try:
            watched_mb = _watch(self._process)
            if self._process.returncode:
                log = (place / "log").read_text(errors="replace").strip().splitlines()
                raise subprocess.CalledProcessError(
                    self._process.returncode, self._process.args, stderr=log[-1] if log else ""
                )
            rows: Rows = json.loads((place / "report.json").read_text())
        finally:
            os.close(self._ready)
            os.close(self._go)
            self._place.cleanup()
        for figures in rows.values():
            if "peak_mb" in figures:
                figures["peak_mb"] = max(figures["peak_mb"], watched_mb)
        return rows


def _take_turns(contestants: list[Contestant]) -> None:
    """Let one work at a time; all have prepared themselves before the first turn begins."""
    waiting = [each for each in contestants if each.wait_until_ready()]
    while waiting:
        still = []
        for contestant in waiting:
            contestant.let_go()
            if contestant.wait_until_ready():
                still.append(contestant)
        waiting = still


def _watch(process: subprocess.Popen[bytes]) -> float:
    """The most memory it and its own children hold together, in MB (shared pages counted once)."""
    most = 0
    while process.poll() is None:
        most = max(most, sum(_resident_kb(member) for member in _family(process.pid)))
        time.sleep(_LOOK_EVERY_S)
    return most * 1024 / 1e6


def _family(process: int) -> Iterable[int]:
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = thread.read_text().split()
        except OSError:
            continue
        for descendant in children:
            yield from _family(int(descendant))


def _resident_kb(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass  # It ended between two looks.
    return 0


def _medians(runs: list[Rows]) -> Rows:
    """The median of each figure; of pictures lost and of memory the worst."""
    rows: Rows = {}
    for name, first in runs[0].items():
        rows[name] = dict(first)
        for key, value in first.items():
            if isinstance(value, int | float):
                values = [run[name][key] for run in runs]
                worst = key in ("lost", "peak_mb")
                rows[name][key] = max(values) if worst else statistics.median(values)
        if len(runs) > 1 and "cpu_s" in first:
            rows[name]["turns"] = [run[name]["cpu_s"] for run in runs]
    return rows
