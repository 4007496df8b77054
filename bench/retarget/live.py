"""How late the robot is behind a live person: receipt of a pose to joint targets sent.

python -m bench.retarget.live --seconds 20
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from bench.retarget.clips import clips
from corporeal.embodiment import open_robot
from corporeal.retargeting.live.inlet import play_clip
from corporeal.retargeting.live.session import LiveSettings, run_live


def main() -> int:
    """0 when poses were followed."""
    parser = argparse.ArgumentParser(prog="python -m bench.retarget.live", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--robot", default="g1")
    parser.add_argument("--port", type=int, default=9877)
    parser.add_argument("--out", type=Path, default=Path("out/bench_retarget_live.json"))
    asked = parser.parse_args()
    clip = clips()[0]
    address = f"udp://127.0.0.1:{asked.port}"
    settings = LiveSettings(
        open_robot(asked.robot),
        address,
        send=f"udp://127.0.0.1:{asked.port + 1}",
        seconds=asked.seconds,
    )
    with play_clip(clip.path, address):
        summary = run_live(settings, stop=threading.Event(), report=lambda _: None)
    told = {
        "clip": clip.name,
        "robot": asked.robot,
        "poses": summary.frames,
        "rate_hz": summary.rate_hz,
        "skipped": summary.tally.skipped,
        "latency": asdict(summary.latency),
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(told, indent=1) + "\n")
    total = summary.latency.total_ms
    print(f"{clip.name} on {asked.robot}: {summary.frames} poses at {summary.rate_hz:.0f} Hz, "
          f"{summary.tally.skipped} skipped; latency {total.p50:.1f} ms, 95 % within "
          f"{total.p95:.1f}, 99 % within {total.p99:.1f}, worst {total.worst:.1f} ms")  # fmt: skip
    return int(not summary.frames)


if __name__ == "__main__":
    sys.exit(main())
