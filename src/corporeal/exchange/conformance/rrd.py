"""Reads Rerun recordings with Rerun: verifies each, counts its samples. Runs by itself.

`length` of an episode is the number of its samples. A recording has no rows, so there are none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rerun.chunk import RrdReader


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: every episode."""
    root = Path(request["path"])
    files = sorted(root.glob("*.rrd")) if root.is_dir() else [root]
    episodes = []
    for path in files:
        verify(path)
        length, instruction = read(path)
        texts = None if instruction is None else [instruction]
        episodes.append({"length": length, "instructions": texts})
    answer = {
        "library": "rerun",
        "version": version("rerun-sdk"),
        "episodes": episodes,
    }
    return answer, {}


def verify(path: Path) -> None:
    """Let the viewer's own program load everything in the file."""
    command = [sys.executable, "-m", "rerun", "rrd", "verify", str(path)]
    # With CI set the program counts no usage and sends nothing.
    quiet = {**os.environ, "CI": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    if done.returncode:
        raise ValueError(f"{path.name}: {(done.stderr or done.stdout).strip()[-500:]}")


def read(path: Path) -> tuple[int, str | None]:
    """How many samples there are, and the instruction; raises when the file is not complete."""
    reader = RrdReader(path)
    if len(reader.recordings()) != 1 or not reader.blueprints():
        raise ValueError(f"{path.name}: expected one recording and a layout")
    count, instruction = 0, None
    for chunk in reader.stream():
        if chunk.entity_path == "/about":
            instruction = heading(chunk.to_record_batch())
        if not chunk.is_static:
            if not {"time", "row"} <= set(chunk.timeline_names):
                raise ValueError(f"{path.name}: {chunk.entity_path} has no time or no row")
            count += chunk.num_rows
    return count, instruction


def heading(batch: Any) -> str | None:
    """The first line of the document that says what the episode is."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name.endswith("TextDocument:text"):
            text = column[0].as_py()
            return str(text[0] if isinstance(text, list) else text).splitlines()[0].lstrip("# ")
    return None
