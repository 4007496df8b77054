"""Makes a release: episodes chosen, split, compared, listed, and recorded in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import corporeal
from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.release.label_bundle import (
    POLICIES,
    LabelBundle,
    LabelPolicy,
    collect_labels,
)
from corporeal.release.label_summary import summarise_labels
from corporeal.release.layout import change_between, layout_of
from corporeal.release.manifest import (
    DocumentHead,
    LabelsHead,
    Manifest,
    Member,
    Retention,
)
from corporeal.release.publication import publish
from corporeal.release.reading import Release, find_release, list_releases, load_release
from corporeal.release.representativeness import (
    CATEGORIES,
    NUMBERS,
    Representativeness,
    compare_splits,
)
from corporeal.release.retention import hold_release
from corporeal.release.selection import Candidate, Selection, Where, select_episodes
from corporeal.release.split import NEGATIVES, Item, assign_splits, check_shares
from corporeal.release.validation import require_readable
from corporeal.release.version import Version, check_name, decide_version

SHARES: Mapping[str, float] = {"train": 0.9, "validation": 0.1}
STRATIFY = ("task", "operator")
LICENCE = "all rights reserved"
_LONGEST_NOTES = 100_000


@dataclass(frozen=True)
class Wish:
    """What a release is to be, as it was asked for."""

    name: str
    version: str | None
    shares: Mapping[str, float]
    stratify: tuple[str, ...]
    group_by: str | None
    seed: int
    who: str
    licence: str
    notes: str | None
    negatives: bool
    retain_until: datetime | None
    labels: LabelPolicy = "included"

    @property
    def properties(self) -> tuple[str, ...]:
        """Everything of an episode that splitting and comparing looks at."""
        grouped = (self.group_by,) if self.group_by is not None else ()
        return tuple(dict.fromkeys((*CATEGORIES, *self.stratify, *grouped)))


@dataclass(frozen=True)
class Draft:
    """A release before it is made: what would be in it, and what there is to say of it."""

    manifest: Manifest
    representativeness: Representativeness
    left_out: Mapping[str, int]
    labels: LabelBundle | None = None
    label_facts: Mapping[str, Any] | None = None


def create_release(
    workspace: Workspace,
    name: str,
    *,
    who: str,
    version: str | None = None,
    where: Where = None,
    splits: Mapping[str, float] = SHARES,
    stratify: Sequence[str] = STRATIFY,
    group_by: str | None = None,
    seed: int = 0,
    licence: str = LICENCE,
    notes: str | None = None,
    negatives: bool = False,
    retain_until: datetime | None = None,
    objects: bool = True,
    deep: bool = False,
    labels: LabelPolicy = "included",
    on_draft: Callable[[Draft], None] = lambda _: None,
) -> Release:
    """Make an immutable release of the episodes that meet a condition.

    Accepted and annotated episodes are taken, and those released before; failed ones only with
    `negatives`, into a split of that name. Without a `version` the smallest one is given that
    says what changed since the last release. With `objects` the store must have every file, with
    `deep` every episode must open and be like the others of its robot. Labels in force are
    `included`, or `required` of every episode, or `none` of them is taken. `on_draft` hears of the
    release before anything is written, and can still stop it by raising. Killed at any moment
    there is the whole release, or none; when two make the same version, one of them is told so
    with a CatalogError. `retain_until` is kept by stores with object lock; others are only told
    of it in the manifest.
    """
    wish = Wish(
        check_name(name),
        version,
        check_shares(splits),
        tuple(stratify),
        group_by,
        seed,
        who,
        licence,
        notes,
        negatives,
        retain_until,
        labels,
    )
    draft = draft_release(workspace, wish, where)
    if objects or deep:
        require_readable(workspace, draft.manifest, deep=deep)
    on_draft(draft)
    publish(
        workspace,
        draft.manifest,
        draft.representativeness,
        draft.left_out,
        labels=draft.labels,
        label_facts=draft.label_facts,
    )
    reference = draft.manifest.reference
    if draft.manifest.retention is not None and draft.manifest.retention.write_once:
        hold_release(workspace, reference, who=who)
    return find_release(workspace, reference)


def draft_release(workspace: Workspace, wish: Wish, where: Where) -> Draft:
    """What the release would be; nothing is changed."""
    _check(wish)
    last = _last(workspace, wish.name)
    with workspace.database.read() as connection:
        chosen = select_episodes(
            connection, where, properties=wish.properties, negatives=wish.negatives
        )
        if not chosen.candidates:
            raise CatalogError(_nothing_chosen(chosen))
        rows = [each.row for each in chosen.candidates]
        bundle = collect_labels(connection, rows, wish.labels)
        told = summarise_labels(connection, bundle, wish.labels)
    _check_properties(wish, chosen.candidates)
    splits = _splits(wish, chosen.candidates)
    alike = _compared(wish, chosen.candidates, splits)
    manifest = _labelled(_manifest(wish, chosen, splits, alike, last), bundle, wish.labels)
    change = change_between(last, manifest)
    latest = Version.parse(last.version) if last is not None else None
    given = decide_version(wish.version, latest, change)
    retention = _retention(workspace, wish)
    manifest = manifest.model_copy(
        update={"version": str(given), "change": change, "retention": retention}
    )
    return Draft(manifest, alike, chosen.left_out, bundle, told)


def _labelled(manifest: Manifest, bundle: LabelBundle | None, policy: LabelPolicy) -> Manifest:
    """The manifest with the labels that go into the release, and the taxonomies behind them."""
    if bundle is None or policy == "none":
        return manifest
    members = []
    for each in manifest.episodes:
        found = bundle.episodes.get(each.id)
        if found is not None:
            documents = {**each.documents, Taxonomy.kind: found.taxonomy}
            each = each.model_copy(update={"labels": found.hash, "documents": documents})
        members.append(each)
    heads = {
        name: DocumentHead(kind=Taxonomy.kind, name=each.name, version=each.version)
        for name, each in bundle.taxonomies.items()
    }
    head = LabelsHead(object=bundle.hash, bytes=len(bundle.text), policy=policy,
                      episodes=len(bundle.episodes))  # fmt: skip
    return manifest.model_copy(
        update={
            "episodes": tuple(members),
            "documents": manifest.documents | heads,
            "labels": head,
        }
    )


def _check(wish: Wish) -> None:
    if not wish.who.strip() or not wish.licence.strip():
        raise CatalogError("release, got no name of who makes it or no licence; expected both.")
    if wish.notes is not None and len(wish.notes) > _LONGEST_NOTES:
        raise CatalogError(
            f"notes, got {len(wish.notes)} characters; expected at most {_LONGEST_NOTES}."
        )
    until = wish.retain_until
    if until is not None and (until.tzinfo is None or until <= datetime.now(UTC)):
        raise CatalogError(
            f"retention, got {until.isoformat()}; expected a date to come, with a time zone."
        )
    if wish.labels not in POLICIES:
        raise CatalogError(f"labels, got {wish.labels!r}; expected one of: {', '.join(POLICIES)}.")


def _last(workspace: Workspace, name: str) -> Manifest | None:
    """The newest release of this name."""
    known = list_releases(workspace, name)
    return load_release(workspace, known[-1].reference) if known else None


def _nothing_chosen(chosen: Selection) -> str:
    told = ", ".join(f"{count} {state}" for state, count in sorted(chosen.left_out.items()))
    why = f"{told} meet the condition" if told else "none meets the condition"
    return (
        f"release, got no episode ({why}); expected accepted or annotated ones. "
        "Look at them with: corporeal ls."
    )


def _check_properties(wish: Wish, candidates: Sequence[Candidate]) -> None:
    """A property that nobody states is a slip of the pen, not a way to split."""
    asked = (*wish.stratify, *((wish.group_by,) if wish.group_by is not None else ()))
    for name in asked:
        if name in STRATIFY:
            continue
        if all(each.properties[name] is None for each in candidates):
            raise CatalogError(
                f"property to split by, got {name!r}, which no episode states. Leave it out, or "
                "name another."
            )


def _splits(wish: Wish, candidates: Sequence[Candidate]) -> dict[str, str]:
    items = [
        Item(
            each.id,
            tuple(each.properties[name] for name in wish.stratify),
            each.properties[wish.group_by] if wish.group_by is not None else None,
        )
        for each in candidates
        if not each.negative
    ]
    placed = assign_splits(items, wish.shares, seed=wish.seed)
    return placed | {each.id: NEGATIVES for each in candidates if each.negative}


def _compared(
    wish: Wish, candidates: Sequence[Candidate], splits: Mapping[str, str]
) -> Representativeness:
    """Failures are meant to be unlike the others: only the splits that were drawn are compared."""
    drawn = [each for each in candidates if not each.negative]
    names = dict.fromkeys((*CATEGORIES, *wish.stratify))
    return compare_splits(
        [splits[each.id] for each in drawn],
        {name: [each.properties[name] for each in drawn] for name in names},
        {name: [each.row[name] for each in drawn] for name in NUMBERS},
        by_design=() if wish.group_by is None else (wish.group_by,),
        seed=wish.seed,
    )


def _manifest(
    wish: Wish,
    chosen: Selection,
    splits: Mapping[str, str],
    alike: Representativeness,
    last: Manifest | None,
) -> Manifest:
    documents = chosen.documents
    return Manifest(
        name=wish.name,
        version="0.0.0",
        change="first",
        previous=last.reference if last is not None else None,
        created_at=now(),
        created_by=wish.who,
        software=f"corporeal {corporeal.__version__}",
        licence=wish.licence,
        notes=wish.notes,
        condition=chosen.condition,
        seed=wish.seed,
        shares=dict(wish.shares),
        stratify=wish.stratify,
        group_by=wish.group_by,
        negatives=wish.negatives,
        layout=layout_of(documents.values(), {each.row["robot"] for each in chosen.candidates}),
        documents={
            digest: DocumentHead(kind=each["kind"], name=each["name"], version=each["version"])
            for digest, each in documents.items()
        },
        retention=None,
        representativeness=alike.figures(),
        episodes=tuple(_member(each, splits[each.id]) for each in chosen.candidates),
    )


def _member(candidate: Candidate, split: str) -> Member:
    row = {name: value for name, value in candidate.row.items() if name != "recorded_ns"}
    return Member(
        **row,
        split=split,
        negative=candidate.negative,
        content_hash=candidate.content_hash,
        documents=dict(candidate.documents),
    )


def _retention(workspace: Workspace, wish: Wish) -> Retention | None:
    """Until when to keep it, and whether the store can see to that, which is tried now."""
    if wish.retain_until is None:
        return None
    until = wish.retain_until.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return Retention(until=until, write_once=workspace.store.abilities().write_once)
