"""An episode as the catalogue has it: what its file says of itself, and what was found."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes.rows import DocumentRow, EpisodeEntry, EpisodeRow
from corporeal.catalog.ingestion.seen_pictures import LOOKED_AT, looked_at
from corporeal.catalog.ingestion.verified_calibration import VERIFIED, StatedDocuments
from corporeal.episode import Episode
from corporeal.episode.facts import EpisodeFacts, read_facts
from corporeal.episode.label_track import labels_in
from corporeal.quality.assessment import program_hash
from corporeal.quality.check import MAX_EVIDENCE, Finding, name_episodes
from corporeal.quality.inspection import EpisodeReport
from corporeal.quality.policy import Policy
from corporeal.quality.scoring import EpisodeScore
from corporeal.quality.synopsis import pack_synopsis
from corporeal.signal.stretch import LONGEST_STEP_S, main_stretch
from corporeal.units import SECOND_NS

MAX_METADATA = 64 << 10
"""Bytes of metadata that a row holds; the whole of it is in the file."""
CONTENT = "content_hash"
"""The field that has what the file states over its content; it survives a copy of the file."""
LEFT_OUT = "left_out"
"""The field that names what was too large for the row."""
MAX_TEXT, MAX_NAME, MAX_RANGES, MAX_SENSORS = 2000, 120, 1000, 64
MAX_CURVES = 8
"""Lists of numbers that are kept as evidence of one finding; of each, MAX_EVIDENCE numbers."""
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")
NOTHING = ("", "none", "unknown")
"""Words that people write where there is nothing to name."""
_BIGGEST = (1 << 63) - 1
_RELATIONS = {
    "session": "recorded_in",
    "operator": "made_by",
    "station": "recorded_at",
    "calibration": "calibrated_with",
    "batch": "part_of",
    "protocol": "follows",
}


def entry_of(episode: Episode, *, digest: str, size: int, batch: str | None = None) -> EpisodeEntry:
    """What the file of an open episode says; nothing of it has been judged.

    Raises CatalogError for an episode without an id that others cannot have.
    """
    _check_id(episode)
    metadata = episode.metadata
    documents = dict(_documents(episode))
    # Not by way of a recording: a schema that cannot be read any more keeps no episode out.
    labels = labels_in(metadata, where=str(episode.path))
    stated = read_facts(metadata, episode.values(), labels)
    row = _row(episode, stated, documents, digest=digest, size=size, batch=batch)
    streams = [
        {"path": path, "kind": reader.spec.kind, "rate_hz": reader.spec.rate_hz,
         "samples": len(reader)} for path, reader in episode.items()
    ]  # fmt: skip
    parents = dict(_parents(row, metadata, documents))
    return EpisodeEntry(row, streams=streams, documents=documents, parents=parents)


def judged(
    entry: EpisodeEntry,
    report: EpisodeReport,
    score: EpisodeScore | None,
    policy: Policy,
    *,
    reference: str | None = None,
    detector: DocumentRow | None = None,
    names: Mapping[int, str] | None = None,
    pictures: bool = True,
) -> EpisodeEntry:
    """The entry with findings, verdict and score, and what they follow from.

    `reference` is what it was scored against, `detector` what knows its usual seconds; `names`
    say what a finding calls episode 3.
    """
    parts = score.parts if score is not None else ()
    findings = [_finding(each, names or {}) for each in report.findings]
    counts = Counter(f"{each['check']} {each['severity']}" for each in findings)
    missing = report.assessment.not_assessed
    learnt = None if detector is None else detector.hash
    rule = {"hash": policy.hash, "name": policy.name, "version": policy.version,
            "text": policy.canonical()}  # fmt: skip
    return replace(
        entry,
        row=replace(
            entry.row,
            verdict=report.verdict,
            score=number(score.total) if score is not None else None,
            policy=policy.reference,
        ),
        findings=findings,
        not_assessed=[
            {"check": name, "reason": text(reason, MAX_TEXT) or ""}
            for name, reason in missing.items()
        ],
        assessment={
            "verdict": report.verdict,
            "score": number(score.total) if score is not None else None,
            "policy": policy.reference,
            "basis": basis_of(policy, reference, learnt, pictures=pictures, stated=entry.documents),
            "reason": reason_for(report, names),
            "facts": {
                "findings": dict(counts),
                "not_assessed": len(missing),
                LOOKED_AT: looked_at(report.assessment),
                "reference": reference,
                "detector": detector and f"{detector.name}@{detector.version}",
            },
        },
        synopsis=None if report.synopsis is None else pack_synopsis(report.synopsis),
        scores=[
            {"part": part.name, "value": number(part.score), "weight": number(part.weight)}
            for part in parts
        ],
        documents={**entry.documents, "policy": rule, **_as_document(detector)},
    )


def _as_document(detector: DocumentRow | None) -> dict[str, dict[str, str]]:
    if detector is None:
        return {}
    stated = {"hash": detector.hash, "name": detector.name, "version": detector.version,
              "text": detector.text}  # fmt: skip
    return {detector.kind: stated}


def basis_of(
    policy: Policy,
    reference: str | None,
    detector: str | None,
    *,
    pictures: bool,
    stated: StatedDocuments,
) -> str:
    """A hash of what a verdict and a score follow from, beside the episode itself.

    `reference` is a name, `detector` the hash of one; of what is `stated` verifications count.
    """
    parts = [policy.hash, program_hash(), reference or "", "pictures" if pictures else ""]
    parts += [] if detector is None else [detector]
    parts += [f"{kind} {stated[kind]['hash']}" for kind in VERIFIED.values() if kind in stated]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def reason_for(report: EpisodeReport, names: Mapping[int, str] | None = None) -> str | None:
    """Why the verdict is what it is: the message of the finding that weighs most."""
    for severity in ("fail", "quarantine"):
        for finding in report.findings:
            if finding.severity == severity:
                message = name_episodes(finding.message, names or {})
                return text(f"{finding.check}: {message}", MAX_TEXT)
    return None


def _check_id(episode: Episode) -> None:
    try:
        if str(UUID(episode.id)) == episode.id:
            return
    except ValueError:
        pass
    raise CatalogError(
        f"{episode.path}: id, got {episode.id[:80]!r}; expected a UUID such as the recorder gives. "
        "Write it anew with: corporeal convert."
    )


def _time_of(episode: Episode) -> tuple[int, int]:
    """First and last stamp, without those that a clock which was set threw far away."""
    begin, end = episode.span_ns
    if end - begin <= LONGEST_STEP_S * SECOND_NS:
        return begin, end
    return main_stretch(episode[path].time_ns for path in episode) or (begin, end)


def _row(
    episode: Episode,
    stated: EpisodeFacts,
    documents: Mapping[str, Mapping[str, str]],
    *,
    digest: str,
    size: int,
    batch: str | None,
) -> EpisodeRow:
    begin, end = _time_of(episode)
    recorded = episode.epoch_ns + begin
    return EpisodeRow(
        id=episode.id,
        hash=digest,
        bytes=size,
        file=text(episode.path.name, MAX_TEXT) or "",
        task=text(stated.task, MAX_NAME),
        instruction=text(stated.instruction, MAX_TEXT),
        robot=text(episode.robot, 64),
        operator=text(stated.operator, MAX_NAME),
        station=text(stated.station, MAX_NAME),
        session=text(stated.session, MAX_NAME),
        batch=text(batch or stated.batch or stated.session, MAX_NAME),
        protocol=_reference(documents, "protocol") or text(stated.other.get("protocol"), MAX_NAME),
        calibration=_reference(documents, "calibration")
        or _calibration(stated.other.get("calibration")),
        environment=text(stated.environment, MAX_NAME),
        mode=text(stated.mode, MAX_NAME),
        software=text(stated.software, MAX_NAME),
        # Stamps that count from nothing known are no time of day.
        recorded_ns=recorded if episode.epoch_ns and 0 < recorded <= _BIGGEST else None,
        duration_s=(end - begin) / SECOND_NS,
        success=stated.outcome.success,
        failure=text(stated.outcome.failure, MAX_TEXT),
        metadata=bounded(episode.metadata) | {CONTENT: episode.content_hash},
    )


def _calibration(said: Any) -> str | None:
    """The name of a calibration that is stated with how it was verified at start and end."""
    if not isinstance(said, Mapping):
        return text(said, MAX_NAME)
    ends = (said.get("start"), said.get("end"))
    ids = [each["id"] for each in (said, *ends) if isinstance(each, Mapping) and each.get("id")]
    return text(ids[0] if ids else said.get("name"), MAX_NAME)


def _documents(episode: Episode) -> Iterator[tuple[str, dict[str, str]]]:
    for kind in episode.documents:
        if not _KIND.fullmatch(kind):
            raise CatalogError(
                f"{episode.path}: a document of kind {kind[:40]!r}; expected lower case, digits "
                "and _, 32 at most."
            )
        written = episode.document(kind)
        try:
            head = json.loads(written)
        except ValueError:
            head = {}
        said = head if isinstance(head, dict) else {}
        yield (
            kind,
            {
                "hash": "sha256:" + hashlib.sha256(written.encode()).hexdigest(),
                "name": text(said.get("name"), MAX_NAME) or kind,
                "version": text(said.get("version"), 32) or "",
                "text": written.replace("\0", "\ufffd"),
            },
        )


def _reference(documents: Mapping[str, Mapping[str, str]], kind: str) -> str | None:
    document = documents.get(kind)
    return f"{document['name']}@{document['version']}" if document is not None else None


def _parents(
    row: EpisodeRow, metadata: Mapping[str, Any], documents: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """What the episode came from. A document that is embedded needs no second name here."""
    names = {
        "session": row.session,
        "operator": row.operator,
        "station": row.station,
        "calibration": row.calibration,
        # An episode without a batch of its own is in that of its session.
        "batch": None if row.batch == row.session else row.batch,
        "protocol": row.protocol,
    }
    for kind, name in names.items():
        if (name or "").lower() not in NOTHING and kind not in documents:
            yield f"{kind}:{name}", _RELATIONS[kind]
    for serial in sensor_serials(metadata).values():
        yield f"sensor:{serial}", "sensed_by"
    source = metadata.get("source_id")
    if isinstance(source, str) and source and source != row.id:
        kind = "episode" if _is_uuid(source) else "source"
        yield f"{kind}:{text(source, MAX_NAME)}", "derived_from"


def sensor_serials(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The serial number of each sensor, by the name the rig has for it."""
    said = metadata.get("sensor_serials")
    listed = list(said.items())[:MAX_SENSORS] if isinstance(said, Mapping) else []
    found = {str(sensor): text(serial, MAX_NAME) for sensor, serial in listed}
    return {sensor: serial for sensor, serial in found.items() if serial}


