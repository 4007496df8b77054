"""Makes a release: episodes chosen, split, compared, listed, and recorded in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import corporeal
from corporeal.catalog.audit import head, now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.release.card import store_card
from corporeal.release.label_bundle import (
    POLICIES,
    LabelBundle,
    LabelPolicy,
    collect_labels,
    count_unlabelled,
    summarise_labels,
)
from corporeal.release.layout import change_between, layout_of
from corporeal.release.manifest import (
    DocumentHead,
    LabelsHead,
    LogHead,
    Manifest,
    ReleaseMember,
    Retention,
)
from corporeal.release.publication import Draft, hold_release, publish
from corporeal.release.reading import Release, find_release, list_releases, load_release
from corporeal.release.representativeness import (
    CATEGORIES,
    NUMBERS,
    Representativeness,
    compare_splits,
)
from corporeal.release.selection import ReleaseCandidate, Selection, Where, select_episodes
from corporeal.release.split import NEGATIVES, SplitItem, assign_splits, check_shares
from corporeal.release.verification import require_readable
from corporeal.release.version import Version, check_name, decide_version

SHARES: Mapping[str, float] = {"train": 0.9, "validation": 0.1}
STRATIFY = ("task", "operator")
LICENCE = "all rights reserved"
_LONGEST_NOTES = 100_000
_MAKING = {"version", "change", "previous", "created_at", "created_by", "software", "retention",
           "representativeness", "log"}  # fmt: skip
"""Fields of a manifest that say how it was made, not what it holds."""
_STATED = (
    "id", "hash", "bytes", "file", "state", "verdict", "score", "policy", "task", "robot",
    "success", "duration_s",
)  # fmt: skip
"""What a manifest says of an episode, as its row had it."""


@dataclass(frozen=True)
class ReleaseOptions:
    """What a release is to be.

    Accepted and annotated episodes that meet `where` are taken, and those released before; failed
    ones only with `negatives`, into a split of that name. Without a `version` the smallest one is
    given that says what changed since the last release. With `objects` the store must have every
    file, with `deep` every episode must open and be like the others of its robot. Labels in force
    are taken: those that a taxonomy in use asks for must be there (`asked`), or those of every
    episode (`required`), or nothing must (`included`); `none` takes none. Splits that differ are
    refused unless `unlike_splits`. `selection` is the one that it is made of, NAME@VERSION, and
    `weights` what that gives every episode. `retain_until` is kept by stores with object lock;
    others are only told of it in the manifest.
    """

    version: str | None = None
    where: Where = None
    splits: Mapping[str, float] = field(default_factory=lambda: dict(SHARES))
    stratify: Sequence[str] = STRATIFY
    group_by: str | None = None
    seed: int = 0
    licence: str = LICENCE
    notes: str | None = None
    negatives: bool = False
    retain_until: datetime | None = None
    objects: bool = True
    deep: bool = False
    labels: LabelPolicy = "asked"
    unlike_splits: bool = False
    selection: str | None = None
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def properties(self) -> tuple[str, ...]:
        """Everything of an episode that splitting and comparing looks at."""
        grouped = (self.group_by,) if self.group_by is not None else ()
        return tuple(dict.fromkeys((*CATEGORIES, *self.stratify, *grouped)))


class NothingChangedError(CatalogError):
    """A release would be the one before again."""


def create_release(
    workspace: Workspace,
    name: str,
    options: ReleaseOptions | None = None,
    *,
    who: str,
    on_draft: Callable[[Draft], None] = lambda _: None,
) -> Release:
    """Make an immutable release of the episodes that meet a condition.

    `on_draft` hears of the release before anything is written, and can still stop it by raising.
    Killed at any moment there is the whole release, or none; when two make the same version, one
    of them is told so with a CatalogError. Its card is stored with it, right after.
    """
    options = options or ReleaseOptions()
    draft = draft_release(workspace, name, options, who=who)
    if options.objects or options.deep:
        require_readable(workspace, draft.manifest, deep=options.deep)
    on_draft(draft)
    publish(workspace, draft)
    store_card(workspace, draft.manifest, who=who)
    reference = draft.manifest.reference
    if draft.manifest.retention is not None and draft.manifest.retention.write_once:
        hold_release(workspace, reference, who=who)
    return find_release(workspace, reference)


def draft_release(workspace: Workspace, name: str, options: ReleaseOptions, *, who: str) -> Draft:
    """What the release would be; nothing is changed."""
    check_name(name)
    shares = check_shares(options.splits)
    _check(options, who)
    last = _last(workspace, name)
    with workspace.database.read() as connection:
        chosen = select_episodes(
            connection, options.where, properties=options.properties, negatives=options.negatives
        )
        if not chosen.candidates:
            raise CatalogError(_nothing_chosen(chosen))
        rows = [each.row for each in chosen.candidates]
        bundle = collect_labels(connection, rows, options.labels)
        told = summarise_labels(connection, bundle, options.labels)
        is_lenient = options.labels == "included"
        unlabelled = count_unlabelled(connection, rows, bundle) if is_lenient else 0
        end = head(connection)
    _check_properties(options, chosen.candidates)
    splits = _splits(options, shares, chosen.candidates)
    alike = _compared(options, chosen.candidates, splits)
    _require_alike(options, alike)
    manifest = Manifest(
        name=name,
        version="0.0.0",
        change="first",
        previous=last.reference if last is not None else None,
        created_at=now(),
        created_by=who,
        shares=dict(shares),
        representativeness=alike.figures(),
        episodes=tuple(
            _member(each, splits[each.id], options.weights) for each in chosen.candidates
        ),
        selection=options.selection,
        log=LogHead(number=end.number, hash=end.hash),
        **_described(options, chosen),
    )
    manifest = _labelled(manifest, bundle, options.labels)
    asked = options.version is not None or options.retain_until is not None
    if last is not None and not asked and _content(last) == _content(manifest):
        raise NothingChangedError(
            f"release {name}, got what {last.reference} holds already: nothing changed since "
            f"{last.version}. Name a version with --version to make one all the same."
        )
    change = change_between(last, manifest)
    latest = Version.parse(last.version) if last is not None else None
    given = decide_version(options.version, latest, change)
    retention = _retention(workspace, options)
    manifest = manifest.model_copy(
        update={"version": str(given), "change": change, "retention": retention}
    )
    return Draft(manifest, alike, chosen.left_out, bundle, told, unlabelled)


def _content(manifest: Manifest) -> dict[str, Any]:
    """What a release holds, without when it was made, by whom and what follows from that."""
    values = manifest.model_dump(exclude=_MAKING)
    # That an episode was released is no change of it.
    members = [each | {"state": None} for each in values["episodes"]]
    return values | {"episodes": members}


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
    head = LabelsHead(
        object=bundle.hash,
        bytes=len(bundle.text),
        policy="required" if policy == "required" else "included",
        episodes=len(bundle.episodes),
    )
    return manifest.model_copy(
        update={
            "episodes": tuple(members),
            "documents": manifest.documents | heads,
            "labels": head,
        }
    )


def _check(options: ReleaseOptions, who: str) -> None:
    if not who.strip() or not options.licence.strip():
        raise CatalogError("release, got no name of who makes it or no licence; expected both.")
    if options.notes is not None and len(options.notes) > _LONGEST_NOTES:
        raise CatalogError(
            f"notes, got {len(options.notes)} characters; expected at most {_LONGEST_NOTES}."
        )
    until = options.retain_until
    if until is not None and (until.tzinfo is None or until <= datetime.now(UTC)):
        raise CatalogError(
            f"retention, got {until.isoformat()}; expected a date to come, with a time zone."
        )
    if options.labels not in POLICIES:
        raise CatalogError(
            f"labels, got {options.labels!r}; expected one of: {', '.join(POLICIES)}."
        )


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


def _check_properties(options: ReleaseOptions, candidates: Sequence[ReleaseCandidate]) -> None:
    """A property that nobody states is a slip of the pen, not a way to split."""
    asked = (*options.stratify, *((options.group_by,) if options.group_by is not None else ()))
    for name in asked:
        if name in STRATIFY:
            continue
        if all(each.properties[name] is None for each in candidates):
            raise CatalogError(
                f"property to split by, got {name!r}, which no episode states. Leave it out, or "
                "name another."
            )


def _splits(
    options: ReleaseOptions, shares: Mapping[str, float], candidates: Sequence[ReleaseCandidate]
) -> dict[str, str]:
    items = [
        SplitItem(
            each.id,
            tuple(each.properties[name] for name in options.stratify),
            each.properties[options.group_by] if options.group_by is not None else None,
        )
        for each in candidates
        if not each.negative
    ]
    placed = assign_splits(items, shares, seed=options.seed)
    return placed | {each.id: NEGATIVES for each in candidates if each.negative}


def _compared(
    options: ReleaseOptions, candidates: Sequence[ReleaseCandidate], splits: Mapping[str, str]
) -> Representativeness:
    """Failures are meant to be unlike the others: only the splits that were drawn are compared."""
    drawn = [each for each in candidates if not each.negative]
    names = dict.fromkeys((*CATEGORIES, *options.stratify))
    return compare_splits(
        [splits[each.id] for each in drawn],
        {name: [each.properties[name] for each in drawn] for name in names},
        {name: [getattr(each.row, name) for each in drawn] for name in NUMBERS},
        by_design=() if options.group_by is None else (options.group_by,),
        seed=options.seed,
    )


def _require_alike(options: ReleaseOptions, alike: Representativeness) -> None:
    """Splits of which nobody can tell pass; those that surely differ do only when that is meant."""
    if alike.judgement == "different" and not options.unlike_splits:
        raise CatalogError(
            f"release, got splits that are not alike: {alike.words} Draw them again with another "
            "--seed, spread this evenly with --stratify, or release them so with --unlike-splits."
        )


def _described(options: ReleaseOptions, chosen: Selection) -> dict[str, Any]:
    """What the manifest says of how the episodes were chosen, and of the documents behind them."""
    documents = chosen.documents
    return {
        "software": f"corporeal {corporeal.__version__}",
        "licence": options.licence,
        "notes": options.notes,
        "condition": chosen.condition,
        "seed": options.seed,
        "stratify": tuple(options.stratify),
        "group_by": options.group_by,
        "negatives": options.negatives,
        "layout": layout_of(documents.values(), {each.row.robot for each in chosen.candidates}),
        "documents": {
            digest: DocumentHead(kind=each.kind, name=each.name, version=each.version)
            for digest, each in documents.items()
        },
        "retention": None,
    }


def _member(candidate: ReleaseCandidate, split: str, weights: Mapping[str, float]) -> ReleaseMember:
    stated = {name: getattr(candidate.row, name) for name in _STATED}
    return ReleaseMember(
        **stated,
        split=split,
        negative=candidate.negative,
        weight=weights.get(candidate.id),
        content_hash=candidate.content_hash,
        documents=dict(candidate.documents),
    )


def _retention(workspace: Workspace, options: ReleaseOptions) -> Retention | None:
    """Until when to keep it, and whether the store can see to that, which is tried now."""
    if options.retain_until is None:
        return None
    until = options.retain_until.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return Retention(until=until, write_once=workspace.store.abilities().write_once)
