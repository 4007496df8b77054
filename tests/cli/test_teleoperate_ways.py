"""Where a page listens on every network, its addresses are those that other devices reach."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from corporeal.cli.commands import teleoperate
from corporeal.cli.take_recorder import TeleoperationTerms
from corporeal.errors import CorporealError
from corporeal.studio import settings
from corporeal.studio.settings import StudioSettings, machine_addresses


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on two networks, whose own name means itself alone."""
    monkeypatch.setattr(settings, "_ways_out", lambda: ["10.1.2.3", "fd00::7"])
    monkeypatch.setattr(
        settings, "_interfaces", lambda: ["127.0.0.1", "10.1.2.3", "192.168.7.1", "169.254.3.4"]
    )
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [(2, 1, 6, "", ("127.0.1.1", 0))])
    monkeypatch.setattr(socket, "gethostname", lambda: "bench.lab")


@pytest.mark.usefixtures("networks")
def test_only_addresses_that_others_reach_are_told_the_usual_way_first() -> None:
    assert machine_addresses() == ("10.1.2.3", "fd00::7", "192.168.7.1")


@pytest.mark.usefixtures("networks")
def test_the_certificate_and_the_page_name_every_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    terms = TeleoperationTerms("pick_place", StudioSettings(host="0.0.0.0", port=0))
    opened = teleoperate._open_to_others(terms)
    assert opened.settings.names == ("10.1.2.3", "192.168.7.1", "bench.local")
    assert opened.certificate is not None
    shown = subprocess.run(
        ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", opened.certificate[0]],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in ("IP Address:10.1.2.3", "IP Address:192.168.7.1", "DNS:bench.local"):
        assert name in shown


def test_a_machine_on_no_network_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teleoperate, "machine_addresses", lambda: ())
    with pytest.raises(CorporealError, match="without an address that others reach"):
        teleoperate._names("0.0.0.0")


def test_an_address_can_be_scanned() -> None:
    drawn = teleoperate._code("https://10.1.2.3:8710/?token=abcdefghijklmnopqrstuv")
    rows = drawn.splitlines()
    assert 15 < len(rows) < 25
    assert set(drawn) <= set(" ▀▄█\n")
