"""A workspace: one folder with `corporeal.toml`, which names the catalogue and the object store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from corporeal.catalog.audit import note_heads, notes_folder
from corporeal.catalog.database import CatalogError, Database, file_elsewhere, hosts_of, masked
from corporeal.catalog.permission import Grants, read_grants
from corporeal.catalog.store.store import Store, host_of_store, open_store
from corporeal.catalog.workspace.migration import require_current, upgrade
from corporeal.files import atomic_write
from corporeal.schema.markup import read_markup
from corporeal.trust import asking, require_trust

FILE = "corporeal.toml"
VARIABLE = "CORPOREAL_WORKSPACE"
CATALOG, STORE = "sqlite:///catalog.db", "objects"
CATALOG_VARIABLE, STORE_VARIABLE = "CORPOREAL_CATALOG", "CORPOREAL_STORE"
"""Addresses in the environment; they come before those in the file."""
_SECTIONS = {"workspace": ("name",), "catalog": ("url",)}
_LONGEST_NAME = 120
_SECRET = re.compile(r"secret|password|passwd|token|access_?key", re.IGNORECASE)
_OPTION = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Workspace:
    """An open workspace; use it with `with`."""

    root: Path
    name: str
    database: Database
    store: Store
    notes: Store
    """The part of the store where the heads of the audit log are noted."""
    grants: Grants = field(default_factory=dict)
    """What roles may do here besides what they may everywhere."""

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_workspace(
    root: Path,
    *,
    catalog: str = CATALOG,
    store: str = STORE,
    options: dict[str, Any] | None = None,
) -> Workspace:
    """Make a workspace in a folder that has none, and open it.

    Raises CatalogError for an address with a password in it, which would end up in the file.
    """
    path = root / FILE
    if path.exists():
        raise CatalogError(f"{root} is a workspace already ({FILE} is there). Open it as it is.")
    given = {"url": store, **(options or {})}
    _refuse_secrets({"catalog": {"url": catalog}, "store": given}, FILE)
    content = _content(root.resolve().name, catalog, given)
    try:
        # For its owner alone: recordings show people and their rooms. A folder that is there
        # already stays as it is; what is made in it is private all the same.
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _open_parts(root, catalog, given, is_new=True)[0].close()
        # Last of all, and whole: a folder is a workspace when everything in it is ready.
        atomic_write(path, content)
    except OSError as error:
        raise CatalogError(f"{root}: cannot be made ({error.strerror or error}).") from None
    with asking(lambda _, __: True):  # They were named just now, by whoever makes it.
        return open_workspace(root)


def open_workspace(root: Path | None = None) -> Workspace:
    """The workspace in a folder: the one given, $CORPOREAL_WORKSPACE, or the nearest one above.

    The addresses in $CORPOREAL_CATALOG and $CORPOREAL_STORE come before those in the file.
    """
    found, catalog, given = _addresses(root)
    name = _name(found)
    grants = read_grants(read_settings(found).get("roles", {}), str(found / FILE))
    database, store = _open_parts(found, catalog, given, is_new=False)
    notes = _open_store(found, {**given, "url": f"{given['url']}/{notes_folder(name)}"})
    note_heads(database, notes)
    return Workspace(found, name, database, store, notes, grants)


def is_here() -> bool:
    """Whether $CORPOREAL_WORKSPACE, this folder or one above it is a workspace."""
    try:
        _find(None)
    except CatalogError:
        return False
    return True


def open_database(root: Path | None = None) -> Database:
    """The catalogue of a workspace, of whatever revision it is."""
    found, catalog, _ = _addresses(root)
    return Database(catalog, root=found)


def read_settings(root: Path) -> dict[str, Any]:
    """`corporeal.toml` of a workspace, checked: no secrets, and sections where they belong."""
    path = root / FILE
    raw = read_markup(path).values
    if not isinstance(raw, dict):
        raise CatalogError(f"{path}: got no sections; expected [catalog] and [store].")
    for section in ("workspace", "catalog", "store"):
        values = raw.get(section, {})
        if not isinstance(values, dict):
            raise CatalogError(f"{path}: {section}, got a value; expected a section [{section}].")
        for key, value in values.items():
            known = _SECTIONS.get(section)
            if known is not None and key not in known:
                raise CatalogError(f"{path}: {section}.{key}; expected one of: {known[0]}.")
            if not isinstance(value, str):
                raise CatalogError(f"{path}: {section}.{key}, got {value!r:.80}; expected text.")
    _refuse_secrets(raw, str(path))
    return raw


def _addresses(root: Path | None) -> tuple[Path, str, dict[str, Any]]:
    """The folder of a workspace, the address of its catalogue, and its store with its options."""
    found = _find(root)
    raw = read_settings(found)
    catalog = os.environ.get(CATALOG_VARIABLE) or raw.get("catalog", {}).get("url", CATALOG)
    given = {"url": STORE, **raw.get("store", {})}
    if elsewhere := os.environ.get(STORE_VARIABLE):
        # Options belong to the store they were written for.
        kept = given if _scheme(elsewhere) == _scheme(given["url"]) else {}
        given = {**kept, "url": elsewhere}
    _ask_for_hosts(found, None if os.environ.get(CATALOG_VARIABLE) else catalog, given)
    return found, catalog, given


def _ask_for_hosts(root: Path, catalog: str | None, given: Mapping[str, Any]) -> None:
    """Raise TrustError for hosts, and folders elsewhere, that the file names and nobody trusts.

    A file of somebody else's could have what is taken in put where others read it, or have a
    catalogue of the user's written to.
    """
    hosts = [] if catalog is None else [*hosts_of(catalog), *file_elsewhere(catalog, root)]
    is_users = bool(os.environ.get(STORE_VARIABLE)) and "endpoint" not in given
    url = str(given["url"])
    if not is_users and (host := host_of_store(url, given)):
        hosts.append(host)
    if not is_users and _scheme(url) in ("", "file"):
        folder = (root / url.removeprefix("file://")).resolve()
        hosts += [] if folder.is_relative_to(root.resolve()) else [str(folder)]
    require_trust(hosts, str(root / FILE))


def _open_parts(
    root: Path, catalog: str, given: Mapping[str, Any], *, is_new: bool
) -> tuple[Database, Store]:
    store = _open_store(root, given)
    database = Database(catalog, root=root)
    try:
        if is_new and database.is_sqlite:
            Path(str(database.url.database)).touch(mode=0o600)
        if is_new:
            upgrade(database)
        require_current(database)
    except BaseException:  # Nobody else can free it when there is no workspace.
        database.close()
        raise
    return database, store


def _open_store(root: Path, given: Mapping[str, Any]) -> Store:
    options = {name: value for name, value in given.items() if name != "url"}
    return open_store(_below(str(given["url"])), root=root, options=options)


def _name(root: Path) -> str:
    name = str(read_settings(root).get("workspace", {}).get("name", root.name))
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise CatalogError(
            f"{root / FILE}: workspace.name, got {name[:40]!r}; expected up to {_LONGEST_NAME} "
            "letters of plain text."
        )
    return name


def _find(root: Path | None) -> Path:
    if root is None and os.environ.get(VARIABLE):
        root = Path(os.environ[VARIABLE])
    if root is not None:
        if not (root / FILE).is_file():
            raise CatalogError(f"{root} is no workspace. Make one with: corporeal init {root}.")
        return root.resolve()
    here = Path.cwd()
    for place in (here, *here.parents):
        if (place / FILE).is_file():
            return place
    raise CatalogError("no workspace here or above. Make one with: corporeal init.")


def _scheme(url: str) -> str:
    return url.partition("://")[0] if "://" in url else ""


def _below(url: str) -> str:
    """The address of a store; a relative folder may not climb out of the workspace."""
    folder = Path(url)
    if "://" not in url and not folder.is_absolute() and ".." in folder.parts:
        raise CatalogError(
            f"store, got {url!r}; expected a folder in the workspace, or its whole path."
        )
    return url


def _refuse_secrets(raw: Mapping[str, Any], where: str) -> None:
    """Raise CatalogError for a password in what is, or is to be, in the file."""
    for section in ("catalog", "store"):
        url = str(raw.get(section, {}).get("url", ""))
        if masked(url) != url:
            raise CatalogError(
                f"{where}: {section}.url, got an address with a password; expected none. Use "
                f"PGPASSWORD, a password file or a service file, or put the address into "
                f"${CATALOG_VARIABLE if section == 'catalog' else STORE_VARIABLE}."
            )
        for option in raw.get(section, {}):
            if _SECRET.search(option):
                raise CatalogError(
                    f"{where}: {section}.{option}; expected no secrets. Put them into the "
                    "environment."
                )


def _content(name: str, catalog: str, store: Mapping[str, Any]) -> str:
    lines = [
        "# A workspace of Corporeal. Secrets belong into the environment, not here.",
        "",
        "[workspace]",
        f"name = {_text(name)}",
        "",
        "[catalog]",
        f"url = {_text(catalog)}",
        "",
        "[store]",
    ]
    for option, value in store.items():
        if not _OPTION.fullmatch(option):
            raise CatalogError(f"option of the store, got {option!r}; expected a plain name.")
        lines.append(f"{option} = {_text(str(value))}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """A string as TOML has it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    if not value.isascii() and any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        raise CatalogError(f"{value!r} is no text; expected Unicode.")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in escaped):
        raise CatalogError(f"{value!r} has a control character; expected plain text.")
    return f'"{escaped}"'
