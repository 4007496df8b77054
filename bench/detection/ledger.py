"""Results kept line by line, so that an interrupted run goes on, and only for the code as it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bench.detection.sources import CACHE, PROJECT

# Files that only read results.
_REPORTING = ("__main__", "count", "page")


@cache
def fingerprint() -> str:
    """A hash of the checks, the readers and the mistakes: other code has other results."""
    digest = hashlib.sha256()
    rooms = ("schema", "embodiment", "episode", "signal", "quality", "exchange")
    for folder in (*(f"src/corporeal/{room}" for room in rooms), "bench/detection/field"):
        for path in sorted((PROJECT / folder).rglob("*.py")):
            if path.stem in _REPORTING:
                continue
            digest.update(path.relative_to(PROJECT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def results_path() -> Path:
    """Where the results of this code are kept."""
    return CACHE / "results" / f"{fingerprint()}.jsonl"


def kept(path: Path, family: str) -> Iterator[dict[str, Any]]:
    """The results of one family that are there already; a line that was cut off is left out."""
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["family"] == family:
            yield row


def keep(path: Path, family: str, row: dict[str, Any]) -> None:
    """Add one result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({"family": family, **row}) + "\n")
