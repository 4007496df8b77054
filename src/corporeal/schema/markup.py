"""YAML, TOML and JSON text to plain values, remembering the line of every field."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from corporeal.errors import DocumentError, Problem
from corporeal.files import refuse_pointer

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 40
SUFFIXES = (".yaml", ".yml", ".toml", ".json")

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Markup:
    """Plain values (dict, list, str, int, float, bool, None) and the line each one stands on."""

    source: str
    values: Any
    lines: dict[FieldPath, int] = field(default_factory=dict)

    def line(self, path: FieldPath) -> int | None:
        """The line of a field, or of the nearest thing around it that has one."""
        while True:
            if path in self.lines:
                return self.lines[path]
            if not path:
                return None
            path = path[:-1]


def read_markup(path: Path) -> Markup:
    """Read a document file; the suffix says the language."""
    source = str(path)
    if path.suffix.lower() not in SUFFIXES:
        message = f"unknown suffix, got {path.suffix!r}; expected one of {', '.join(SUFFIXES)}."
        raise DocumentError(source, [Problem(None, "", message)])
    refuse_pointer(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DocumentError(source, [Problem(None, "", f"cannot be read: {reason}.")]) from None
    if len(raw) > MAX_BYTES:
        message = f"more than {MAX_BYTES} bytes; expected a document written by a person."
        raise DocumentError(source, [Problem(None, "", message)])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = "not UTF-8 text. Save the file as UTF-8."
        raise DocumentError(source, [Problem(line, "", message)]) from None
    return parse_markup(text, source=source, suffix=path.suffix.lower())


def parse_markup(text: str, *, source: str, suffix: str = ".yaml") -> Markup:
    """Parse text in the language that `suffix` names."""
    if suffix == ".toml":
        return _parse_toml(text, source)
    if suffix == ".json":
        return _parse_json(text, source)
    return _parse_yaml(text, source)


class _Loader(yaml.CSafeLoader):
    """Safe YAML with the scalars of YAML 1.2: `no` is a word, `1e-3` a number, no dates."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in [
    ("bool", r"true|True|false|False", "tTfF"),
    ("int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|", "~nN\0"),
]:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}",
        re.compile(rf"^(?:{_pattern})$"),
        [*(_first.replace("\0", "")), *([""] if "\0" in _first else [])],
    )


def _parse_yaml(text: str, source: str) -> Markup:
    lines: dict[FieldPath, int] = {}

    def fail(node: Any, message: str) -> DocumentError:
        return DocumentError(source, [Problem(node.start_mark.line + 1, "", message)])

    def build(node: Any, path: FieldPath) -> Any:
        lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            found: dict[str, Any] = {}
            for key_node, value_node in node.value:
                if not isinstance(key_node, yaml.ScalarNode):
                    raise fail(key_node, "a field name must be plain text.")
                key = str(key_node.value)
                if key in found:
                    raise fail(key_node, f"field {key!r} is given twice. Keep one of them.")
                found[key] = build(value_node, (*path, key))
                lines[(*path, key)] = key_node.start_mark.line + 1
            return found
        if isinstance(node, yaml.SequenceNode):
            return [build(child, (*path, index)) for index, child in enumerate(node.value)]
        try:
            return _scalar(node)
        except ValueError:
            raise fail(node, f"got {node.value[:40]!r}; expected a number.") from None

    depth = 0
    try:
        # Aliases make a small text into a huge value, and hide what a reader of the file sees.
        # Depth is counted here, because libyaml's own recursion ends in a crash.
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                raise fail(event, "YAML aliases (*name) are not supported. Write the value out.")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise fail(event, f"nested deeper than {MAX_DEPTH} levels.")
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # At the end of the text libyaml counts a line that is not there.
        line = min(mark.line, text.count("\n")) + 1 if mark else None
        message = f"not valid YAML: {error.problem or error.context}."
        raise DocumentError(source, [Problem(line, "", message)]) from None
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        message = f"not valid YAML: {str(error).splitlines()[0]}."
        raise DocumentError(source, [Problem(None, "", message)]) from None
    return Markup(source, build(node, ()) if node is not None else None, lines)


