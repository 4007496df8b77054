"""Batches and releases as runs in MLflow; without it, or without its server, work goes on."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from sqlalchemy.exc import SQLAlchemyError

from corporeal.errors import CorporealError
from corporeal.release.card import CardFacts

_PROBE_S = 5.0


def place(given: str) -> tuple[str, str | None]:
    """The address that MLflow wants, and where files go if no server keeps them.

    MLflow no longer keeps runs in a plain folder: in a folder lies a SQLite file, and the files
    beside it, also where MLflow would put them into the folder that one happens to be in.
    """
    if "://" not in given or given.startswith("file:"):
        folder = Path(unquote(urlsplit(given).path) if given.startswith("file:") else given)
        folder.mkdir(parents=True, exist_ok=True)
        given = f"sqlite:///{folder.resolve() / 'mlflow.db'}"
    if given.startswith("sqlite:///"):
        beside = Path(given.removeprefix("sqlite:///")).resolve().parent / "artifacts"
        return given, beside.as_uri()
    return given, None


def reach(given: str) -> None:
    """Raise OSError at once when nobody listens, where MLflow would try for minutes."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return
    behind_proxy = parts.scheme in getproxies() and not proxy_bypass(parts.hostname)
    if not behind_proxy:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=_PROBE_S).close()


def shown(given: str) -> str:
    """The address as people may see it: no password, no token."""
    try:
        parts = urlsplit(given)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    if not parts.hostname:
        return given.partition("?")[0]
    return urlunsplit((parts.scheme, f"{parts.hostname}{port}", parts.path, "", ""))


def without_secrets(text: str, given: str) -> str:
    """What was said about an address, without what only its owner may know."""
    text = text.replace(given, shown(given))
    # Not by its parts alone: an address that cannot be read has secrets too.
    _, _, rest = given.partition("://")
    user, at, _ = rest.rpartition("@")
    # A name without a password is often a token.
    hidden = [user.rpartition(":")[2] if at else "", given.partition("?")[2]]
    for secret in hidden:
        for form in {secret, unquote(secret)} - {""}:
            text = text.replace(form, "***")
    return text


KEY = "corporeal.key"
# The digest's column in MLflow's database is no wider; the whole hash is in tags and parameters.
_DIGEST_LETTERS = 36
_MOST_LETTERS = 500
_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


class TrackingError(CorporealError):
    """MLflow cannot be reached, or refuses what was asked."""


@dataclass(frozen=True)
class RunRecord:
    """What one run holds; `key` tells it from all others, so that it is written once."""

    experiment: str
    name: str
    key: str
    digest: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    files: Mapping[str, bytes] = field(repr=False, default_factory=dict)


def write_run(record: RunRecord, given: str) -> str:
    """The id of the run; raises TrackingError for whatever MLflow or the way to it raises."""
    with _settings():
        try:
            # Tried first: nobody at the door is known in no time, without loading MLflow.
            reach(given)
            failures: tuple[type[Exception], ...] = (OSError, ValueError, SQLAlchemyError)
            failures += _failures()
        except (OSError, ValueError, ImportError) as error:
            raise TrackingError(_first_line(error)) from error
        try:
            return _write(record, given)
        except failures as error:
            raise TrackingError(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    said = str(error).strip().splitlines() or [type(error).__name__]
    return repr(said[0][:_MOST_LETTERS])


def _failures() -> tuple[type[Exception], ...]:
    """What MLflow and the library below it raise."""
    return (
        import_module("mlflow.exceptions").MlflowException,
        import_module("requests.exceptions").RequestException,
    )


def _write(record: RunRecord, given: str) -> str:
    """Write the run, unless it is there; its id."""
    tracking: Any = import_module("mlflow.tracking")
    address, artifacts = place(given)
    client = tracking.MlflowClient(tracking_uri=address)
    experiment = _experiment(client, record.experiment, artifacts)
    query = f"tags.`{KEY}` = '{record.key}' and attributes.status = 'FINISHED'"
    found = client.search_runs([experiment], filter_string=query, max_results=1)
    if found:
        return str(found[0].info.run_id)
    tags = {KEY: record.key, **{name: value[:_MOST_LETTERS] for name, value in record.tags.items()}}
    run = str(client.create_run(experiment, run_name=record.name[:250], tags=tags).info.run_id)
    try:
        _fill(client, run, record)
    except BaseException:  # Whatever it was, half a run may not look like a whole one.
        with suppress(OSError, SQLAlchemyError, *_failures()):
            client.set_terminated(run, status="FAILED")
        raise
    client.set_terminated(run, status="FINISHED")
    return run


def _fill(client: Any, run: str, record: RunRecord) -> None:
    entities: Any = import_module("mlflow.entities")
    stamp = int(time.time() * 1000)
    metrics = [
        entities.Metric(_plain(name), float(value), stamp, 0)
        for name, value in record.metrics.items()
        if math.isfinite(value)
    ]
    parameters = [
        entities.Param(_plain(name), str(value)[:_MOST_LETTERS])
        for name, value in record.parameters.items()
    ]
    for first in range(0, max(len(metrics), len(parameters)), 100):
        part = slice(first, first + 100)
        client.log_batch(run, metrics=metrics[part], params=parameters[part])
    client.log_inputs(run, [_input(record)])
    with tempfile.TemporaryDirectory(prefix="corporeal-track-") as folder:
        for name, content in record.files.items():
            path = Path(folder, *(_plain(part) for part in name.split("/")))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        client.log_artifacts(run, folder)


def _input(record: RunRecord) -> Any:
    """The dataset as MLflow knows it: by name and digest; where it lies is told by its tags."""
    entities: Any = import_module("mlflow.entities")
    sources: Any = import_module("mlflow.data.code_dataset_source")
    source = sources.CodeDatasetSource(tags={**record.tags, "digest": f"sha256:{record.digest}"})
    made: Any = import_module("mlflow.data.meta_dataset").MetaDataset(
        source, name=record.name[:_MOST_LETTERS], digest=record.digest[:_DIGEST_LETTERS]
    )
    told = made.to_dict()
    profile = {name: value for name, value in record.metrics.items() if math.isfinite(value)}
    dataset = entities.Dataset(
        name=told["name"],
        digest=told["digest"],
        source_type=told["source_type"],
        source=told["source"],
        profile=json.dumps(dict(list(profile.items())[:50])),
    )
    context = entities.InputTag(key="mlflow.data.context", value="corporeal")
    return entities.DatasetInput(dataset=dataset, tags=[context])


def _experiment(client: Any, name: str, artifacts: str | None) -> str:
    """The id of the experiment, made if it is not there; another program may be as quick."""
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifacts))
        except _failures():
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


@contextmanager
def _settings() -> Iterator[None]:
    """MLflow with some patience and without telemetry, unless its user said otherwise."""
    fresh = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(fresh)
    try:
        yield
    finally:
        for name in fresh:
            os.environ.pop(name, None)


def _plain(name: str) -> str:
    """A name that MLflow and file systems accept."""
    return re.sub(r"[^\w.-]+", "_", name)[:200].strip(".") or "_"


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
