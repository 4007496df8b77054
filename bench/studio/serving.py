"""A Studio in a process of its own, for the time of a measurement."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(workspace: Path) -> Iterator[str]:
    """The address of a Studio over a workspace, on a free port of this machine."""
    command = [sys.executable, "-m", "corporeal", "studio", str(workspace), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line.rstrip().endswith("}"):
                break
        try:
            yield str(json.loads(said)["address"])
        finally:
            process.terminate()
