"""What the plain package says: every extra that is missing is one sentence, and never a traceback.

All commands run in one process that finds no package but those of the core.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.cli.many_calls import run_calls
from tests.cli.test_program import COMMANDS
from tests.exchange.small_sets import write_episodes
from tests.test_dependencies import PACKAGES

from corporeal.cli.program import EXTRAS

ROOT = Path(__file__).resolve().parents[2]


def test_every_extra_is_in_the_table_that_names_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        line.split(">")[0].split("[")[0]: extra
        for extra, lines in project["optional-dependencies"].items()
        for line in lines
        if extra not in ("dev", "docs")
    }
    packages = {PACKAGES.get(module, module) for module in EXTRAS}
    assert packages == set(declared)
    groups = project["optional-dependencies"]
    for module, (package, extra) in EXTRAS.items():
        assert any(line.startswith(package) for line in groups[extra]), module


@pytest.mark.slow
def test_the_plain_package_helps_with_every_command(tmp_path: Path) -> None:
    calls = [[name.rstrip("_").replace("_", "-"), "--help"] for name in COMMANDS]
    for call, (code, shown, complaint) in zip(
        calls, run_calls(calls, tmp_path, without=EXTRAS), strict=True
    ):
        assert (code, complaint) == (0, ""), call
        assert "Usage" in shown


@pytest.mark.slow
def test_what_is_missing_is_one_sentence_that_says_how_to_get_it(tmp_path: Path) -> None:
    write_episodes(tmp_path / "sets", 2, seconds=0.6, size=(32, 48))
    (tmp_path / "robot.xml").write_text("<mujoco><worldbody/></mujoco>")
    (tmp_path / "walk.bvh").write_text("HIERARCHY\n")
    asked = {
        "robot": [["demo"], ["record", "--driver", "sim", "--out", "a"],
                  ["robot", "show", "robot.xml"]],
        "server": [["studio", "-w", "lab"]],
        "live": [["record", "--driver", "unitree_dds", "--out", "b"],
                 ["record", "--driver", "ros2", "--out", "c"]],
        "realsense": [["record", "--driver", "realsense", "--out", "d"]],
        "viz": [["export", "sets", "--format", "rrd", "--out", "e"]],
        "scale": [["check", "sets", "--on", "ray"]],
    }  # fmt: skip
    calls = [call for calls in asked.values() for call in calls]
    extras = [extra for extra, calls in asked.items() for _ in calls]
    made, *answers = run_calls([["init", "lab"], *calls], tmp_path, without=EXTRAS)
    assert made[0] == 0, made
    for call, extra, (code, shown, complaint) in zip(calls, extras, answers, strict=True):
        lines = [line for line in complaint.splitlines() if line.startswith("corporeal: ")]
        assert code == 2, (call, code, complaint)
        assert len(lines) == 1, (call, complaint)
        assert f"pip install 'corporeal[{extra}]'" in lines[0], (call, complaint)
        assert "Traceback" not in complaint + shown


@pytest.mark.slow
def test_the_core_does_its_work_without_any_extra(tmp_path: Path) -> None:
    write_episodes(tmp_path / "sets", 2, seconds=0.6, size=(32, 48))
    calls = [
        ["init", "lab"],
        ["ingest", "sets", "-w", "lab", "--no-check", "--jobs", "1"],
        ["ls", "-w", "lab", "--json"],
        ["export", "sets", "--format", "lerobot", "--out", "set", "--on", "serial"],
        ["checks"],
        ["robot", "show", "g1"],
    ]
    for call, (code, _, complaint) in zip(
        calls, run_calls(calls, tmp_path, without=EXTRAS), strict=True
    ):
        assert code == 0, (call, complaint)
