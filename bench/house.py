"""How the source tree is built: files, lines, names that stand for two things, doors, start-up.

Run: python -m bench.house --out out/house.json
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "corporeal"
ROUNDS = 7


def measure_tree(source: Path) -> dict[str, float]:
    """Counts over all Python files of a package."""
    texts = [path.read_text() for path in sorted(source.rglob("*.py"))]
    trees = [ast.parse(text) for text in texts]
    lines = sum(len(text.splitlines()) for text in texts)
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    classes = Counter(
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    shared = sum(count for count in classes.values() if count > 1)
    deferred = sum(
        isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("corporeal")
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
    )
    return {
        "files": len(texts),
        "lines": lines,
        "lines of imports, %": 100 * imports / lines,
        "public classes": sum(classes.values()),
        "classes whose name stands for another too, %": 100 * shared / sum(classes.values()),
        "own imports inside functions": deferred,
    }


def measure_start(program: list[str]) -> float:
    """The median wall time of a program in milliseconds, after one run to warm the disk."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *program], check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def main() -> None:
    """Print one table and write the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=SOURCE, help="another package to count")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    figures = measure_tree(arguments.source)
    if arguments.source == SOURCE:
        bare = measure_start(["-c", "pass"])
        figures["import corporeal, ms"] = measure_start(["-c", "import corporeal"]) - bare
        figures["corporeal --help, ms"] = measure_start(["-m", "corporeal", "--help"])
    for name, value in figures.items():
        print(f"{name:48} {value:12,.1f}")
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