def _scalar(node: Any) -> Any:
    value: str = node.value
    kind = node.tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return value.lower() == "true"
    if kind == "int":
        return int(value, 16 if value.lower().startswith("0x") else 10)
    if kind == "float":
        return float(value)
    return value


def _parse_json(text: str, source: str) -> Markup:
    try:
        values = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeats
        )
        _check_depth(values, source)
        return Markup(source, values)
    except json.JSONDecodeError as error:
        problem = Problem(error.lineno, "", f"not valid JSON: {error.msg}.")
    except (ValueError, RecursionError) as error:
        problem = Problem(None, "", f"not valid JSON: {error}.")
    raise DocumentError(source, [problem])


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"field {name[:100]!r} is given twice")
        values[name] = value
    return values


def _check_depth(values: Any, source: str) -> None:
    level = [values]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
    if level:
        message = f"nested deeper than {MAX_DEPTH} levels."
        raise DocumentError(source, [Problem(None, "", message)])


def _parse_toml(text: str, source: str) -> Markup:
    # tomllib's time grows with the square of the length of a dotted name.
    if deep := _TOML_DEEP.search(text):
        problem = Problem(
            text.count("\n", 0, deep.start()) + 1, "", f"nested deeper than {MAX_DEPTH} levels."
        )
        raise DocumentError(source, [problem])
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        # Without a line it is the end of the text that is wrong.
        line = int(match[1]) if match else text.count("\n") + 1
        message = f"not valid TOML: {str(error).partition(' (at')[0]}."
        raise DocumentError(source, [Problem(line, "", message)]) from None
    except RecursionError:
        problem = Problem(None, "", "not valid TOML: nested too deeply.")
        raise DocumentError(source, [problem]) from None
    except ValueError as error:
        raise DocumentError(source, [Problem(None, "", f"not valid TOML: {error}.")]) from None
    _check_depth(values, source)
    return Markup(source, values, _toml_lines(text, values))


_TOML_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_TOML_HEADER = re.compile(rf"^\s*(\[\[?)\s*({_TOML_KEY}(?:\s*\.\s*{_TOML_KEY})*)\s*\]\]?")
_TOML_FIELD = re.compile(rf"^\s*({_TOML_KEY}(?:\s*\.\s*{_TOML_KEY})*)\s*=")
_TOML_DEEP = re.compile(rf"""(?<![\w"'-]){_TOML_KEY}(?:[ \t]*\.[ \t]*{_TOML_KEY}){{{MAX_DEPTH}}}""")


def _toml_lines(text: str, values: Any) -> dict[FieldPath, int]:
    """Lines of headers and fields; what stands inside an inline table gets the field's line."""
    lines: dict[FieldPath, int] = {(): 1}
    counts: dict[FieldPath, int] = {}
    here: FieldPath = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _TOML_HEADER.match(line):
            path: FieldPath = ()
            names = _toml_names(header[2])
            opened = tuple(names) if header[1] == "[[" else None
            for position, name in enumerate(names):
                path = (*path, name)
                count = counts.get(path, 0) + (opened is not None and position == len(names) - 1)
                if count:
                    path = (*path, count - 1)
            # A line of a nested array, such as `[6]`, looks like a header; the values know better.
            if _has(values, path):
                here = path
                lines[here] = number
                if opened is not None:
                    counts[here[:-1]] = counts.get(here[:-1], 0) + 1
        elif entry := _TOML_FIELD.match(line):
            path = (*here, *_toml_names(entry[1]))
            if _has(values, path):
                lines.setdefault(path, number)
    return lines


def _has(values: Any, path: FieldPath) -> bool:
    for step in path:
        in_list = isinstance(values, list) and isinstance(step, int) and step < len(values)
        if not in_list and not (isinstance(values, dict) and step in values):
            return False
        values = values[step]
    return True


def _toml_names(dotted: str) -> list[str]:
    return [name.strip().strip("\"'") for name in re.findall(_TOML_KEY, dotted)]
