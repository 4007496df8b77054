"""The labels of a release: one canonical text with all of them, stored under its hash."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import EpisodeRow
from corporeal.catalog.store import Store
from corporeal.episode.label_track import LabelTrack
from corporeal.labelling.agreement import agreement_of
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.labels import canonical, coverage_of, digest, label_track, labels_in_force
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomies, kept_taxonomy
from corporeal.release.manifest import CanonicalObject, Manifest, first_problem, object_text

LabelPolicy = Literal["asked", "required", "included", "none"]
POLICIES: tuple[LabelPolicy, ...] = ("asked", "required", "included", "none")
_NAMED = 5


class LabelledEpisode(BaseModel):
    """The labels of one episode: which version of them, and under which taxonomy they were made."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    number: int
    taxonomy: str
    at: str
    annotation: Annotation

    @property
    def hash(self) -> str:
        """`sha256:<hex>` of the annotation, as the catalogue has it."""
        return digest(self.annotation)


class LabelBundle(CanonicalObject):
    """All labels of a release by episode, and the taxonomies that say what they mean, by hash."""

    format: Literal["corporeal-release-labels"] = "corporeal-release-labels"
    format_version: Literal[1] = 1
    taxonomies: dict[str, Taxonomy]
    episodes: dict[str, LabelledEpisode]

    def canonical_values(self) -> dict[str, Any]:
        """Taxonomies and annotations, each as its own hash has it."""
        return {
            "format": self.format,
            "format_version": self.format_version,
            "taxonomies": {
                name: json.loads(each.canonical()) for name, each in self.taxonomies.items()
            },
            "episodes": {
                name: {"number": each.number, "taxonomy": each.taxonomy, "at": each.at,
                       "annotation": canonical(each.annotation)}
                for name, each in self.episodes.items()
            },
        }  # fmt: skip

    def track(self, episode: str) -> LabelTrack | None:
        """The labels of an episode as its recording carries them; None when it has none."""
        labelled = self.episodes.get(episode)
        if labelled is None:
            return None
        return label_track(labelled.annotation, self.taxonomies[labelled.taxonomy])


def read_label_policy(text: str) -> LabelPolicy:
    """What is asked of labels, checked."""
    for policy in POLICIES:
        if text == policy:
            return policy
    raise CatalogError(f"labels, got {text[:40]!r}; expected one of: {', '.join(POLICIES)}.")


def collect_labels(
    connection: Connection, rows: Sequence[EpisodeRow], policy: LabelPolicy
) -> LabelBundle | None:
    """The labels in force of the episodes in these rows; None when there are none, or none asked.

    Labels that do not hold any more are left out. Raises CatalogError for the policy `required`
    when an episode has none, or lacks something that its taxonomy requires; for `asked` when it
    is one whose task a taxonomy in use asks for.
    """
    if policy == "none":
        return None
    held = {
        name: each
        for name, each in labels_in_force(connection, [row.id for row in rows]).items()
        if each.stale is None
    }
    if policy == "required":
        _require_covered(connection, rows, "labels required")
    elif policy == "asked":
        asked = _asked(connection, rows, held.keys())
        _require_covered(connection, asked, "labels that a taxonomy in use asks for")
    if not held:
        return None
    used = sorted({each.taxonomy for each in held.values()})
    return LabelBundle(
        taxonomies={name: kept_taxonomy(connection, name) for name in used},
        episodes={
            name: LabelledEpisode(number=each.number, taxonomy=each.taxonomy, at=each.at,
                                  annotation=each.annotation)
            for name, each in sorted(held.items())
        },
    )  # fmt: skip


def count_unlabelled(
    connection: Connection, rows: Sequence[EpisodeRow], bundle: LabelBundle | None
) -> int:
    """How many episodes lack labels that a taxonomy in use asks for."""
    labelled = bundle.episodes.keys() if bundle is not None else ()
    return len(coverage_of(connection, _asked(connection, rows, labelled)).missing)


