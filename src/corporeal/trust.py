"""What a user lets the files of others do: which hosts they may name, which variables send there.

A workspace may come from a stranger, and its `corporeal.toml` with it. Whatever would connect to
another host for it asks the user once; the answer is kept in a file of the user's own.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from corporeal.errors import CorporealError
from corporeal.files import atomic_write

PREFIX = "CORPOREAL_"
OWN = frozenset(("CORPOREAL_TOKEN", "CORPOREAL_CATALOG", "CORPOREAL_STORE"))
"""Variables of ours that hold what is nobody else's to know."""
Ask = Callable[[tuple[str, ...], str], bool]
"""Whether the user trusts some hosts, which a file names."""
_ASK: ContextVar[Ask | None] = ContextVar("ask", default=None)
_HEAD = "# What files of others may do for you: corporeal trust. Remove a line to end it.\n"


class TrustError(CorporealError):
    """A file of somebody else's asks for what the user has not allowed."""


@dataclass(frozen=True)
class Trust:
    """Hosts such as `https://hooks.lab`, and names of environment variables."""

    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def trust_file() -> Path:
    """Where the user's answers are kept."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "corporeal" / "trust.toml"


def read_trust() -> Trust:
    """What the user has allowed; raises TrustError for a file that says something else."""
    import tomllib

    path = trust_file()
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Trust()
    except (OSError, ValueError) as error:
        raise TrustError(f"{path}: cannot be read ({error}). Mend it, or remove it.") from None
    lists = [values.get(name, []) for name in ("hosts", "variables")]
    if not all(isinstance(each, list) and all(isinstance(x, str) for x in each) for each in lists):
        raise TrustError(f"{path}: expected hosts and variables as lists of texts. Mend it.")
    return Trust(*map(tuple, lists))


def write_trust(trust: Trust) -> None:
    """Keep what the user allows, readable by them alone."""
    lines = [
        f"{name} = [{''.join(f'{chr(10)}  {json.dumps(each)},' for each in values)}\n]\n"
        for name, values in (("hosts", trust.hosts), ("variables", trust.variables))
    ]
    path = trust_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(path, _HEAD + "".join(lines))
        path.chmod(0o600)
    except OSError as error:
        raise TrustError(f"{path}: cannot be written ({error.strerror or error}).") from None


@contextmanager
def asking(ask: Ask) -> Iterator[None]:
    """Within the block, whoever can answer for the user is asked; elsewhere the answer is no."""
    before = _ASK.set(ask)
    try:
        yield
    finally:
        _ASK.reset(before)


def require_trust(hosts: Iterable[str], where: str) -> None:
    """Raise TrustError unless the user trusts these hosts, now or from before."""
    wanted = tuple(dict.fromkeys(hosts))
    if not wanted:
        return
    known = read_trust()
    missing = tuple(host for host in wanted if host not in known.hosts)
    if not missing:
        return
    ask = _ASK.get()
    if ask is None or not ask(missing, where):
        raise TrustError(
            f"{where} would have you use {', '.join(missing)}, which you have not trusted yet. "
            "If you do, run the command once as: corporeal --trust COMMAND."
        )
    write_trust(Trust((*known.hosts, *missing), known.variables))


def may_send(variable: str) -> bool:
    """Whether a file may have an environment variable sent: ours by name, or listed by the user."""
    if variable.startswith(PREFIX) and variable not in OWN:
        return True
    return variable in read_trust().variables


def is_here(host: str) -> bool:
    """Whether a host is this machine: by name, by number, or a socket in its file system."""
    if host in ("", "localhost") or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