def _is_uuid(said: str) -> bool:
    try:
        return str(UUID(said)) == said
    except ValueError:
        return False


def _finding(finding: Finding, names: Mapping[int, str]) -> dict[str, Any]:
    said = finding.to_json()
    return {
        "check": said["check"],
        "severity": said["severity"],
        "stream": text(said["stream"], MAX_TEXT),
        "value": said["value"],
        "limit": said["limit"],
        "message": text(name_episodes(said["message"], names), MAX_TEXT) or "",
        "frames": said["frames"][:MAX_RANGES],
        "evidence": evidence_of(finding),
    }


def evidence_of(finding: Finding) -> dict[str, list[float | None]] | None:
    """What the finding is drawn from, six digits of each number; None where there is nothing.

    Lists that are too long are thinned alike, so that those of one length stay of one length.
    """
    kept = {}
    for name, values in list(finding.evidence.items())[:MAX_CURVES]:
        flat = np.ravel(np.asarray(values, np.float64))
        if flat.size:
            kept[_clean(str(name))[:MAX_NAME]] = _thinned(flat)
    return kept or None


def _thinned(values: NDArray[np.float64]) -> list[float | None]:
    step = -(-values.size // MAX_EVIDENCE)
    return [float(f"{each:.6g}") if math.isfinite(each) else None
            for each in values[::step].tolist()]  # fmt: skip


def bounded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata without its largest fields, if need be; `left_out` names those."""
    clean = {str(name)[:MAX_NAME]: _plain(value) for name, value in metadata.items()}
    sizes = {name: len(json.dumps(each).encode()) + len(name) + 8 for name, each in clean.items()}
    whole, gone = sum(sizes.values()), []
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if whole <= MAX_METADATA:
            break
        whole -= sizes[name]
        gone.append(name)
        del clean[name]
    return clean | ({LEFT_OUT: sorted(gone)[:MAX_RANGES]} if gone else {})


def _plain(value: Any) -> Any:
    """The value as both databases take it: no NUL, no half character, no NaN."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return {_clean(str(name)): _plain(each) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [_plain(each) for each in value]
    return value


def number(value: float | None) -> float | None:
    """The number; None for one that is not finite."""
    return float(value) if value is not None and math.isfinite(value) else None


def text(value: Any, longest: int) -> str | None:
    """The value as text of bounded length; None for nothing."""
    if value is None or value == "" or isinstance(value, Mapping | list):
        return None
    said = _clean(str(value))
    return said if len(said) <= longest else said[: longest - 3] + "..."


def _clean(said: str) -> str:
    whole = said.encode("utf-8", "replace").decode("utf-8")
    return whole.replace("\0", "\ufffd")
