"""The card of a release for machines: Croissant, JSON-LD with a vocabulary for datasets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from corporeal.catalog.database import CatalogError
from corporeal.episode.facts import SYNTHETIC
from corporeal.release.card.facts import UNKNOWN, CardFacts, CardShare
from corporeal.release.card.wording import (
    address,
    biases,
    day,
    length,
    limitations,
    one_line,
    summary,
)
from corporeal.words import counted, listed

CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
EPISODES = "episodes.json"
"""The file that lists the episodes: the manifest without what may name people."""
_CR = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset",
    "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{word: f"cr:{word}" for word in _CR},
}
_FORMATS = {
    ".json": "application/json", ".jsonl": "application/jsonlines", ".png": "image/png",
    ".parquet": "application/x-parquet", ".mp4": "video/mp4", ".md": "text/markdown",
    ".h5": "application/x-hdf5", ".csv": "text/csv", ".txt": "text/plain",
}  # fmt: skip
_TYPES = {
    "bool": "sc:Boolean", "string": "sc:Text", "float32": "cr:Float32", "float64": "cr:Float64",
    "float16": "cr:Float16", "int8": "cr:Int8", "int16": "cr:Int16", "int32": "cr:Int32",
    "int64": "cr:Int64", "uint8": "cr:UInt8", "uint16": "cr:UInt16", "uint32": "cr:UInt32",
    "uint64": "cr:UInt64",
}  # fmt: skip
EPISODE_FIELDS = {
    "id": ("sc:Text", "The episode."),
    "hash": ("sc:Text", "SHA-256 of its file."),
    "task": ("sc:Text", "What was done."),
    "robot": ("sc:Text", "With which robot."),
    "success": ("sc:Boolean", "Whether it succeeded; empty where nobody said."),
    "verdict": ("sc:Text", "What a person decided, or else what the checks say."),
    "score": ("cr:Float64", "Its score, higher is better."),
    "duration_s": ("cr:Float64", "How long it is, in seconds."),
}
"""What that file says of every episode beside its split: data type and description."""


@dataclass(frozen=True)
class ReleaseFile:
    """A file that is published with a release: where it lies in the folder, and its hash."""

    path: str
    hash: str
    bytes: int


def croissant(
    facts: CardFacts,
    files: Sequence[ReleaseFile] = (),
    *,
    features: Mapping[str, Mapping[str, Any]] | None = None,
    url: str | None = None,
) -> dict[str, Any]:
    """The description, to be written as `croissant.json` beside the files.

    `files` have paths below the folder of the description, or below `url`. `features` are those of
    an exported LeRobot dataset (`features` of its meta/info.json), whose rows are then described.
    """
    for file in files:
        _check_path(file.path)
    paths = {file.path for file in files}
    records = [_split_records(facts)]
    if EPISODES in paths:
        records.append(_episode_records())
    sets = list(_file_sets(files, features or {}))
    rows = next((each["@id"] for each in sets if each["@id"] == "rows"), None)
    if features and rows is not None:
        records.append(_row_records(features))
    licence = facts.licence and (address(facts.licence) or facts.licence)
    made = {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": one_line(facts.name),
        "version": facts.version,
        "description": _description(facts),
        "datePublished": facts.created_at,
        "license": licence,
        "citeAs": facts.said("citation"),
        "url": url,
        "keywords": _keywords(facts),
        **responsibility(facts),
        "distribution": [*(_file_object(file, url) for file in files), *sets],
        "recordSet": records,
    }
    return {name: value for name, value in made.items() if value is not None}


def _description(facts: CardFacts) -> str:
    told = facts.said("description", "notes")
    counted = f"{summary(facts)}."
    return f"{told} {counted}" if told else counted


def _keywords(facts: CardFacts) -> list[str]:
    robots = [one_line(share.name) for share in facts.robots if share.name != UNKNOWN]
    tasks = [one_line(task.name) for task in facts.tasks[:20] if task.name != UNKNOWN]
    return list(dict.fromkeys(["robotics", "LeRobot", *robots, *tasks]))


def _check_path(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0]:
        raise CatalogError(f"file of a release, got {path!r}; expected a path below its folder.")


def _file_object(file: ReleaseFile, url: str | None) -> dict[str, Any]:
    where = quote(file.path)
    suffix = PurePosixPath(file.path).suffix.lower()
    return {
        "@type": "cr:FileObject",
        "@id": quote(file.path, safe="/"),
        "name": one_line(file.path),
        "contentUrl": f"{url.rstrip('/')}/{where}" if url else file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": _FORMATS.get(suffix, "application/octet-stream"),
        "sha256": file.hash.removeprefix("sha256:"),
    }


def _file_sets(
    files: Sequence[ReleaseFile], features: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The table of a LeRobot dataset and the movies of each of its cameras."""
    paths = [PurePosixPath(file.path) for file in files]
    if any(path.parts[0] == "data" and path.suffix == ".parquet" for path in paths):
        yield _file_set("rows", "data/*/*.parquet", ".parquet", "One row for each time step.")
    for key, feature in features.items():
        if feature.get("dtype") == "video" and any(key in path.parts for path in paths):
            # Version 3 has the camera's folder above that of the chunk, version 2 below.
            first = next(path for path in paths if key in path.parts)
            chunk = "*" if first.parts.index(key) == 1 else None
            pattern = f"videos/{key}/*/*.mp4" if chunk else f"videos/*/{key}/*.mp4"
            yield _file_set(f"movies/{_id(key)}", pattern, ".mp4", f"The camera {one_line(key)}.")


