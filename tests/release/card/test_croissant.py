"""The Croissant description says what the catalogue knows, and nothing that it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.catalog.entries import made_entry
from tests.release.card.small_release import PEOPLE, entries, facts_of

from corporeal.catalog.database import CatalogError
from corporeal.release.card import CardFacts
from corporeal.release.card.croissant import ReleaseFile, croissant

FEATURES: dict[str, dict[str, Any]] = {
    "observation.state": {"dtype": "float32", "shape": [2], "names": ["hip", "knee"],
                          "unit": "rad"},
    "observation.images.head": {"dtype": "video", "shape": [48, 64, 3], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "odd:key/with space": {"dtype": "int64", "shape": [1], "names": None},
}  # fmt: skip
FILES = [
    ReleaseFile("episodes.json", "sha256:" + "1" * 64, 10),
    ReleaseFile("data/chunk-000/file-000.parquet", "sha256:" + "2" * 64, 20),
    ReleaseFile("videos/observation.images.head/chunk-000/file-000.mp4", "sha256:" + "3" * 64, 30),
]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> CardFacts:
    return facts_of(tmp_path_factory.mktemp("croissant"), entries(60))


def _by_id(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["@id"]: each for each in items}


def test_every_file_is_there_with_its_hash(facts: CardFacts) -> None:
    told = _by_id(croissant(facts, FILES, features=FEATURES)["distribution"])
    for file in FILES:
        assert told[file.path]["sha256"] == file.hash.removeprefix("sha256:")
        assert told[file.path]["contentSize"] == f"{file.bytes} B"
        assert told[file.path]["contentUrl"] == file.path
    assert told["rows"]["includes"] == "data/*/*.parquet"
    movies = told["movies/observation.images.head"]
    assert movies["includes"] == "videos/observation.images.head/*/*.mp4"


def test_files_elsewhere_have_whole_addresses(facts: CardFacts) -> None:
    spaced = [ReleaseFile("a b.json", "sha256:0", 1)]
    told = croissant(facts, spaced, url="https://data.example/kitchen/")
    assert told["url"] == "https://data.example/kitchen/"
    assert told["distribution"][0]["contentUrl"] == "https://data.example/kitchen/a%20b.json"


def test_movies_of_the_older_layout_are_found(facts: CardFacts) -> None:
    old = [ReleaseFile("videos/chunk-000/observation.images.head/e0.mp4", "sha256:0", 1)]
    told = _by_id(croissant(facts, old, features=FEATURES)["distribution"])
    assert told["movies/observation.images.head"]["includes"] == (
        "videos/*/observation.images.head/*.mp4"
    )


def test_columns_have_their_types_shapes_and_units(facts: CardFacts) -> None:
    records = _by_id(croissant(facts, FILES, features=FEATURES)["recordSet"])
    fields = _by_id(records["time_steps"]["field"])
    state = fields["time_steps/observation.state"]
    assert (state["dataType"], state["isArray"], state["arrayShape"]) == ("cr:Float32", True, "2")
    assert "in rad" in state["description"]
    assert "hip, knee" in state["description"]
    assert "isArray" not in fields["time_steps/timestamp"]
    odd = fields["time_steps/odd_key_with_space"]
    assert odd["source"]["extract"]["column"] == "odd:key/with space"
    assert len(fields) == 3, "a movie is no column"


def test_records_without_a_file_behind_them_are_not_promised(facts: CardFacts) -> None:
    records = _by_id(croissant(facts)["recordSet"])
    assert set(records) == {"splits"}
    assert {each["splits/name"] for each in records["splits"]["data"]} == {"train", "test"}


def test_what_the_catalogue_does_not_know_is_left_out(tmp_path: Path) -> None:
    bare = made_entry(name="e1", facts={"hash": "sha256:1", "bytes": 1, "file": "a.h5"})
    told = croissant(facts_of(tmp_path, [bare], facts={}))
    asked = {name for name in told if name.startswith("rai:")}
    assert asked == {"rai:dataCollection", "rai:dataCollectionMissingData", "rai:dataLimitations"}
    assert "license" not in told
    assert "citeAs" not in told
    assert None not in told.values()


def test_what_was_stated_is_told(facts: CardFacts) -> None:
    stated = {"use_cases": ["imitation learning"], "citation": "@misc{kitchen}",
              "maintenance": "yearly", "licence": "Our Own"}  # fmt: skip
    told = croissant(replace(facts, stated=stated))
    assert told["rai:dataUseCases"] == ["imitation learning"]
    assert told["rai:dataReleaseMaintenancePlan"] == "yearly"
    assert told["citeAs"] == "@misc{kitchen}"
    assert told["license"] == "Our Own"


def test_the_way_of_collection_follows_what_was_recorded(facts: CardFacts) -> None:
    assert croissant(facts)["rai:dataCollectionType"] == ["Physical data collection"]
    (schema,) = facts.documents
    made = replace(facts, documents=(replace(schema, name="simulated_humanoid"),))
    assert croissant(made)["rai:dataCollectionType"] == ["Software Collection"]


def test_it_names_nobody_and_counts_everybody(facts: CardFacts) -> None:
    text = json.dumps(croissant(facts, FILES, features=FEATURES), ensure_ascii=False)
    assert not [name for name in PEOPLE if name in text and len(name) > 3]
    assert "Movements of 5 people" in text


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "c:\\x", "http://x/y"])
def test_a_file_cannot_lie_outside_of_the_release(facts: CardFacts, path: str) -> None:
    with pytest.raises(CatalogError, match="below its folder"):
        croissant(facts, [ReleaseFile(path, "sha256:0", 1)])
