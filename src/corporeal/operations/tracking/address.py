"""The address of a tracking server: a server, a database or a folder; shown without secrets."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

_PROBE_S = 5.0


def place(given: str) -> tuple[str, str | None]:
    """The address that MLflow wants, and where files go if no server keeps them.

    MLflow no longer keeps runs in a plain folder: in a folder lies a SQLite file, and the files
    beside it, also where MLflow would put them into the folder that one happens to be in.
    """
    if "://" not in given or given.startswith("file:"):
        folder = Path(unquote(urlsplit(given).path) if given.startswith("file:") else given)
        folder.mkdir(parents=True, exist_ok=True)
        given = f"sqlite:///{folder.resolve() / 'mlflow.db'}"
    if given.startswith("sqlite:///"):
        beside = Path(given.removeprefix("sqlite:///")).resolve().parent / "artifacts"
        return given, beside.as_uri()
    return given, None


def reach(given: str) -> None:
    """Raise OSError at once when nobody listens, where MLflow would try for minutes."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return
    behind_proxy = parts.scheme in getproxies() and not proxy_bypass(parts.hostname)
    if not behind_proxy:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=_PROBE_S).close()


def shown(given: str) -> str:
    """The address as people may see it: no password, no token."""
    try:
        parts = urlsplit(given)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    if not parts.hostname:
        return given.partition("?")[0]
    return urlunsplit((parts.scheme, f"{parts.hostname}{port}", parts.path, "", ""))


def without_secrets(text: str, given: str) -> str:
    """What was said about an address, without what only its owner may know."""
    text = text.replace(given, shown(given))
    # Not by its parts alone: an address that cannot be read has secrets too.
    _, _, rest = given.partition("://")
    user, at, _ = rest.rpartition("@")
    # A name without a password is often a token.
    hidden = [user.rpartition(":")[2] if at else "", given.partition("?")[2]]
    for secret in hidden:
        for form in {secret, unquote(secret)} - {""}:
            text = text.replace(form, "***")
    return text
