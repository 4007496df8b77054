"""Whatever is changed behind a release's back is found and named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, func, insert, select, update
from tests.release.conftest import Fill

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import Store
from corporeal.catalog.tables import DOCUMENT, EPISODE, EVENT, MEMBER, RELEASE
from corporeal.catalog.workspace import Workspace, open_workspace
from corporeal.release import ReleaseOptions, create_release, verify_release
from corporeal.release.reading import load_release
from corporeal.release.verification import Verification


def _object(workspace: Workspace, digest: str) -> Path:
    name = digest.removeprefix("sha256:")
    return workspace.root / "objects" / name[:2] / name[2:4] / name


def _released(workspace: Workspace, fill: Fill, count: int = 12) -> list[str]:
    ids = fill(workspace, [{}] * count)
    create_release(workspace, "walks", who="lead")
    return ids


def _told(found: Verification) -> str:
    assert not found.good
    return " ".join(f"{each.subject} {each.message}" for each in found.problems)


def test_an_untouched_release_is_good(workspace: Workspace, fill: Fill) -> None:
    _released(workspace, fill)
    heard: list[str] = []
    found = verify_release(workspace, "walks", on_episode=heard.append)
    assert found.good, found.problems
    assert "12 episodes are as they were released" in found.words
    assert len(heard) == 12


def test_a_release_of_before_a_check_was_renamed_is_good(
    plain: Workspace, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(plain, [{}] * 12)
    with monkeypatch.context() as earlier:
        earlier.setattr("corporeal.catalog.query.grammar.present_name", lambda name: name)
        create_release(
            plain, "walks", ReleaseOptions(where="not has finding stays_upright"), who="lead"
        )
    assert load_release(plain, "walks").condition == "not has finding stays_upright"
    assert verify_release(plain, "walks").good
    again = create_release(
        plain, "walks", ReleaseOptions(where="not has finding stays_upright"), who="lead"
    )
    assert again.condition == "not has finding robot_fell"


def test_a_changed_byte_is_found(plain: Workspace, fill: Fill) -> None:
    _released(plain, fill)
    member = load_release(plain, "walks").episodes[3]
    path = _object(plain, member.hash)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[::-1])
    found = verify_release(plain, "walks")
    assert f"episode:{member.id}" in _told(found)
    assert len(found.problems) == 1
    # Sizes alone cannot tell.
    assert verify_release(plain, "walks", objects=False).good


def test_a_lost_or_shortened_object_is_found_by_its_size(plain: Workspace, fill: Fill) -> None:
    _released(plain, fill)
    first, second, *_ = load_release(plain, "walks").episodes
    _object(plain, first.hash).unlink()
    path = _object(plain, second.hash)
    path.chmod(0o644)
    path.write_bytes(b"cut")
    found = verify_release(plain, "walks", objects=False)
    assert "is not in the store" in _told(found)
    assert "its object has 3 bytes" in _told(found)


def test_an_erased_episode_is_told_of_and_is_no_fault(plain: Workspace, fill: Fill) -> None:
    ids = _released(plain, fill)
    with plain.database.write() as connection:
        connection.execute(update(EPISODE).where(EPISODE.c.id == ids[0]).values(state="erased"))
        digest = connection.execute(select(EPISODE.c.hash).where(EPISODE.c.id == ids[0])).scalar()
    plain.store.erase(str(digest))
    found = verify_release(plain, "walks")
    assert found.good
    assert found.erased == (ids[0],)
    assert "1 of them were erased since" in found.words


def test_changed_rows_are_found(workspace: Workspace, fill: Fill) -> None:
    ids = _released(workspace, fill)
    with workspace.database.write() as connection:
        connection.execute(delete(MEMBER).where(MEMBER.c.episode == ids[0]))
        connection.execute(update(MEMBER).where(MEMBER.c.episode == ids[1]).values(split="test"))
        connection.execute(update(EPISODE).where(EPISODE.c.id == ids[2]).values(bytes=1))
        connection.execute(update(RELEASE).values(created_by="somebody", episodes=11))
        connection.execute(update(DOCUMENT).where(DOCUMENT.c.kind == "schema").values(text="x"))
    extra = fill(workspace, [{}], seed="extra")
    with workspace.database.write() as connection:
        row = {"name": "walks", "version": "1.0.0", "episode": extra[0], "split": "train"}
        connection.execute(insert(MEMBER), row)
    told = _told(verify_release(workspace, "walks"))
    for part in (
        f"episode:{ids[0]} is in the manifest, but not",
        f"episode:{ids[1]} the catalogue says test",
        f"episode:{ids[2]} the catalogue says 1 for its bytes",
        f"episode:{extra[0]} is in the catalogue's release, but not",
        "'somebody' for its maker",
        "11 for its number of episodes",
        "its text does not match its hash",
    ):
        assert part in told, part


def test_a_changed_event_is_found(plain: Workspace, fill: Fill) -> None:
    _released(plain, fill)
    with plain.database.write() as connection:
        connection.execute(update(EVENT).where(EVENT.c.what == "release").values(who="nobody"))
    assert "its event in the audit log was changed" in _told(verify_release(plain, "walks"))


def test_a_lost_manifest_is_found(plain: Workspace, fill: Fill) -> None:
    fill(plain, [{}])
    release = create_release(plain, "walks", who="lead")
    _object(plain, release.manifest).unlink()
    assert "is not in the store" in _told(verify_release(plain, "walks"))


def test_deep_verification_opens_every_episode(
    plain: Workspace, recorded: Callable[[Workspace, int], list[str]], fill: Fill
) -> None:
    recorded(plain, 2)
    create_release(plain, "real", who="lead")
    assert verify_release(plain, "real", deep=True).good
    fill(plain, [{}])
    create_release(plain, "real", who="lead")
    found = verify_release(plain, "real", deep=True)
    assert len(found.problems) == 1
    assert verify_release(plain, "real").good


@pytest.mark.slow
def test_a_killed_process_leaves_no_half_release(plain: Workspace, fill: Fill) -> None:
    fill(plain, [{}] * 5)
    script = f"""
import os, signal
from pathlib import Path
from corporeal.release import creation, publication
from corporeal.catalog.workspace.workspace import open_workspace
real = publication.store_object
def die(*arguments, **options):
    real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
publication.store_object = die
creation.create_release(open_workspace(Path({str(plain.root)!r})), "walks", who="lead")
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=120, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    with open_workspace(plain.root) as again:
        with again.database.read() as connection:
            for table in (RELEASE, MEMBER):
                assert connection.execute(select(func.count()).select_from(table)).scalar() == 0
        assert create_release(again, "walks", who="lead").version == "1.0.0"
        assert verify_release(again, "walks").good


@pytest.mark.slow
def test_a_store_with_object_lock_holds_a_release(
    plain: Workspace, fill: Fill, s3_store: Store
) -> None:
    if not s3_store.abilities().write_once:
        pytest.skip("this S3 server has no object lock")
    held = replace(plain, store=s3_store)
    fill(held, [{}] * 2)
    until = datetime.now(UTC) + timedelta(days=1)
    release = create_release(held, "kept", ReleaseOptions(retain_until=until), who="lead")
    assert release.facts["retention"]["write_once"] is True
    for digest in (release.manifest, load_release(held, "kept").episodes[0].hash):
        with pytest.raises(CatalogError):
            held.store.erase(digest)
    assert verify_release(held, "kept").good
