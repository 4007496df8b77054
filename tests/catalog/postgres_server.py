"""A real PostgreSQL for tests: its own folder, its own port on the loopback, stopped at the end."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_USER = "postgres"
_FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=50"


class NoServerError(Exception):
    """PostgreSQL cannot be started here; the message says why."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server; `admin` is the address of its first database."""

    folder: Path
    port: int

    def url(self, database: str) -> str:
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def fresh(self) -> str:
        """The address of a new, empty database."""
        name = f"test_{secrets.token_hex(6)}"
        self._run(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop(self, url: str) -> None:
        self._run(f'DROP DATABASE IF EXISTS "{url.rsplit("/", 1)[1]}" WITH (FORCE)')

    def _run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server that lives as long as the tests; skips where none is installed."""
    try:
        programs = _programs()
    except NoServerError as error:
        pytest.skip(str(error))
    folder = Path(tempfile.mkdtemp(prefix="corporeal-postgres-"))
    try:
        server = _start(programs, folder)
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            _call(programs / "pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty database that belongs to one test module."""
    url = postgres_server.fresh()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def postgres_fresh(postgres_server: PostgresServer) -> Iterator[Callable[[], str]]:
    """Gives the address of another empty database each time it is called."""
    made: list[str] = []

    def fresh() -> str:
        made.append(postgres_server.fresh())
        return made[-1]

    yield fresh
    for url in made:
        postgres_server.drop(url)


def _programs() -> Path:
    """The folder with `initdb` and `pg_ctl`, the newest version first."""
    pytest.importorskip(
        "psycopg", reason="psycopg is not installed: pip install 'corporeal[server]'"
    )
    on_path = shutil.which("initdb")
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = sorted(versions, key=lambda path: path.parts[-3].zfill(4))
    if on_path is None and not found:
        raise NoServerError("no PostgreSQL server here (Debian: apt install postgresql)")
    return Path(on_path).parent if on_path else found[-1].parent


def _start(programs: Path, folder: Path) -> PostgresServer:
    data = folder / "data"
    if os.geteuid() == 0:
        shutil.chown(folder, _USER, _USER)
    # Sorted as English by itself, so that a test notices where the catalogue relies on it.
    language = ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
    _call(programs / "initdb", "-D", str(data), "-U", _USER, "-A", "trust", "-E", "UTF8",
          "--no-sync", *language)  # fmt: skip
    for attempt in range(3):
        port = _free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} {_FAST}"
        try:
            _call(programs / "pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-w",
                  "-o", options, "start")  # fmt: skip
            return PostgresServer(folder, port)
        except RuntimeError:  # Somebody else may have taken the port in between.
            if attempt == 2:
                raise
    raise AssertionError("not reached")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _call(program: Path, *arguments: str) -> None:
    """Run a program of PostgreSQL, which refuses to be run by root."""
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        other = {"user": _USER, "group": _USER, "extra_groups": []}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        [str(program), *arguments],
        env=clean,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        **other,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{program.name} failed: {done.stderr.strip()}")
