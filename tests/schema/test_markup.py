"""YAML, TOML and JSON become the same values, and every field knows its line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.errors import DocumentError
from corporeal.schema.markup import MAX_BYTES, MAX_DEPTH, Markup, parse_markup, read_markup

words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn", "Cf"]), max_size=20
)
scalars = words | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


def _complaint(text: str, suffix: str = ".yaml") -> str:
    with pytest.raises(DocumentError) as caught:
        parse_markup(text, source="file", suffix=suffix)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@settings(deadline=None)
@given(st.dictionaries(words, values, max_size=4))
def test_json_text_is_read_alike_as_json_and_as_yaml(document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False)
    as_json = parse_markup(text, source="a", suffix=".json").values
    as_yaml = parse_markup(text, source="a", suffix=".yaml").values
    assert as_json == as_yaml == document


@settings(deadline=None)
@given(st.text(max_size=200))
@pytest.mark.parametrize("suffix", [".yaml", ".toml", ".json"])
def test_any_text_gives_values_or_one_sentence(suffix: str, text: str) -> None:
    try:
        parse_markup(text, source="a", suffix=suffix)
    except DocumentError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("-7", -7),
        ("0x1F", 31),
        ("012", 12),
        ("1.0.0", "1.0.0"),
        ("2024-01-01", "2024-01-01"),
        ("12:30:00", "12:30:00"),
        ("~", None),
        ("null", None),
        ("", None),
        ("true", True),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("1_000", "1_000"),
    ],
)
def test_yaml_words_mean_what_a_reader_expects(text: str, value: Any) -> None:
    found = parse_markup(f"a: {text}\n", source="a").values["a"]
    assert found == value
    assert type(found) is type(value)


NESTED_YAML = """\
document: schema
streams:
  - name: a
    shape: [1,
            2]
  - {name: b,
     unit: rad}
head:
  inner:
    deep: 1
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("document",), 1),
        (("streams",), 2),
        (("streams", 0), 3),
        (("streams", 0, "name"), 3),
        (("streams", 0, "shape"), 4),
        (("streams", 0, "shape", 1), 5),
        (("streams", 1, "name"), 6),
        (("streams", 1, "unit"), 7),
        (("head", "inner", "deep"), 10),
        (("streams", 0, "missing"), 3),
        (("nowhere",), 1),
    ],
)
def test_yaml_fields_know_their_line(path: tuple[str | int, ...], line: int) -> None:
    assert parse_markup(NESTED_YAML, source="a").line(path) == line


