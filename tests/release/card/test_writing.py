"""The card of a release that was really made, in a folder of its own or with a dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.release.card.small_release import PEOPLE, entries

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.release import ReleaseOptions, create_release
from corporeal.release.card import write_card


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace with one release of rows whose objects nobody looks at."""
    folder = tmp_path_factory.mktemp("writing")
    with make_workspace(folder / "workspace") as made:
        with made.database.write() as connection:
            add_episodes(connection, entries(40), who="jane.doe")
        create_release(
            made,
            "kitchen",
            ReleaseOptions(where="operator != jane.doe", licence="CC-BY-4.0", objects=False),
            who="jane.doe",
        )
        yield made


@pytest.mark.slow
def test_a_card_is_written_whole_and_names_nobody(workspace: Workspace, tmp_path: Path) -> None:
    written = write_card(workspace, "kitchen", tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    assert {"README.md", "croissant.json", "episodes.json", "plots/scores.png"} <= names
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(written)
    card = (tmp_path / "README.md").read_text()
    assert "(plots/scores.png)" in card
    told = json.loads((tmp_path / "croissant.json").read_text())
    for file in told["distribution"]:
        content = (tmp_path / file["contentUrl"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
    listed = json.loads((tmp_path / "episodes.json").read_text())
    assert listed["manifest"] in card
    assert len(listed["episodes"]) == int(card.partition(" episodes (")[0].rpartition("\n")[2])
    for path in written:
        if path.suffix != ".png":
            text = path.read_text()
            assert not [name for name in PEOPLE if name in text and len(name) > 3], path.name


@pytest.mark.slow
def test_a_dataset_in_the_folder_is_described_too(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    features = {"action": {"dtype": "float32", "shape": [2], "names": None, "unit": "rad"}}
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"features": features}))
    (tmp_path / "data" / "chunk-000").mkdir(parents=True)
    (tmp_path / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"rows")
    (tmp_path / "elsewhere").symlink_to("/")
    write_card(workspace, "kitchen@1.0.0", tmp_path)
    told = json.loads((tmp_path / "croissant.json").read_text())
    assert {each["@id"] for each in told["recordSet"]} == {"splits", "episodes", "time_steps"}
    paths = {each["@id"] for each in told["distribution"]}
    assert "data/chunk-000/file-000.parquet" in paths
    assert not [path for path in paths if "elsewhere" in path]


def test_a_dataset_that_cannot_be_read_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text("{}")
    with pytest.raises(CatalogError, match="LeRobot"):
        write_card(workspace, "kitchen", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["meta"]


def test_a_release_that_is_not_there_writes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="walks"):
        write_card(workspace, "walks", tmp_path)
    assert not list(tmp_path.iterdir())
