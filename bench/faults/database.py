"""A PostgreSQL that is stopped hard while episodes are taken in, and comes back.

Run: python -m bench.faults --subject database --count 100    # needs initdb and pg_ctl
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.ingestion import ingest_in_process, problems_after, write_episodes
from bench.faults.outcome import Outcome, Subject
from corporeal.catalog.workspace import make_workspace

_USER = "postgres"
_WAIT_S = 20.0


@dataclass(frozen=True)
class Server:
    """A PostgreSQL with a folder and a port of its own, on the loopback."""

    programs: Path
    folder: Path
    port: int

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Return when it answers; what a kill left to be repaired is repaired first."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder}"
        until = time.monotonic() + _WAIT_S
        while True:
            try:
                _call(self.programs / "pg_ctl", "-D", str(self.folder / "data"), "-w", "-l",
                      str(self.folder / "log"), "-o", options, "start")  # fmt: skip
                return
            except subprocess.CalledProcessError:  # Children of a killed one are still ending.
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def stop(self) -> None:
        """At once, without a word to whoever is connected."""
        _call(self.programs / "pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def kill(self) -> None:
        """kill -9 of its first process; the others notice."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def execute(self, statement: str) -> None:
        """Run a statement."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Stops and kills by turns, each with a database of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = write_episodes(folder / "episodes")
    server = make_server(folder / "server")
    server.start()
    try:
        server.execute("CREATE DATABASE template")
        make_workspace(folder / "template", catalog=server.url("template")).close()
        for number in range(seed, seed + count):
            rng = np.random.default_rng([70, number])
            yield _stop(server, folder, paths, rng, is_kill=number % 2 == 0)
    finally:
        server.stop()
        shutil.rmtree(folder)


def _stop(
    server: Server, folder: Path, paths: list[Path], rng: np.random.Generator, *, is_kill: bool
) -> Outcome:
    server.execute("CREATE DATABASE lab TEMPLATE template")
    root = folder / "lab"
    shutil.copytree(folder / "template", root)
    file = root / "corporeal.toml"
    file.write_text(file.read_text("utf-8").replace("/template", "/lab"), "utf-8")
    least, pause_s = int(rng.integers(0, 4)), float(rng.uniform(0, 0.1))

    def disturb(acknowledged: Callable[[], int]) -> None:
        until = time.monotonic() + _WAIT_S
        while acknowledged() < 2 * least and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(pause_s)
        if is_kill:
            server.kill()
        else:
            server.stop()

    made = ingest_in_process(root, paths, disturb)
    server.start()
    problems = problems_after(root, paths, *made)
    server.execute("DROP DATABASE lab WITH (FORCE)")
    shutil.rmtree(root)
    how = "kill -9" if is_kill else "stopped at once"
    told = f"{made[0]} of {len(paths)} were acknowledged; {made[2] or 'it was done by then'}"
    return Outcome(f"PostgreSQL {how} while episodes are taken in", not problems, None,
                   "; ".join([*problems, told]))  # fmt: skip


def make_server(folder: Path) -> Server:
    """A server in a folder that is not there yet; it does not run."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if on_path is None and not found:
        raise SystemExit("no PostgreSQL server here (Debian: apt install postgresql)")
    programs = Path(on_path).parent if on_path else found[-1].parent
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, _USER, _USER)
        for above in folder.parents[:3]:
            if above.stat().st_uid == os.geteuid() and above != Path("/tmp"):
                above.chmod(0o711)
    _call(programs / "initdb", "-D", str(folder / "data"), "-U", _USER, "-A", "trust", "-E", "UTF8",
          "--locale=C.UTF-8")  # fmt: skip
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return Server(programs, folder, int(taken.getsockname()[1]))


def _call(program: Path, *arguments: str) -> None:
    """Run a program of PostgreSQL, which refuses to be run by root."""
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        other = {"user": _USER, "group": _USER, "extra_groups": []}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    subprocess.run([str(program), *arguments], env=clean, cwd="/", check=True, **other,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)  # fmt: skip


SUBJECT = Subject("database", run)
