"""One run in MLflow: written whole and once, or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from corporeal.errors import CorporealError
from corporeal.operations.tracking.address import place, reach

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
