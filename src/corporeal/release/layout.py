"""What a reader of a release relies on: its streams, its robots, the order of their joints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from corporeal.catalog.episodes import DocumentRow
from corporeal.release.manifest import Layout, Manifest, ReleaseRig, Robot
from corporeal.release.version import Change


def layout_of(documents: Iterable[DocumentRow], robots: Iterable[str | None]) -> Layout:
    """The layout that schemas and embodiments describe; a robot without a document by its name."""
    rigs: dict[tuple[tuple[str, str], ...], ReleaseRig] = {}
    known: dict[tuple[str, tuple[str, ...]], Robot] = {}
    for document in documents:
        if document.kind == "schema":
            streams = dict(_streams(document.text))
            rigs.setdefault(
                tuple(sorted(streams.items())), ReleaseRig(name=document.name, streams=streams)
            )
        elif document.kind == "embodiment":
            joints = tuple(_joints(document.text))
            name = document.name
            known[name, joints] = Robot(name=name, joints=joints)
    named = {name for name, _ in known}
    for stated in robots:
        if stated is not None and stated.partition("@")[0] not in named:
            known[stated, ()] = Robot(name=stated, joints=())
    return Layout(
        rigs=tuple(rigs[key] for key in sorted(rigs)),
        robots=tuple(known[key] for key in sorted(known)),
    )


def change_between(old: Manifest | None, new: Manifest) -> Change:
    """What kind of change a new release is from the one before."""
    if old is None:
        return "first"
    if layout_changes(old.layout, new.layout):
        return "major"
    places = [{(each.id, each.hash, each.split) for each in one.episodes} for one in (old, new)]
    return "patch" if places[0] == places[1] else "minor"


def layout_changes(old: Layout, new: Layout) -> list[str]:
    """What changed for a reader, in words; nothing when all is read as before."""
    before = {robot.name: robot.joints for robot in old.robots}
    after = {robot.name: robot.joints for robot in new.robots}
    told = [f"robot {name} is new" for name in after if name not in before]
    told += [f"robot {name} is gone" for name in before if name not in after]
    told += [
        f"robot {name}: {_joint_change(before[name], after[name])}"
        for name in after
        if name in before and before[name] != after[name]
    ]
    if _orders(old) != _orders(new) and not told:
        told.append("a robot has another set of joint orders")
    told += _stream_changes(old.rigs, new.rigs)
    return told


def _orders(layout: Layout) -> set[tuple[str, tuple[str, ...]]]:
    return {(robot.name, robot.joints) for robot in layout.robots}


def _joint_change(old: Sequence[str], new: Sequence[str]) -> str:
    if sorted(old) == sorted(new):
        return "the joints are in another order"
    gained, lost = sorted(set(new) - set(old)), sorted(set(old) - set(new))
    parts = [
        f"{', '.join(gained[:4])} added" if gained else "",
        f"{', '.join(lost[:4])} gone" if lost else "",
    ]
    return f"joints {' and '.join(part for part in parts if part)}"


def _stream_changes(old: Sequence[ReleaseRig], new: Sequence[ReleaseRig]) -> list[str]:
    before = {frozenset(rig.streams.items()) for rig in old}
    after = {frozenset(rig.streams.items()) for rig in new}
    if before == after:
        return []
    was = _united(old)
    now = _united(new)
    told = [f"stream {path} is new" for path in sorted(now.keys() - was.keys())]
    told += [f"stream {path} is gone" for path in sorted(was.keys() - now.keys())]
    told += [
        f"stream {path}: {' or '.join(sorted(was[path]))} is now {' or '.join(sorted(now[path]))}"
        for path in sorted(now.keys() & was.keys())
        if now[path] != was[path]
    ]
    return told or ["the streams come in other combinations"]


def _united(rigs: Sequence[ReleaseRig]) -> dict[str, set[str]]:
    """What the streams of all rigs are, by path."""
    found: dict[str, set[str]] = {}
    for rig in rigs:
        for path, told in rig.streams.items():
            found.setdefault(path, set()).add(told)
    return found


def _fields(text: str) -> dict[str, Any]:
    """The values of a document; nothing for one that is not JSON, which then says nothing here."""
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _each(values: Any) -> Iterator[dict[str, Any]]:
    return (
        (each for each in values if isinstance(each, dict))
        if isinstance(values, list)
        else iter(())
    )


def _streams(text: str) -> Iterator[tuple[str, str]]:
    for stream in _each(_fields(text).get("streams")):
        shape = "x".join(str(size) for size in stream.get("shape", [])) or "scalar"
        unit = stream.get("unit", "1")
        shown = unit if isinstance(unit, str) else " ".join(str(each) for each in unit)
        path = f"{stream.get('group')}/{stream.get('name')}"
        kind = stream.get("kind", "array")
        yield path, f"{kind} {stream.get('dtype', 'float32')} {shape} in {shown}"


def _joints(text: str) -> Iterator[str]:
    """Names of the actuated joints, in the order of their columns."""
    for joint in _each(_fields(text).get("joints")):
        if joint.get("actuated", True) and joint.get("mimic") is None:
            yield str(joint.get("name"))
