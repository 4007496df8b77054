"""Without MLflow, without an address, without a server: one sentence, and work goes on."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from tests.release.card.small_release import entries, facts_of

from corporeal.operations import tracking
from corporeal.operations.tracking import (
    place,
    reach,
    shown,
    track_batch,
    track_release,
    without_secrets,
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MLFLOW_"):
            monkeypatch.delenv(name)


def _installed(monkeypatch: pytest.MonkeyPatch, *, there: bool) -> None:
    monkeypatch.setattr(tracking, "find_spec", lambda _: object() if there else None)


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_without_mlflow_the_install_line_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _installed(monkeypatch, there=False)
    assert not tracking.tracking_available()
    told = track_release(facts_of(tmp_path, entries(2)), {}, {}, "", uri=str(tmp_path / "runs"))
    assert told.run is None
    assert told.experiment == "corporeal/releases/kitchen"
    assert told.warning is not None
    assert "pip install 'corporeal[track]'" in told.warning
    assert not (tmp_path / "runs").exists()


def test_without_an_address_nothing_is_written_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _installed(monkeypatch, there=True)
    monkeypatch.chdir(tmp_path)
    told = track_batch("b1", {})
    assert told.run is None
    assert "$MLFLOW_TRACKING_URI" in str(told.warning)
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_away_is_one_sentence_at_once_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _installed(monkeypatch, there=True)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    address = f"http://me:s3cr3t@127.0.0.1:{_closed_port()}/x?token=t0k3n"
    begin = time.monotonic()
    told = track_batch("b1", {"a": 1.0}, uri=address)
    assert time.monotonic() - begin < 4
    assert told.run is None
    assert told.warning is not None
    assert "b1 is not tracked" in told.warning
    assert "127.0.0.1" in told.warning
    assert "s3cr3t" not in told.warning
    assert "t0k3n" not in told.warning
    assert "\n" not in told.warning
    assert not [name for name in os.environ if name.startswith("MLFLOW_")], "settings are put back"


@pytest.mark.parametrize("address", ["http://host:port/", "http://[::1", "http://me:pw@[x/"])
def test_an_address_that_is_none_is_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    _installed(monkeypatch, there=True)
    told = track_batch("b1", {}, uri=address)
    assert told.warning is not None
    assert "pw" not in told.warning


def test_a_folder_holds_a_database_and_the_files_beside_it(tmp_path: Path) -> None:
    address, files = place(str(tmp_path / "runs"))
    assert address == f"sqlite:///{tmp_path / 'runs' / 'mlflow.db'}"
    assert files == (tmp_path / "runs" / "artifacts").as_uri()
    assert place((tmp_path / "runs").as_uri()) == (address, files)
    assert place(f"sqlite:///{tmp_path / 'x.db'}")[1] == (tmp_path / "artifacts").as_uri()


def test_a_server_keeps_the_files_itself() -> None:
    assert place("https://host/path") == ("https://host/path", None)
    reach("sqlite:///nowhere.db")


def test_an_address_is_shown_without_secrets() -> None:
    address = "https://user:p%40ss@host:5000/path?key=abc"
    assert shown(address) == "https://host:5000/path"
    said = without_secrets(f"cannot get {address}: p@ss p%40ss abc key=abc", address)
    assert "p@ss" not in said
    assert "p%40ss" not in said
    assert "key=abc" not in said
    assert "t0k" not in without_secrets("bad t0k", "https://t0k@host/")
