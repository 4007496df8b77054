"""LeRobot v2.1 as GR00T wants it: flat columns, and a file that names the parts of the body."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import is_hand, match_joints
from corporeal.exchange.format import Consumer, ExportContext, Format, TableWriter, WrittenEpisode
from corporeal.exchange.json_text import write_json
from corporeal.exchange.layout import ACTION, IMAGES, STATE, ColumnSpec
from corporeal.exchange.lerobot.assembly import assembly_of
from corporeal.exchange.lerobot.layouts import write_v21
from corporeal.exchange.lerobot.writing import LOSES, write_episode
from corporeal.schema import roles

# Streams that are the body itself, so that state and action have parts of the same names.
_BODY = (*roles.MEASURED, *roles.COMMANDED)
_SIDE = re.compile(r"(left|right)|(?:^|[_.])(l|r)(?=[_.])", re.IGNORECASE)
_GR00T_NAMES = {"torso": "waist"}

Span = tuple[str, int, int]


def modality_of(context: ExportContext) -> dict[str, Any]:
    """The whole file: parts of state and action, cameras, and where the instruction is."""
    columns = context.layout.columns
    state = {key: spec for key, spec in columns.items() if not key.startswith(ACTION)}
    action = {key: spec for key, spec in columns.items() if key.startswith(ACTION)}
    cameras = {key.removeprefix(IMAGES): {"original_key": key} for key in context.layout.cameras}
    return {
        "state": _section(state, STATE, "observation.", context.robot),
        "action": _section(action, ACTION, f"{ACTION}.", context.robot),
        "video": cameras,
        "annotation": {"human.task_description": {"original_key": "task_index"}},
    }


def _section(
    columns: dict[str, ColumnSpec], main: str, prefix: str, robot: Embodiment | None
) -> dict[str, Any]:
    """The parts of the main column, then every other column as a part of its own."""
    section: dict[str, Any] = {}
    if main in columns:
        for part, start, end in parts_of(columns[main], robot):
            section[_free(part, section)] = {"start": start, "end": end}
    for key, spec in columns.items():
        if key != main:
            span = {"start": 0, "end": math.prod(spec.shape), "original_key": key}
            section[_free(key.removeprefix(prefix), section)] = span
    return section


def parts_of(spec: ColumnSpec, robot: Embodiment | None) -> Iterator[Span]:
    """Name, first column and the one after the last of every part, side by side."""
    first = 0
    for stream in spec.streams:
        names = stream.components if isinstance(stream.components, tuple) else ()
        width = math.prod(int(size) for size in stream.shape)
        if stream.name in _BODY and len(names) == width:
            yield from _body_parts(names, robot, first)
        else:
            yield "body" if stream.name in _BODY else stream.name, first, first + width
        first += width


def _body_parts(names: Sequence[str], robot: Embodiment | None, first: int) -> Iterator[Span]:
    joints = match_joints(names, robot) if robot is not None else (None,) * len(names)
    parts = [_part(name, joint, robot) for name, joint in zip(names, joints, strict=True)]
    for part, run in groupby(parts):
        width = len(list(run))
        yield part, first, first + width
        first += width


def _part(name: str, joint: str | None, robot: Embodiment | None) -> str:
    group = robot.group_of(joint) if robot is not None and joint is not None else None
    if group is not None:
        return _GR00T_NAMES.get(group, group)
    side = _SIDE.search(name)
    if is_hand(name):
        letter = (side[1] or side[2])[0].lower() if side is not None else ""
        return {"l": "left_hand", "r": "right_hand"}.get(letter, "hand")
    return "body"


def _free(name: str, taken: dict[str, Any]) -> str:
    """The name, with a number where another part has it."""
    numbered = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(free for free in numbered if free not in taken)


def assemble(episodes: Sequence[WrittenEpisode], out: Path, context: ExportContext) -> None:
    """Make the dataset; its stats.json is of columns alone, since GR00T takes no other."""
    write_v21(assembly_of(episodes, context, "Sequence", flat=True), out, total_cameras=False)
    write_json(out / "meta" / "modality.json", modality_of(context), indent=4)


FORMAT = Format(
    title="LeRobot v2.1 for GR00T",
    writer=TableWriter(
        # Columns of several axes become flat, their shape is in info.json.
        write=partial(write_episode, flat=True),
        assemble=assemble,
        loses=LOSES,
        consumer=Consumer("lerobot", "lerobot", "pip install lerobot==0.3.3"),
    ),
)
