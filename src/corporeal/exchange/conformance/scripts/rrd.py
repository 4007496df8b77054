"""Reads Rerun recordings with Rerun: verifies each, counts rows by entity. Runs by itself.

`length` of an episode is the number of its samples; `topics` counts them by entity. A recording
has no rows, so `samples.npz` stays empty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rerun.chunk import RrdReader


def main(request: dict[str, Any], folder: Path) -> None:
    """Answer a request: every episode, and the samples of every entity."""
    root = Path(request["path"])
    files = sorted(root.glob("*.rrd")) if root.is_dir() else [root]
    topics: dict[str, int] = {}
    episodes = []
    for path in files:
        verify(path)
        counts, instruction = read(path)
        for entity, count in counts.items():
            topics[entity] = topics.get(entity, 0) + count
        texts = None if instruction is None else [instruction]
        episodes.append({"length": sum(counts.values()), "instructions": texts})
    np.savez(folder / "samples.npz")
    answer = {
        "library": "rerun",
        "version": version("rerun-sdk"),
        "episodes": episodes,
        "statistics": {},
        "topics": topics,
    }
    (folder / "answer.json").write_text(json.dumps(answer), "utf-8")


def verify(path: Path) -> None:
    """Let the viewer's own program load everything in the file."""
    command = [sys.executable, "-m", "rerun", "rrd", "verify", str(path)]
    # With CI set the program counts no usage and sends nothing.
    quiet = {**os.environ, "CI": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    if done.returncode:
        raise ValueError(f"{path.name}: {(done.stderr or done.stdout).strip()[-500:]}")


def read(path: Path) -> tuple[dict[str, int], str | None]:
    """Samples by entity, and the instruction; raises when the file is not complete."""
    reader = RrdReader(path)
    if len(reader.recordings()) != 1 or not reader.blueprints():
        raise ValueError(f"{path.name}: expected one recording and a layout")
    counts: dict[str, int] = {}
    instruction = None
    for chunk in reader.stream():
        if chunk.entity_path == "/about":
            instruction = heading(chunk.to_record_batch())
        if not chunk.is_static:
            if not {"time", "row"} <= set(chunk.timeline_names):
                raise ValueError(f"{path.name}: {chunk.entity_path} has no time or no row")
            counts[chunk.entity_path] = counts.get(chunk.entity_path, 0) + chunk.num_rows
    return counts, instruction


def heading(batch: Any) -> str | None:
    """The first line of the document that says what the episode is."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name.endswith("TextDocument:text"):
            text = column[0].as_py()
            return str(text[0] if isinstance(text, list) else text).splitlines()[0].lstrip("# ")
    return None


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]))
