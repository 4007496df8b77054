"""Exports and training reads, ours beside LeRobot's own writer and loader, on one workload.

python -m bench.exchange --seconds 6 --only export
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.episode import report
from bench.episode.contest import Entry, run_topic
from bench.episode.meter import Plan
from bench.episode.ours import ROBOT, record
from bench.episode.report import Gain, Measure, Topic
from bench.episode.workload_files import ACTION, STATE, TRAINING_CAMERAS, WorkloadFiles, render
from bench.exchange.peer_tfds import FOLDER as RLDS
from bench.partners import partner_versions
from corporeal.embodiment import open_robot
from corporeal.exchange import options as exchange_plan
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.testing import Workload

PACKAGE = "bench.exchange"
ENTRIES = (
    Entry("export", "ours", "ours", "lerobot", package=PACKAGE),
    Entry("export", "ours", "ours", "lerobot_alone", package=PACKAGE),
    Entry("export", "lerobot", "peer_lerobot", "write_default", "lerobot"),
    Entry("export", "lerobot", "peer_lerobot", "write_av1", "lerobot"),
    Entry("export", "lerobot", "peer_lerobot", "write_h264", "lerobot"),
    Entry("random", "ours", "training", "one", "train", PACKAGE),
    Entry("random", "ours", "training", "many", "train", PACKAGE),
    Entry("random", "lerobot", "peer_lerobot", "random_av1", "lerobot"),
    Entry("random", "lerobot", "peer_lerobot", "random_h264", "lerobot"),
    Entry("random", "tfds", "peer_tfds", "random", "tfds", PACKAGE),
    Entry("small", "ours", "training", "small", package=PACKAGE),
    Entry("small", "ours", "training", "cached", package=PACKAGE),
)
TOPICS: dict[str, Topic] = {
    "export": Topic(
        "export {seconds:g} s to LeRobot v3.0: 3 RGB cameras 640x480, state, action",
        "cpu_s",
        (
            Measure("cpu_s", "CPU-s", 2, limit=1.5, grows=True),
            Measure("wall_s", "wall s", 1),
            Measure("peak_mb", "peak MB", 0),
            Measure("bytes", "MB on disk", 1, 1e-6),
        ),
        Gain("LeRobot, default", 20.0),
        "Ours starts from the episode file and copies its movies; it writes 10 more columns, exact "
        "statistics of every picture, and (first row) side files with depth and all rates. LeRobot "
        "starts from arrays in memory and encodes; its statistics look at some of the pictures.",
    ),
    "random": Topic(
        "random training samples: state, 16 actions, 2 pictures as float32 (3, 480, 640)",
        "cpu_ms",
        (
            Measure("samples_per_cpu_s", "samples/CPU-s", 1),
            Measure("cpu_ms", "CPU ms", 2),
            Measure("wall_ms", "wall ms", 2),
            Measure("psnr_db", "PSNR dB", 1),
        ),
        Gain("LeRobot", 3.0),
        "Ours is EpisodeDataset over the episode file, nothing converted. TFDS has no random "
        "access: its figure is a sequential read of our RLDS export, decoding included.",
    ),
    "small": Topic(
        "random training samples: state, 16 actions, 2 pictures as float32 (3, 224, 224)",
        "cpu_ms",
        (
            Measure("samples_per_cpu_s", "samples/CPU-s", 0),
            Measure("cpu_ms", "CPU ms", 2),
            Measure("wall_ms", "wall ms", 2),
            Measure("build_cpu_s", "CPU-s to open", 1),
            Measure("bytes", "MB on disk", 1, 1e-6),
        ),
        footnote="Arrays, as EpisodeDataset.sample gives them. Opening the second builds a cache.",
    ),
}


def main() -> int:
    """0 when everyone who should run did, 1 when a contestant failed."""
    asked = _arguments()
    topics = asked.only.split(",")
    plan = Plan(asked.repeats, asked.samples)
    log = Console(stderr=True)
    rows: dict[str, report.Rows] = {}
    with tempfile.TemporaryDirectory(prefix="bench-workload-") as place:
        log.print("rendering the workload")
        render(Workload(open_robot(ROBOT), duration_s=asked.seconds), Path(place))
        if "random" in topics:
            _write_rlds(Path(place))
        for topic in topics:
            field = [entry for entry in ENTRIES if entry.topic == topic]
            rows[topic] = run_topic(field, Path(place), plan, log.print)
    console = Console(width=None if sys.stdout.isatty() else 118)
    for name in topics:
        console.print(report.table(report.scaled(TOPICS[name], asked.seconds), rows[name]))
    document = report.document(asked.seconds, rows, _versions(topics), TOPICS)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps({**document, "bench": "exchange"}, indent=1) + "\n")
    return int(any(row.get("failed") for topic in rows.values() for row in topic.values()))


def _write_rlds(place: Path) -> None:
    """The workload as TFDS reads it: with what a training sample has, and nothing else."""
    files = WorkloadFiles(place)
    record(files.samples(), files, place / "episode.h5")
    opener = partial(open_dataset, place / "episode.h5")
    wanted = {path.rsplit("/", 1)[-1] for path in (STATE, ACTION, *TRAINING_CAMERAS)}
    others = [signal.spec.name for signal in opener().open(0).signals.values()
              if signal.spec.group != "debug" and signal.spec.name not in wanted]  # fmt: skip
    plan = exchange_plan.ExportOptions(exclude=tuple(others), sides=False)
    export(opener, place / RLDS, "rlds", plan)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.exchange", description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0, help="length of the workload")
    parser.add_argument(
        "--only", default=",".join(TOPICS), help="export, random, small; by default all"
    )
    parser.add_argument("--repeats", type=int, default=3, help="the median of so many is shown")
    parser.add_argument("--samples", type=int, default=150, help="training samples per repeat")
    parser.add_argument("--out", type=Path, default=Path("out/bench_exchange.json"))
    asked = parser.parse_args()
    if not set(asked.only.split(",")) <= set(TOPICS):
        parser.error(f"expected --only of {', '.join(TOPICS)}")
    return asked


def _versions(topics: list[str]) -> dict[str, dict[str, str]]:
    wanted = ("lerobot", "torch", "torchcodec", "tensorflow-datasets")
    found = {}
    for name in dict.fromkeys(e.partner for e in ENTRIES if e.topic in topics and e.partner):
        installed = partner_versions(name)
        found[name] = {each: installed[each] for each in wanted if each in installed}
    return found


if __name__ == "__main__":
    sys.exit(main())
