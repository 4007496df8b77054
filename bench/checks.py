"""What the checks cost: a 20 s episode, pictures, and a whole set beside public checkers.

Run: python -m bench.checks --out out/bench_checks.json
     python -m bench.checks --only signals,pictures --repeats 5
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import corporeal
from bench.detection.editing import encode
from bench.detection.lerobot_writer import Head, TableEpisode, write
from bench.detection.peers import PEERS
from bench.partners import PartnerError, partner_python, partner_versions
from bench.simulated import recording as simulated
from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording, Signal, VideoFile
from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.quality.check import checks
from corporeal.quality.inspection import InspectionOptions, inspect_recording
from corporeal.quality.policy import default_policy
from corporeal.testing import INSTRUCTION, Workload

TOPICS = ("signals", "pictures", "set")
CPU_LIMIT_S = 1.0
PICTURES_PER_S = 400.0
SECONDS = 20.0
PICTURES = 300
EPISODES = 50


def workload() -> Recording:
    """The workload of every benchmark as a recording in memory, without its cameras."""
    work = Workload(open_robot("g1"), duration_s=SECONDS, size=(48, 64))
    signals: dict[str, Signal] = {}
    for stream in work.schema.streams:
        if stream.kind == "array":
            signals[stream.path] = ArraySignal(
                stream, work.times(stream.path), work.signal(stream.path)
            )
        elif stream.kind == "text":
            signals[stream.path] = ArraySignal(stream, work.times(stream.path), [INSTRUCTION])
    return Recording(
        "workload", Path("workload"), 0, signals, work.embodiment, metadata=work.metadata
    )


def demonstration() -> Recording:
    """A simulated demonstration of about 20 s."""
    return simulated("handover", seed=3, style="hesitant")


def filmed(size: tuple[int, int] = (480, 640)) -> Recording:
    """Pictures of the workload beside its joints."""
    work = Workload(open_robot("g1"), duration_s=PICTURES / 30, size=size)
    stream = next(each for each in work.schema.streams if each.kind == "video")
    frames = np.stack(list(work.frames(stream.path))[:PICTURES])
    data = encode(frames, rate_hz=30)
    with tempfile.NamedTemporaryFile(suffix=".mp4", delete=False) as file:
        file.write(data)
    path = "observations/joint_position"
    joints = ArraySignal(work.schema.stream(path), work.times(path), work.signal(path))
    stamps = work.times(stream.path)[: len(frames)]
    footage = VideoFile(stream, stamps, lambda: file.name, count=len(frames))
    return Recording(
        "pictures", Path("pictures"), 0, {path: joints, stream.path: footage}, work.embodiment
    )


def cpu_s(call: Callable[[], Any], repeats: int) -> float:
    """Median CPU seconds of this process and its threads, after one call to warm up."""
    call()
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def by_check(recording: Recording, repeats: int, *, pictures: bool) -> dict[str, float]:
    """CPU seconds of each check; what several share is on the account of the first."""
    costs: dict[str, list[float]] = {}
    rules = default_policy().rules()
    for _ in range(repeats):
        subject = Subject(recording)
        for name, check in checks().items():
            if check.scope != "episode" or check.pictures != pictures:
                continue
            begin = time.process_time()
            assess(subject, rules=rules, only=(name,))
            costs.setdefault(name, []).append(time.process_time() - begin)
    medians = {name: statistics.median(each) for name, each in costs.items()}
    return dict(sorted(medians.items(), key=lambda item: -item[1]))


def signals_topic(repeats: int) -> dict[str, Any]:
    """All checks without pictures on 20 s, two kinds of episode."""
    request = InspectionOptions(policy=default_policy(), pictures=False)
    found: dict[str, Any] = {}
    for name, made in (("workload", workload()), ("demonstration", demonstration())):
        spans = [float(s.time_ns[-1] - s.time_ns[0]) for s in made.signals.values() if len(s)]
        found[name] = {
            "seconds": max(spans) / 1e9,
            "cpu_s": cpu_s(partial(inspect_recording, made, request), repeats),
            "checks": by_check(made, repeats, pictures=False),
        }
    return found


def pictures_topic(repeats: int) -> dict[str, Any]:
    """Pictures of 640x480 per CPU second, decoding included."""
    made = filmed()
    names = tuple(name for name, check in checks().items() if check.pictures)
    rules = default_policy().rules()

    def run() -> None:
        assess(Subject(made), rules=rules, only=names)

    taken = cpu_s(run, repeats)
    costs = by_check(made, repeats, pictures=True)
    return {"pictures": PICTURES, "cpu_s": taken, "per_cpu_s": PICTURES / taken, "checks": costs}


def fifty(folder: Path) -> Path:
    """A set of 50 tables at 30 Hz, each another stretch of the same kind of motion."""
    robot = open_robot("g1")
    episodes = []
    for seed in range(EPISODES):
        work = Workload(robot, duration_s=12.0 + seed % 5, seed=seed, size=(48, 64))
        state = work.signal("observations/joint_position")
        action = work.signal("actions/joint_position_target")
        count = round(30 * work.duration_s) - 2
        rows = np.arange(count)
        columns = {
            "observation.state": state[np.rint(rows * 100 / 30).astype(int)],
            "action": action[np.rint(rows * 50 / 30).astype(int)],
        }
        episodes.append(TableEpisode(columns, rows / 30, INSTRUCTION))
    names = dict.fromkeys(("observation.state", "action"), robot.joint_names)
    return write(folder, Head(30.0, "unitree_g1", names), episodes)


def set_topic(repeats: int) -> dict[str, Any]:
    """Wall and CPU seconds of whole programs on a set of 50, each started anew.

    All have their byte code, as installed programs do: what a first start compiles is not timed.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = fifty(Path(place) / "set")
        out = Path(place) / "out.json"
        ours = [sys.executable, "-m", "corporeal", "check", str(folder), "--robot", "g1", "--json"]
        contestants: dict[str, list[list[str]]] = {"ours": [ours]}
        for name, programs in _commands(folder, out).items():
            try:
                home = partner_python(name).parent
            except PartnerError as error:
                print(f"without {name}: {error}", file=sys.stderr)
                continue
            contestants[name] = [[str(home / words[0]), *words[1:]] for words in programs]
        return {
            name: _timed(commands, repeats, Path(place) / "bytecode", ours=name == "ours")
            for name, commands in contestants.items()
        }


