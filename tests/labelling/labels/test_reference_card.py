"""Reference cards show rules, and pictures of what people labelled in the workspace's episodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest
from tests.labelling.work import TEXT
from tests.quality.scene import filmed

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.exchange.episode_file import write_recording
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.labels import CardPage, reference_cards
from corporeal.labelling.labels.versions import accept_labels
from corporeal.labelling.taxonomy import Taxonomy, keep_taxonomy

EPISODE = str(UUID(int=7))
CAMERA = "observations/camera"
LEAD = Actor("lea", "lead")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("cards")
    path = folder / "<odd>.h5"
    write_recording(replace(filmed(60), id=EPISODE), path)
    with make_workspace(folder / "workspace") as made:
        ingest(made, [path], who="anna", check=False, on="serial")
        yield made


def _taxonomy(version: str, rule: str = "touch") -> Taxonomy:
    return Taxonomy.parse(TEXT.format(version=version, rule=rule))


def _segment(name: str, label: str, start_s: float, end_s: float, **attributes: str) -> Segment:
    span = {"start_ns": round(start_s * 1e9), "end_ns": round(end_s * 1e9)}
    return Segment(id=name, lane="phase", label=label, attributes=dict(attributes), **span)


def _cards(workspace: Workspace, taxonomy: Taxonomy, *segments: Segment) -> CardPage:
    with workspace.database.write() as connection:
        keep_taxonomy(connection, taxonomy)
        said = Annotation(reference=CAMERA, segments=segments)
        accept_labels(connection, EPISODE, said, taxonomy, task_id=None, by=LEAD)
        return reference_cards(connection, workspace.store, taxonomy)


def test_labels_have_pictures_of_their_first_and_last_frames(workspace: Workspace) -> None:
    page = _cards(workspace, _taxonomy("1.0.0", "fingers < box & touch"),
                  _segment("a", "reach", 0.0, 0.5), _segment("b", "grasp", 0.5, 1.5, object="cup"),
                  )  # fmt: skip
    # Reach begins the recording; grasp is shown under its label and under the object it is of.
    assert (page.episodes, page.pictures) == (1, 3 + 4 + 4)
    assert page.html.count("data:image/jpeg;base64,") == page.pictures
    assert "retreat" in page.without
    assert not {"reach", "grasp", "cup"} & set(page.without)
    assert "fingers &lt; box &amp; touch" in page.html
    assert "&lt;odd&gt;.h5, 0.500 s to 1.500 s" in page.html
    assert "http" not in page.html


def test_proposals_and_labels_of_another_version_are_no_examples(workspace: Workspace) -> None:
    proposed = _segment("b", "grasp", 0.5, 1.5).model_copy(update={"confirmed": False})
    page = _cards(workspace, _taxonomy("1.1.0"), _segment("a", "reach", 0.0, 0.5), proposed)
    assert page.pictures == 3
    with workspace.database.read() as connection:
        other = reference_cards(connection, workspace.store, _taxonomy("1.2.0"))
    assert (other.episodes, other.pictures) == (0, 0)
    assert {"reach", "grasp", "retreat"} <= set(other.without)