def _asked(
    connection: Connection, rows: Sequence[EpisodeRow], labelled: Container[str]
) -> list[EpisodeRow]:
    """The episodes of tasks that a taxonomy in use names.

    What it needs of any task (`*`) it asks of those of which some episode here is labelled.
    """
    used = kept_taxonomies(connection)
    begun = {row.task for row in rows if row.id in labelled}
    asking: set[str | None] = set()
    for task in {row.task for row in rows}:
        needs = [need for each in used if (need := each.requirement(task)) is not None]
        if any(need.task != "*" for need in needs) or (needs and task in begun):
            asking.add(task)
    return [row for row in rows if row.task in asking]


def _require_covered(connection: Connection, rows: Sequence[EpisodeRow], what: str) -> None:
    missing = coverage_of(connection, rows).missing
    if not missing:
        return
    numbers = {row.id: f"#{row.number}" for row in rows if row.number is not None}
    named = "; ".join(
        f"{numbers.get(name, name)}: {why.rstrip('.')}" for name, why in missing[:_NAMED]
    )
    more = f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    verb = "lacks" if len(missing) == 1 else "lack"
    raise CatalogError(
        f"release, got {what}, but {len(missing)} of {len(rows)} episodes {verb} them "
        f"({named}{more}). Annotate them, or release with --labels included."
    )


def load_labels(store: Store, manifest: Manifest) -> LabelBundle | None:
    """The labels of a release, checked against its manifest; None when it has none."""
    if manifest.labels is None:
        return None
    text = object_text(store, manifest.labels.object, f"labels of {manifest.reference}")
    try:
        bundle = LabelBundle.model_validate_json(text)
    except ValidationError as error:
        raise CatalogError(
            f"labels of {manifest.reference}: {first_problem(error)}. Those of a newer version "
            "need a newer Corporeal: pip install -U corporeal."
        ) from None
    for told in label_problems(manifest, bundle):
        raise CatalogError(f"labels of {manifest.reference}: {told}. Restore them from a backup.")
    return bundle


def label_problems(manifest: Manifest, bundle: LabelBundle) -> Iterator[str]:
    """What in a bundle does not agree with the manifest or with itself."""
    for name, taxonomy in bundle.taxonomies.items():
        if taxonomy.hash != name:
            yield f"the taxonomy {name} was changed"
    listed = {each.id: each.labels for each in manifest.episodes if each.labels is not None}
    if missing := sorted(set(listed) ^ set(bundle.episodes)):
        yield f"episode {missing[0]} is in the manifest or in the labels, not in both"
    for name, labelled in bundle.episodes.items():
        if labelled.hash != listed.get(name, labelled.hash):
            yield f"those of episode {name} do not match the manifest"
        if labelled.taxonomy not in bundle.taxonomies:
            yield f"those of episode {name} have a taxonomy that is not there"


def summarise_labels(
    connection: Connection, bundle: LabelBundle | None, policy: LabelPolicy
) -> dict[str, Any] | None:
    """Counts by lane and label, and the agreement of those who annotated twice; None: no labels."""
    if bundle is None:
        return None
    lanes: dict[str, Counter[str]] = {}
    unseen = 0
    for labelled in bundle.episodes.values():
        unseen += any(not each.confirmed for each in labelled.annotation.segments)
        for segment in labelled.annotation.segments:
            lanes.setdefault(segment.lane, Counter())[segment.label] += 1
    summaries = {
        taxonomy.reference: agreement_of(connection, taxonomy).summary
        for taxonomy in bundle.taxonomies.values()
    }
    return {
        "policy": policy,
        "episodes": len(bundle.episodes),
        "unseen": unseen,
        "taxonomies": sorted(summaries),
        "lanes": {lane: dict(counts.most_common()) for lane, counts in sorted(lanes.items())},
        "agreement": {
            name: summary.to_json() for name, summary in summaries.items() if summary.episodes
        },
    }