def _file_set(name: str, pattern: str, suffix: str, told: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": told,
        "encodingFormat": _FORMATS[suffix],
        "includes": pattern,
    }


def _split_records(facts: CardFacts) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "description": "The splits of the release.",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": [
            _field("splits/name", "sc:Text", "What the split is called."),
            _field("splits/episodes", "sc:Integer", "How many episodes it has."),
        ],
        "data": [
            {"splits/name": share.name, "splits/episodes": share.episodes} for share in facts.splits
        ],
    }


def _episode_records() -> dict[str, Any]:
    def source(name: str) -> dict[str, Any]:
        path = f"$.episodes[*].{name}"
        return {"fileObject": {"@id": EPISODES}, "extract": {"jsonPath": path}}

    fields = [
        _field(f"episodes/{name}", kind, told, source=source(name))
        for name, (kind, told) in EPISODE_FIELDS.items()
    ]
    split = _field("episodes/split", "sc:Text", "Its split.", source=source("split"))
    fields.append({**split, "references": {"field": {"@id": "splits/name"}}})
    return {
        "@type": "cr:RecordSet",
        "@id": "episodes",
        "name": "episodes",
        "description": "The episodes of the release, from its manifest.",
        "key": {"@id": "episodes/id"},
        "field": fields,
    }


def _row_records(features: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "time_steps",
        "name": "time_steps",
        "description": "The rows of the exported dataset, one for each time step of an episode.",
        "field": [
            _column(key, feature)
            for key, feature in features.items()
            if str(feature.get("dtype")) in _TYPES
        ],
    }


def _column(key: str, feature: Mapping[str, Any]) -> dict[str, Any]:
    unit, names = feature.get("unit"), feature.get("names")
    told = [one_line(key)]
    if unit is not None and unit != "1":
        told.append(f"in {', '.join(map(str, unit)) if isinstance(unit, list) else unit}")
    if isinstance(names, list):
        told.append(f"({', '.join(map(str, names))})")
    source = {"fileSet": {"@id": "rows"}, "extract": {"column": key}}
    kind = _TYPES[str(feature["dtype"])]
    made = _field(f"time_steps/{_id(key)}", kind, " ".join(told) + ".", source=source)
    shape = [int(size) for size in feature.get("shape", [])]
    if shape not in ([], [1]):
        made |= {"isArray": True, "arrayShape": ",".join(map(str, shape))}
    return made


