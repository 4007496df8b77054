"""A release is made whole or not at all, once, with everything that stands behind it."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update
from tests.release.conftest import SCHEMA, Fill, robot_document

from corporeal.catalog import audit
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import move_episodes
from corporeal.catalog.query import every_episode
from corporeal.catalog.tables import EPISODE, EVENT, MEMBER, RELEASE
from corporeal.catalog.workspace import Workspace
from corporeal.release import NothingChangedError, ReleaseOptions, create_release, publication
from corporeal.release.manifest import load_manifest, object_text
from corporeal.release.publication import Draft
from corporeal.release.reading import find_release, list_releases, load_release

TASKS = [{"task": f"t{number % 3}", "operator": f"op{number % 2}"} for number in range(30)]


def _states(workspace: Workspace) -> Counter[str]:
    with workspace.database.read() as connection:
        return Counter(connection.execute(select(EPISODE.c.state)).scalars())


def _count(workspace: Workspace, table: Any) -> int:
    with workspace.database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _chain_is_whole(workspace: Workspace) -> bool:
    with workspace.database.read() as connection:
        return not list(audit.verify(connection))


def test_a_release_has_rows_a_manifest_and_an_event(workspace: Workspace, fill: Fill) -> None:
    ids = fill(workspace, TASKS)
    release = create_release(
        workspace, "walks", ReleaseOptions(licence="CC-BY-4.0", notes="first"), who="lead"
    )
    assert (release.reference, release.episodes) == ("walks@1.0.0", 30)
    manifest = load_manifest(workspace.store, release.manifest)
    assert [each.id for each in manifest.episodes] == sorted(ids)
    assert Counter(each.split for each in manifest.episodes) == {"train": 27, "validation": 3}
    assert manifest.layout.robots[0].joints == ("a", "b")
    assert manifest.documents[SCHEMA["hash"]].kind == "schema"
    assert _states(workspace) == {"released": 30}
    with workspace.database.read() as connection:
        rows = {row.episode: row.split for row in connection.execute(select(MEMBER))}
        event, card = audit.events_of(connection, "release:walks@1.0.0")
    assert rows == {each.id: each.split for each in manifest.episodes}
    assert event["details"]["manifest"] == release.manifest
    assert event["why"] == "first"
    assert (event["what"], card["what"]) == ("release", "card")
    stored = object_text(workspace.store, card["details"]["object"], "the card")
    files = json.loads(stored)["files"]
    assert set(files) == {"README.md", "episodes.json", "croissant.json"}
    assert release.manifest in files["README.md"]
    listed = json.loads(files["croissant.json"])["distribution"]
    assert {each["@id"] for each in listed} == {"README.md", "episodes.json"}
    assert _chain_is_whole(workspace)


def test_the_manifest_is_one_canonical_text(plain: Workspace, fill: Fill) -> None:
    fill(plain, TASKS[:3])
    release = create_release(plain, "walks", who="lead")
    size = plain.store.has(release.manifest)
    assert size is not None
    text = plain.store.read(release.manifest, 0, size).decode()
    again = json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert text == again
    assert '"operator"' not in text.replace('"stratify":["task","operator"]', "").replace(
        '"property":"operator"', ""
    )


def test_a_condition_chooses_and_is_kept_in_one_spelling(workspace: Workspace, fill: Fill) -> None:
    fill(workspace, TASKS)
    release = create_release(
        workspace, "some", ReleaseOptions(where="task=t1   AND score > 0.4"), who="lead"
    )
    assert release.condition == "task = t1 and score > 0.4"
    assert 0 < release.episodes < 10
    by_expression = create_release(
        workspace, "sql", ReleaseOptions(where=EPISODE.c.task == "t1"), who="lead"
    )
    assert by_expression.episodes == 10


def test_ids_choose_and_an_unknown_one_is_named(plain: Workspace, fill: Fill) -> None:
    ids = fill(plain, TASKS)
    assert create_release(plain, "few", ReleaseOptions(where=ids[:5]), who="lead").episodes == 5
    with pytest.raises(CatalogError, match="'nobody' is not in the catalogue"):
        create_release(plain, "few", ReleaseOptions(where=[*ids[:5], "nobody"]), who="lead")


def test_only_good_episodes_are_taken_and_the_others_counted(
    workspace: Workspace, fill: Fill
) -> None:
    states = ["accepted"] * 10 + ["annotated"] * 5 + ["quarantined"] * 3 + ["failed"] * 2
    fill(workspace, [{"state": state} for state in states] + [{"state": "recorded"}])
    release = create_release(workspace, "good", who="lead")
    assert release.episodes == 15
    assert release.facts["left_out"] == {"quarantined": 3, "failed": 2, "recorded": 1}


def test_failures_come_only_when_asked_for_and_in_a_split_of_their_own(
    workspace: Workspace, fill: Fill
) -> None:
    failed = fill(workspace, [{"state": "failed", "verdict": "failed"}] * 3, seed="bad")
    fill(workspace, TASKS[:20])
    both = create_release(workspace, "both", ReleaseOptions(negatives=True), who="lead")
    manifest = load_release(workspace, both.reference)
    assert {each.id for each in manifest.episodes if each.negative} == set(failed)
    assert {each.id for each in manifest.episodes if each.split == "negatives"} == set(failed)
    with workspace.database.read() as connection:
        found = {row.id for row in every_episode(connection, "state = failed and in release both")}
    assert found == set(failed), "a negative example is still found as a failure"
    # Released or annotated since, a failure is still one.
    with workspace.database.write() as connection:
        move_episodes(connection, failed[:1], "annotated", who="annotator", why=None)
    assert create_release(workspace, "good", who="lead").episodes == 20


def test_a_release_made_again_without_a_change_is_the_one_before(
    plain: Workspace, fill: Fill
) -> None:
    fill(plain, [{}] * 8)
    create_release(plain, "walks", who="lead")
    with pytest.raises(NothingChangedError, match=r"nothing changed since 1\.0\.0"):
        create_release(plain, "walks", who="lead")
    assert create_release(plain, "walks", ReleaseOptions(notes="n"), who="lead").version == "1.0.1"
    fill(plain, [{}], seed="more")
    assert create_release(plain, "walks", who="lead").version == "1.1.0"


def test_a_failure_that_a_person_overruled_is_a_good_episode(plain: Workspace, fill: Fill) -> None:
    ids = fill(plain, [{"state": "failed", "verdict": "failed"}] * 2)
    with plain.database.write() as connection:
        move_episodes(connection, ids[:1], "accepted", who="lead", why="the check is wrong")
        move_episodes(connection, ids[:1], "annotated", who="annotator", why=None)
    manifest = load_release(plain, create_release(plain, "good", who="lead").reference)
    assert [(each.id, each.negative) for each in manifest.episodes] == [(ids[0], False)]


def test_nothing_to_release_says_why(plain: Workspace, fill: Fill) -> None:
    fill(plain, [{"state": "quarantined"}])
    with pytest.raises(CatalogError, match="1 quarantined meet the condition"):
        create_release(plain, "none", who="lead")
    assert _count(plain, RELEASE) == 0


def _next(workspace: Workspace, **options: Any) -> str:
    return create_release(workspace, "walks", ReleaseOptions(**options), who="lead").version


def test_the_version_says_what_changed(workspace: Workspace, fill: Fill) -> None:
    fill(workspace, TASKS)
    assert _next(workspace) == "1.0.0"
    assert _next(workspace, notes="better described") == "1.0.1"
    assert _next(workspace, seed=7) == "1.1.0"
    fill(workspace, TASKS[:4], seed="more")
    assert _next(workspace, seed=7) == "1.2.0"
    turned = {"schema": SCHEMA, "embodiment": robot_document("b", "a")}
    fill(workspace, [{"documents": turned}], seed="turned")
    with pytest.raises(CatalogError, match=r"expected 2\.0\.0 or higher.*order of joints"):
        _next(workspace, version="1.9.0")
    assert _next(workspace) == "2.0.0"
    assert _next(workspace, version="4.0.0") == "4.0.0"
    assert [each.version for each in list_releases(workspace, "walks")][-1] == "4.0.0"


def test_a_version_is_not_given_again_even_if_its_row_is_gone(plain: Workspace, fill: Fill) -> None:
    fill(plain, TASKS)
    _next(plain)
    with plain.database.write() as connection:
        connection.execute(delete(MEMBER))
        connection.execute(delete(RELEASE))
    with pytest.raises(CatalogError, match="never given twice"):
        _next(plain)


def test_of_two_that_make_the_same_version_one_wins(workspace: Workspace, fill: Fill) -> None:
    fill(workspace, TASKS)
    together = threading.Barrier(2)
    told: list[str] = []

    def meet(_: Draft) -> None:
        together.wait(60)

    def make(who: str) -> None:
        try:
            create_release(workspace, "walks", who=who, on_draft=meet)
            told.append("made")
        except CatalogError as error:
            told.append(str(error))

    makers = [threading.Thread(target=make, args=(name,)) for name in ("anna", "bert")]
    for each in makers:
        each.start()
    for each in makers:
        each.join()
    assert sorted(text == "made" for text in told) == [False, True]
    assert any("walks@1.0.0 was made by somebody else" in text for text in told)
    assert _count(workspace, RELEASE) == 1
    assert _count(workspace, MEMBER) == 30
    # 30 episodes, one manifest and one card.
    assert len(list(workspace.store.digests())) == 32
    assert _chain_is_whole(workspace)


def test_an_episode_that_changes_meanwhile_stops_the_release(
    workspace: Workspace, fill: Fill
) -> None:
    ids = fill(workspace, TASKS)

    def quarantine(_: Draft) -> None:
        with workspace.database.write() as connection:
            move_episodes(connection, ids[:1], "quarantined", who="reviewer", why="blurred")

    with pytest.raises(CatalogError, match="1 episode changed while the release was made"):
        create_release(workspace, "walks", who="lead", on_draft=quarantine)
    assert _states(workspace) == {"accepted": 29, "quarantined": 1}
    assert _count(workspace, RELEASE) == _count(workspace, MEMBER) == 0


STEPS = ("_take_version", "_add_members", "store_object", "record")


@pytest.mark.parametrize("step", STEPS)
def test_interrupted_anywhere_it_leaves_no_half_release(
    workspace: Workspace, fill: Fill, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(workspace, TASKS)
    events = _count(workspace, EVENT)
    real = getattr(publication, step)

    def stop(*arguments: Any, **options: Any) -> Any:
        done = real(*arguments, **options)
        raise KeyboardInterrupt(str(done)[:20])

    with monkeypatch.context() as patch:
        patch.setattr(publication, step, stop)
        with pytest.raises(KeyboardInterrupt):
            create_release(workspace, "walks", who="lead")
    assert _count(workspace, RELEASE) == _count(workspace, MEMBER) == 0
    assert _count(workspace, EVENT) == events
    assert _states(workspace) == {"accepted": 30}
    assert create_release(workspace, "walks", who="lead").version == "1.0.0"
    assert _chain_is_whole(workspace)


def test_grouped_splits_part_no_session(plain: Workspace, fill: Fill) -> None:
    fill(plain, [{**each, "session": f"s{number // 5}"} for number, each in enumerate(TASKS)])
    release = create_release(plain, "walks", ReleaseOptions(group_by="session"), who="lead")
    with plain.database.read() as connection:
        query = select(EPISODE.c.session, MEMBER.c.split).join(MEMBER)
        places = {(row.session, row.split) for row in connection.execute(query)}
    assert len(places) == 6
    assert release.facts["splits"] == {"train": 25, "validation": 5}


def test_episodes_are_stratified_by_a_field_of_their_metadata(
    workspace: Workspace, fill: Fill
) -> None:
    facts = [{"metadata": {"object": f"o{number % 2}"}} for number in range(40)]
    fill(workspace, facts)
    create_release(workspace, "walks", ReleaseOptions(stratify=["object"]), who="lead")
    with workspace.database.read() as connection:
        query = select(EPISODE.c.metadata).join(MEMBER).where(MEMBER.c.split == "validation")
        objects = Counter(each["object"] for each in connection.execute(query).scalars())
    assert objects == {"o0": 2, "o1": 2}


@pytest.mark.parametrize(
    ("stratify", "message"),
    [(["colour"], "which no episode states"), (["bytes"], "property to split by"),
     (["x' or 1=1"], "property to split by")],
)  # fmt: skip
def test_a_property_that_is_none_is_refused(
    plain: Workspace, fill: Fill, stratify: Sequence[str], message: str
) -> None:
    fill(plain, TASKS[:4])
    with pytest.raises(CatalogError, match=message):
        create_release(plain, "walks", ReleaseOptions(stratify=stratify), who="lead")


def test_a_date_to_keep_it_is_recorded_where_the_store_cannot(plain: Workspace, fill: Fill) -> None:
    fill(plain, TASKS[:4])
    until = datetime.now(UTC) + timedelta(days=3650)
    release = create_release(plain, "walks", ReleaseOptions(retain_until=until), who="lead")
    assert release.facts["retention"]["write_once"] is False
    with pytest.raises(CatalogError, match="a date to come"):
        create_release(
            plain,
            "walks",
            ReleaseOptions(retain_until=datetime(2020, 1, 1, tzinfo=UTC)),
            who="lead",
        )


def test_splits_that_differ_are_not_released_unless_asked_for(plain: Workspace, fill: Fill) -> None:
    tasks = [{"task": "pick", "station": f"s{number % 2}", "session": f"n{number % 2}"}
             for number in range(200)]  # fmt: skip
    fill(plain, tasks)
    options = ReleaseOptions(splits={"train": 0.5, "test": 0.5}, group_by="session")
    with pytest.raises(CatalogError, match=r"not alike: The splits differ in .*station"):
        create_release(plain, "walks", options, who="lead")
    assert _count(plain, RELEASE) == 0
    made = create_release(plain, "walks", replace(options, unlike_splits=True), who="lead")
    assert made.facts["representativeness"]["judgement"] == "different"


def test_an_episode_without_its_file_is_not_released(plain: Workspace, fill: Fill) -> None:
    ids = fill(plain, TASKS[:4])
    with plain.database.read() as connection:
        gone = connection.execute(select(EPISODE.c.hash).where(EPISODE.c.id == ids[2])).scalar_one()
    plain.store.erase(gone)
    with pytest.raises(CatalogError, match=f"1 episode cannot be released; {ids[2]}: its object"):
        create_release(plain, "walks", who="lead")
    with pytest.raises(CatalogError, match="4 episodes cannot be released"):
        create_release(plain, "walks", ReleaseOptions(deep=True), who="lead")
    assert create_release(plain, "walks", ReleaseOptions(objects=False), who="lead").episodes == 4


def test_a_manifest_that_was_changed_is_not_believed(plain: Workspace, fill: Fill) -> None:
    fill(plain, TASKS[:4])
    release = create_release(plain, "walks", who="lead")
    name = release.manifest.removeprefix("sha256:")
    path = plain.root / "objects" / name[:2] / name[2:4] / name
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b'"train"', b'"trein"', 1))
    with pytest.raises(CatalogError, match="do not match its hash"):
        load_release(plain, "walks")


def test_an_unknown_release_lists_the_known_ones(plain: Workspace, fill: Fill) -> None:
    with pytest.raises(CatalogError, match="none yet"):
        find_release(plain, "walks")
    fill(plain, TASKS[:4])
    create_release(plain, "walks", who="lead")
    with pytest.raises(CatalogError, match=r"expected one of the versions 1\.0\.0"):
        find_release(plain, "walks@9.0.0")
    with plain.database.write() as connection:
        connection.execute(update(RELEASE).values(condition="another"))
    assert find_release(plain, "walks").condition == "another"
