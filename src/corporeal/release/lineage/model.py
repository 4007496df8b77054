"""Models that were trained on a release: recorded in the catalogue, and found from either side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, latest_events, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import HistoryEdge, add_edge, edges_of
from corporeal.catalog.store import digest_of
from corporeal.catalog.workspace import Workspace
from corporeal.release.lineage.lineage import MODEL_EVENT, TRAINED_ON
from corporeal.release.reading import find_release

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@+-]{0,199}")
_MOST_FACTS, _LONGEST_FACT = 100, 1000


@dataclass(frozen=True)
class TrainedModel:
    """A model and the release that it was trained on; `hash` is that of its file, if given."""

    name: str
    release: str
    hash: str | None = None
    file: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """What lineage and the audit log call it."""
        return f"model:{self.name}"


def add_model(
    workspace: Workspace,
    name: str,
    release: str,
    *,
    who: str,
    file: Path | None = None,
    metadata: Mapping[str, str] | None = None,
) -> TrainedModel:
    """Record that a model was trained on a release, in its lineage and in the audit log.

    A model of several releases is recorded once for each. A name stands for one file for ever:
    raises CatalogError when it was recorded with another one, and for what is recorded already.
    """
    if _NAME.fullmatch(name) is None:
        raise CatalogError(
            f"name of a model, got {name[:80]!r}; expected letters, digits and . _ / @ + -, such "
            "as act-walks-1."
        )
    facts = dict(metadata or {})
    if len(facts) > _MOST_FACTS or any(len(each) > _LONGEST_FACT for each in facts.values()):
        raise CatalogError(
            f"metadata of model {name}, got too much of it; expected at most {_MOST_FACTS} fields "
            f"of up to {_LONGEST_FACT} characters."
        )
    if file is not None and not file.is_file():
        raise CatalogError(
            f"model, got {file}; expected a file, such as the model.safetensors of a checkpoint."
        )
    model = TrainedModel(
        name,
        find_release(workspace, release).reference,
        digest_of(file) if file is not None else None,
        file.name if file is not None else None,
        facts,
    )
    with workspace.database.write() as connection:
        _require_new(connection, model)
        edge = HistoryEdge(model.subject, f"release:{model.release}", TRAINED_ON)
        add_edge(connection, edge)
        details = {"release": model.release, "hash": model.hash, "file": model.file,
                   "metadata": dict(model.metadata)}  # fmt: skip
        record(connection, [Change(who, MODEL_EVENT, model.subject, details=details)])
    return model


def _require_new(connection: Connection, model: TrainedModel) -> None:
    """Raise CatalogError when the name stands for another file, or all this is recorded already."""
    before = latest_events(connection, model.subject, [MODEL_EVENT], most=1000)
    known = [each["details"]["hash"] for each in before if each["details"].get("hash")]
    if known and model.hash is not None and model.hash not in known:
        raise CatalogError(
            f"model {model.name}, got a file with the hash {model.hash}; it was recorded with "
            f"{known[0]}. Give the new model a name of its own."
        )
    edges, _ = edges_of(connection, model.subject, upwards=True, most=1000)
    if any(edge.parent == f"release:{model.release}" for edge in edges):
        raise CatalogError(
            f"model {model.name} is recorded for {model.release} already. Look at it with: "
            f"corporeal lineage {model.subject}."
        )
