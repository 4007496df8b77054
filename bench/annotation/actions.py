"""What proposals save: the actions of a scripted annotator with and without them.

An action is one keystroke, one click or one drag. The annotator knows the truth and ends with every
boundary within the taxonomy's tolerance (two frames), every label, hand and grasp type right, and
the outcome said. Looking is not counted, nor what takes the same either way (naming the object,
wording the instruction). The two ways:

free      each phase: create it (1), drag both of its ends (2), choose the label (1), say hand and
          grasp type where the label asks for them (1 each). The timeline has 1200 pixels for the
          whole episode and the pointer misses by a normal error of 3 pixels; an end that is out of
          tolerance is nudged frame by frame (1 each). Outcome 1, failure mode 1.
shared    the same in a tool whose neighbouring phases share a boundary: one drag for each.
verified  each proposed boundary: accept it and go on (1); out of tolerance: nudge (1 for each
          frame) or drag it and nudge, whichever is less; a wrong hand 1. A boundary too many is
          removed (1); a missing one is made as in `shared`. Outcome: accept (1), or say it as in
          `free`. The simulator knows no true grasp type, so the proposed one is not judged; nor
          are the lanes of contacts, which `free` would have to make as well.

Run: python -m bench.annotation.actions --policy WALKING.onnx
     python -m bench.annotation.actions --seeds 1
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.annotation.episodes import REFERENCE, TrueEpisode
from bench.annotation.plan import FIRST_SEED, made, planned
from bench.annotation.scoring import score, truth
from bench.episode.report import machine
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.proposal import propose
from corporeal.labelling.taxonomy import Taxonomy, open_taxonomy

TIMELINE_PX, MISS_PX = 1200, 3.0
TARGET = 4.0
_SAID = ("hand", "grasp_type")


@dataclass(frozen=True)
class Work:
    """Actions for one episode, one way and the other."""

    task: str
    boundaries: int
    free: int
    shared: int
    verified: int


_BY_HAND = (
    "approach", "pre_grasp", "grasp", "lift", "transport", "place", "release", "retract", "hold",
)  # fmt: skip
"""Phases of which the hand must be said."""


def work(episode: TrueEpisode, annotation: Annotation, taxonomy: Taxonomy) -> Work:
    """What it takes to make the true annotation from nothing, and from a proposal."""
    rng = np.random.default_rng(len(episode.name) + sum(map(ord, episode.name)))
    frames = len(episode.recording.signals[REFERENCE].time_ns)
    phases = truth(episode)
    asked = sum(_asked(taxonomy, label) for label, _, _ in phases)
    judge = 1 if episode.success else 2
    ends = len(phases) + 1
    made_anew = 2 * len(phases) + asked + judge
    free = made_anew + sum(_drag(rng, frames, taxonomy) for _ in range(2 * len(phases)))
    shared = made_anew + sum(_drag(rng, frames, taxonomy) for _ in range(ends - 2))
    return Work(episode.task, len(episode.boundaries), free, shared,
                _verified(episode, annotation, taxonomy, rng, frames))  # fmt: skip


def _verified(
    episode: TrueEpisode,
    annotation: Annotation,
    taxonomy: Taxonomy,
    rng: np.random.Generator,
    frames: int,
) -> int:
    got = score(annotation, episode)
    actions = len(got.extra)
    for hit in got.hits:
        if hit.error is None:
            actions += 2 + _asked(taxonomy, hit.label) + _drag(rng, frames, taxonomy)
            continue
        out = max(0, abs(hit.error) - taxonomy.tolerance_frames)
        actions += 1 + (min(out, _drag(rng, frames, taxonomy)) if out else 0)
    actions += _wrong_hands(episode, annotation)
    right = got.outcome_right and got.mode_right
    return actions + (1 if right else 1 if episode.success else 2)


def _drag(rng: np.random.Generator, frames: int, taxonomy: Taxonomy) -> int:
    """One drag, and the nudges that put right what the pointer missed by."""
    missed = abs(round(rng.normal(0.0, MISS_PX) * frames / TIMELINE_PX))
    return 1 + max(0, missed - taxonomy.tolerance_frames)


def _asked(taxonomy: Taxonomy, label: str) -> int:
    """How many things must be said of a label that a proposal can know."""
    found = next(each for _, each in taxonomy.labels() if each.name == label)
    return sum(name in _SAID for name in found.attributes)


def _wrong_hands(episode: TrueEpisode, annotation: Annotation) -> int:
    """Phases whose hand is not the one that the scene was laid out for, or is not said."""
    if episode.hand is None:
        return 0
    return sum(
        segment.label in _BY_HAND and segment.attributes.get("hand") != episode.hand
        for segment in annotation.in_lane("phase")
    )


def table(done: Sequence[Work]) -> Table:
    """Mean actions per episode and per boundary, and how many times fewer."""
    shown = Table(title="actions to the true annotation, mean per episode")
    for head in ("task", "episodes", "boundaries", "free", "shared", "verified", "per boundary",
                 "free / verified", "shared / verified"):  # fmt: skip
        shown.add_column(head, justify="left" if head == "task" else "right")
    for name, own in _groups(done):
        free, shared, verified, edges = (
            sum(getattr(each, key) for each in own)
            for key in ("free", "shared", "verified", "boundaries")
        )
        count = len(own)
        shown.add_row(name, str(count), f"{edges / count:.1f}", f"{free / count:.1f}",
                      f"{shared / count:.1f}", f"{verified / count:.1f}",
                      f"{verified / max(edges, 1):.2f}", f"{free / verified:.1f}",
                      f"{shared / verified:.1f}")  # fmt: skip
    return shown


def _groups(done: Sequence[Work]) -> Iterator[tuple[str, list[Work]]]:
    for task in dict.fromkeys(each.task for each in done):
        yield task, [each for each in done if each.task == task]
    yield "all", list(done)


def main() -> int:
    """Print the table and write JSON; 1 when the target is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.annotation.actions", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3, help="clean episodes of a task and style")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--policy", type=Path, help="a walking policy (ONNX) for tasks on foot")
    parser.add_argument("--out", type=Path, default=Path("out/bench_annotation_actions.json"))
    asked = parser.parse_args()
    taxonomy = open_taxonomy("manipulation")
    done = []
    for episode in made(list(planned(seeds=asked.seeds, policy=asked.policy,
                                     first=asked.first_seed))):  # fmt: skip
        annotation = propose(episode.recording, taxonomy, task=episode.task)
        assert annotation is not None
        done.append(work(episode, annotation, taxonomy))
    ratio = sum(each.free for each in done) / sum(each.verified for each in done)
    console = Console(width=110)
    console.print(table(done))
    reached = ratio >= TARGET
    console.print(f"target: {TARGET:g} times fewer than free: {'reached' if reached else 'missed'}")
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    written = {"bench": "annotation.actions", "date": datetime.now(UTC).isoformat(),
               "machine": machine(), "free_by_verified": ratio,
               "episodes": [asdict(each) for each in done]}  # fmt: skip
    asked.out.write_text(json.dumps(written, indent=1, default=str) + "\n")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
