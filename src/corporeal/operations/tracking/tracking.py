"""Batches and releases as runs in MLflow; without it, or without its server, work goes on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from corporeal.operations.tracking.address import shown, without_secrets
from corporeal.operations.tracking.run import RunRecord, TrackingError, write_run
from corporeal.release.card import CardFacts

ADDRESS = "MLFLOW_TRACKING_URI"
RELEASES, BATCHES = "corporeal/releases", "corporeal/batches"


@dataclass(frozen=True)
class TrackedRun:
    """The run that was written, or a sentence that says why there is none."""

    run: str | None
    experiment: str
    warning: str | None = None


def tracking_available() -> bool:
    """Whether MLflow is installed here."""
    return find_spec("mlflow") is not None


def track_release(
    facts: CardFacts,
    metrics: Mapping[str, float],
    plots: Mapping[str, bytes],
    card: str,
    *,
    manifest: bytes | None = None,
    uri: str | None = None,
) -> TrackedRun:
    """One run for a release: parameters, metrics, card, manifest, plots, and itself as the input.

    `uri` is a tracking server, a database, or a folder; by default $MLFLOW_TRACKING_URI. Nothing
    that goes wrong there is raised. The same release is not written twice.
    """
    counted = {
        "episodes": facts.episodes,
        "hours": facts.hours,
        "bytes": facts.bytes,
        "tasks": len(facts.tasks),
        **{f"episodes.{share.name}": share.episodes for share in facts.splits},
    }
    files = {"README.md": card.encode(), **{f"plots/{name}": data for name, data in plots.items()}}
    if manifest is not None:
        files["manifest.json"] = manifest
    return _track(RunRecord(
        experiment=f"{RELEASES}/{facts.name}",
        name=facts.reference,
        key=_hash(f"release:{facts.reference}:{facts.manifest}"),
        digest=facts.manifest.removeprefix("sha256:"),
        parameters={"release": facts.name, "version": facts.version, "manifest": facts.manifest,
                    "condition": facts.condition, "licence": facts.licence or "not stated"},
        metrics={**counted, **metrics},
        tags={"corporeal.release": facts.reference, "corporeal.manifest": facts.manifest},
        files=files,
    ), uri)  # fmt: skip


def track_batch(
    batch: str,
    metrics: Mapping[str, float],
    *,
    episodes: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    plots: Mapping[str, bytes] | None = None,
    report: str | None = None,
    uri: str | None = None,
) -> TrackedRun:
    """One run for a batch; `episodes` are the hashes of its files, `report` an HTML page of it.

    A batch that has got more episodes is another state of it, and another run.
    """
    digest = _hash("\n".join(sorted(episodes)))
    files = {f"plots/{name}": data for name, data in (plots or {}).items()}
    if report is not None:
        files["report.html"] = report.encode()
    return _track(RunRecord(
        experiment=BATCHES,
        name=batch,
        key=_hash(f"batch:{batch}:{digest}"),
        digest=digest,
        parameters={"batch": batch, "digest": f"sha256:{digest}", **(parameters or {})},
        metrics={"episodes": len(episodes), **metrics},
        tags={"corporeal.batch": batch},
        files=files,
    ), uri)  # fmt: skip


def _track(record: RunRecord, uri: str | None) -> TrackedRun:
    given = uri or os.environ.get(ADDRESS)
    if not tracking_available():
        reason = "MLflow is not installed. Install it with: pip install 'corporeal[track]'"
    elif not given:
        reason = f"no tracking server is named. Set ${ADDRESS} to a server or a folder"
    else:
        try:
            return TrackedRun(write_run(record, given), record.experiment)
        except TrackingError as error:
            reason = without_secrets(f"MLflow at {shown(given)} says {error}", given)
    return TrackedRun(None, record.experiment, f"{record.name} is not tracked: {reason}.")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
