"""The catalogue's tables: made, brought up to date, compared with what this program needs."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, select

from corporeal.catalog.audit import GENESIS
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.tables import HEAD, METADATA

_FOLDER = Path(__file__).parents[1]
# Alembic tells revisions where to work through a variable of the process.
_ONE_AT_A_TIME = threading.Lock()


def upgrade(database: Database) -> str:
    """Make the tables, or bring them to this program's revision, in one transaction; its name.

    Two programs that do it at once take turns; the second finds nothing left to do.
    """
    with _ONE_AT_A_TIME, database.write() as connection:
        found = _revision(connection)
        needed = latest_revision()
        if found != needed:
            _refuse_newer(found)
            _run(connection)
        if connection.execute(select(HEAD.c.id).where(HEAD.c.id == 1)).first() is None:
            connection.execute(insert(HEAD).values(id=1, number=0, hash=GENESIS))
    return needed


def require_current(database: Database) -> None:
    """Raise CatalogError unless the catalogue is of the revision that this program needs."""
    found = current_revision(database)
    needed = latest_revision()
    if found == needed:
        return
    if found is None:
        raise CatalogError(
            f"catalogue {database.shown} is empty; expected revision {needed}. "
            "Make its tables with: corporeal migrate."
        )
    _refuse_newer(found)
    raise CatalogError(
        f"the catalogue is of revision {found}; this Corporeal needs {needed}. "
        "Bring it up to date with: corporeal migrate."
    )


def current_revision(database: Database) -> str | None:
    """The revision of the catalogue's tables; None while there are none."""
    with database.read() as connection:
        return _revision(connection)


def latest_revision() -> str:
    """The revision that this program needs."""
    head = _scripts().get_current_head()
    if head is None:
        raise CatalogError(f"no revisions in {_FOLDER / 'versions'}. Install Corporeal again.")
    return head


def _refuse_newer(found: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if found is not None and found not in known:
        raise CatalogError(
            f"the catalogue is of revision {found}; this Corporeal needs {latest_revision()}, "
            "which is older. Install the newer Corporeal that made it."
        )


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(_FOLDER), version_locations=[str(_FOLDER / "versions")])


def _run(connection: Connection) -> None:
    """Every revision that is missing, on a connection that is in a transaction."""
    scripts = _scripts()

    def steps(found: Any, _: MigrationContext) -> Any:
        return scripts._upgrade_revs("head", found)

    with EnvironmentContext(Config(), scripts, fn=steps) as environment:
        environment.configure(connection=connection, target_metadata=METADATA)
        environment.run_migrations()
