"""What the recorder holds: 20 live streams with real encoding, for minutes, and where it breaks.

Run: python -m bench.recording --minutes 10 --out out/bench_recording.json
     python -m bench.recording --minutes 0.5          # a quick look
     python -m bench.recording --minutes 0.5 --break  # then more cameras, until something is lost
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.episode.report import machine
from corporeal.capture.clock import HostClock
from corporeal.capture.driver import Driver, Mark, RecordingSource, Rig, Sample
from corporeal.capture.health import Health
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.schema import Part, Schema, Stream, open_schema
from corporeal.testing import Workload
from corporeal.units import SECOND_NS

SIZE = (480, 640)
STREAMS, CAMERAS, DEPTHS = 20, 4, 1
POOL_S = 2.0
LIMIT_CORES, LIMIT_GROWTH_MB = 1.2, 20.0
BREAK_STEP, BREAK_S, MOST_CAMERAS = 2, 20.0, 32


class Options(Part):
    """How long, and how many RGB cameras."""

    seconds: float = 30.0
    cameras: int = CAMERAS


@dataclass
class Source:
    """The devices: ready-made samples handed out when they are due, and what that costs."""

    schema: Schema
    pools: dict[str, list[Any]]
    cpu_s: float = 0.0
    """CPU seconds of making samples and waiting, which are not the recorder's."""
    worst_late_s: float = 0.0
    offered: Counter[str] = field(default_factory=Counter)
    ended_s: float = 0.0
    ended_cpu_s: float = 0.0

    def read(self, options: Options) -> Iterator[Sample | Mark]:
        """Samples in real time; one that is taken late is stamped with when it was captured."""
        clock = HostClock()
        begin_ns = clock.now_ns() + SECOND_NS // 10
        end_ns = begin_ns + round(options.seconds * SECOND_NS)
        order = count()
        due = [(begin_ns, next(order), stream) for stream in self.schema.streams]
        heapq.heapify(due)
        yield Mark("start", begin_ns, {"task": "load"})
        spent = time.thread_time()
        while due[0][0] < end_ns:
            due_ns, _, stream = due[0]
            now_ns = clock.now_ns()
            if due_ns - now_ns > 300_000:
                time.sleep((due_ns - now_ns) / SECOND_NS)
                now_ns = clock.now_ns()
            self.worst_late_s = max(self.worst_late_s, (now_ns - due_ns) / SECOND_NS)
            number = self.offered[stream.path]
            pool = self.pools[stream.path]
            sample = Sample(stream.path, due_ns, max(now_ns, due_ns), pool[number % len(pool)])
            self.offered[stream.path] = number + 1
            period_ns = round(SECOND_NS / (stream.rate_hz or 1.0))
            heapq.heapreplace(due, (due_ns + period_ns, next(order), stream))
            self.cpu_s += time.thread_time() - spent
            yield sample
            spent = time.thread_time()
        self.ended_s, self.ended_cpu_s = time.monotonic(), _cpu_s()
        yield Mark("end", end_ns)


@dataclass
class Watch:
    """Memory and disk while it runs, read from the health that the recorder publishes."""

    begin_s: float = field(default_factory=time.monotonic)
    rss_mb: list[tuple[float, float]] = field(default_factory=list)
    slowest_sync_s: float = 0.0
    written_bytes: int = 0
    waiting_bytes: int = 0
    last: Health | None = None

    def see(self, health: Health) -> None:
        """Called by the recorder four times a second."""
        self.slowest_sync_s = max(self.slowest_sync_s, health.slowest_sync_s)
        self.written_bytes = max(self.written_bytes, health.written_bytes)
        self.waiting_bytes = max(self.waiting_bytes, health.waiting_bytes)
        if health.state == "recording":
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
            self.rss_mb.append((time.monotonic() - self.begin_s, megabytes))
        self.last = health

    def first_and_last_mb(self) -> tuple[float, float]:
        """Most memory in the first minute, or fifth, and in the last, after the start-up."""
        steady = [(at, mb) for at, mb in self.rss_mb if at > min(5.0, self.rss_mb[-1][0] / 5)]
        window = min(60.0, steady[-1][0] / 5)
        first = max(mb for at, mb in steady if at <= steady[0][0] + window)
        return first, max(mb for at, mb in steady if at >= steady[-1][0] - window)


