"""Labels in releases: embedded, required, verified, compared, and back on the recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from sqlalchemy import update
from tests.labelling.work import LEAD, said, taxonomy

from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import LABELS
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.labels import Labels, labels_of
from corporeal.labelling.labels.versions import accept_labels, mark_stale
from corporeal.release import (
    ReleaseOptions,
    create_release,
    diff_releases,
    read_label_policy,
    verify_release,
)
from corporeal.release.card import card_facts, render_card
from corporeal.release.label_bundle import POLICIES, LabelPolicy
from corporeal.release.lineage import lineage_of
from corporeal.release.manifest import parse_manifest
from corporeal.release.reading import Release, load_release, release_dataset, release_opener

Recorded = Callable[[Workspace, int], list[str]]


def make(workspace: Workspace, name: str, *, labels: LabelPolicy = "included") -> Release:
    options = ReleaseOptions(splits={"train": 1.0}, stratify=(), labels=labels)
    return create_release(workspace, name, options, who="lea")


def label(workspace: Workspace, episode: str, annotation: Annotation | None = None) -> Labels:
    """Labels that count, of an episode of half a second."""
    with workspace.database.write() as connection:
        return accept_labels(
            connection, episode, annotation or short(), taxonomy(), task_id=None, by=LEAD
        )


def short(grasp: int = 4, *, outcome: str = "success") -> Annotation:
    """An annotation that ends before half a second."""
    whole = said(grasp, 9, outcome=outcome)
    ends = {"p2": 490_000_000}
    segments = tuple(each.model_copy(update={"end_ns": ends.get(each.id, each.end_ns)})
                     for each in whole.segments)  # fmt: skip
    return whole.model_copy(update={"segments": segments})


def test_a_release_embeds_labels_and_gives_them_back(plain: Workspace, recorded: Recorded) -> None:
    first, second = recorded(plain, 2)
    held = label(plain, first)
    made = make(plain, "waves")
    manifest = load_release(plain, made.reference)
    by_id = {each.id: each for each in manifest.episodes}
    assert by_id[first].labels == held.hash
    assert by_id[first].documents["taxonomy"] == taxonomy().hash
    assert by_id[second].labels is None
    assert manifest.documents[taxonomy().hash].name == "grasping"
    dataset = release_dataset(plain, made.reference)
    opened = {each.id: each for each in map(dataset.open, dataset.episodes)}
    track = opened[first].labels
    assert track is not None
    assert [each.label for each in track.in_lane("phase")] == ["reach", "grasp", "retreat"]
    assert (track.taxonomy, track.instructions) == ("grasping@1.0.0", ("pick it up",))
    assert opened[second].labels is None
    assert [lane.name for lane in dataset.lanes()] == ["phase"]
    assert made.facts["labels"]["episodes"] == 1
    assert verify_release(plain, made.reference).good


def test_required_labels_refuse_a_release_that_lacks_some(
    plain: Workspace, recorded: Recorded
) -> None:
    first, second, third = recorded(plain, 3)
    label(plain, first)
    with pytest.raises(CatalogError, match=r"2 of 3 episodes lack them") as caught:
        make(plain, "waves", labels="required")
    assert f"{second}: nobody has annotated it" in str(caught.value)
    label(plain, second)
    label(plain, third, Annotation(outcome="success"))
    with pytest.raises(CatalogError, match="1 of 3 episodes lacks them"):
        make(plain, "waves", labels="required")
    label(plain, third)
    made = make(plain, "waves", labels="required")
    assert made.facts["labels"]["policy"] == "required"


def test_labels_are_asked_for_where_the_task_is_labelled(
    plain: Workspace, recorded: Recorded
) -> None:
    first, second = recorded(plain, 2)
    options = ReleaseOptions(splits={"train": 1.0}, stratify=())
    assert "labels" not in create_release(plain, "before", options, who="lea").facts
    label(plain, first)
    with pytest.raises(CatalogError, match=r"a taxonomy in use asks for, but 1 of 2 episodes lack"):
        create_release(plain, "waves", options, who="lea")
    assert make(plain, "some", labels="included").facts["labels"]["episodes"] == 1
    label(plain, second)
    made = create_release(plain, "waves", options, who="lea")
    assert made.facts["labels"]["policy"] == "asked"
    assert verify_release(plain, made.reference).good


def test_labels_that_do_not_hold_any_more_stay_out(plain: Workspace, recorded: Recorded) -> None:
    (only,) = recorded(plain, 1)
    held = label(plain, only)
    with plain.database.write() as connection:
        mark_stale(connection, held, "a rule changed", by=LEAD)
    manifest = load_release(plain, make(plain, "waves").reference)
    assert manifest.labels is None
    with pytest.raises(CatalogError, match="its labels do not hold any more: a rule changed"):
        make(plain, "waves", labels="required")


def test_without_labels_a_manifest_is_spelled_as_it_always_was(
    plain: Workspace, recorded: Recorded
) -> None:
    (only,) = recorded(plain, 1)
    label(plain, only)
    manifest = load_release(plain, make(plain, "waves", labels="none").reference)
    assert b'"labels"' not in manifest.text
    assert parse_manifest(manifest.text).hash == manifest.hash
    with pytest.raises(CatalogError, match="labels, got 'some'; expected one of: asked"):
        make(plain, "waves", labels=cast("LabelPolicy", "some"))


def test_verification_finds_labels_that_were_changed(plain: Workspace, recorded: Recorded) -> None:
    (only,) = recorded(plain, 1)
    label(plain, only)
    made = make(plain, "waves")
    with plain.database.write() as connection:
        connection.execute(update(LABELS).values(hash="sha256:" + "0" * 64))
    found = verify_release(plain, made.reference)
    assert "other ones for version 1 of its labels" in found.words


def test_verification_finds_a_changed_object_of_labels(
    plain: Workspace, recorded: Recorded
) -> None:
    (only,) = recorded(plain, 1)
    label(plain, only)
    made = make(plain, "waves")
    head = load_release(plain, made.reference).labels
    assert head is not None
    name = head.object.removeprefix("sha256:")
    (path,) = (each for each in plain.root.rglob(name) if each.is_file())
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b'"success"', b'"failure"'))
    assert not verify_release(plain, made.reference).good
    with pytest.raises(CatalogError, match="was changed: its bytes do not match"):
        release_dataset(plain, made.reference)


def test_a_difference_says_which_labels_changed(plain: Workspace, recorded: Recorded) -> None:
    first, second = recorded(plain, 2)
    label(plain, first)
    make(plain, "waves")
    label(plain, first, short(5, outcome="failure"))
    label(plain, second)
    made = make(plain, "waves")
    assert made.version == "1.0.1"
    changed = diff_releases(plain, "waves@1.0.0", "waves@1.0.1").changed
    told = {each.partition(": ")[0]: each for each in changed}
    assert "2 segments of phase changed" in told[first]
    assert "outcome success is now failure" in told[first]
    assert told[second].endswith("labelled")


def test_a_release_is_exported_with_its_labels(
    plain: Workspace, recorded: Recorded, tmp_path: Path
) -> None:
    for episode in recorded(plain, 2):
        label(plain, episode)
    opener = release_opener(plain, make(plain, "waves").reference)
    exported = export(opener, tmp_path / "out", "lerobot", ExportOptions(on="serial"))
    info = json.loads((exported.out / "meta/info.json").read_text("utf-8"))
    assert info["features"]["subtask_index"]["lane"] == "phase"
    for number in (0, 1):
        labels = open_dataset(exported.out).open(number).labels
        assert labels is not None
        assert labels == opener().open(number).labels
        rows = open_dataset(exported.out, restore=False).open(number).labels
        assert rows is not None
        assert [each.label for each in rows.spans] == ["reach", "grasp", "retreat"]
        assert np.isclose(rows.spans[1].start_ns, labels.in_lane("phase")[1].start_ns, atol=3e7)


def test_the_card_says_how_many_are_labelled(plain: Workspace, recorded: Recorded) -> None:
    first, _ = recorded(plain, 2)
    label(plain, first)
    made = make(plain, "waves")
    with plain.database.read() as connection:
        card = render_card(card_facts(connection, made.name, made.version))
    assert "1 of 2 episodes (50 %) are labelled under `grasping@1.0.0`." in card
    assert "No episode was labelled by two people" in card


def test_the_lineage_of_an_episode_leads_to_its_labels_and_who_made_them(
    plain: Workspace, recorded: Recorded
) -> None:
    (only,) = recorded(plain, 1)
    label(plain, only)
    label(plain, only)
    with plain.database.read() as connection:
        held = labels_of(connection, only)
        graph = lineage_of(connection, f"episode:{only}")
    assert held is not None
    name = f"labels:{only}/2"
    assert graph.node(name).label == "labels, version 2"
    parents = {edge.parent: edge.relation for edge in graph.parents(name)}
    assert parents == {f"document:{held.taxonomy}": "taxonomy", "annotator:lea": "annotated_by"}


def test_the_command_line_takes_four_words_for_labels() -> None:
    assert [read_label_policy(word) for word in ("asked", "required", "included", "none")] == list(
        POLICIES
    )
    with pytest.raises(CorporealError, match="labels, got 'all'; expected one of: asked"):
        read_label_policy("all")
