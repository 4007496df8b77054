"""A report as SARIF 2.1.0: what code scanners speak, so findings show beside a change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corporeal import __version__
from corporeal.quality.check import Finding, checks, explain
from corporeal.quality.inspection import Report

_LEVEL = {"fail": "error", "quarantine": "warning", "note": "note"}


def render(report: Report) -> str:
    """The report as SARIF; a rule for every check that found something."""
    results: list[dict[str, Any]] = []
    for episode in report.episodes:
        results.extend(
            _result(finding, episode.source, (episode.index,))
            for finding in episode.assessment.findings
        )
    results.extend(
        _result(finding, report.source, finding.episodes) for finding in report.batch.findings
    )
    used = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = used.index(result["ruleId"])
    driver = {
        "name": "corporeal",
        "version": __version__,
        "rules": [_rule(name) for name in used],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    told = explain(name)
    return {
        "id": name,
        "shortDescription": {"text": told.title},
        "fullDescription": {"text": f"{told.what} {told.why}".strip()},
        "help": {"text": told.fix or told.what},
        "defaultConfiguration": {"level": _LEVEL[checks()[name].severity]},
    }


def _result(finding: Finding, source: Path, episodes: tuple[int, ...]) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": {"uri": source.as_posix()}}}
    logical = [{"name": f"episode {number}", "kind": "member"} for number in episodes]
    if finding.stream:
        logical.append({"name": finding.stream, "kind": "member"})
    return {
        "ruleId": finding.check,
        "level": _LEVEL[finding.severity or "note"],
        "message": {"text": finding.message},
        "locations": [{**place, "logicalLocations": logical}],
        "properties": finding.to_json(),
    }
