"""Dynamic time warping: nanoseconds of CPU per cell, beside dtaidistance and tslearn.

Run: python -m bench.dtw --out out/bench_dtw.json     # a minute; makes the peers' environment once
     python -m bench.dtw --peers none
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

# One thread for all: the peers do not use more for one pair either.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.partners import partner_python
from corporeal.signal.warping import distances

TARGET_NS = 6.0

# Runs in the peers' environment: reads the pairs, prints nanoseconds per cell and the distances.
PEER = """
import json, sys, time
import numpy as np
first, second = np.load(sys.argv[1]), np.load(sys.argv[2])
name, repeats = sys.argv[3], int(sys.argv[4])
if name == "dtaidistance":
    from dtaidistance import dtw_ndim
    # Its inner distance is the squared one by default and it takes the root of the sum.
    call = lambda a, b: dtw_ndim.distance_fast(a, b, inner_dist="euclidean")
else:
    from tslearn.metrics import dtw
    call = dtw
call(first[0], second[0])
best = np.inf
for _ in range(repeats):
    begin = time.process_time()
    found = [float(call(a, b)) for a, b in zip(first, second)]
    best = min(best, time.process_time() - begin)
cells = len(first) * first.shape[1] * second.shape[1]
print(json.dumps({"ns": best / cells * 1e9, "found": found}))
"""


def series(pairs: int, length: int, columns: int, seed: int) -> NDArray[np.float64]:
    """Smooth random motions (P, T, D)."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(pairs, length, columns))
    kernel = np.hanning(51) / np.hanning(51).sum()
    smooth = np.apply_along_axis(lambda row: np.convolve(row, kernel, "same"), 1, steps)
    return np.asarray(smooth.cumsum(axis=1) * 0.1)


def ours(first: NDArray[np.float64], second: NDArray[np.float64], repeats: int) -> float:
    """Nanoseconds of CPU per cell, the best of a few."""
    pairs = list(zip(first, second, strict=True))
    distances(pairs[:1])
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        distances(pairs)
        best = min(best, time.process_time() - begin)
    return float(best / len(first) / first.shape[1] / second.shape[1] * 1e9)


def peer(
    name: str, first: NDArray[np.float64], second: NDArray[np.float64], repeats: int
) -> tuple[float, list[float]]:
    """The same of a peer, on fewer pairs: it does them one by one."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "first.npy", Path(folder) / "second.npy"]
        np.save(files[0], first)
        np.save(files[1], second)
        command = [str(partner_python("dtw")), "-c", PEER, *map(str, files), name, str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return float(answer["ns"]), [float(one) for one in answer["found"]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--length", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=29)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", default="dtaidistance,tslearn", help="names, or none")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    size = (given.pairs, given.length, given.columns)
    first, second = series(*size, seed=0), series(*size, seed=1)
    few = slice(0, 3)
    truth = distances(list(zip(first[few], second[few], strict=True)))
    figures: dict[str, float] = {}
    for count in sorted({1, 8, given.pairs}):
        figures[f"ours, {count} pairs"] = ours(first[:count], second[:count], given.repeats)
    agreement: dict[str, float] = {}
    for name in () if given.peers == "none" else given.peers.split(","):
        figures[name], found = peer(name, first[few], second[few], given.repeats)
        # tslearn sums squares and takes the root of the sum: another distance, the same work.
        if name == "dtaidistance":
            agreement[name] = float(np.abs(np.array(found) / truth - 1).max())
    show(figures, agreement, size)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        facts = {"pairs": given.pairs, "length": given.length, "columns": given.columns}
        report = facts | {"cpu_ns_per_cell": figures, "relative_difference": agreement}
        given.out.write_text(json.dumps(report, indent=1) + "\n")


def show(
    figures: dict[str, float], agreement: dict[str, float], size: tuple[int, int, int]
) -> None:
    table = Table(title=f"{size[1]} x {size[1]} cells x {size[2]} columns, CPU, one thread")
    for title in ("who", "ns per cell", "cost / ours", "target"):
        table.add_column(title)
    own = figures[f"ours, {size[0]} pairs"]
    for name, figure in figures.items():
        reached = "reached" if figure <= TARGET_NS else "missed"
        target = f"<= {TARGET_NS:.0f}: {reached}" if name == f"ours, {size[0]} pairs" else ""
        table.add_row(name, f"{figure:.2f}", f"{figure / own:.1f}", target)
    console = Console()
    console.print(table)
    for name, difference in agreement.items():
        console.print(f"greatest relative difference to {name}: {difference:.1e}")


if __name__ == "__main__":
    main()