@dataclass(frozen=True)
class Result:
    """One run."""

    cameras: int
    streams: int
    seconds: float
    samples: int
    lost: dict[str, int]
    refused: dict[str, str]
    late: dict[str, int]
    recorder_cores: float
    generator_cores: float
    worst_late_ms: float
    rss_first_mb: float
    rss_last_mb: float
    rss_mb: list[tuple[float, float]]
    slowest_sync_ms: float
    journal_mb_s: float
    most_waiting_mb: float
    conversion_s: float
    conversion_cpu_s: float
    episode_mb: float

    @property
    def is_whole(self) -> bool:
        """Whether every sample that was offered is in the episode."""
        return not self.lost

    @property
    def growth_mb(self) -> float:
        """Memory of the end over that of the beginning."""
        return self.rss_last_mb - self.rss_first_mb


def load_schema(cameras: int) -> Schema:
    """Streams of the simulated humanoid: its RGB cameras and more like them, one depth, signals."""
    full = open_schema("simulated_humanoid")
    videos = [stream for stream in full.streams if stream.kind == "video"]
    while len(videos) < cameras:
        videos.append(videos[0].model_copy(update={"name": f"camera_{len(videos) + 1:02d}"}))
    depth = [stream for stream in full.streams if stream.kind == "depth"][:DEPTHS]
    others = [s for s in full.streams if s.kind in ("array", "points") and s.rate_hz is not None]
    others = others[: STREAMS - CAMERAS - DEPTHS]
    streams = (*videos[:cameras], *depth, *others)
    return full.model_copy(update={"streams": streams})


def make_source(cameras: int) -> Source:
    """Frames drawn once and shown forth and back, so that the load is the recorder's own."""
    robot = open_robot("g1")
    schema = load_schema(cameras).resolve(robot.joint_names)
    workload = Workload(robot, duration_s=POOL_S, seed=0, size=SIZE)
    colour = list(workload.frames("observations/head_left"))
    depth = list(workload.frames("observations/head_depth"))
    pools: dict[str, list[Any]] = {}
    for place, stream in enumerate(schema.streams):
        if stream.kind == "video":
            turned = colour[7 * place % len(colour) :] + colour[: 7 * place % len(colour)]
            pools[stream.path] = turned + turned[::-1]
        elif stream.kind == "depth":
            pools[stream.path] = depth + depth[::-1]
        else:
            pools[stream.path] = list(_signal(stream, place))
    return Source(schema, pools)


def _signal(stream: Stream, seed: int) -> NDArray[Any]:
    """Two seconds of noise in the stream's own shape; a point cloud has 1440 points."""
    shape = tuple(int(size) for size in stream.shape)
    rows = (1440, *shape) if stream.kind == "points" else shape
    number = round(POOL_S * (stream.rate_hz or 1.0))
    return np.random.default_rng(seed).normal(size=(number, *rows)).astype(stream.dtype)


