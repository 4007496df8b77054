"""How often proposed boundaries are right, learnt on some simulated episodes, reported on others.

Writes the table by which proposals state their confidence (`--write`): for every event, isotonic
shares of boundaries that have their label and lie within two frames of the truth, over how clear
the event was. Episodes are seen with all signals, without poses, and without pads as well. How a
recording begins is learnt from recordings whose beginning is cut off. Then the reliability table,
on seeds that nothing was learnt on.

Run: python -m bench.annotation.confidence --write
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from rich.console import Console
from rich.table import Table

from bench.annotation.episodes import REFERENCE, TrueEpisode
from bench.annotation.plan import FIRST_SEED, made, planned
from bench.annotation.proposals import CONDITIONS
from bench.annotation.scoring import WITHIN
from corporeal.episode.recording import Recording
from corporeal.labelling import confidence
from corporeal.labelling.automaton import Passage, shown_order, tiling_lane
from corporeal.labelling.confidence import ANY, OPENING, calibrate
from corporeal.labelling.frames import boundary_ns
from corporeal.labelling.proposal import ProposalRequest, detect
from corporeal.labelling.proposers.events import find_passages
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.signal import SignalPart

LEARN_SEED = 20_000
TABLE = Path(confidence.__file__).with_suffix(".json")
_STEP, _PRIOR, _LEAST = 0.05, 4.0, 30
_BANDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class Case:
    """One proposed boundary: the event that shows it, how clear that was, whether it is right."""

    event: str
    clearness: float
    is_right: bool


def cases_of(episode: TrueEpisode) -> Iterator[Case]:
    """Every boundary that is proposed for an episode, under every condition."""
    for see in CONDITIONS.values():
        recording = see(episode.recording)
        way = _way(episode, recording)
        yield from _boundaries(way[1:], episode)
        for later in (recording, _cut(episode, recording)):
            first = way[:1] if later is recording else _way(episode, later)[:1]
            begin_ns = int(later.signals[REFERENCE].time_ns[0])
            for passage in first:
                is_right = passage.label == _label_at(episode, begin_ns)
                yield Case(OPENING, passage.confidence, is_right)


def _way(episode: TrueEpisode, recording: Recording) -> tuple[Passage, ...]:
    taxonomy = open_taxonomy("manipulation")
    lane, need = tiling_lane(taxonomy), taxonomy.requirement(episode.task)
    assert lane is not None
    events = detect(recording)
    order = shown_order(need, lane, events) if need is not None else ()
    question = ProposalRequest(recording, taxonomy, episode.task, REFERENCE, events)
    return find_passages(question, lane, order)


def _boundaries(way: Sequence[Passage], episode: TrueEpisode) -> Iterator[Case]:
    """Each true boundary takes the nearest proposed one of its label; what is left is wrong."""
    stamps = episode.recording.signals[REFERENCE].time_ns

    def frame(time_ns: int) -> int:
        return int(np.searchsorted(stamps, boundary_ns(stamps, time_ns)))

    left = list(way)
    for true in episode.boundaries:
        own = [passage for passage in left if passage.label == true.label]
        if own:
            near = min(own, key=lambda passage: abs(passage.time_ns - true.time_ns))
            left.remove(near)
            is_right = abs(frame(near.time_ns) - frame(true.time_ns)) <= WITHIN
            yield Case(_name(near), near.confidence, is_right)
    yield from (Case(_name(passage), passage.confidence, False) for passage in left)


def _name(passage: Passage) -> str:
    return OPENING if passage.event is None else passage.event.name


def _cut(episode: TrueEpisode, recording: Recording) -> Recording:
    """The same without its beginning: it starts at rest, or with the first motion under way."""
    stamps = recording.signals[REFERENCE].time_ns
    second = episode.boundaries[1].time_ns if len(episode.boundaries) > 1 else int(stamps[-1])
    share = np.random.default_rng(int(stamps[-1]) % 2**32).uniform(0.0, 0.9)
    begin_ns = round(stamps[0] + share * (second - stamps[0]))
    return replace(recording, signals={
        label: SignalPart(signal, int(np.searchsorted(signal.time_ns, begin_ns)), len(signal))
        for label, signal in recording.signals.items()
    })  # fmt: skip


def _label_at(episode: TrueEpisode, time_ns: int) -> str:
    before = [true.label for true in episode.boundaries if true.time_ns <= time_ns]
    return before[-1] if before else "rest"


def learn(cases: Sequence[Case]) -> dict[str, list[dict[str, float]]]:
    """For every event with enough cases, rows of clearness, share that is right, and count."""
    every = _rows(cases, None)
    table = {ANY: every}
    for name in sorted({case.event for case in cases}):
        own = [case for case in cases if case.event == name]
        if len(own) >= _LEAST:
            table[name] = _rows(own, every)
    return table


def _rows(cases: Sequence[Case], every: list[dict[str, float]] | None) -> list[dict[str, float]]:
    """Shares that rise with clearness; few cases lean on the share among all events."""
    bins: dict[int, list[Case]] = {}
    for case in cases:
        bins.setdefault(round(case.clearness / _STEP), []).append(case)
    own = [bins[step] for step in sorted(bins)]
    clearness = np.array([np.mean([case.clearness for case in part]) for part in own])
    counts = np.array([len(part) for part in own])
    right = np.array([sum(case.is_right for case in part) for part in own])
    expected = (np.full(len(own), 0.5) if every is None else
                np.interp(clearness, [row["clearness"] for row in every],
                          [row["share"] for row in every]))  # fmt: skip
    shares = (right + _PRIOR * expected) / (counts + _PRIOR)
    rising = scipy.optimize.isotonic_regression(shares, weights=counts + _PRIOR).x
    return [{"clearness": round(float(at), 3), "share": round(float(share), 3),
             "count": int(count)}
            for at, share, count in zip(clearness, rising, counts, strict=True)]  # fmt: skip


def reliability(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """For bands of stated confidence: how many, what was stated, what was right; raw beside."""
    rows = []
    stated = np.array([calibrate(case.event, case.clearness) for case in cases])
    raw = np.array([case.clearness for case in cases])
    right = np.array([case.is_right for case in cases])
    for low, high in pairwise(_BANDS):
        row: dict[str, Any] = {"from": low, "to": high}
        for name, values in (("stated", stated), ("raw", raw)):
            inside = (values >= low) & ((values < high) | ((high == 1.0) & (values <= 1.0)))
            row[f"{name}_count"] = int(inside.sum())
            row[f"{name}_mean"] = float(values[inside].mean()) if inside.any() else None
            row[f"{name}_right"] = float(right[inside].mean()) if inside.any() else None
        rows.append(row)
    return rows


def expected_error(rows: Sequence[dict[str, Any]], name: str) -> float:
    """By how much what is stated differs from what is right, on the mean over all boundaries."""
    total = sum(row[f"{name}_count"] for row in rows)
    apart = sum(row[f"{name}_count"] * abs(row[f"{name}_mean"] - row[f"{name}_right"])
                for row in rows if row[f"{name}_count"])  # fmt: skip
    return float(apart / max(total, 1))


def _shown(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="confidence against the share that is right")
    for head in ("confidence", "stated", "right", "before", "right before"):
        table.add_column(head, justify="right")
    for row in rows:
        cells = [
            "-" if row[f"{name}_right"] is None else f"{row[f'{name}_right']:.1%}"
            for name in ("stated", "raw")
        ]
        table.add_row(f"{row['from']:g} to {row['to']:g}", str(row["stated_count"]), cells[0],
                      str(row["raw_count"]), cells[1])  # fmt: skip
    return table


def main() -> int:
    """Learn and write the table where that is asked for; print how far it holds on other seeds."""
    parser = argparse.ArgumentParser(prog="python -m bench.annotation.confidence",
                                     description=__doc__)  # fmt: skip
    parser.add_argument("--write", action="store_true", help="learn anew and write the table")
    parser.add_argument("--seeds", type=int, default=2, help="to learn on, of a task and style")
    parser.add_argument("--report-seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/bench_annotation_confidence.json"))
    asked = parser.parse_args()
    if asked.write:
        plan = list(planned(seeds=asked.seeds, policy=None, first=LEARN_SEED))
        cases = [case for episode in made(plan) for case in cases_of(episode)]
        TABLE.write_text(json.dumps({
            "learnt_on": f"{len(cases)} boundaries of {len(plan)} simulated episodes, seeds from "
                         f"{LEARN_SEED + 1}, within {WITHIN} frames",
            "date": datetime.now(UTC).date().isoformat(),
            "events": learn(cases),
        }, indent=1) + "\n")  # fmt: skip
        confidence._table.cache_clear()
    plan = list(planned(seeds=asked.report_seeds, policy=None, first=FIRST_SEED))
    cases = [case for episode in made(plan) for case in cases_of(episode)]
    rows = reliability(cases)
    console = Console(width=100)
    console.print(_shown(rows))
    errors = {name: expected_error(rows, name) for name in ("stated", "raw")}
    console.print(
        f"{len(cases)} boundaries of {len(plan)} episodes; mean gap between confidence and share "
        f"right: {errors['stated']:.3f}, before {errors['raw']:.3f}"
    )
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "bench": "annotation.confidence", "date": datetime.now(UTC).isoformat(), "rows": rows,
        "mean_gap": errors, "boundaries": len(cases), "episodes": len(plan),
    }  # fmt: skip
    asked.out.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if errors["stated"] <= errors["raw"] else 1


if __name__ == "__main__":
    sys.exit(main())
