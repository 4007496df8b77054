"""`corporeal check --adherence` says of every rule of the protocol whether it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from corporeal.capture.driver import RecordingSource, drivers, parse_options
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments
from corporeal.cli.program import program
from corporeal.errors import CorporealError
from corporeal.protocol import Protocol
from corporeal.quality.assessment import RULES

TEXT = """
document: protocol
name: quick
version: 1.0.0
task: {name: quick, goal: It moved.}
start: {description: Any.}
end: {description: Any.}
duration_s: {lowest: 0.1, highest: 0.2}
trigger: {kind: automatic, pre_roll_s: 0.5, post_roll_s: 0.5}
"""


def _record(folder: Path, protocol: Protocol | None) -> Path:
    driver = drivers()["synthetic"]
    options = parse_options(driver, {"seconds": 0.4, "height": 16, "width": 32})
    source = RecordingSource("robot", driver, options)
    team = TeamDocuments(protocol=protocol)
    return Recorder([source], RecorderSettings(folder), team=team).run()[0]


def _check(*arguments: str | Path) -> Result:
    words = ["check", *map(str, arguments), "--no-pictures", "--adherence"]
    return CliRunner().invoke(program(), words)


def test_every_rule_is_told_under_the_protocol_of_the_episode(tmp_path: Path) -> None:
    path = _record(tmp_path, Protocol.parse(TEXT))
    told = json.loads(_check(path, "--json").stdout)["adherence"]
    assert told["protocol"]["name"] == "quick@1.0.0"
    rules = {rule["name"]: rule for rule in (*told["episodes"][0]["rules"], *told["set"])}
    assert set(rules) == set(RULES)
    assert rules["duration"]["kept"] is False
    assert rules["pre-roll and post-roll"]["kept"] is True
    assert rules["cameras"]["kept"] is None
    lines = _check(path).stdout
    assert "duration" in lines
    assert "under the protocol quick@1.0.0" in lines


def test_without_a_protocol_one_must_be_named(tmp_path: Path) -> None:
    path = _record(tmp_path, None)
    result = _check(path)
    assert isinstance(result.exception, CorporealError)
    assert "no protocol in the episodes" in str(result.exception)


def test_episodes_of_two_protocols_are_not_mixed(tmp_path: Path) -> None:
    _record(tmp_path / "one", Protocol.parse(TEXT))
    _record(tmp_path / "two", Protocol.parse(TEXT.replace("1.0.0", "1.1.0")))
    with pytest.raises(CorporealError, match="2 protocols in them"):
        raise _check(tmp_path).exception or AssertionError
