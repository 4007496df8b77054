"""Every gate of sets, records and protocols can fire on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.catalog.demonstration_files import write_demonstration, write_demonstrations
from tests.exchange.small_sets import write_episode
from typer.testing import CliRunner, Result

from corporeal.cli.program import program

SMALL = ("--driver", "synthetic", "--set", "height=16", "--set", "width=32", "--set", "seconds=0.4")
GOOD = {"position_error_m": 0.001, "rotation_error_rad": 0.002}
BAD = {"position_error_m": 0.009, "rotation_error_rad": 0.002}


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _check(*arguments: str | Path) -> dict[str, Any]:
    result = _run("check", *arguments, "--json", "--on", "serial")
    assert result.exit_code == 1, result.output
    return dict(json.loads(result.stdout))


def _messages(report: dict[str, Any], check: str, *, severity: str = "quarantine") -> list[str]:
    findings = [each for episode in report["episodes"] for each in episode["findings"]]
    findings += report["set"]["findings"]
    return [
        each["message"] for each in findings
        if each["check"] == check and each["severity"] == severity
    ]  # fmt: skip


@pytest.mark.parametrize("as_text", [False, True])
def test_a_calibration_that_went_off_during_the_episode(tmp_path: Path, as_text: bool) -> None:
    said: Any = {"start": GOOD, "end": BAD}
    metadata = {"calibration": json.dumps(said) if as_text else said}
    report = _check(write_demonstration(tmp_path / "e.h5", 0, metadata=metadata))
    assert _messages(report, "calibration_invalid") == [
        "the calibration is off by 0.009 m at the end"
    ]
    assert report["episodes"][0]["verdict"] == "quarantined"


def _written(path: Path, error_m: float | None) -> Path:
    measured = "" if error_m is None else f"position_error_m: {error_m}\n"
    path.write_text(
        f"document: calibration\nname: {path.stem}\nversion: 1.0.0\nmeasured: 2026-11-18\n"
        f"{measured}"
    )
    return path


def test_a_calibration_verified_after_a_session_reaches_its_episodes_alone(tmp_path: Path) -> None:
    root, good = tmp_path / "lab", _written(tmp_path / "before.yaml", 0.001)
    off = _written(tmp_path / "after.yaml", 0.009)
    for seed, session in enumerate(("monday", "monday", "tuesday")):
        write_demonstration(tmp_path / "in" / f"{seed}.h5", seed, metadata={"session": session})
    assert _run("init", root).exit_code == 0
    assert _run("ingest", tmp_path / "in", "-w", root, "--on", "serial").exit_code == 0
    stated = ("rejudge", "session = monday", "--calibration-start", good, "-w", root,
              "--on", "serial", "--json")  # fmt: skip

    def verdicts(*arguments: str | Path) -> list[str]:
        result = _run(*stated, *arguments)
        assert result.exit_code == 0, result.output
        return [each["verdict"] for each in json.loads(result.stdout)["episodes"]]

    assert verdicts("--calibration-end", off, "--dry-run") == 2 * ["quarantined"]
    assert verdicts() == 2 * ["accepted"]
    assert verdicts("--calibration-end", off) == 2 * ["quarantined"]
    assert verdicts("--calibration-end", off) == []  # All of it is known and up to date.
    found = json.loads(_run("ls", "state = quarantined", "-w", root, "--json").stdout)["episodes"]
    assert {row["session"] for row in found} == {"monday"}
    shown = " ".join(_run("info", found[0]["id"], "-w", root).stdout.split())
    assert "the calibration is off by 0.009 m at the end" in shown
    # Judging anew for another reason does not forget it, and a better verification replaces it.
    again = _run("rejudge", "-w", root, "--again", "--on", "serial", "--json")
    states = [each["verdict"] for each in json.loads(again.stdout)["episodes"]]
    assert sorted(states) == ["accepted", "quarantined", "quarantined"]
    assert verdicts("--calibration-end", _written(tmp_path / "mended.yaml", 0.002)) == [
        "accepted", "accepted",
    ]  # fmt: skip


def test_a_verification_that_measured_nothing_or_is_of_no_episodes_is_refused(
    tmp_path: Path,
) -> None:
    root, empty = tmp_path / "lab", _written(tmp_path / "empty.yaml", None)
    assert _run("init", root).exit_code == 0
    write_demonstration(tmp_path / "e.h5", 0)
    assert _run("ingest", tmp_path / "e.h5", "-w", root, "--on", "serial").exit_code == 0
    refused = _run("rejudge", "task = pick_place", "--calibration-end", empty, "-w", root)
    assert "expected position_error_m or rotation_error_rad" in str(refused.exception)
    unnamed = _run("rejudge", "--calibration-end", empty, "-w", root)
    assert "got no query" in str(unnamed.exception)


@pytest.mark.slow
def test_a_calibration_document_that_was_off_when_recording_began(tmp_path: Path) -> None:
    calibration = tmp_path / "cell.yaml"
    calibration.write_text(
        "document: calibration\nname: cell\nversion: 1.0.0\nmeasured: 2026-11-18\n"
        "position_error_m: 0.009\n"
    )
    out = tmp_path / "out"
    made = _run("record", *SMALL, "--calibration", calibration, "--episodes", "1", "--out", out)
    assert made.exit_code == 0, made.output
    report = _check(out)
    assert "off by 0.009 m at the start" in _messages(report, "calibration_invalid")[0]
    missing = _messages(report, "metadata_missing")
    assert missing, "the schema of the rig asks for a session, and nobody named one"


def test_an_operator_who_made_most_of_the_set_also_with_few_people(tmp_path: Path) -> None:
    write_demonstrations(tmp_path, range(9), metadata={"operator": "ann"})
    write_demonstrations(tmp_path, range(9, 12), metadata={"operator": "ben"})
    report = _check(tmp_path)
    (message,) = _messages(report, "operator_dominates")
    assert message == "operator ann made 9 of 12 episodes (75 %)"
    (note,) = _messages(report, "operator_dominates", severity="note")
    assert "an even part (50 %)" in note


def test_an_operator_who_made_most_of_a_real_set(shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shutil.copytree(shared_data / "lerobot" / "g1_inspire_v21_part", folder,
                    ignore=shutil.ignore_patterns("videos"))  # fmt: skip
    listed = folder / "meta" / "episodes.jsonl"
    rows = [json.loads(line) for line in listed.read_text("utf-8").splitlines()]
    named = [row | {"operator": "ben" if row["episode_index"] == 3 else "ann"} for row in rows]
    listed.write_text("".join(f"{json.dumps(row)}\n" for row in named), "utf-8")
    report = _check(folder, "--only", "operator_dominates", "--no-pictures")
    (message,) = _messages(report, "operator_dominates")
    assert message == "operator ann made 11 of 12 episodes (92 %)"


def test_a_gate_of_the_set_that_could_not_run_says_why(tmp_path: Path) -> None:
    write_demonstrations(tmp_path, range(2))
    shown = " ".join(_run("check", tmp_path, "--on", "serial", "--only", "batch_drifts",
                          "--only", "operator_dominates").stdout.split())  # fmt: skip
    assert "set: unchecked by batch_drifts: no earlier batch to compare with" in shown
    assert "unchecked by operator_dominates: 0 episodes name their operator" in shown


def test_levels_that_are_not_as_the_protocol_plans(tmp_path: Path) -> None:
    write_demonstrations(tmp_path, range(20), metadata={"variation": {"hand": "left"}})
    report = _check(tmp_path, "--protocol", "pick_place", "--only", "factor_levels_unbalanced")
    assert "hand left makes 100 % of 20 episodes; planned are 50 %" in _messages(
        report, "factor_levels_unbalanced"
    )


def test_of_two_exact_copies_alone_the_first_is_accepted_and_the_other_is_named(
    tmp_path: Path,
) -> None:
    write_demonstration(tmp_path / "a.h5", 0)
    write_demonstration(tmp_path / "b.h5", 0, number=1)
    report = _check(tmp_path)
    first, copy = report["episodes"]
    assert (first["verdict"], copy["verdict"]) == ("accepted", "quarantined")
    assert "episode_duplicated" in [each["check"] for each in copy["findings"]]


@pytest.mark.slow
def test_a_camera_that_does_not_stand_where_the_protocol_says(tmp_path: Path) -> None:
    protocol = tmp_path / "placed.yaml"
    protocol.write_text(
        "document: protocol\nname: placed\nversion: 1.0.0\n"
        "task: {name: synthetic_reach, goal: It moves., instructions: [Move.]}\n"
        "start: {description: standing}\nend: {description: standing}\n"
        "cameras: [{name: head_left, xyz: [0.1, 0.0, 0.5], tolerance_m: 0.01}]\n"
    )
    calibration = tmp_path / "cell.yaml"
    calibration.write_text(
        "document: calibration\nname: cell\nversion: 1.0.0\nmeasured: 2026-11-18\n"
        "cameras: [{name: head_left, frame: torso, xyz: [0.1, 0.0, 0.55]}]\n"
    )
    out = tmp_path / "out"
    made = _run("record", *SMALL, "--calibration", calibration, "--episodes", "1", "--out", out)
    assert made.exit_code == 0, made.output
    report = _check(out, "--protocol", protocol)
    assert _messages(report, "cameras_off_protocol") == ["head_left stands 50 mm from its place"]
    rules = {rule["name"]: rule["kept"] for rule in report["episodes"][0]["adherence"]}
    assert rules["cameras"] is False
    shown = _run("check", out, "--protocol", protocol, "--on", "serial").stdout
    assert "broken: " in shown


@pytest.mark.slow
def test_a_batch_that_drifts_from_those_before_it(tmp_path: Path) -> None:
    first = write_demonstrations(tmp_path / "monday", range(24))
    later = write_demonstrations(tmp_path / "tuesday", range(24, 30), motion_s=11.0)
    root = tmp_path / "lab"
    assert _run("init", root).exit_code == 0
    for batch in (first, later):
        done = _run("ingest", batch, "--batch", batch.name, "-w", root, "--on", "serial")
        assert done.exit_code == 0, done.output
    found = _run("ls", "batch = tuesday and has finding batch_drifts", "-w", root, "--json")
    rows = json.loads(found.stdout)["episodes"]
    assert len(rows) == 6
    assert "accepted" not in {row["state"] for row in rows}
    shown = _run("info", rows[0]["id"], "-w", root).stdout
    assert "duration in s of pick_place went from" in " ".join(shown.split())


def test_a_second_judgement_is_offered_and_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "lab"
    strict = tmp_path / "strict.yaml"
    strict.write_text(
        "document: policy\nname: strict\nversion: 1.0.0\n"
        "needs:\n  - {has: [joints], checks: [torque_mismatch]}\n"
    )
    path = write_demonstration(tmp_path / "e.h5", 0)
    assert _run("init", root).exit_code == 0
    assert _run("ingest", path, "-w", root, "--on", "serial").exit_code == 0
    offered = _run("ingest", path, "-w", root, "--on", "serial", "--policy", strict).stdout
    assert "corporeal rejudge" in " ".join(offered.split())
    tried = _run("rejudge", "-w", root, "--policy", strict, "--dry-run", "--on", "serial")
    assert "1 would change" in " ".join(tried.stdout.split())
    accepted = ("ls", "state = accepted and not_assessed = torque_mismatch", "-w", root, "--json")
    assert json.loads(_run(*accepted).stdout)["total"] == 1
    done = _run("ingest", path, "-w", root, "--on", "serial", "--policy", strict, "--rejudge",
                "--json")  # fmt: skip
    (anew,) = json.loads(done.stdout)["rejudged"]
    assert (anew["verdict_before"], anew["verdict"]) == ("accepted", "quarantined")
    assert json.loads(_run(*accepted).stdout)["total"] == 0
    again = json.loads(_run("rejudge", "-w", root, "--on", "serial", "--json").stdout)
    assert (again["episodes"], again["current"]) == ([], 1)


def test_pictures_that_nobody_looked_at(tmp_path: Path) -> None:
    path = write_episode(tmp_path / "e.h5", seconds=0.6, size=(16, 32))
    report = _check(path, "--no-pictures")
    assert not [text for text in _messages(report, "judgement_incomplete") if "camera" in text]
    root = tmp_path / "lab"
    assert _run("init", root).exit_code == 0
    _run("ingest", path, "-w", root, "--no-pictures", "--on", "serial")
    query = "has finding judgement_incomplete and not_assessed = camera_frozen"
    assert json.loads(_run("ls", query, "-w", root, "--json").stdout)["total"] == 1