def _field(
    name: str, kind: str, told: str, *, source: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    made = {"@type": "cr:Field", "@id": name, "name": name, "description": told, "dataType": kind}
    return {**made, "source": dict(source)} if source else made


def _id(key: str) -> str:
    """A key as part of an identifier: a colon would make a scheme of it."""
    return re.sub(r"[^\w.-]+", "_", key, flags=re.ASCII)


_FILMED = ("video", "depth")


def responsibility(facts: CardFacts) -> dict[str, Any]:
    """The fields with an answer; a question without one is left out, never made up."""
    asked: dict[str, Any] = {
        "dataCollection": _collection(facts),
        "dataCollectionType": _collection_types(facts),
        "dataCollectionTimeFrame": _time_frame(facts),
        "dataCollectionMissingData": _missing(facts),
        "dataPreprocessingProtocol": [
            f"Checked by the policy {share.name} ({share.episodes:,} episodes)."
            for share in _known(facts.policies)
        ],
        "dataBiases": list(biases(facts)),
        "dataLimitations": list(limitations(facts)),
        "personalSensitiveInformation": _personal(facts),
        "dataUseCases": _stated(facts, "use_cases"),
        "dataSocialImpact": facts.said("social_impact"),
        "dataReleaseMaintenancePlan": facts.said("maintenance"),
        "annotationsPerItem": facts.said("annotations_per_item"),
    }
    return {f"rai:{name}": value for name, value in asked.items() if value}


def _known(shares: tuple[CardShare, ...]) -> list[CardShare]:
    return [share for share in shares if share.name != UNKNOWN]


def _stated(facts: CardFacts, name: str) -> list[str]:
    """A list of texts that was stated with the release."""
    value = facts.stated.get(name)
    texts = [value] if isinstance(value, str) else value
    return [each for each in texts if isinstance(each, str)] if isinstance(texts, list) else []


def _collection(facts: CardFacts) -> str:
    told = [f"{counted(facts.episodes, 'episode')} ({length(facts.hours)})"]
    if modes := _known(facts.modes):
        told.append(f"by {listed([share.name for share in modes])}")
    if robots := _known(facts.robots):
        told.append(f"with {listed([share.name for share in robots])}")
    if people := _known(facts.operators):
        told.append(f"made by {counted(len(people), 'operator')}")
    if stations := _known(facts.stations):
        told.append(f"at {counted(len(stations), 'station')}")
    if facts.sessions:
        told.append(f"in {counted(facts.sessions, 'session')}")
    return " ".join(told) + "."


def _collection_types(facts: CardFacts) -> list[str]:
    """Simulated or synthetic data is collected by software, anything else from the world."""
    modes = [share.name for share in _known(facts.modes)]
    simulated = any(document.kind == "schema" and document.name.startswith("simulated")
                    for document in facts.documents)  # fmt: skip
    kinds = {
        "Software Collection" if simulated or mode == SYNTHETIC else "Physical data collection"
        for mode in modes
    }
    return sorted(kinds)


def _time_frame(facts: CardFacts) -> list[str]:
    if facts.first_ns is None or facts.last_ns is None:
        return []
    return [day(facts.first_ns), day(facts.last_ns)]


def _missing(facts: CardFacts) -> str:
    told = [f"{hole.field} in {hole.episodes:,}" for hole in facts.holes]
    return f"Not stated: {listed(told)} of {facts.episodes:,} episodes." if told else ""


def _personal(facts: CardFacts) -> list[str]:
    told = []
    if people := _known(facts.operators):
        who = "one person" if len(people) == 1 else f"{len(people):,} people"
        told.append(f"Movements of {who} who operated the robot; called by numbers here.")
    cameras = sorted({each.path for each in facts.streams if each.kind in _FILMED})
    if cameras:
        told.append(
            f"Pictures of {counted(len(cameras), 'camera')} ({listed(cameras)}); "
            "whether people can be seen in them is not stated."
        )
    return told
