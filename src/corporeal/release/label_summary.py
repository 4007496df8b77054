"""What the catalogue says of a release's labels: how many of what, and how far people agreed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Connection

from corporeal.labelling.agreement import agreement_of
from corporeal.release.label_bundle import LabelBundle, LabelPolicy


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
