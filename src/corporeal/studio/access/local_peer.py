"""Whose program is at the other end of a connection within this machine.

Loopback is open to every user of a machine. Where nobody logs in, only programs of one's own user
are let in, as files are. Linux tells whose a connection is; elsewhere nobody does.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.requests import HTTPConnection

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
OTHER_USER = (
    "This program belongs to another user of this machine, and nobody has to log in. "
    "Ask that user for an account of yours, or start a program of your own."
)
_STATE = "local_peer"
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9
Address = tuple[str, int]
Given = tuple[str, int | None]


@dataclass(frozen=True)
class LocalPeer:
    """One connection: the address of its client and the server's own."""

    client: Address
    server: Address
    tables: tuple[Path, ...] = TABLES

    @cached_property
    def is_other_user(self) -> bool:
        """Whether it is known to be neither of our user nor of the superuser, who reads all."""
        rows = list(_rows(self.tables))
        ours, theirs = _written(self.server), _written(self.client)
        if not any(row[_LOCAL] in ours and row[_REMOTE] in theirs for row in rows):
            return False  # The table is not of this machine's connections.
        for row in rows:
            if row[_LOCAL] in theirs and row[_REMOTE] in ours and row[_INODE] != "0":
                return int(row[_UID]) not in _own_users()
        return True  # Gone already, and nobody's any more: it needs no answer.


def noted(state: Mapping[str, Any], client: Given | None, server: Given | None) -> dict[str, Any]:
    """What is known of a connection, and who is at its end; asked for when somebody wants it."""
    if client is None or server is None or client[1] is None or server[1] is None:
        return dict(state)
    if not ipaddress.ip_address(client[0].partition("%")[0]).is_loopback:
        return dict(state)
    return {**state, _STATE: LocalPeer((client[0], client[1]), (server[0], server[1]))}


def is_other_user(connection: HTTPConnection) -> bool:
    """Whether a request comes from a program of another user of this machine."""
    peer = connection.scope.get("state", {}).get(_STATE)
    return isinstance(peer, LocalPeer) and peer.is_other_user


def _own_users() -> set[int]:
    own = {0, os.geteuid()}
    asked_by = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and asked_by.isdigit():
        own.add(int(asked_by))
    return own


def _rows(tables: tuple[Path, ...]) -> list[list[str]]:
    rows: list[list[str]] = []
    for table in tables:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        rows += [words for line in lines if len(words := line.split()) > _INODE]
    return rows


def _written(address: Address) -> set[str]:
    """An address as the tables have it, as one of IPv4 and as one of IPv6."""
    place = ipaddress.ip_address(address[0].partition("%")[0])
    forms = {place.packed}
    if isinstance(place, ipaddress.IPv4Address):
        forms.add(bytes(10) + b"\xff\xff" + place.packed)
    elif place.ipv4_mapped is not None:
        forms.add(place.ipv4_mapped.packed)
    return {f"{_words(packed)}:{address[1]:04X}" for packed in forms}


def _words(packed: bytes) -> str:
    """Each four bytes as the number that this machine takes them for."""
    parts = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(part, sys.byteorder):08X}" for part in parts)
