"""Ours and its peers on every clip: speed, errors, feet, limits, collisions, smoothness.

python -m bench.retarget --peers mink,asap --out out/bench_retarget.json
python -m bench.retarget --peers none --unseen --out out/bench_retarget_unseen.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.retarget import table
from bench.retarget.clips import Clip, clips
from bench.retarget.contest import ASAP, HOLOSOMA, OURS, PEERS, published_alone, run_clip
from bench.retarget.measuring import Figures, added
from bench.retarget.unseen import unseen_clips
from corporeal.embodiment import Embodiment, open_robot
from corporeal.errors import CorporealError
from corporeal.retargeting.solve import retarget_motion

WARM_FRAMES = 60
Row = tuple[str, str, Figures]


def main() -> int:
    """0 when every clip ran, 1 when one did not."""
    asked = _arguments()
    robot = open_robot("g1")
    every = unseen_clips() if asked.unseen else clips()
    chosen = [clip for clip in every if asked.only in clip.name]
    if not chosen:
        print(f"no clip has {asked.only!r} in its name", file=sys.stderr)
        return 1
    _warm_up(chosen[0], robot)
    rows: list[Row] = []
    failed: dict[str, str] = {}
    for clip in chosen:
        try:
            for who, figures in run_clip(clip, robot, asked.peers):
                if isinstance(figures, str):
                    failed[f"{clip.name}, {who}"] = figures
                    continue
                rows.append((clip.name, who, figures))
                print(f"{clip.name}: {who}: {' | '.join(table.cells(figures))}", file=sys.stderr)
        except CorporealError as error:
            failed[clip.name] = str(error)
            print(f"{clip.name}: failed: {error}", file=sys.stderr)
    alone = {} if asked.unseen else dict(published_alone(robot))
    text = _report(rows, alone, failed)
    print(text)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(_document(rows, alone, failed), indent=1) + "\n")
    asked.out.with_suffix(".md").write_text(text + "\n")
    return int(bool(failed))


def groups(rows: list[Row]) -> dict[str, dict[str, Figures]]:
    """Sums over all clips, and over those that each of the rarer peers has too."""
    found = {"all clips": _sums(rows, {clip for clip, _, _ in rows})}
    for peer, label in ((ASAP, "ASAP's clips"), (HOLOSOMA, "clips for the slow")):
        shared = {clip for clip, who, _ in rows if who == peer}
        if shared:
            found[label] = _sums(rows, shared)
    return found


def _sums(rows: list[Row], shared: set[str]) -> dict[str, Figures]:
    """Sums of those who ran on every one of the clips."""
    sums = {}
    for name in dict.fromkeys(who for _, who, _ in rows):
        own = {clip: figures for clip, who, figures in rows if who == name and clip in shared}
        if own.keys() == shared:
            sums[name] = added(list(own.values()))
    return sums


def _report(rows: list[Row], alone: dict[str, Figures], failed: dict[str, str]) -> str:
    sums = groups(rows)
    parts = ["## Side by side", table.side_by_side(sums)]
    if OURS in sums["all clips"]:
        parts += ["## Aims, over all clips", table.aims(sums["all clips"][OURS])]
    parts += ["## Clip by clip", table.clip_by_clip(rows)]
    parts += ["## Published without their person (contacts told from the soles)"]
    parts += [table.clip_by_clip([(name, "published", one) for name, one in alone.items()])]
    parts += [f"{clip} failed: {reason}" for clip, reason in failed.items()]
    return "\n\n".join(parts)


def _document(rows: list[Row], alone: dict[str, Figures], failed: dict[str, str]) -> dict[str, Any]:
    return {
        "clips": [{"clip": clip, "who": who, **one.to_json()} for clip, who, one in rows],
        "sums": {
            group: {who: one.to_json() for who, one in sums.items()}
            for group, sums in groups(rows).items()
        },
        "published": {name: one.to_json() for name, one in alone.items()},
        "failed": failed,
    }


def _warm_up(clip: Clip, robot: Embodiment) -> None:
    """What is built once for a robot is not part of a clip's time."""
    retarget_motion(clip.read().part(0, WARM_FRAMES), robot)


def _peers(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    unknown = [name for name in text.split(",") if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no peer {unknown[0]}; expected some of {', '.join(PEERS)}"
        )
    return tuple(text.split(","))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retarget", description=__doc__)
    parser.add_argument("--peers", type=_peers, default=("mink", "asap"), help="none, or a list")
    parser.add_argument("--only", default="", help="clips with this in their names")
    parser.add_argument("--unseen", action="store_true", help="clips that took no part, fetched")
    parser.add_argument("--out", type=Path, default=Path("out/bench_retarget.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
