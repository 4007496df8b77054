"""Can the motions be followed in physics? One tracker on ours, the peers' and the authors'.

python -m bench.retarget.tracking --peers mink,asap
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.retarget.clips import DATA, Clip, clips
from bench.retarget.contest import ASAP, FRAME_BY_FRAME, OURS
from bench.retarget.peers.programs import frame_by_frame
from bench.retarget.peers.published import asap
from bench.retarget.robot_motion import RobotMotion
from corporeal.embodiment import Embodiment, open_robot
from corporeal.errors import CorporealError
from corporeal.retargeting.solve import retarget_motion
from corporeal.retargeting.tracking.trackability import TrackingResult, track

TRACKER = DATA / "policies" / "g1_tracker_twist2" / "twist2_1017_25k.onnx"


def main() -> int:
    """0 when every motion was tried."""
    parser = argparse.ArgumentParser(prog="python -m bench.retarget.tracking", description=__doc__)
    parser.add_argument("--tracker", type=Path, default=TRACKER)
    parser.add_argument("--peers", default="mink,asap", help="none, or some of mink, asap")
    parser.add_argument("--only", default="", help="clips with this in their names")
    parser.add_argument("--out", type=Path, default=Path("out/bench_retarget_tracking.json"))
    asked = parser.parse_args()
    robot = open_robot("g1")
    rows: list[tuple[str, str, TrackingResult]] = []
    for clip in (each for each in clips() if asked.only in each.name):
        for who, motion in _motions(clip, robot, asked.peers.split(",")):
            tracked = track(robot, motion.rate_hz, motion.q, motion.base, tracker=asked.tracker)
            rows.append((clip.name, who, tracked))
            print(_row(clip.name, who, tracked), file=sys.stderr)
    text = _table(rows)
    print(text)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    told = [{"clip": clip, "who": who, **one.to_json()} for clip, who, one in rows]
    asked.out.write_text(json.dumps(told, indent=1) + "\n")
    asked.out.with_suffix(".md").write_text(text + "\n")
    return 0


def _motions(clip: Clip, robot: Embodiment, peers: list[str]) -> Iterator[tuple[str, RobotMotion]]:
    result = retarget_motion(clip.read(), robot)
    yield OURS, RobotMotion(robot, result.rate_hz, result.q, result.base)
    if "mink" in peers:
        try:
            yield FRAME_BY_FRAME, frame_by_frame(result.human, robot)
        except CorporealError as error:
            print(f"{clip.name}: {FRAME_BY_FRAME}: {error}", file=sys.stderr)
    if "asap" in peers and clip.published is not None:
        yield ASAP, asap(clip.published, robot)


def _row(clip: str, who: str, tracked: TrackingResult) -> str:
    end = "yes" if tracked.survived else f"fell at {tracked.fell_at_s:.1f} s"
    error = tracked.keypoint_error_m
    return (
        f"| {clip} | {who} | {end} | {tracked.survived_s:.1f} of {tracked.duration_s:.1f} "
        f"| {100 * error.mean:.1f} | {100 * error.p95:.1f} |"
    )


def _table(rows: list[tuple[str, str, TrackingResult]]) -> str:
    head = [
        "| clip | who | survived | seconds | key points off, cm | 95 % within |",
        "|---|---|---|---|---|---|",
    ]
    sums = []
    shared = {clip for clip, who, _ in rows if who == ASAP}
    for label, chosen in (("all clips", None), ("ASAP's clips", shared)):
        for who in dict.fromkeys(who for _, who, _ in rows):
            own = [one for clip, name, one in rows
                   if name == who and (chosen is None or clip in chosen)]  # fmt: skip
            if not own or (chosen is None and who == ASAP):
                continue
            survived = sum(one.survived for one in own)
            error = np.average(
                [one.keypoint_error_m.mean for one in own], weights=[one.survived_s for one in own]
            )
            sums.append(f"- {who}, {label}: {survived} of {len(own)} survived, "
                        f"{100 * error:.1f} cm off while standing")  # fmt: skip
    return "\n".join([*sums, "", *head, *(_row(*row) for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
