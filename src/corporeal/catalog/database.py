"""The catalogue's database: SQLite in a file, or PostgreSQL; writers take turns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)

from corporeal.errors import CorporealError, MissingExtraError
from corporeal.trust import is_here

_WAIT_S = 30
# The lock that writers of one PostgreSQL database take in turn; any number that nobody else uses.
_TURN = 0x436F72706F7265
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-65536")
_LOGIN = re.compile(r"(//[^/?#@:]*:)[^/?#]*@")
_PARAMETER = re.compile(r"([?&][a-z]*pass(?:word|wd)=)(?!\*{3})[^&]+", re.IGNORECASE)


_GREW = "log grew"


class CatalogError(CorporealError):
    """The catalogue cannot be reached, or refuses what was asked."""


class UnreachableError(CatalogError):
    """The catalogue or the store does not answer now; what was asked may be fine."""


class Database:
    """An open database; use it with `with`, or call `close`."""

    def __init__(self, url: str, *, root: Path | None = None) -> None:
        self.url = _resolved(url, root)
        self.on_events: Callable[[int, int], None] = lambda *_: None
        """Hears after a transaction from which to which number of an event the log grew."""
        try:
            self.engine: Engine = _engine(self.url)
        except (ModuleNotFoundError, NoSuchModuleError):
            raise MissingExtraError("a catalogue in PostgreSQL", "server") from None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading: one moment of the catalogue, and nothing done in it stays."""
        with self._explained():
            self._require_file()
            with self.engine.connect() as connection, self._reading(connection):
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: all of it or nothing. Writers take turns; one waits up to 30 seconds."""
        with self._writing() as connection:
            connection.info.pop(_GREW, None)
            yield connection
            grew = connection.info.pop(_GREW, None)
        if grew is not None:
            self.on_events(*grew)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._explained(), self.engine.connect() as connection:
            if self.is_sqlite:
                # Taken at once: a lock that is asked for in the middle cannot be waited for.
                with _sqlite_transaction(connection, "BEGIN IMMEDIATE", "COMMIT"):
                    yield connection
            else:
                with connection.begin():
                    connection.execute(text(f"SET LOCAL lock_timeout = '{_WAIT_S}s'"))
                    connection.execute(select(func.pg_advisory_xact_lock(_TURN)))
                    yield connection

    @contextmanager
    def _reading(self, connection: Connection) -> Iterator[None]:
        if self.is_sqlite:
            with _sqlite_transaction(connection, "BEGIN", "ROLLBACK"):
                yield
        else:
            connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
            yield

    def _require_file(self) -> None:
        """SQLite makes a file that is missing, which hides a wrong address."""
        if self.is_sqlite and not Path(str(self.url.database)).is_file():
            raise UnreachableError(
                f"catalogue {self.url.database} does not exist. Bring the file back, or make a "
                "workspace with: corporeal init."
            )

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What a driver says in pages, in one sentence and without a password."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            reason = str(cause).strip().splitlines()[0]
            kind = UnreachableError if isinstance(error, OperationalError) else CatalogError
            raise kind(f"catalogue {self.shown}: {reason}.") from error

    @property
    def shown(self) -> str:
        """The address as people may see it: no password."""
        return self.url.render_as_string(hide_password=True)


@contextmanager
def _sqlite_transaction(connection: Connection, begin: str, end: str) -> Iterator[None]:
    connection.exec_driver_sql(begin)
    try:
        yield
    except BaseException:  # Whatever it was, half a transaction may not stay.
        # A full disk has ended it already; a second end would hide why.
        if getattr(connection.connection, "in_transaction", False):
            connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql(end)


def note_write(connection: Connection, before: int, last: int) -> None:
    """Remember until the transaction ends that the log grew behind event `before` to `last`."""
    begin, _ = connection.info.get(_GREW, (before, last))
    connection.info[_GREW] = begin, last


def masked(url: str) -> str:
    """An address as people may see it, whatever is wrong with it: no password."""
    shown = _LOGIN.sub(r"\1***@", url)
    return _PARAMETER.sub(r"\1***", shown)


def hosts_of(url: str) -> list[str]:
    """The hosts elsewhere that an address of a catalogue names; raises as `Database` does."""
    made = _resolved(url, None)
    if made.get_backend_name() == "sqlite":
        return []
    given = [made.host or "", *(made.query.get(name, "") for name in ("host", "hostaddr"))]
    lists = [[each] if isinstance(each, str) else each for each in given]
    names = [name for each in lists for text in each for name in text.split(",")]
    port = f":{made.port}" if made.port else ""
    return [f"postgresql://{name}{port}" for name in names if not is_here(name.partition(":")[0])]


def file_elsewhere(url: str, root: Path) -> list[str]:
    """The file of an SQLite catalogue, where that is not below the workspace, links followed."""
    made = _resolved(url, root)
    if made.get_backend_name() != "sqlite":
        return []
    file = Path(str(made.database)).resolve()
    return [] if file.is_relative_to(root.resolve()) else [str(file)]


def _resolved(url: str, root: Path | None) -> URL:
    """The address with a relative SQLite file below the workspace."""
    wrong = CatalogError(
        f"catalogue, got {masked(url)!r}; expected sqlite:///file or postgresql://user@host/name."
    )
    try:
        made = make_url(url)
        backend = made.get_backend_name()
    except (ArgumentError, ValueError):
        raise wrong from None
    if backend == "postgresql":
        if _PARAMETER.search(url):
            raise CatalogError(
                "catalogue, got an address with a password behind the question mark; expected "
                "none. Use PGPASSWORD or a service file."
            )
        return made.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or not made.database or made.host or made.query:
        raise wrong
    path = Path(made.database)
    # Names such as :memory: and file: mean something else than a file to SQLite.
    if ":" in path.parts[0] or (not path.is_absolute() and ".." in path.parts):
        raise wrong
    if root is not None and not path.is_absolute():
        made = made.set(database=str(root / path))
    return made


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": _WAIT_S}, isolation_level="AUTOCOMMIT")

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        # Readers do not wait for the writer; a power cut loses no transaction that was told of.
        for line in _PRAGMAS:
            cursor.execute(f"PRAGMA {line}")
        cursor.close()

    return engine


def json_value(value: Any, where: str) -> Any:
    """A value as JSON gives it back: lists, text as keys, and nothing for what is not finite."""
    if isinstance(value, str):
        return check_text(value, where)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {check_text(str(key), where): json_value(each, where) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each, where) for each in value]
    raise CatalogError(f"{where}, got {type(value).__name__}; expected what JSON can hold.")


def check_text(value: str, where: str) -> str:
    """The text itself; raises CatalogError for what is not Unicode or has a zero byte."""
    if "\0" in value or not (value.isascii() or _is_unicode(value)):
        raise CatalogError(f"{where}, got {value[:80]!r}; expected text without zero bytes.")
    return value


def _is_unicode(value: str) -> bool:
    """Whether every letter is one; half of a pair is none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
