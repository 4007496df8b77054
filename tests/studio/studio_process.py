"""A Studio in a process of its own, which a test may kill and start again at the same address."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep


class StudioProcess:
    """`corporeal studio` over a workspace, on a port that stays the same."""

    def __init__(self, root: Path, *, files: int | None = None, log: Path | None = None) -> None:
        """`files` is how many it may have open; what it says goes to `log`."""
        self.root, self.files, self.log = root, files, log
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when it answers, be it only that it wants to know who asks."""
        words = [sys.executable, "-m", "corporeal", "studio", str(self.root)]
        limit = f"ulimit -n {self.files}; " if self.files else ""
        with (self.log or Path("/dev/null")).open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", f'{limit}exec "$@"', "sh", *words, "--port", str(self.port)],
                stdout=subprocess.DEVNULL, stderr=log,
            )  # fmt: skip
        until = monotonic() + 90
        while monotonic() < until:
            try:
                urllib.request.urlopen(f"{self.address}/api/session", timeout=5).close()
            except urllib.error.HTTPError:
                return
            except OSError:  # It does not listen yet, or not answer yet.
                sleep(0.1)
            else:
                return
        raise AssertionError("Studio did not start")

    def kill(self) -> None:
        """As a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=20)
            self.process = None
