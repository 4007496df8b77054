"""The hooks and the action that run `corporeal check` in other repositories, as written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench.partners import PartnerError, partner_python
from tests.exchange.small_sets import write_episodes

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes, which no robot moves in: they are not accepted."""
    return write_episodes(tmp_path_factory.mktemp("hooks") / "recorded", 2, seconds=0.6,
                          size=(32, 48))  # fmt: skip


@pytest.fixture
def path_with_program(tmp_path: Path) -> str:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "corporeal"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m corporeal "$@"\n')
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def _action() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return document


def test_every_input_of_the_action_reaches_a_step_and_none_is_pasted_into_a_script() -> None:
    action = _action()
    text = json.dumps(action["runs"]["steps"])
    for name in action["inputs"]:
        assert f"inputs.{name}" in text, name
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_a_file_whose_name_is_an_option_is_a_file(tmp_path: Path, path_with_program: str) -> None:
    hooks = {each["id"]: each for each in yaml.safe_load(
        (ROOT / ".pre-commit-hooks.yaml").read_text())}  # fmt: skip
    hook = hooks["corporeal-check"]
    (tmp_path / "--html=report.h5").write_bytes(b"no episode")
    command = [*hook["entry"].split(), *hook["args"], "--html=report.h5"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PATH": path_with_program}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--html=report.h5" in done.stdout + done.stderr
    assert not (tmp_path / "report.h5").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("given", "code"), [({}, 1), ({"DATA": "absent"}, 2)])
def test_the_action_posts_what_it_found(
    given: dict[str, str], code: int, data: Path, tmp_path: Path, path_with_program: str
) -> None:
    (step,) = (each for each in _action()["runs"]["steps"] if each.get("id") == "check")
    names = dict.fromkeys(step["env"], "")
    files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    environment = os.environ | names | files | {
        "DATA": str(data), "PICTURES": "false", "RUNNER_TEMP": str(tmp_path),
        "PATH": path_with_program, **given,
    }  # fmt: skip
    result = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == code, result.stderr
    first, *_, last = result.stdout.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    output = (tmp_path / "GITHUB_OUTPUT").read_text()
    assert "accepted=false" in output
    if code == 1:
        summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
        assert "is not accepted" in summary
        assert "| episode | verdict | what was found |" in summary
        sarif = json.loads((tmp_path / "corporeal.sarif").read_text())
        assert sarif["runs"][0]["results"]
        assert "sarif=" in output


@pytest.mark.slow
def test_pre_commit_runs_the_hooks_on_a_commit(
    data: Path, tmp_path: Path, path_with_program: str
) -> None:
    """The program of pre-commit itself: the hooks as they stand, run in this Python."""
    try:
        python = partner_python("pre_commit")
    except PartnerError as reason:
        pytest.skip(f"no environment with pre-commit: {reason}")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        hook["language"] = "system"
    (dataset,) = (hook for hook in hooks if hook["id"] == "corporeal-check-dataset")
    dataset["args"] = ["recorded"]
    repository = tmp_path / "repository"
    shutil.copytree(data, repository / "recorded")
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    environment = os.environ | {
        "PATH": path_with_program,
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
    }
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=repository, check=True)
    result = subprocess.run(
        [python, "-m", "pre_commit", "run"], cwd=repository, env=environment, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.count("Failed") == 2, result.stdout
    assert "of 2 under default@" in result.stdout
    (repository / "notes.txt").write_text("nothing to check")
    subprocess.run(["git", "rm", "-q", "-r", "--cached", "recorded"], cwd=repository, check=True)
    subprocess.run(["git", "add", "notes.txt"], cwd=repository, check=True)
    result = subprocess.run(
        [python, "-m", "pre_commit", "run"], cwd=repository, env=environment, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
