"""Two releases side by side, in words."""

from __future__ import annotations

import pytest
from sqlalchemy import update
from tests.release.conftest import SCHEMA, Fill, document, robot_document

from corporeal.catalog.tables import EPISODE, GOVERNS
from corporeal.catalog.workspace import Workspace
from corporeal.release import ReleaseOptions, create_release, diff_releases
from corporeal.release.reading import find_release


def test_the_same_release_differs_in_nothing(plain: Workspace, fill: Fill) -> None:
    fill(plain, [{}] * 20)
    for version in ("1.0.0", "1.0.1"):
        create_release(plain, "walks", ReleaseOptions(version=version), who="lead")
    found = diff_releases(plain, "walks@1.0.0", "walks@1.0.1")
    assert found.lines[-1].startswith("The same episodes in the same splits")
    assert found.step == "patch"


def test_added_removed_and_moved_episodes_are_named(workspace: Workspace, fill: Fill) -> None:
    ids = fill(workspace, [{"score": 0.2}] * 40)
    create_release(workspace, "walks", ReleaseOptions(where=ids[:30]), who="lead")
    more = fill(workspace, [{"score": 0.9}] * 40, seed="more")
    create_release(
        workspace, "walks", ReleaseOptions(where=[*ids[1:30], *more], seed=3), who="lead"
    )
    found = diff_releases(workspace, "walks@1.0.0", "walks@1.1.0")
    assert set(found.added) == set(more)
    assert found.removed == (ids[0],)
    assert found.moved
    told = " ".join(found.lines)
    assert "40 episodes added" in told
    assert "1 episode removed" in told
    assert "moved between splits" in told
    assert "score: median 0.2 is now 0.9" in told
    assert "seed 0 is now 3" in told
    assert "other episodes or splits, read in the same way" in told


def test_a_new_verdict_score_and_document_are_named(plain: Workspace, fill: Fill) -> None:
    ids = fill(plain, [{"score": 0.5}] * 4)
    create_release(plain, "walks", who="lead")
    newer = document("schema", "rig", streams=[], description="newer")
    fill(
        plain, [{"documents": {"schema": newer, "embodiment": robot_document("a", "b")}}], seed="x"
    )
    with plain.database.write() as connection:
        changed = update(EPISODE).where(EPISODE.c.id == ids[0])
        connection.execute(changed.values(score=0.8, verdict="quarantined"))
        connection.execute(
            update(GOVERNS)
            .where(GOVERNS.c.episode == ids[1], GOVERNS.c.kind == "schema")
            .values(document=newer["hash"])
        )
    create_release(plain, "walks", ReleaseOptions(where=ids), who="lead")
    found = diff_releases(plain, "walks@1.0.0", "walks")
    told = " ".join(found.changed)
    assert f"{ids[0]}: verdict accepted is now quarantined, score 0.5 is now 0.8" in told
    assert f"{ids[1]}: schema rig@1.0.0" in told
    assert len(found.changed) == 2


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ({"schema": SCHEMA, "embodiment": robot_document("b", "a")}, "in another order"),
        ({"schema": SCHEMA, "embodiment": robot_document("a", "b", "c")}, "joints c added"),
        ({"schema": document("schema", "rig", streams=[
            {"group": "actions", "name": "target", "shape": [3]}]),
          "embodiment": robot_document("a", "b")}, "float32 2 in 1 is now array float32 3 in 1"),
    ],
)  # fmt: skip
def test_another_layout_is_a_major_step_in_words(
    plain: Workspace, fill: Fill, documents: dict[str, dict[str, str]], words: str
) -> None:
    old = fill(plain, [{}] * 3)
    new = fill(plain, [{"documents": documents}] * 3, seed="new")
    create_release(plain, "walks", ReleaseOptions(where=old), who="lead")
    create_release(plain, "walks", ReleaseOptions(where=new), who="lead")
    assert find_release(plain, "walks").version == "2.0.0"
    found = diff_releases(plain, "walks@1.0.0", "walks@2.0.0")
    assert words in " ".join(found.layout)
    assert found.to_json()["words"]
