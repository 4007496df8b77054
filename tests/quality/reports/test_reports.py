"""Reports: HTML, JUnit and SARIF carry every finding, and nothing that could run."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from corporeal.quality.assessment import Assessment
from corporeal.quality.check import Finding
from corporeal.quality.inspection import EpisodeReport, Exhibit, Report
from corporeal.quality.policy import Policy
from corporeal.quality.reports import html, junit, sarif
from corporeal.quality.reports.html import chart

POLICY = Policy.parse("document: policy\nname: ours\nversion: 1.0.0\n")
HOSTILE = "<script>alert('x')</script>\x00"


@pytest.fixture
def report() -> Report:
    bad = Finding(
        f"left_elbow {HOSTILE}",
        "observation.state",
        ((10, 12),),
        0.3,
        0.05,
        {"time_s": np.linspace(0, 1, 50), "left_elbow": np.linspace(2, 3.2, 50)},
        "fail",
        check="joint_beyond_limit",
    )
    note = Finding("no operator", severity="note", check="metadata_missing")
    twins = Finding("the same", severity="quarantine", episodes=(0, 1), check="episode_duplicated")
    episodes = (
        EpisodeReport(0, "a", Path("a.h5"), Assessment((bad, note), {"robot_fell": "no base"}),
                      exhibits=(Exhibit("head", 0.5, b"jpeg"),)),
        EpisodeReport(1, "b", Path(f"b{HOSTILE}.h5"), Assessment((), {})),
    )  # fmt: skip
    return Report(Path("set"), "episodes", episodes, Assessment((twins,), {}), POLICY)


def test_the_page_shows_findings_pictures_and_what_was_not_assessed(report: Report) -> None:
    page = html.render(report)
    for text in ("left_elbow", "joint_beyond_limit", "frames 10 to 11", "30 %, allowed 5 %",
                 "Joint beyond limit",
                 "the same", "data:image/jpeg;base64", "polyline", "no base",
                 "policy ours@1.0.0"):  # fmt: skip
        assert text in page, text


def test_the_page_runs_nothing_from_the_data_and_asks_no_network(report: Report) -> None:
    page = html.render(report)
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_junit_counts_failures_and_skips(report: Report) -> None:
    root = ElementTree.fromstring(junit.render(report))
    first, second, batch = root.findall("testsuite")
    assert (first.get("failures"), first.get("skipped")) == ("1", "1")
    assert (second.get("failures"), second.get("skipped")) == ("0", "0")
    assert batch.get("failures") == "1"
    (failure,) = first.iter("failure")
    assert failure.get("type") == "fail"


def test_sarif_has_a_rule_for_every_result(report: Report) -> None:
    (run,) = json.loads(sarif.render(report))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["episode_duplicated", "joint_beyond_limit", "metadata_missing"]
    assert [result["level"] for result in run["results"]] == ["error", "note", "warning"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]


def test_a_chart_needs_something_to_draw() -> None:
    assert chart(Finding("nothing")) == ""
    assert chart(Finding("nan", evidence={"x": np.full(5, np.nan)})) == ""
    assert "polyline" in chart(Finding("flat", evidence={"x": np.zeros(5)}))
