"""Releases: listed, tried before they are made, made, read, compared and verified."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from corporeal.catalog.audit import Change, record
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import LONGEST_QUERY
from corporeal.release import (
    ReleaseOptions,
    create_release,
    diff_releases,
    draft_release,
    verify_release,
)
from corporeal.release.card import card_facts, render_card
from corporeal.release.reading import (
    Release,
    find_release,
    last_verification,
    list_releases,
    record_verification,
)
from corporeal.studio.authentication import Exporter, Reader, allowed
from corporeal.studio.context import StudioDep
from corporeal.studio.exports import ExportFormat, ExportState, exports_for

ROUTER = APIRouter(tags=["releases"])
Releaser = Annotated[Actor, Depends(allowed("release"))]
Verifier = Annotated[Actor, Depends(allowed("verify"))]
_Name = Annotated[str, Field(min_length=1, max_length=80)]


class VerifiedFacts(BaseModel):
    """The last time that a release was verified, and whether it was as it should be."""

    at: str
    who: str
    good: bool


class ReleaseChanges(BaseModel):
    """What differs between two releases."""

    lines: list[str]


class ReleaseFacts(BaseModel):
    """A release as the list shows it."""

    reference: str
    name: str
    version: str
    condition: str
    episodes: int
    hours: float | None
    splits: dict[str, int]
    created_at: str
    created_by: str
    licence: str
    notes: str | None
    verified: VerifiedFacts | None


class PropertyLikeness(BaseModel):
    """One property over the splits, in words."""

    property: str
    judgement: str
    words: str


class ReleasePage(BaseModel):
    """A release with its card in Markdown; `others` are the other versions of its name."""

    release: ReleaseFacts
    card: str
    words: str
    properties: list[PropertyLikeness]
    left_out: dict[str, int]
    others: list[str]


class NewRelease(BaseModel):
    """What a release is to be; shares of the splits are by name and come to 1."""

    name: _Name
    query: str = Field("", max_length=LONGEST_QUERY)
    splits: dict[_Name, float] = Field(default_factory=lambda: {"train": 0.9, "validation": 0.1})
    stratify: list[_Name] = Field(default_factory=lambda: ["task", "operator"], max_length=8)
    group_by: _Name | None = None
    seed: int = Field(0, ge=0, le=2**31)
    licence: str = Field("all rights reserved", max_length=200)
    notes: str | None = Field(None, max_length=10_000)
    negatives: bool = False
    unlike_splits: bool = False
    labels: Literal["asked", "required", "included", "none"] = "asked"


class ReleasePreview(BaseModel):
    """What would be made, and whether its splits would be alike.

    `unlabelled` episodes lack labels that were asked for: so it would be refused.
    """

    version: str
    previous: str | None
    episodes: int
    hours: float
    splits: dict[str, int]
    words: str
    properties: list[PropertyLikeness]
    left_out: dict[str, int]
    unlabelled: int


class NewExport(BaseModel):
    """A format to export to."""

    format: ExportFormat


class VerifiedRelease(BaseModel):
    """What a verification found."""

    good: bool
    words: str
    problems: list[str]


@ROUTER.get("/releases")
def list_all(studio: StudioDep, _: Reader) -> list[ReleaseFacts]:
    """All releases, the newest first."""
    made = sorted(list_releases(studio.workspace), key=lambda each: each.created_at, reverse=True)
    with studio.workspace.database.read() as connection:
        return [_facts(connection, each) for each in made]


@ROUTER.post("/releases/preview")
def preview(wish: NewRelease, studio: StudioDep, actor: Releaser) -> ReleasePreview:
    """What a release would be, before it is made; splits that differ are told, not refused."""
    options = _options(wish.model_copy(update={"unlike_splits": True}))
    # What lacks labels is counted, and told beside what there would be.
    told = replace(options, labels="included") if options.labels == "asked" else options
    draft = draft_release(studio.workspace, wish.name, told, who=actor.name)
    manifest = draft.manifest
    counts: dict[str, int] = {}
    for each in manifest.episodes:
        counts[each.split] = counts.get(each.split, 0) + 1
    return ReleasePreview(
        version=manifest.version,
        previous=manifest.previous,
        episodes=len(manifest.episodes),
        hours=sum(each.duration_s or 0.0 for each in manifest.episodes) / 3600,
        splits=dict(sorted(counts.items())),
        words=draft.representativeness.words,
        properties=_properties(draft.representativeness.to_json()),
        left_out=dict(draft.left_out),
        unlabelled=draft.unlabelled if options.labels == "asked" else 0,
    )


@ROUTER.post("/releases", status_code=201)
def make(wish: NewRelease, studio: StudioDep, actor: Releaser) -> ReleaseFacts:
    """Make a release; it never changes."""
    made = create_release(studio.workspace, wish.name, _options(wish), who=actor.name)
    with studio.workspace.database.read() as connection:
        return _facts(connection, made)


@ROUTER.get("/releases/{reference}")
def read(reference: str, studio: StudioDep, _: Reader) -> ReleasePage:
    """One release: what is in it, its card, whether its splits are alike."""
    release = find_release(studio.workspace, reference)
    with studio.workspace.database.read() as connection:
        facts = _facts(connection, release)
        card = render_card(card_facts(connection, release.name, release.version))
    others = [each.reference for each in list_releases(studio.workspace, release.name)]
    alike = release.facts.get("representativeness") or {}
    return ReleasePage(
        release=facts,
        card=card,
        words=str(alike.get("words") or ""),
        properties=_properties(alike),
        left_out=dict(release.facts.get("left_out") or {}),
        others=[each for each in others if each != release.reference],
    )


@ROUTER.get("/releases/{reference}/difference")
def difference(
    reference: str,
    studio: StudioDep,
    _: Reader,
    since: Annotated[str, Query(max_length=200)],
) -> ReleaseChanges:
    """What changed since another release, a sentence each."""
    return ReleaseChanges(lines=list(diff_releases(studio.workspace, since, reference).lines))


@ROUTER.post("/releases/{reference}/verification")
def verify(reference: str, studio: StudioDep, actor: Verifier) -> VerifiedRelease:
    """Read every byte of a release again and compare it with all that should agree."""
    found = verify_release(studio.workspace, reference)
    with studio.workspace.database.write() as connection:
        record_verification(
            connection, found.reference, good=found.good, problems=len(found.problems),
            who=actor.name,
        )  # fmt: skip
    problems = [f"{each.subject}: {each.message}" for each in found.problems[:50]]
    return VerifiedRelease(good=found.good, words=found.words, problems=problems)


@ROUTER.get("/releases/{reference}/exports")
def list_exports(reference: str, studio: StudioDep, _: Reader) -> list[ExportState]:
    """The formats that a release is there in, or on its way to; folders below the workspace."""
    release = find_release(studio.workspace, reference)
    return exports_for(studio.workspace.database).of(studio.workspace, release.reference)


@ROUTER.post("/releases/{reference}/exports", status_code=202)
def start_export(
    reference: str, studio: StudioDep, actor: Exporter, wish: NewExport
) -> list[ExportState]:
    """Export a release in the background; the same again goes on where it ended."""
    release = find_release(studio.workspace, reference)
    exports = exports_for(studio.workspace.database)
    with studio.workspace.database.write() as connection:
        details = {"format": wish.format}
        subject = f"release:{release.reference}"
        record(connection, [Change(actor.name, "export", subject, None, details)])
    exports.start_release(studio.workspace, release.reference, wish.format)
    return exports.of(studio.workspace, release.reference)


def _options(wish: NewRelease) -> ReleaseOptions:
    return ReleaseOptions(
        where=wish.query.strip() or None,
        splits=wish.splits,
        stratify=tuple(wish.stratify),
        group_by=wish.group_by,
        seed=wish.seed,
        licence=wish.licence,
        notes=wish.notes,
        negatives=wish.negatives,
        deep=False,
        unlike_splits=wish.unlike_splits,
        labels=wish.labels,
    )


def _properties(alike: dict[str, Any]) -> list[PropertyLikeness]:
    names = PropertyLikeness.model_fields
    return [
        PropertyLikeness(**{name: str(each.get(name) or "") for name in names})
        for each in alike.get("properties") or ()
    ]


def _facts(connection: Connection, release: Release) -> ReleaseFacts:
    facts = release.facts
    verified = last_verification(connection, release.reference)
    return ReleaseFacts(
        reference=release.reference,
        name=release.name,
        version=release.version,
        condition=release.condition,
        episodes=release.episodes,
        hours=facts.get("hours"),
        splits=dict(facts.get("splits") or {}),
        created_at=release.created_at,
        created_by=release.created_by,
        licence=str(facts.get("licence") or ""),
        notes=facts.get("notes"),
        verified=None if verified is None else VerifiedFacts(**vars(verified)),
    )
