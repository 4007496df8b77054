"""Recordings of Unitree's xr_teleoperate: episode_0000/data.json with pictures beside it.

The file has `info` (image.fps, joint_names by part), `text` (goal, desc, steps) and `data`: one
step after the other with `states` and `actions` by part (left_arm, right_arm, left_ee or
left_hand, ..., body), each with qpos, qvel and torque, and with the names of the pictures in
`colors` and `depths`. There are no stamps: steps follow each other at image.fps. The angles of
`body` are all motors in the order of the robot's SDK, those of a G1 with six unused ones at the
end; a `body` action of three is the walking command vx, vy, vyaw. The file does not name the robot,
and its joint_names are those of a G1 whatever the robot was; hands of six motors are Inspire or
BrainCo, in different orders, so they stay numbered. `rewards` says success in every episode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.episode.facts import RATE
from corporeal.episode.recording import METADATA_WRONG, ArraySignal, Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import stream_name
from corporeal.exchange.format import Format, dataset_of
from corporeal.exchange.json_text import read_text
from corporeal.exchange.steps import (
    DATA,
    StepColumn,
    StepReading,
    begins_with,
    episode_folders,
    side_by_side,
    value_at,
)
from corporeal.schema import Stream, roles
from corporeal.signal.grid import even_stamps


def read_truncated_json(path: Path, *, growing: str) -> tuple[dict[str, Any], bool]:
    """The object in a file, and whether the file breaks off.

    Then the object has what is whole: of the list under the key `growing`, every whole item.
    Raises EpisodeError when there is none.
    """
    text = read_text(path, expected="an episode")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        document = _whole_part(text, growing)
        if not document.get(growing):
            raise EpisodeError(f"{path}: not JSON ({error}). Replace the file.") from None
        return document, True
    if not isinstance(document, dict):
        raise EpisodeError(f"{path}: got {type(document).__name__}; expected {{...}}.")
    return document, False


def _whole_part(text: str, growing: str) -> dict[str, Any]:
    decoder = json.JSONDecoder()
    document: dict[str, Any] = {}
    place = text.find("{") + 1
    try:
        while place < len(text):
            key, place = decoder.raw_decode(text, _value(text, place, ","))
            place = _value(text, place, ":")
            if key != growing:
                document[str(key)], place = decoder.raw_decode(text, place)
                continue
            items = document[growing] = []
            place = _value(text, place, "[")
            while place < len(text):
                item, place = decoder.raw_decode(text, _value(text, place, ","))
                items.append(item)
    except (ValueError, RecursionError):
        return document  # Here it breaks off.
    return document


def _value(text: str, place: int, sign: str) -> int:
    """Where the next value begins: one `sign` and the white space around it are passed over."""
    passed = re.compile(rf"[ \t\r\n]*{re.escape(sign)}?[ \t\r\n]*").match(text, place)
    return passed.end() if passed is not None else place


RATE_HZ = 30.0
_QUANTITIES = ("qpos", "qvel", "torque")
_BODY = "body"
_G1_MOTORS = (29, 35)


def recognises(path: Path) -> bool:
    """Whether a data.json with info, text and data lies in the folder or in its episodes."""
    return any(
        begins_with(folder / DATA, "{", "info", "text", "data")
        for folder in episode_folders(path)[:1]
    )


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The episodes in order of their numbers; `rate_hz` takes the place of the one in the files."""
    folders = episode_folders(path)
    return dataset_of(path, "unitree_json", folders, partial(_open, robot, rate_hz))


def _open(robot: Embodiment | None, rate_hz: float | None, folder: Path, index: int) -> Recording:
    document, torn = read_truncated_json(folder / DATA, growing="data")
    steps = document.get("data")
    if not isinstance(steps, list) or not steps:
        raise EpisodeError(f"{folder / DATA}: no step in it; expected a list under 'data'.")
    info = document.get("info") if isinstance(document.get("info"), Mapping) else {}
    stated = value_at(info, "image", "fps")
    known = isinstance(stated, int | float) and 1e-3 <= stated <= 1e4
    rate = rate_hz or (float(stated) if known else RATE_HZ)
    reading = StepReading(
        index, rate, robot, folder=folder, steps=steps, time_ns=even_stamps(len(steps), rate)
    )
    for side in ("states", "actions"):
        _joints(reading, side, value_at(info, "joint_names"))
    _body(reading)
    for part in _keys(steps, "tactiles"):
        reading.add(f"tactiles.{part}", reading.column("tactiles", part))
    _pictures(reading)
    _scene(reading)
    reading.looked_at |= {("idx",), ("audios",), ("sim_state",)}
    if any(value_at(step, "idx") is not None for step in steps):
        reading.leave_out("idx", "the number of the step")
    reading.leave_out_rest()
    if not known and rate_hz is None:
        reading.assumed[RATE] = f"{rate:g} Hz, as the recorder has by default: it states none"
    return reading.to_recording(
        f"{folder.parent.name}_{folder.name}",
        folder / DATA,
        _metadata(document, reading),
        recovered=f"{DATA} ends in the middle: the recorder was stopped" if torn else None,
        regridded=True,
    )


