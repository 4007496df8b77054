"""The API says what it answers, in names that mean one thing: the page's types are made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corporeal.catalog.tables import EPISODE
from corporeal.studio.episode_row import EpisodeRowFacts, ListedEpisode
from corporeal.studio.server import describe_api

WEB = Path(__file__).parents[2] / "web" / "src"
FREE_FORM = {
    ("EpisodeDetail", "metadata"),
    ("FactDifference", "a"),
    ("FactDifference", "b"),
    ("LineageNode", "facts"),
    ("Set", "set"),
    ("WorkbenchTask", "settings"),
}
"""Fields that hold whatever others have written. This list only gets shorter."""
_REFERENCE = re.compile(r"#/components/schemas/(.+)")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return describe_api()


def _answers(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Route, media type and content of everything that is answered with success."""
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            for status, answer in route["responses"].items():
                if status.startswith("2"):
                    for media, content in answer.get("content", {}).items():
                        yield f"{method} {path} {status}", media, content


def test_every_schema_has_one_plain_name(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert re.fullmatch(r"[A-Z][A-Za-z]+", name), f"{name}: two models of the same name?"
        assert schema["title"] == name


def test_every_answer_in_json_declares_what_it_holds(document: dict[str, Any]) -> None:
    seen = 0
    for route, media, content in _answers(document):
        if media == "application/json":
            seen += 1
            assert re.search(_REFERENCE, str(content["schema"])), route
    assert seen > 50


def test_no_field_is_free_form_but_the_listed(document: dict[str, Any]) -> None:
    free = {
        (name, field)
        for name, schema in document["components"]["schemas"].items()
        for field, value in schema.get("properties", {}).items()
        if any(_is_free(part) for part in [value, *value.get("anyOf", [])])
    }
    assert free == FREE_FORM


def _is_free(schema: dict[str, Any]) -> bool:
    says_nothing = not schema.keys() - {"title", "description", "default"}
    return says_nothing or schema.get("additionalProperties") is True


# What a row of the list says from other tables than that of episodes.
JOINED = {"assessed", "checked", "finding", "decision", "tags", "comments"}


def test_the_row_of_an_episode_has_the_columns_of_its_table() -> None:
    columns = {column.name for column in EPISODE.columns}
    assert EpisodeRowFacts.model_fields.keys() == columns - {"metadata"}
    assert ListedEpisode.model_fields.keys() - JOINED <= EpisodeRowFacts.model_fields.keys()


def test_every_type_that_the_page_takes_from_the_server_is_there(document: dict[str, Any]) -> None:
    imports = re.compile(r'import type \{([^}]*)\} from "[./\w]*/schema"')
    taken = {
        (name.strip(), script.name)
        for script in WEB.rglob("*.ts*")
        for names in imports.findall(script.read_text(encoding="utf-8"))
        for name in names.split(",")
        if name.strip()
    }
    assert len(taken) > 100
    assert not {each for each in taken if each[0] not in document["components"]["schemas"]}