def record(seconds: float, cameras: int) -> Result:
    """Record once into a folder that is removed afterwards, and compare with what was offered."""
    source = make_source(cameras)
    rig = Rig(source.schema, open_robot("g1"), metadata={"mode": "synthetic"})
    driver = Driver(Options, lambda _: rig, source.read, is_live=True)
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="recording_", dir=_scratch()) as folder:
        settings = RecorderSettings(Path(folder), pre_roll_s=0.0, post_roll_s=0.0)
        options = Options(seconds=seconds, cameras=cameras)
        recorder = Recorder(
            [RecordingSource("offered", driver, options)], settings, on_health=watch.see
        )
        begin_s, begin_cpu_s = time.monotonic(), _cpu_s()
        (path,) = recorder.run()
        done_s, done_cpu_s = time.monotonic(), _cpu_s()
        kept = _kept(path)
        episode_mb = path.stat().st_size / 1e6
    elapsed_s = source.ended_s - begin_s
    spent_s = source.ended_cpu_s - begin_cpu_s
    streams = watch.last.streams if watch.last is not None else ()
    first_mb, last_mb = watch.first_and_last_mb()
    return Result(
        cameras=cameras,
        streams=len(source.schema.streams),
        seconds=seconds,
        samples=source.offered.total(),
        lost={p: n - kept.get(p, 0) for p, n in source.offered.items() if n != kept.get(p, 0)},
        refused={s.path: f"{s.refused}: {s.reason}" for s in streams if s.refused},
        late={s.path: s.late for s in streams if s.late},
        recorder_cores=(spent_s - source.cpu_s) / elapsed_s,
        generator_cores=source.cpu_s / elapsed_s,
        worst_late_ms=source.worst_late_s * 1e3,
        rss_first_mb=first_mb,
        rss_last_mb=last_mb,
        rss_mb=watch.rss_mb[:: max(1, len(watch.rss_mb) // 200)],
        slowest_sync_ms=watch.slowest_sync_s * 1e3,
        journal_mb_s=watch.written_bytes / elapsed_s / 1e6,
        most_waiting_mb=watch.waiting_bytes / 1e6,
        conversion_s=done_s - source.ended_s,
        conversion_cpu_s=done_cpu_s - source.ended_cpu_s,
        episode_mb=episode_mb,
    )


def _scratch() -> Path:
    # A real disk: the system's folder for temporary files may be in memory, where a sync is free.
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    return folder


def _kept(path: Path) -> dict[str, int]:
    with Episode.open(path) as episode:
        return {name: len(episode[name]) for name in episode}


def _cpu_s() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def table(results: list[Result]) -> Table:
    """A column for each run; the first one is held against the targets."""
    shown = Table(
        title=f"recording in real time, 640x480 at 30 Hz, {os.cpu_count()} cores", caption=_CAPTION
    )
    shown.add_column("")
    for result in results:
        shown.add_column(f"{result.cameras} RGB + {DEPTHS} depth", justify="right")
    shown.add_column("target")
    first = results[0]
    rows: list[tuple[str, list[str], bool | None, str]] = [
        ("streams", [f"{r.streams}" for r in results], None, ""),
        ("seconds", [f"{r.seconds:.0f}" for r in results], None, ""),
        ("samples offered", [f"{r.samples:,}" for r in results], None, ""),
        ("samples lost", [f"{sum(r.lost.values()):,}" for r in results], first.is_whole, "0"),
        ("intervals with a gap", [f"{sum(r.late.values()):,}" for r in results], None, ""),
        ("recorder, cores", [f"{r.recorder_cores:.2f}" for r in results],
         first.recorder_cores < LIMIT_CORES, f"< {LIMIT_CORES}"),
        ("sample source, cores", [f"{r.generator_cores:.2f}" for r in results], None, ""),
        ("source late at worst, ms", [f"{r.worst_late_ms:.0f}" for r in results], None, ""),
        ("memory at the beginning, MB", [f"{r.rss_first_mb:.0f}" for r in results], None, ""),
        ("memory at the end, MB", [f"{r.rss_last_mb:.0f}" for r in results],
         first.growth_mb < LIMIT_GROWTH_MB, f"+ {LIMIT_GROWTH_MB:.0f} at most"),
        ("slowest sync, ms", [f"{r.slowest_sync_ms:.0f}" for r in results], None, ""),
        ("journal, MB/s", [f"{r.journal_mb_s:.1f}" for r in results], None, ""),
        ("waiting in memory at most, MB", [f"{r.most_waiting_mb:.1f}" for r in results], None, ""),
        ("journal to episode, s", [f"{r.conversion_s:.1f}" for r in results], None, ""),
        ("journal to episode, CPU-s", [f"{r.conversion_cpu_s:.1f}" for r in results], None, ""),
        ("episode, MB", [f"{r.episode_mb:.0f}" for r in results], None, ""),
    ]  # fmt: skip
    for name, values, reached, target in rows:
        mark = "" if reached is None else "[green]met[/]: " if reached else "[red]missed[/]: "
        shown.add_row(name, *values, mark + target)
    return shown


_CAPTION = (
    "Lost: offered by the source and not in the episode file. The recorder's cores: the whole "
    "process, encoders and journal included, less the thread that makes the samples. Later runs "
    "share the memory that earlier ones left behind."
)


def break_point(results: list[Result]) -> str:
    """Where it broke, in words."""
    worst = results[-1]
    if worst.is_whole:
        return f"nothing was lost with {worst.cameras} RGB cameras, the most that were tried"
    held = [result.cameras for result in results if result.is_whole]
    why = "; ".join(f"{path} {reason}" for path, reason in list(worst.refused.items())[:3])
    return (
        f"it breaks at {worst.cameras} RGB cameras ({sum(worst.lost.values())} of {worst.samples} "
        f"samples lost: {why or 'not refused, lost later'}); "
        + (f"it holds {max(held)}" if held else "it held none of those tried")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cameras", type=int, default=CAMERAS, help="RGB cameras of the first run")
    parser.add_argument("--break", dest="is_breaking", action="store_true",
                        help="add cameras until something is lost")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("out/bench_recording.json"))
    given = parser.parse_args()
    console = Console(width=None if os.isatty(1) else 130, highlight=False)
    results = [record(given.minutes * 60, given.cameras)]
    while given.is_breaking and results[-1].is_whole and results[-1].cameras < MOST_CAMERAS:
        results.append(record(BREAK_S, results[-1].cameras + BREAK_STEP))
    console.print(table(results))
    for result in results:
        for path, missing in result.lost.items():
            why = result.refused.get(path, "no reason known")
            console.print(f"{result.cameras} cameras: {path} lost {missing} ({why})")
    if given.is_breaking:
        console.print(break_point(results))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    facts = {"bench": "recording", "machine": machine(), "runs": [asdict(r) for r in results]}
    given.out.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
