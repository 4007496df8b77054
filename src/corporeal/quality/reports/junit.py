"""A report as JUnit XML: every episode a suite, every check a case, for any CI to show."""

from __future__ import annotations

import re
from collections import defaultdict
from xml.etree import ElementTree

from corporeal.quality.assessment import Assessment
from corporeal.quality.check import Finding, checks
from corporeal.quality.inspection import Report

# XML 1.0 has no way to write these, not even escaped.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The report as JUnit XML; what was not assessed is skipped, notes are output."""
    root = ElementTree.Element("testsuites", name=_clean(f"corporeal check {report.source}"))
    for episode in report.episodes:
        name = f"episode {episode.index} ({episode.source.name})"
        _suite(root, name, "episode", episode.assessment)
    _suite(root, "set", "batch", report.batch)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ElementTree.Element, name: str, scope: str, assessment: Assessment) -> None:
    by_check: dict[str, list[Finding]] = defaultdict(list)
    for finding in assessment.findings:
        by_check[finding.check].append(finding)
    not_assessed = assessment.not_assessed
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(name))
    cases = [each for each, check in checks().items() if check.scope == scope]
    failed = 0
    for check in cases:
        case = ElementTree.SubElement(suite, "testcase", name=check, classname=_clean(name))
        counting = [each for each in by_check[check] if each.severity != "note"]
        for finding in counting:
            element = ElementTree.SubElement(case, "failure", message=_clean(finding.message))
            element.set("type", str(finding.severity))
            element.text = _clean(f"{finding.stream or 'episode'} {list(finding.frames)[:8]}")
        failed += bool(counting)
        if check in not_assessed:
            ElementTree.SubElement(case, "skipped", message=_clean(not_assessed[check]))
        notes = [each.message for each in by_check[check] if each.severity == "note"]
        if notes:
            ElementTree.SubElement(case, "system-out").text = _clean("\n".join(notes))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(failed))
    suite.set("skipped", str(sum(name in not_assessed for name in cases)))


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("?", text)
