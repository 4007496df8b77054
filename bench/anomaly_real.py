"""Precision and recall of the envelope on failures planted in real demonstrations.

Every episode is judged by what the others of its set teach: as it is, and with one failure at a
time: an arm that jerks by 0.4 rad for 0.4 s (state and action, or state alone), an arm that stops
for 2 s while its commands go on, an arm that waits for 3 s, a hand that lets go for a second while
it carries. A failure is found when a flagged segment is within a second of it; every other flagged
segment is a false alarm.

Run: python -m bench.anomaly_real --out out/bench_anomaly_real.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.detection.sources import real_data
from corporeal.embodiment.joints import is_hand
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.anomaly.channels import channels_of
from corporeal.quality.anomaly.envelope import UnusualSegment, envelope, segments

SETS = {
    "g1": "lerobot/g1_inspire_v21_part",
    "gr1": "lerobot/gr1_picknplace_v20",
}
NEAR_NS = 1_000_000_000
Span = tuple[int, int]
Array = np.ndarray


@dataclass(frozen=True)
class Demonstration:
    """State and action of one episode, to be spoilt in place."""

    state: Array
    action: Array
    hands: list[int]
    rate_hz: float

    @property
    def arms(self) -> list[int]:
        return [n for n in range(self.state.shape[1]) if n not in self.hands]


Failure = Callable[[Demonstration, np.random.Generator], Span]


def jerk(table: Demonstration, dice: np.random.Generator) -> Span:
    """The arm jerks, and its command as well."""
    first, stop, bump, column = _bump(table, dice)
    table.state[first:stop, column] += bump
    table.action[first:stop, column] += bump
    return first, stop


def jerk_of_state(table: Demonstration, dice: np.random.Generator) -> Span:
    """The arm is knocked: its command goes on."""
    first, stop, bump, column = _bump(table, dice)
    table.state[first:stop, column] += bump
    return first, stop


def _bump(table: Demonstration, dice: np.random.Generator) -> tuple[int, int, Array, int]:
    count = max(4, round(0.4 * table.rate_hz))
    length = len(table.state)
    first = int(dice.integers(length // 4, 3 * length // 4))
    column = table.arms[int(table.state[:, table.arms].std(axis=0).argmax())]
    return first, first + count, 0.4 * np.sin(np.linspace(0, np.pi, count)), column


def stop_of_state(table: Demonstration, dice: np.random.Generator) -> Span:
    """The arm stops while its commands go on."""
    first, stop = _busiest(table, 2.0, dice)
    table.state[first:stop] = table.state[first]
    return first, stop


def wait(table: Demonstration, dice: np.random.Generator) -> Span:
    """Arm and commands stand still in the midst of a motion."""
    first, stop = _busiest(table, 3.0, dice)
    table.state[first:stop], table.action[first:stop] = table.state[first], table.action[first]
    return first, stop


def _busiest(table: Demonstration, seconds: float, dice: np.random.Generator) -> Span:
    del dice
    count = round(seconds * table.rate_hz)
    moved = np.abs(np.diff(table.state[:, table.arms], axis=0)).sum(axis=1)
    within = np.convolve(moved, np.ones(count), "valid")
    edge = len(within) // 6
    first = edge + int(within[edge : 5 * edge].argmax())
    return first, first + count


def let_go(table: Demonstration, dice: np.random.Generator) -> Span:
    """The hand opens for a second in the middle of its longest grip, and shuts again."""
    del dice
    gone = np.abs(table.state[:, table.hands] - table.state[0, table.hands]).mean(axis=1)
    closed = np.flatnonzero(gone > 0.5 * gone.max())
    count = round(table.rate_hz)
    first = min(int(closed[len(closed) // 2]), len(table.state) - count - 1)
    for values in (table.state, table.action):
        values[first : first + count, table.hands] = values[0, table.hands]
    return first, first + count


FAILURES: tuple[Failure, ...] = (jerk, jerk_of_state, stop_of_state, wait, let_go)


def spoil(recording: Recording, failure: Failure, seed: int) -> tuple[Recording, Span]:
    """The episode with a failure, and the time of it in nanoseconds."""
    state, action = (recording.named(f"joint_position{end}") for end in ("", "_target"))
    assert state is not None
    assert action is not None
    signals = dict(recording.signals)
    stamps = np.asarray(signals[state].time_ns)
    names = Subject(recording).tracks[state].names
    robot = recording.embodiment
    joints = set(robot.joint_names) if robot is not None else set()
    hands = [n for n, name in enumerate(names) if is_hand(name, robot) or name not in joints]
    values = [np.array(signals[label][:], np.float64) for label in (state, action)]
    table = Demonstration(values[0], values[1], hands, 1e9 / float(np.median(np.diff(stamps))))
    first, stop = failure(table, np.random.default_rng(seed))
    for label, changed in zip((state, action), values, strict=True):
        signals[label] = ArraySignal(signals[label].spec, stamps, changed)
    span = int(stamps[first]), int(stamps[min(stop, len(stamps) - 1)])
    return replace(recording, signals=signals), span


@dataclass
class Tally:
    """What was found in one set."""

    found: dict[str, list[bool]] = field(default_factory=dict)
    true: int = 0
    false: int = 0
    alarmed: list[bool] = field(default_factory=list)

    def add(self, name: str, flagged: list[UnusualSegment], span: Span) -> None:
        near = [
            each
            for each in flagged
            if each.end_ns > span[0] - NEAR_NS and each.start_ns < span[1] + NEAR_NS
        ]
        self.true += len(near)
        self.false += len(flagged) - len(near)
        self.found.setdefault(name, []).append(bool(near))

    @property
    def figures(self) -> dict[str, object]:
        every = [hit for hits in self.found.values() for hit in hits]
        return {
            "failures": len(every),
            "recall": float(np.mean(every)),
            "precision": self.true / max(1, self.true + self.false),
            "clean episodes": len(self.alarmed),
            "clean episodes with an alarm": sum(self.alarmed),
            "recall by failure": {name: float(np.mean(hits)) for name, hits in self.found.items()},
        }


def measure(recordings: list[Recording]) -> Tally:
    """Every episode against the others."""
    seen = [channels_of(Subject(each)) for each in recordings]
    tally = Tally()
    for number, recording in enumerate(recordings):
        usual = envelope([each for place, each in enumerate(seen) if place != number])
        flagged = segments(seen[number], usual.deviation(seen[number]))
        tally.alarmed.append(bool(flagged))
        tally.false += len(flagged)
        for failure in FAILURES:
            spoilt, span = spoil(recording, failure, number)
            channels = channels_of(Subject(spoilt))
            flagged = segments(channels, usual.deviation(channels))
            tally.add(failure.__name__, flagged, span)
    return tally


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    data = real_data()
    if data is None:
        parser.exit(1, "no real data beside the project: set CORPOREAL_DATA\n")
    report: dict[str, dict[str, object]] = {}
    table = Table(title="failures planted in real demonstrations, every episode left out once")
    for title in ("set", "failures", "recall", "precision", "clean episodes alarmed", "by failure"):
        table.add_column(title)
    for name, folder in SETS.items():
        dataset = open_dataset(data / folder)
        tally = measure([dataset.open(number) for number in dataset.episodes])
        figures = report[name] = tally.figures
        by_failure = ", ".join(
            f"{failure} {sum(hits)}/{len(hits)}" for failure, hits in tally.found.items()
        )
        shares = [f"{float(str(figures[key])):.0%}" for key in ("recall", "precision")]
        alarmed = f"{sum(tally.alarmed)} of {len(tally.alarmed)}"
        table.add_row(name, str(figures["failures"]), *shares, alarmed, by_failure)
    Console(width=140).print(table)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
