"""A document that is wrong says where, what and how to mend it; a right one has one hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from corporeal.errors import DocumentError
from corporeal.schema import Schema
from corporeal.schema.document import kind_of
from corporeal.schema.markup import parse_markup

HEAD = "document: schema\nname: rig\nversion: 1.0.0\nstreams:\n"

GOOD_YAML = """\
document: schema
name: rig
version: 1.0.0
streams:
  - name: arm
    group: observations
    shape: [2]
    rate_hz: 100
    unit: rad
  - {name: words, group: debug, kind: text}
"""
GOOD_TOML = """\
document = "schema"
name = "rig"
version = "1.0.0"
[[streams]]
name = "arm"
group = "observations"
shape = [2]
rate_hz = 100.0
unit = "rad"
[[streams]]
name = "words"
group = "debug"
kind = "text"
"""
GOOD_JSON = json.dumps(
    {
        "streams": [
            {"unit": "rad", "rate_hz": 1e2, "shape": [2], "group": "observations", "name": "arm"},
            {"kind": "text", "name": "words", "group": "debug"},
        ],
        "version": "1.0.0",
        "name": "rig",
        "document": "schema",
    },
    indent=2,
)


def _complaint(text: str, suffix: str = ".yaml") -> str:
    with pytest.raises(DocumentError) as caught:
        Schema.parse(text, source="rig", suffix=suffix)
    for problem in caught.value.problems:
        assert "\n" not in caught.value.describe(problem)
    return str(caught.value)


def test_the_same_document_in_three_languages_has_the_same_hash() -> None:
    documents = [
        Schema.parse(text, suffix=suffix)
        for text, suffix in [(GOOD_YAML, ".yaml"), (GOOD_TOML, ".toml"), (GOOD_JSON, ".json")]
    ]
    assert len({document.hash for document in documents}) == 1
    assert documents[0] == documents[1] == documents[2]
    assert documents[0].hash.startswith("sha256:")


def test_the_canonical_text_is_the_same_document_again() -> None:
    document = Schema.parse(GOOD_YAML)
    again = Schema.parse(document.canonical(), suffix=".json")
    assert again == document
    assert again.hash == document.hash


def test_the_hash_changes_with_the_content_and_not_with_the_layout() -> None:
    document = Schema.parse(GOOD_YAML)
    assert Schema.parse("# a remark\n" + GOOD_YAML.replace("[2]", "[ 2 ]")).hash == document.hash
    assert Schema.parse(GOOD_YAML.replace("rate_hz: 100", "rate_hz: 101")).hash != document.hash


def test_a_document_is_frozen() -> None:
    document = Schema.parse(GOOD_YAML)
    with pytest.raises(ValidationError):
        document.name = "other"  # type: ignore[misc]


def test_people_call_it_name_at_version() -> None:
    assert Schema.parse(GOOD_YAML).reference == "rig@1.0.0"


def test_the_kind_is_known_before_validation() -> None:
    assert kind_of(parse_markup("document: protocol\n", source="a")) == "protocol"
    assert kind_of(parse_markup("- a\n", source="a")) is None


BAD = {
    "unknown field, with the nearest known one": (
        HEAD + "  - {name: a, group: debug, rate_hertz: 5}\n",
        "rig:5: streams[0].rate_hertz: unknown field. Did you mean 'rate_hz'?",
    ),
    "unknown field, nothing near": (
        HEAD.replace("name:", "xyz: 1\nname:") + "  - {name: a, group: debug}\n",
        "rig:2: xyz: unknown field. Known fields: document, name, version, description, streams, "
        "metadata, file_name.",
    ),
    "missing field": (
        HEAD + "  - name: a\n    unit: rad\n",
        "rig:5: streams[0].group: missing. Add 'group: ...'.",
    ),
    "wrong type": (
        HEAD + "  - name: a\n    group: debug\n    rate_hz: fast\n",
        "rig:7: streams[0].rate_hz: got 'fast'; expected a valid number, unable to parse string "
        "as a number (none: events).",
    ),
    "negative rate": (
        HEAD + "  - {name: a, group: debug, rate_hz: -1}\n",
        "rig:5: streams[0].rate_hz: got -1; expected greater than 0 (none: events).",
    ),
    "NaN": (
        HEAD + "  - {name: a, group: debug, rate_hz: nan}\n",
        "rig:5: streams[0].rate_hz: got 'nan'; expected a finite number (none: events).",
    ),
    "wrong kind": (
        HEAD + "  - {name: a, group: debug, kind: movie}\n",
        "rig:5: streams[0].kind: got 'movie'; expected 'array', 'video', 'depth', 'points' or "
        "'text'.",
    ),
    "a kind that is a list": (
        HEAD + "  - {name: a, group: debug, kind: [video]}\n",
        "rig:5: streams[0].kind: got ['video']; expected 'array', 'video', 'depth', 'points' or "
        "'text'.",
    ),
    "wrong group": (
        HEAD + "  - {name: a, group: observation}\n",
        "rig:5: streams[0].group: got 'observation'; expected 'observations', 'actions' or "
        "'debug'.",
    ),
    "neither a size nor joints": (
        HEAD + "  - {name: a, group: debug, shape: [joint]}\n",
        "rig:5: streams[0].shape[0]: got 'joint'; expected a valid integer, unable to parse "
        "string as an integer or 'joints'.",
    ),
    "another document": (
        "# a robot\ndocument: embodiment\nname: g1\nlinks: []\n",
        "rig:2: document: got 'embodiment'; expected 'schema'. Open a schema document here.",
    ),
    "external stream in observations": (
        HEAD + "  - {name: a, group: observations, placement: external}\n",
        "rig:5: streams[0]: stream 'a' is external, which a deployed policy does not have; "
        "expected group debug, got observations.",
    ),
    "world frame in observations": (
        HEAD + "  - {name: a, group: observations, frame: world}\n",
        "rig:5: streams[0]: stream 'a' is in the world frame, which a deployed policy does not "
        "have; expected group debug, got observations.",
    ),
    "external stream in actions": (
        HEAD + "  - {name: a, group: actions, placement: external}\n",
        "rig:5: streams[0]: stream 'a' is external, which a deployed policy does not have; "
        "expected group debug, got actions.",
    ),
    "slerp without a quaternion": (
        HEAD + "  - {name: a, group: debug, shape: [4], interpolation: slerp}\n",
        "rig:5: streams[0]: stream 'a' asks for slerp; expected components that name qw qx qy qz.",
    ),
    "components for another shape": (
        HEAD + "  - {name: a, group: debug, shape: [4], components: [x, y]}\n",
        "rig:5: streams[0]: stream 'a' has 2 components for shape [4]; expected as many as its "
        "last axis.",
    ),
    "stream twice": (
        HEAD + "  - {name: a, group: debug}\n  - {name: a, group: debug, unit: rad}\n",
        "rig:4: streams: stream 'debug/a' is listed twice; expected unique names.",
    ),
    "file name of an unknown field": (
        HEAD + "  - {name: a, group: debug}\nfile_name: '{task}_{mood}.h5'\nmetadata: [task]\n",
        "rig:6: file_name: the pattern of file names uses {mood}; expected one of: id, index, "
        "task.",
    ),
    "file name of another suffix": (
        HEAD + "  - {name: a, group: debug}\nfile_name: '{task}.mat'\n",
        "rig:6: file_name: got '{task}.mat'; expected a bare name ending in .h5 with fields such "
        "as {task} or {index:04d}.",
    ),
    "no stream": (
        "document: schema\nname: rig\nversion: 1.0.0\nstreams: []\n",
        "rig:4: streams: a schema without streams; expected at least one.",
    ),
    "nothing": ("", "rig:1: not a document; expected fields, starting with 'document: schema'."),
    "a list": (
        "- a\n",
        "rig:1: not a document; expected fields, starting with 'document: schema'.",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), BAD.values(), ids=BAD.keys())
def test_a_bad_document_is_explained_with_its_line(text: str, sentence: str) -> None:
    assert _complaint(text) == sentence


def test_a_wrong_unit_lists_the_units_that_exist() -> None:
    sentence = _complaint(HEAD + "  - {name: a, group: debug, unit: radian}\n")
    assert sentence.startswith("rig:5: streams[0]: unknown unit, got 'radian'; expected one of: 1,")


def test_a_version_that_is_a_number_is_explained() -> None:
    sentence = _complaint("document: schema\nname: rig\nversion: 1.0\nstreams: []\n")
    assert sentence.startswith("rig:3: version: got 1.0; expected a valid string")


def test_all_problems_are_found_in_the_order_of_the_file() -> None:
    text = HEAD.replace("rig", "Rig!") + "  - {name: a, group: debug, x: 1}\n  - {group: debug}\n"
    with pytest.raises(DocumentError) as caught:
        Schema.parse(text, source="rig")
    assert [problem.line for problem in caught.value.problems] == [2, 5, 6]
    assert str(caught.value).endswith("(2 more problems in this file)")


def test_toml_problems_have_their_line() -> None:
    sentence = _complaint(GOOD_TOML.replace('unit = "rad"', "rates = 1"), ".toml")
    assert sentence == "rig:9: streams[0].rates: unknown field. Did you mean 'rate_hz'?"
    sentence = _complaint(GOOD_TOML.replace('kind = "text"', 'kind = "movie"'), ".toml")
    assert sentence.startswith("rig:13: streams[1].kind: got 'movie';")


def test_a_file_is_named_in_its_problems(tmp_path: Path) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(HEAD + "  - {name: a, group: debug, unit: [1, 2]}\n")
    with pytest.raises(DocumentError) as caught:
        Schema.load(path)
    assert str(caught.value).startswith(f"{path}:5: ")


words = st.sampled_from(
    ["name", "group", "debug", "video", "joints", "rad", "kind", "shape", "a\nb", "", "qw", "world"]
)
junk = st.recursive(
    words | st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
OPTIONAL = (
    "kind", "dtype", "shape", "rate_hz", "unit", "components", "frame", "interpolation",
    "placement", "a\nb",
)  # fmt: skip
stream = st.fixed_dictionaries(
    {"name": st.just("a") | junk, "group": st.just("debug") | junk},
    optional=dict.fromkeys(OPTIONAL, junk),
)


@settings(deadline=None)
@given(st.lists(stream | junk, max_size=3) | junk, junk, junk)
def test_any_values_give_a_document_or_sentences(streams: Any, metadata: Any, name: Any) -> None:
    values = {"document": "schema", "name": "a", "version": "1.0.0", "streams": streams}
    values |= {"metadata": metadata, "file_name": name}
    markup = parse_markup("", source="a")
    try:
        Schema.from_markup(type(markup)("a", values))
    except DocumentError as error:
        for problem in error.problems:
            sentence = error.describe(problem)
            assert "\n" not in sentence
            assert sentence.endswith((".", "?"))