TOML = """\
document = "schema"
text = \"\"\"
name = not a field
\"\"\"
a.b.c = 1
"quoted.key" = 2

[head]
inner = {x = 1, y = 2}
[head.deeper]
z = [
  [6],
  [7],
]
w = 4

[[streams]]
name = "a"
[[streams]]
name = "b"
[streams.extra]
k = 1
[[streams.parts]]
p = 1
[[streams.parts]]
p = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("document",), 1),
        (("a", "b", "c"), 5),
        (("quoted.key",), 6),
        (("head",), 8),
        (("head", "inner", "y"), 9),
        (("head", "deeper"), 10),
        (("head", "deeper", "z", 1), 11),
        (("head", "deeper", "w"), 15),
        (("streams", 0), 17),
        (("streams", 0, "name"), 18),
        (("streams", 1), 19),
        (("streams", 1, "name"), 20),
        (("streams", 1, "extra", "k"), 22),
        (("streams", 1, "parts", 0, "p"), 24),
        (("streams", 1, "parts", 1, "p"), 26),
        (("streams", 1, "missing"), 19),
    ],
)
def test_toml_fields_know_their_line(path: tuple[str | int, ...], line: int) -> None:
    assert parse_markup(TOML, source="a", suffix=".toml").line(path) == line


def test_a_line_separator_inside_a_toml_text_is_no_new_line() -> None:
    text = 'a = "one\u2028two"\nb = 1\n'
    assert parse_markup(text, source="a", suffix=".toml").line(("b",)) == 2


def test_without_any_line_there_is_none() -> None:
    assert Markup("a", {}).line(("x", 1)) is None


@pytest.mark.parametrize(
    ("suffix", "text", "sentence"),
    [
        (".yaml", "a: 1\nb: [1", "file:2: not valid YAML: did not find expected ',' or ']'."),
        (".yaml", "a: 1\na: 2", "file:2: field 'a' is given twice. Keep one of them."),
        (".yaml", "a: 1\n? [x]\n: 2", "file:2: a field name must be plain text."),
        (".yaml", "a: 1\nb: !!int x", "file:2: got 'x'; expected a number."),
        (".yaml", "a: &x 1\nb: *x",
         "file:2: YAML aliases (*name) are not supported. Write the value out."),
        (".yaml", "a: 1\n---\nb: 2",
         "file:2: not valid YAML: but found another document."),
        (".toml", "a = 1\nb = ", "file:2: not valid TOML: Invalid value."),
        (".toml", "a = 1\na = 2", "file:2: not valid TOML: Cannot overwrite a value."),
        (".json", '{"a": 1,\n "b": }', "file:2: not valid JSON: Expecting value."),
        (".json", '{"a": NaN}', "file: not valid JSON: NaN is not a number."),
        (".json", '{"a": -Infinity}', "file: not valid JSON: -Infinity is not a number."),
        (".json", '{"a": 1, "a": 2}', "file: not valid JSON: field 'a' is given twice."),
    ],
)  # fmt: skip
def test_broken_text_is_explained(suffix: str, text: str, sentence: str) -> None:
    assert _complaint(text, suffix) == sentence


def test_a_bomb_of_aliases_is_refused_before_it_goes_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    assert "aliases" in _complaint("\n".join(lines))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1000, 200_000])
@pytest.mark.parametrize(
    ("suffix", "opening", "closing"),
    [(".yaml", "[", "]"), (".yaml", "- ", ""), (".yaml", "{a: ", "}"), (".json", "[", "]"),
     (".json", '{"a":', "}")],
)  # fmt: skip
def test_deep_nesting_is_refused_quickly(
    suffix: str, opening: str, closing: str, depth: int
) -> None:
    sentence = _complaint(opening * depth + "1" + closing * depth, suffix)
    assert "nested deeper than 40 levels" in sentence or "recursion" in sentence


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 500 + "]" * 500,
        ".".join("a" * 100_000) + " = 1",
        "[" + ".".join(["'b c'"] * 50) + "]",
        "a = {" + "b." * 60 + "c = 1}",
    ],
    ids=["arrays", "dots", "header", "inline"],
)
def test_deep_toml_is_refused_quickly(text: str) -> None:
    assert "nested" in _complaint(text, ".toml")


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_nesting_up_to_the_limit_is_allowed(suffix: str) -> None:
    text = "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH
    assert parse_markup(text, source="a", suffix=suffix).values


@pytest.mark.parametrize(("suffix", "text"), [(".yaml", "a: {}"), (".toml", "a = {}"),
                                              (".json", '{{"a": {}}}')])  # fmt: skip
def test_a_number_of_five_thousand_digits_is_refused(suffix: str, text: str) -> None:
    _complaint(text.format("1" * 5000), suffix)


def test_a_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(DocumentError) as caught:
        read_markup(path)
    assert str(caught.value) == f"{path}:2: not UTF-8 text. Save the file as UTF-8."


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_markup(path).values == {"a": 1}


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DocumentError) as caught:
        read_markup(path)
    assert f"more than {MAX_BYTES} bytes" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a.txt", "unknown suffix, got '.txt'; expected one of .yaml, .yml, .toml, .json."),
        ("missing.yaml", "cannot be read: No such file or directory."),
        ("folder.yaml", "cannot be read: Is a directory."),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(DocumentError) as caught:
        read_markup(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {sentence}"


def test_a_repeated_name_among_many_is_found_in_one_pass() -> None:
    names = [f'"n{number}": 0' for number in range(100_000)]
    text = "{" + ", ".join([*names, names[-1]]) + "}"
    start = time.process_time()
    assert "'n99999' is given twice" in _complaint(text, ".json")
    assert time.process_time() - start < 5