def _commands(folder: Path, out: Path) -> dict[str, list[list[str]]]:
    return {
        "lerobot_doctor": [["lerobot-doctor", "check", str(folder), "--json"]],
        "robovet": [["robovet", "doctor", str(folder), "--json", str(out)]],
        "trajlens": [["trajlens", "lint", str(folder), "--json"]],
        "deepen_grade": [["deepen", "grade", str(folder), "--json", "--quiet"]],
    }


def _timed(
    commands: list[list[str]], repeats: int, bytecode: Path, *, ours: bool
) -> dict[str, Any]:
    wall, cpu = [], []
    code = 0
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    clean = {key: value for key, value in os.environ.items() if key not in left_out}
    clean["PYTHONPYCACHEPREFIX"] = str(bytecode)
    if ours:
        clean["PYTHONPATH"] = str(Path(corporeal.__file__).parents[1])
    for number in range(repeats + 1):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        for command in commands:
            done = subprocess.run(
                command, capture_output=True, env=clean | {"HF_HUB_OFFLINE": "1"}, check=False
            )
            code = max(code, done.returncode)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if number == 0:
            continue
        wall.append(time.monotonic() - begin)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"wall_s": statistics.median(wall), "cpu_s": statistics.median(cpu), "ended_with": code}


def _show(found: dict[str, Any]) -> None:
    page = Console()
    if "signals" in found:
        table = Table("episode", "length", "CPU-s", "target", title="all checks without pictures")
        for name, each in found["signals"].items():
            reached = "reached" if each["cpu_s"] <= CPU_LIMIT_S else "missed"
            table.add_row(name, f"{each['seconds']:.1f} s", f"{each['cpu_s']:.2f}",
                          f"{CPU_LIMIT_S:g} {reached}")  # fmt: skip
        page.print(table)
        page.print(_costs(found["signals"]["demonstration"]["checks"], "of the demonstration"))
    if "pictures" in found:
        each = found["pictures"]
        reached = "reached" if each["per_cpu_s"] >= PICTURES_PER_S else "missed"
        page.print(f"pictures of 640x480: {each['per_cpu_s']:.0f} per CPU-s, "
                   f"target {PICTURES_PER_S:g} {reached}")  # fmt: skip
        page.print(_costs(each["checks"], "of the pictures"))
    if "set" in found:
        table = Table("checker", "wall s", "CPU-s", "CPU / ours", title=f"a set of {EPISODES}")
        for name, each in found["set"].items():
            table.add_row(name, f"{each['wall_s']:.1f}", f"{each['cpu_s']:.1f}",
                          f"{each['cpu_s'] / found['set']['ours']['cpu_s']:.2f}")  # fmt: skip
        page.print(table)


def _costs(costs: dict[str, float], what: str) -> Table:
    table = Table("check", "ms", title=f"costs {what}, what is shared on the first that needs it")
    for name, taken in list(costs.items())[:20]:
        table.add_row(name, f"{1e3 * taken:.0f}")
    return table


def main() -> int:
    """Measure and print; 0 whether or not the targets were reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.checks", description=__doc__)
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=TOPICS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("out/bench_checks.json"))
    asked = parser.parse_args()
    unknown = set(asked.only) - set(TOPICS)
    if unknown:
        parser.error(f"{unknown.pop()!r} is none of {', '.join(TOPICS)}")
    topics = {"signals": signals_topic, "pictures": pictures_topic, "set": set_topic}
    found: dict[str, Any] = {name: topics[name](asked.repeats) for name in asked.only}
    _show(found)
    versions = {name: partner_versions(name)[peer.package] for name, peer in PEERS.items()} if (
        "set" in found
    ) else {}  # fmt: skip
    document = {"date": date.today().isoformat(), "peers": versions, **found}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