def _joints(reading: StepReading, side: str, stated: Any) -> None:
    """Angles, speeds and torques of all parts but the body, each as one signal."""
    parts = [part for part in _keys(reading.steps, side) if part != _BODY]
    for quantity in _QUANTITIES:
        found = {part: reading.column(side, part, quantity) for part in parts}
        found = {part: each for part, each in found.items() if len(each) and each.values.ndim == 2}
        if not found:
            continue
        label = quantity if side == "states" else "action"
        label = f"action.{quantity}" if side == "actions" and quantity != "qpos" else label
        names = [name for part, each in found.items()
                 for name in _names(stated, part, each.values.shape[1])]  # fmt: skip
        if (problem := _overlap(found)) is not None:
            reading.complain(METADATA_WRONG, problem, label)
            names = [f"{part}_{number}_given" for part, each in found.items()
                     for number in range(each.values.shape[1])]  # fmt: skip
        reading.add(label, side_by_side(list(found.values())), names=names)


def _names(joint_names: Any, part: str, width: int) -> list[str]:
    """Names of a part's columns: the file's own if they are as many."""
    stated = value_at(joint_names, part)
    if isinstance(stated, list) and len(stated) == width and all(
        isinstance(name, str) and name.strip() and name.isprintable() for name in stated
    ):  # fmt: skip
        return [str(name) for name in stated]
    return [f"{part}_{number}" for number in range(width)]


def _overlap(found: Mapping[str, StepColumn]) -> str | None:
    """The recorder takes seven motors for each arm; of shorter arms some are then in both."""
    left, right = found.get("left_arm"), found.get("right_arm")
    if left is None or right is None or left.values.shape != right.values.shape:
        return None
    width = left.values.shape[1]
    for motors in range(2, width):
        shared = 2 * width - 2 * motors
        if not 0 < shared <= width:
            continue
        one, other = left.values[:, width - shared :], right.values[:, :shared]
        if np.array_equal(one, other) and np.ptp(one, axis=0).any():
            return (
                f"the arms have {motors} motors each, of which the recorder wrote {width}: "
                f"{shared} columns are in both arms, so none is taken for a joint"
            )
    return None


def _body(reading: StepReading) -> None:
    robot = reading.robot
    angles = reading.column("states", _BODY, "qpos")
    if angles.values.ndim == 2:
        names = [f"motor_{number}" for number in range(angles.values.shape[1])]
        units = ["1"] * len(names)
        if robot is not None and robot.name == "g1" and len(names) in _G1_MOTORS:
            known = len(robot.joint_names)
            names[:known], units[:known] = robot.joint_names, ["rad"] * known
        reading.add_stream("states.body.qpos", angles, "body_position", names=names, unit=units)
    command = reading.column("actions", _BODY, "qpos")
    if command.values.shape[1:] == (3,):
        names, units = ["vx", "vy", "wz"], ["m/s", "m/s", "rad/s"]
        reading.add_stream("actions.body.qpos", command, roles.BASE_VELOCITY, "actions", names,
                           units)  # fmt: skip
    else:
        reading.add("action.body", command)


def _pictures(reading: StepReading) -> None:
    for kind in ("colors", "depths"):
        for camera in _keys(reading.steps, kind):
            reading.add_stills(f"{kind}.{camera}", kind, camera, name=camera)
    if _keys(reading.steps, "audios"):
        reading.complain(METADATA_WRONG, "sound (audios) is not read")
        reading.leave_out("audios", "sound is not read", lost=True)


def _scene(reading: StepReading) -> None:
    """What the simulator says of the scene, as text."""
    texts, places = [], []
    for number, step in enumerate(reading.steps):
        state = value_at(step, "sim_state")
        if state:
            texts.append(state if isinstance(state, str) else json.dumps(state))
            places.append(number)
    if texts:
        spec = Stream(name="sim_state", group="debug", kind="text", rate_hz=reading.rate_hz)
        reading.signals["sim_state"] = ArraySignal(spec, reading.time_ns[places], texts)


def _keys(steps: Sequence[Any], kind: str) -> list[str]:
    """The parts or cameras that any step has, in the order of their first mention."""
    return list(dict.fromkeys(_mentioned(steps, kind)))


def _mentioned(steps: Sequence[Any], kind: str) -> Iterator[str]:
    for step in steps:
        parts = value_at(step, kind)
        if isinstance(parts, Mapping):
            yield from (str(key) for key, value in parts.items() if value)


def _metadata(document: Mapping[str, Any], reading: StepReading) -> dict[str, Any]:
    rest = {name: value for name, value in document.items() if name != "data"}
    goal = value_at(document, "text", "goal")
    stated: dict[str, Any] = {"fps": reading.rate_hz, **rest}
    stated["task"] = stream_name(reading.folder.parent.name)
    if isinstance(goal, str) and goal.strip():
        stated["instruction"] = goal.strip()
    return stated


FORMAT = Format(
    read=read,
    recognises=recognises,
    takes_rate=True,
    title="JSON of Unitree's xr_teleoperate",
)
