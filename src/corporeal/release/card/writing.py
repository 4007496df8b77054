"""Writes the card of a release: into its store, and into a folder with plots and files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, latest_events, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import digest_of
from corporeal.catalog.workspace import Workspace
from corporeal.files import atomic_write
from corporeal.release.card.contents import card_facts
from corporeal.release.card.croissant import EPISODE_FIELDS, EPISODES, ReleaseFile, croissant
from corporeal.release.card.markdown import render_card
from corporeal.release.card.plots import card_plots
from corporeal.release.manifest import CanonicalObject, Manifest, store_object
from corporeal.release.reading import find_release, load_release

README, DESCRIPTION, PLOTS = "README.md", "croissant.json", "plots"
_EVENT = "card"


class StoredCard(CanonicalObject):
    """The card as it was when the release was made: its texts by the names of their files."""

    format: Literal["corporeal-release-card"] = "corporeal-release-card"
    format_version: Literal[1] = 1
    release: str
    files: dict[str, str]


def store_card(workspace: Workspace, manifest: Manifest, *, who: str) -> str:
    """Put README, list of episodes and Croissant into the store, beside the manifest; their hash.

    The audit log says which object it is, since a manifest cannot name what names its hash.
    """
    with workspace.database.read() as connection:
        facts = card_facts(connection, manifest.name, manifest.version)
    content = {README: render_card(facts).encode(), EPISODES: _episodes(manifest)}
    files = [
        ReleaseFile(name, "sha256:" + hashlib.sha256(data).hexdigest(), len(data))
        for name, data in content.items()
    ]
    content[DESCRIPTION] = _spelled(croissant(facts, files))
    texts = {name: data.decode() for name, data in content.items()}
    card = StoredCard(release=manifest.reference, files=texts)
    store_object(workspace.store, card, retain_until=manifest.held_until)
    subject = f"release:{manifest.reference}"
    with workspace.database.write() as connection:
        record(connection, [Change(who, _EVENT, subject, details={"object": card.hash})])
    return card.hash


def stored_card(connection: Connection, reference: str) -> str | None:
    """The hash of the card in the store; None for a release that was made without one."""
    events = latest_events(connection, f"release:{reference}", [_EVENT])
    return str(events[0]["details"]["object"]) if events else None


def write_card(
    workspace: Workspace,
    reference: str,
    out: Path,
    *,
    url: str | None = None,
    part: str | None = None,
) -> list[Path]:
    """Write the card of a release into a folder; the files that were written.

    The folder may hold the exported LeRobot dataset already: then its rows and files are described
    too. `url` is where the folder will be published; `part` says in a sentence that the folder
    has less than the release.
    """
    features = _features(out)
    release = find_release(workspace, reference)
    manifest = load_release(workspace, release.reference)
    with workspace.database.read() as connection:
        facts = card_facts(connection, release.name, release.version)
    plots = card_plots(facts)
    content = {f"{PLOTS}/{name}": data for name, data in plots.items()}
    content[EPISODES] = _episodes(manifest)
    content[README] = render_card(facts, pictures=plots, folder=PLOTS, part=part).encode()
    written = [_write(out / name, data) for name, data in content.items()]
    described = croissant(facts, list(_files(out)), features=features, url=url)
    return [*written, _write(out / DESCRIPTION, _spelled(described))]


def _spelled(described: Mapping[str, Any]) -> bytes:
    return (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode()


def _episodes(manifest: Manifest) -> bytes:
    """The episodes as the manifest has them, without anything in it that may name people."""
    listed = [
        {name: getattr(each, name) for name in (*EPISODE_FIELDS, "split")}
        for each in manifest.episodes
    ]
    told = {"release": manifest.reference, "manifest": manifest.hash, "episodes": listed}
    return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()


def _features(folder: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """The features of a LeRobot dataset in the folder; None if there is none."""
    path = folder / "meta" / "info.json"
    if not path.is_file():
        return None
    try:
        features = json.loads(path.read_text("utf-8"))["features"]
    except (ValueError, KeyError, TypeError):
        features = None
    if not isinstance(features, dict) or not all(
        isinstance(each, dict) for each in features.values()
    ):
        raise CatalogError(f"{path}: features cannot be read; expected a LeRobot dataset.")
    return features


def _files(folder: Path) -> Iterator[ReleaseFile]:
    """Every file of the folder but the description itself; links are not followed."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_symlink() or not path.is_file() or hidden or name == DESCRIPTION:
            continue
        yield ReleaseFile(name, digest_of(path), path.stat().st_size)


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, content)
    return path
