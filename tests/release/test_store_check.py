"""The whole store is read, and what is damaged is named with what it is part of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from corporeal.catalog.store import StoreError
from corporeal.catalog.workspace import Workspace
from corporeal.cli.program import program
from corporeal.release import create_release
from corporeal.release.lineage import check_store
from corporeal.release.reading import find_release, load_release

Recorded = Callable[..., list[str]]


def _flip(workspace: Workspace, digest: str) -> Path:
    path = workspace.store.path(digest)
    assert path is not None
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)
    return path


def test_a_whole_store_is_read_to_its_end(plain: Workspace, recorded: Recorded) -> None:
    recorded(plain, 2)
    create_release(plain, "waves", who="lead")
    read: list[str] = []
    report = check_store(plain, on_object=read.append)
    assert not report.damaged
    assert report.following is None
    assert read == sorted(plain.store.digests())
    assert report.checked == report.total == len(read)


def test_changed_and_lost_objects_are_named_with_what_they_are_part_of(
    plain: Workspace, recorded: Recorded
) -> None:
    recorded(plain, 3)
    create_release(plain, "waves", who="lead")
    changed, lost, _ = load_release(plain, "waves").episodes
    manifest = find_release(plain, "waves").manifest
    _flip(plain, changed.hash)
    plain.store.erase(lost.hash)
    _flip(plain, manifest)
    by_digest = {each.digest: each for each in check_store(plain).damaged}
    assert by_digest.keys() == {changed.hash, lost.hash, manifest}
    assert by_digest[changed.hash].use.episode == changed.id
    assert by_digest[changed.hash].use.releases == ("waves@1.0.0",)
    assert "do not match" in by_digest[changed.hash].reason
    assert "corporeal ingest" in by_digest[changed.hash].remedy
    assert "not in the store" in by_digest[lost.hash].reason
    assert by_digest[manifest].use.kind == "manifest"
    assert "backup" in by_digest[manifest].remedy


def test_an_interrupted_run_says_where_to_go_on(plain: Workspace, recorded: Recorded) -> None:
    recorded(plain, 3)
    digests = sorted(plain.store.digests())

    def interrupt(digest: str) -> None:
        if digest == digests[0]:
            raise KeyboardInterrupt

    first = check_store(plain, on_object=interrupt)
    assert (first.checked, first.following) == (1, digests[1])
    second = check_store(plain, start=first.following)
    assert second.checked == len(digests) - 1
    assert second.following is None
    with pytest.raises(StoreError, match="expected sha256: and 64 hex digits"):
        check_store(plain, start="yesterday")


def test_the_command_exits_by_what_it_found(plain: Workspace, recorded: Recorded) -> None:
    recorded(plain, 1)
    asked = ["store", "verify", "--workspace", str(plain.root)]
    assert CliRunner().invoke(program(), asked).exit_code == 0
    (digest,) = plain.store.digests()
    _flip(plain, digest)
    shown = CliRunner().invoke(program(), asked)
    assert shown.exit_code == 1
    assert "1 episode and 0 releases are hit" in shown.stdout
    told = CliRunner().invoke(program(), [*asked, "--json"])
    assert told.exit_code == 1
    assert [each["object"] for each in json.loads(told.stdout)["damaged"]] == [digest]
