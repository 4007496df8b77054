"""Whether the episodes of a release can be read: there, of the right size, of one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import Store
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.release.local_copy import LocalCopies
from corporeal.release.manifest import Manifest, ReleaseMember

_ASKING, _BLOCK = 16, 1000

Shapes = dict[tuple[str | None, str], tuple[tuple[int, ...], str]]
"""The shape of every stream of a robot, and the episode that had it first."""


def missing_objects(store: Store, members: Sequence[ReleaseMember]) -> Iterator[tuple[str, str]]:
    """Episodes whose object is not there or has another size: their id, and what is wrong."""
    for each, size in zip(members, _sizes(store, members), strict=True):
        if size is None:
            yield each.id, f"its object {each.hash} is not in the store"
        elif size != each.bytes:
            yield each.id, f"its object has {size} bytes; expected {each.bytes}"


def _sizes(store: Store, members: Sequence[ReleaseMember]) -> Iterator[int | None]:
    """What the store says of every object. A distant one is asked by several at once."""
    digests = [each.hash for each in members]
    if store.is_local:
        yield from map(store.has, digests)
        return
    with ThreadPoolExecutor(_ASKING) as pool:
        for first in range(0, len(digests), _BLOCK):
            yield from pool.map(store.has, digests[first : first + _BLOCK])


def require_readable(workspace: Workspace, manifest: Manifest, *, deep: bool) -> None:
    """Raise CatalogError unless every object is there, and with `deep` every episode opens."""
    problems = missing_objects(workspace.store, manifest.episodes)
    if deep:
        copies = LocalCopies(workspace.store, workspace.root / "cache" / "episodes")
        problems = chain(problems, unreadable_episodes(copies, manifest))
    found = dict(problems)
    if found:
        name, told = next(iter(found.items()))
        raise CatalogError(
            f"{len(found)} episode{'s' * (len(found) > 1)} cannot be released; {name}: {told}. "
            "Ingest the files again, or leave these episodes out."
        )


def unreadable_episodes(
    copies: LocalCopies, manifest: Manifest, *, on_episode: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[str, str]]:
    """Open every episode; those that cannot be read or are not like the others of their robot."""
    shapes: Shapes = {}
    orders: dict[str, tuple[tuple[str, ...], str]] = {}
    for member in manifest.episodes:
        try:
            with Episode.open(copies.path(member.hash, member.bytes)) as episode:
                yield from ((member.id, told) for told in _differences(episode, member, shapes))
                yield from ((member.id, told) for told in _other_joints(episode, orders))
        except CorporealError as error:
            yield member.id, str(error)
        on_episode(member.id)


def _differences(episode: Episode, member: ReleaseMember, shapes: Shapes) -> Iterator[str]:
    if episode.id != member.id:
        yield f"its file is of episode {episode.id}"
    if member.content_hash is not None and episode.content_hash != member.content_hash:
        yield f"its content is {episode.content_hash}; expected {member.content_hash}"
    for path, reader in episode.items():
        shape = tuple(int(size) for size in reader.spec.shape)
        first, owner = shapes.setdefault((member.robot, path), (shape, member.id))
        if shape != first:
            yield f"{path} has the shape {shape}; it is {first} in episode {owner}"
        if len(reader) and reader.spec.kind == "array":
            reader[0]


def _other_joints(
    episode: Episode, orders: dict[str, tuple[tuple[str, ...], str]]
) -> Iterator[str]:
    """The robot's joints, where it is the same robot, in another order than before."""
    if "embodiment" not in episode.documents:
        return
    robot = episode.embodiment
    first, owner = orders.setdefault(robot.name, (robot.joint_names, episode.id))
    if robot.joint_names != first:
        same = sorted(robot.joint_names) == sorted(first)
        what = "in another order than" if same else "other than"
        yield f"the joints of {robot.name} are {what} in episode {owner}"


def joint_orders(manifest: Manifest) -> list[str]:
    """Robots that are in the release with more than one order of joints."""
    names = [robot.name for robot in manifest.layout.robots]
    return sorted({name for name in names if names.count(name) > 1})
