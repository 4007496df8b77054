"""Programs of other users of the machine do not get in where nobody has to log in."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from starlette.requests import HTTPConnection
from tests.studio.test_connections import PATIENT, ask, serving
from tests.studio.waiting import SECONDS

from corporeal.catalog.accounts import has_accounts
from corporeal.catalog.workspace import Workspace
from corporeal.studio.access.local_peer import LocalPeer, is_other_user, noted
from corporeal.studio.settings import StudioSettings

SERVER, CLIENT = ("127.0.0.1", 0x2001), ("127.0.0.1", 0x3001)
NOBODY = 65534
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout"
ASK = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


def written(address: tuple[str, int], *, mapped: bool = False) -> str:
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    front = "0" * 16 + f"{int.from_bytes(bytes([0, 0, 255, 255]), sys.byteorder):08X}"
    return f"{front if mapped else ''}{number:08X}:{address[1]:04X}"


def line(local: str, remote: str, uid: int, inode: int) -> str:
    return f"   0: {local} {remote} 01 00000000:00000000 00:00000000 00000000 {uid} 0 {inode} 1 0"


def table_of(folder: Path, *lines: str) -> tuple[Path, ...]:
    path = folder / "tcp"
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return (path,)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_connection_is_of_the_user_whose_socket_it_is(tmp_path: Path, mapped: bool) -> None:
    server, client = written(SERVER), written(CLIENT, mapped=mapped)
    ours = line(server, written(CLIENT), os.geteuid(), 7)
    for uid, is_other in ((os.geteuid(), False), (0, False), (os.geteuid() + 4321, True)):
        theirs = line(client, written(SERVER, mapped=mapped), uid, 8)
        tables = table_of(tmp_path, ours, theirs)
        assert LocalPeer(CLIENT, SERVER, tables).is_other_user is is_other


def test_whoever_has_gone_already_is_not_let_in(tmp_path: Path) -> None:
    ours = line(written(SERVER), written(CLIENT), os.geteuid(), 7)
    orphan = line(written(CLIENT), written(SERVER), 0, 0)
    assert LocalPeer(CLIENT, SERVER, table_of(tmp_path, ours)).is_other_user
    assert LocalPeer(CLIENT, SERVER, table_of(tmp_path, ours, orphan)).is_other_user


def test_where_the_system_tells_nothing_nobody_is_kept_out(tmp_path: Path) -> None:
    assert not LocalPeer(CLIENT, SERVER, (tmp_path / "absent",)).is_other_user
    assert not LocalPeer(CLIENT, SERVER, table_of(tmp_path)).is_other_user


def test_only_connections_of_this_machine_are_looked_at() -> None:
    assert "local_peer" in noted({}, CLIENT, SERVER)
    assert "local_peer" in noted({}, ("::1", 5), ("::1", 6))
    assert "local_peer" not in noted({}, ("192.0.2.7", 5), SERVER)
    assert "local_peer" not in noted({}, None, None)


def test_ones_own_programs_are_let_in_by_a_real_server(workspace: Workspace) -> None:
    with serving(workspace, PATIENT) as (port, _):
        assert ask(port) == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can be somebody else")
@pytest.mark.parametrize("header", ["X-Studio", "X-Forwarded-For"])
def test_another_user_of_the_machine_is_refused_by_a_real_server(
    workspace: Workspace, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    with workspace.database.read() as connection:
        assert not has_accounts(connection)
    with serving(workspace, PATIENT, StudioSettings()) as (port, _):
        address = f"http://127.0.0.1:{port}/api/session"
        asked = ASK.replace("urlopen(sys.argv[1]", f"urlopen(urllib.request.Request(sys.argv[1], "
                            f"headers={{'{header}': '127.0.0.1'}})")  # fmt: skip
        try:
            done = subprocess.run(
                ["/usr/bin/env", "python3", "-S", "-c", asked, address], user=NOBODY, cwd="/",
                env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
        except PermissionError:
            pytest.skip("no Python that another user may run")
        if done.returncode:
            pytest.skip(f"no Python that another user may run: {done.stderr[-200:]}")
    assert done.stdout.startswith("401"), done.stdout
    assert "another user" in done.stdout


def test_without_accounts_nobody_gets_in_from_elsewhere_through_a_proxy(
    workspace: Workspace,
) -> None:
    with serving(workspace, PATIENT) as (port, _):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/session", headers={"X-Forwarded-For": "192.0.2.7"}
        )
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(request, timeout=SECONDS)
        assert "has no accounts" in refused.value.read().decode()


def test_a_request_without_a_note_is_nobody_elses() -> None:
    assert not is_other_user(HTTPConnection({"type": "http", "headers": []}))
