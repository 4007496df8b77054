"""The tables a reader sees and the JSON a machine keeps."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.episode.meter import Figures

OURS = "Corporeal"
Rows = dict[str, Figures]


@dataclass(frozen=True)
class Measure:
    """One column: a figure, how it is shown, and what we aim for, if anything."""

    key: str
    head: str
    places: int = 1
    scale: float = 1.0
    limit: float | None = None
    grows: bool = False
    """Whether the limit is for 6 s and grows with the length of the workload."""

    def shown(self, figures: Figures) -> str:
        value = figures.get(self.key)
        return "" if value is None else f"{value * self.scale:,.{self.places}f}"


@dataclass(frozen=True)
class Gain:
    """We aim to be `least` times as cheap as the cheapest contestant whose name begins so."""

    against: str
    least: float


@dataclass(frozen=True)
class Topic:
    """One table. `cost` is the figure that the ratio column divides by ours."""

    title: str
    cost: str
    measures: tuple[Measure, ...]
    gain: Gain | None = None
    footnote: str = ""


_NOT_ALL = (
    "LeRobot carries no 16-bit depth and one rate: it gets the 3 RGB cameras, state and action at "
    "30 Hz, without depth and without 11 of the 13 signals. That is less work than ours."
)
TOPICS: dict[str, Topic] = {
    "write": Topic(
        "write {seconds:g} s as it is captured: 3 RGB + depth 640x480, 13 signals, 1 text",
        "cpu_s",
        (
            Measure("cpu_s", "CPU-s", 2, limit=6.0, grows=True),
            Measure("wall_s", "wall s", 1),
            Measure("peak_mb", "peak MB", 0, limit=300.0),
            Measure("bytes", "MB on disk", 1, 1e-6, limit=45.0, grows=True),
            Measure("lost", "lost", 0, limit=0),
            Measure("late", "late", 0, limit=0),
        ),
        footnote=f"{_NOT_ALL} Samples come in real time, so wall time cannot be less than the "
        "workload. Late: taken more than 33 ms after capture. Peak: all processes together.",
    ),
    "size": Topic(
        "size of {seconds:g} s on disk",
        "bytes",
        (
            Measure("bytes", "MB", 1, 1e-6, limit=45.0, grows=True),
            Measure("rgb_bytes", "of it RGB", 1, 1e-6),
        ),
        footnote=f"{_NOT_ALL} How true the pictures are is in the table of random samples.",
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
        "LeRobot decodes every camera of a dataset, so it reads one with just these 2 (and, in the "
        "last row, the one that was recorded), by torchcodec with one thread. PSNR: "
        "the worst picture of 12 against the source (100: equal).",
    ),
    "read": Topic(
        "read all 13 signals of a 20 s episode, file opened each time",
        "cpu_ms",
        (Measure("cpu_ms", "CPU ms", 3),),
        Gain("h5py", 0.8),
        "The plain file holds these arrays and nothing else.",
    ),
    "align": Topic(
        "align 13 signals of 20 s to 50 Hz",
        "cpu_ms",
        (Measure("cpu_ms", "CPU ms", 2, limit=9.0),),
        footnote="Ours holds commands, turns quaternions, and reports age and skew; the others "
        "only draw lines (asof: only hold).",
    ),
}


def scaled(topic: Topic, seconds: float) -> Topic:
    """The topic with the limits that fit a workload of this length."""
    measures = tuple(
        replace(each, limit=each.limit * seconds / 6) if each.grows and each.limit else each
        for each in topic.measures
    )
    return replace(topic, measures=measures, title=topic.title.format(seconds=seconds))


def verdicts(topic: Topic, rows: Rows) -> dict[str, bool]:
    """Every aim of the topic, and whether it was reached in this run."""
    ours = rows.get(OURS, {})
    reached = {}
    for measure in topic.measures:
        if measure.limit is not None and measure.key in ours:
            value = ours[measure.key] * measure.scale
            reached[f"{measure.head} <= {measure.limit:g}"] = bool(value <= measure.limit)
    if topic.gain is not None and topic.cost in ours:
        rivals = [
            _ratio(topic, figures, ours)
            for name, figures in rows.items()
            if name.startswith(topic.gain.against) and topic.cost in figures
        ]
        if rivals:
            ratio = min(rivals)
            aim = f"{topic.gain.least:g}x {topic.gain.against} (is {ratio:.2f}x)"
            reached[aim] = bool(ratio >= topic.gain.least)
    return reached


def table(topic: Topic, rows: Rows) -> Table:
    """One row for each contestant; `cost / ours` above 1 means that it costs more than ours."""
    notes = [f"{name}: {row['note']}." for name, row in rows.items() if "note" in row]
    shown = Table(title=topic.title, caption=" ".join([topic.footnote, *notes]), title_style="bold")
    shown.add_column("contestant", no_wrap=True)
    for measure in topic.measures:
        shown.add_column(measure.head, justify="right")
    shown.add_column("cost / ours", justify="right")
    shown.add_column("target")
    ours = rows.get(OURS, {})
    for name, figures in rows.items():
        if "note" in figures:
            continue
        ratio = f"{_ratio(topic, figures, ours):.2f}" if topic.cost in ours else ""
        aims = _aims(topic, rows) if name == OURS else ""
        shown.add_row(name, *(each.shown(figures) for each in topic.measures), ratio, aims)
    return shown


def _ratio(topic: Topic, figures: Figures, ours: Figures) -> float:
    """Their cost for each unit of ours: turn by turn where there were turns, then the median."""
    if topic.cost != "bytes" and "turns" in figures and "turns" in ours:
        pairs = zip(figures["turns"], ours["turns"], strict=True)
        return float(statistics.median(theirs / own for theirs, own in pairs))
    return float(figures[topic.cost] / ours[topic.cost])


def _aims(topic: Topic, rows: Rows) -> str:
    lines = []
    for aim, reached in verdicts(topic, rows).items():
        lines.append(f"[green]{aim}: met[/]" if reached else f"[red]{aim}: missed[/]")
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def document(
    seconds: float,
    topics: Mapping[str, Rows],
    partners: Mapping[str, dict[str, str]],
    kinds: Mapping[str, Topic] = TOPICS,
) -> dict[str, Any]:
    """All of a run, ready for JSON; `kinds` says what the topics aim for."""
    return {
        "bench": "episode",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "machine": machine(),
        "versions": _versions("corporeal", "numpy", "h5py", "av", "pillow", "scipy"),
        "partners": dict(partners),
        "topics": dict(topics),
        "targets": {
            name: verdicts(scaled(kinds[name], seconds), rows) for name, rows in topics.items()
        },
    }


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
