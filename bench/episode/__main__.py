"""Our episode file against its peers: renders the workload once, runs everyone on it, reports.

python -m bench.episode --seconds 6 --only write,random --peers h5,lerobot
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench.episode import report
from bench.episode.contest import ENTRIES, PEERS, run_topic
from bench.episode.meter import Plan
from bench.episode.ours import ROBOT
from bench.episode.workload_files import render
from bench.partners import partner_versions
from corporeal.embodiment import open_robot
from corporeal.testing import Workload

_PARTNER_PACKAGES = ("lerobot", "torch", "torchcodec", "av", "datasets")
# Signals alone matter in these: a long workload with small pictures keeps them quick.
_SIGNAL_TOPICS = ("read", "align")
_SIGNAL_SECONDS = 20.0
_SMALL = (48, 64)


def main() -> int:
    """0 when everyone who should run did, 1 when a contestant failed."""
    asked = _arguments()
    peers, topics = {*asked.peers, "ours"}, _measured(asked.only)
    chosen = [entry for entry in ENTRIES if entry.peer in peers and entry.topic in topics]
    plan = Plan(asked.repeats, asked.samples)
    log = Console(stderr=True)
    rows: dict[str, report.Rows] = {}
    with tempfile.TemporaryDirectory(prefix="bench-workload-") as place:
        folders: dict[bool, Path] = {}
        for topic in dict.fromkeys(entry.topic for entry in chosen):
            is_signal = topic in _SIGNAL_TOPICS
            if is_signal not in folders:
                log.print("rendering the workload")
                folders[is_signal] = _rendered(Path(place), asked.seconds, is_signal)
            field = [entry for entry in chosen if entry.topic == topic]
            rows[topic] = run_topic(field, folders[is_signal], plan, log.print)
    if "write" in rows:
        rows["size"] = rows["write"]
    rows = {topic: rows[topic] for topic in asked.only if topic in rows}
    _show(rows, asked.seconds)
    partners = {entry.partner for entry in chosen if entry.partner}
    versions = {name: _versions(name) for name in sorted(partners)}
    text = json.dumps(report.document(asked.seconds, rows, versions), indent=1)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(text + "\n")
    return int(any(row.get("failed") for topic in rows.values() for row in topic.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.episode", description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0, help="length of the workload")
    parser.add_argument("--only", type=_list_of(tuple(report.TOPICS)), default=tuple(report.TOPICS))
    parser.add_argument("--peers", type=_list_of(PEERS), default=PEERS, help="all, none, or a list")
    parser.add_argument("--repeats", type=int, default=3, help="the median of so many is shown")
    parser.add_argument("--samples", type=int, default=150, help="training samples per repeat")
    parser.add_argument("--out", type=Path, default=Path("out/bench_episode.json"))
    asked = parser.parse_args()
    if asked.seconds < 2 or asked.repeats < 1 or asked.samples < 1:
        parser.error("expected --seconds of 2 or more, --repeats and --samples of 1 or more")
    return asked


def _list_of(names: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        if text in ("all", "none"):
            return names if text == "all" else ()
        unknown = [name for name in text.split(",") if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(names)}")
        return tuple(text.split(","))

    return parse


def _measured(topics: tuple[str, ...]) -> set[str]:
    """The topics to run: sizes come from writing."""
    return {"write" if topic == "size" else topic for topic in topics}


def _rendered(place: Path, seconds: float, is_signal: bool) -> Path:
    folder = place / ("signals" if is_signal else "pictures")
    folder.mkdir()
    robot = open_robot(ROBOT)
    if is_signal:
        workload = Workload(robot, duration_s=_SIGNAL_SECONDS, size=_SMALL)
    else:
        workload = Workload(robot, duration_s=seconds)
    render(workload, folder)
    return folder


def _versions(partner: str) -> dict[str, str]:
    installed = partner_versions(partner)
    return {name: installed[name] for name in _PARTNER_PACKAGES if name in installed}


def _show(rows: dict[str, report.Rows], seconds: float) -> None:
    console = Console(width=None if sys.stdout.isatty() else 118)
    for name, contestants in rows.items():
        console.print(report.table(report.scaled(report.TOPICS[name], seconds), contestants))
        console.print()
    described = report.machine()
    console.print(f"{described['cpu']}, {described['cores']} cores, "
                  f"load {described['load_average']}, Python {described['python']}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
