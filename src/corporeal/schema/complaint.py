"""Turns what pydantic dislikes into sentences that name the field, the line and the fix."""

from __future__ import annotations

import difflib
import types
from dataclasses import replace
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from corporeal.errors import Problem
from corporeal.schema.markup import FieldPath, Markup

_SHOWN = 60


def problems_of(error: ValidationError, model: type[BaseModel], markup: Markup) -> list[Problem]:
    """One problem per complaint, in the order of the file."""
    found: dict[str, Problem] = {}
    for detail in error.errors():
        problem = _problem(dict(detail), model, markup)
        first = found.setdefault(problem.path, problem)
        if first is not problem and "; expected " in first.message:
            # A field that may be one thing or another was neither: that is one problem.
            other = problem.message.partition("; expected ")[2]
            joined = f"{first.message.removesuffix('.')} or {other}" if other else first.message
            found[problem.path] = replace(first, message=joined)
    return sorted(found.values(), key=lambda problem: problem.line or 0)


def _problem(detail: dict[str, Any], model: type[BaseModel], markup: Markup) -> Problem:
    path = _present(detail["loc"], markup.values, keep_last=detail["type"] == "missing")
    last = str(path[-1]) if path else ""
    owner, info = _field(model, path)
    meaning = f" ({info.description})" if info is not None and info.description else ""
    if detail["type"] == "missing":
        return Problem(markup.line(path), _dotted(path), f"missing{meaning}. Add '{last}: ...'.")
    if detail["type"] == "extra_forbidden":
        known = list(owner.model_fields) if owner is not None else []
        close = difflib.get_close_matches(last, known, n=1)
        fix = f"Did you mean {close[0]!r}?" if close else f"Known fields: {', '.join(known)}."
        return Problem(markup.line(path), _dotted(path), f"unknown field. {fix}")
    if detail["type"] == "value_error":
        # Written by our own validators, which already say what to do.
        sentence = str(detail["ctx"]["error"])
        end = "" if sentence.endswith(("?", ".")) else "."
        return Problem(markup.line(path), _dotted(path), f"{sentence}{end}")
    expected = detail["msg"].replace("Input should be", "expected").replace("Value error, ", "")
    shown = repr(detail["input"])
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    sentence = f"got {shown}; {expected[:1].lower()}{expected[1:]}{meaning}."
    return Problem(markup.line(path), _dotted(path), sentence)


def _present(loc: tuple[str | int, ...], values: Any, *, keep_last: bool) -> FieldPath:
    """The part of pydantic's location that is in the file: union tags are not."""
    path: list[str | int] = []
    here = values
    for position, step in enumerate(loc):
        final = position == len(loc) - 1
        in_dict = isinstance(here, dict) and step in here
        in_list = isinstance(here, list) and isinstance(step, int) and step < len(here)
        if in_dict or in_list:
            here = here[step]
        elif not (final and keep_last):
            continue
        path.append(step)
    return tuple(path)


def _dotted(path: FieldPath) -> str:
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{step if step.isprintable() else repr(step)}"
        for step in path
    )
    return "".join(steps).removeprefix(".")


def _field(
    model: type[BaseModel], path: FieldPath
) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The model that owns the last step of `path`, and that step's field where it has one."""
    owner: type[BaseModel] | None = model
    info: FieldInfo | None = None
    for position, step in enumerate(path):
        if isinstance(step, int) or owner is None:
            continue
        info = owner.model_fields.get(step)
        if position < len(path) - 1:
            owner = _inner_model(info.annotation) if info is not None else None
    return owner, info


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (tuple, list, dict, Union, types.UnionType):
        models = [_inner_model(inner) for inner in get_args(annotation)]
        return next((found for found in models if found is not None), None)
    return None
