"""What Tab offers, asked as the shells ask, in the shells that are here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.exchange.small_sets import write_episodes
from typer.testing import CliRunner

from corporeal.cli import completion
from corporeal.cli.program import program

# Modules that no Tab may wait for, unless it asks for what is in a workspace.
HEAVY = ("numpy", "scipy", "pyarrow", "h5py", "sqlalchemy", "matplotlib", "pydantic", "av")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def _whole() -> Any:
    return typer.main.get_command(program())


def _offered(*words: str) -> list[str]:
    return [line.partition("\t")[0] for line in completion.answer(words, _whole).splitlines()]


def test_commands_and_those_below_a_group_are_offered_with_what_they_do() -> None:
    assert "check\tCheck episodes and datasets." in completion.answer(["che"], _whole)
    assert _offered("release", "ver") == ["verify"]
    assert "drop" in _offered("dataset", "")


def test_former_names_of_commands_are_not_offered() -> None:
    assert {"delete", "select", "merge", "split"}.isdisjoint(_offered(""))


def test_options_are_offered_and_a_flag_waits_for_no_value() -> None:
    assert {"--html", "--only", "--json"} <= set(_offered("check", "--"))
    assert "--html" in _offered("check", "--adherence", "--ht")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["check", "--only", "robot_f"], "robot_fell"),
        (["check", "--explain", "joints_s"], "joints_swapped"),
        (["robot", "show", "g1"], "g1_23dof"),
        (["import", "set", "--robot", "wal"], "walker_s2"),
        (["record", "--driver", "syn"], "synthetic"),
        (["record", "--task", "pick"], "pick_place"),
        (["export", "x", "--format", "rl"], "rlds"),
        (["record", "--protocol", "hand"], "handover"),
        (["annotate", "propose", "--taxonomy", "man"], "manipulation"),
        (["check", "--on", "ser"], "serial"),
    ],
)
def test_names_are_those_of_the_plugins(words: list[str], expected: str) -> None:
    assert expected in _offered(*words)


def test_where_a_path_belongs_nothing_is_offered_so_that_the_shell_offers_files() -> None:
    assert _offered("check", "") == []
    assert _offered("check", "--html", "") == []
    assert _offered("nonsense", "--no-such-option", "x", "") is not None


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    recorded = write_episodes(folder / "recorded", 2, seconds=0.6, size=(32, 48))
    root = folder / "lab"
    runner = CliRunner()
    assert runner.invoke(program(), ["init", str(root)]).exit_code == 0
    arguments = ["ingest", str(recorded), "-w", str(root), "--no-check", "--jobs", "1"]
    assert runner.invoke(program(), arguments).exit_code == 0
    return root


def test_episodes_and_queries_of_the_workspace_are_offered(lab: Path) -> None:
    offered = completion.answer(["ls", "-w", str(lab), ""], _whole)
    assert len([line for line in offered.splitlines() if "wave" in line or ".h5" in line]) == 2
    assert "state" in _offered("ls", "-w", str(lab), "sta")
    assert "task = synthetic_reach" in _offered("ls", "-w", str(lab), "task = ")


def test_without_a_workspace_tab_is_silent(tmp_path: Path) -> None:
    assert _offered("ls", "-w", str(tmp_path), "") == []


def test_no_heavy_module_is_imported_for_a_name(cache: Path) -> None:
    completion.answer([""], _whole)  # The tree is in the cache from here on.
    script = (
        "import sys; sys.argv = ['corporeal', 'check', '--only', 'robot_f']\n"
        "from corporeal.cli.program import main; main()\n"
        f"print(sorted(set(sys.modules) & {set(HEAVY)!r}))"
    )
    environment = os.environ | {completion.VARIABLE: "bash"}
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=60
    )
    assert result.stdout.splitlines() == ["robot_fell", "[]"], result.stderr


def _program(folder: Path) -> Path:
    """This program under its name, on a path of its own."""
    folder.mkdir(exist_ok=True)
    file = folder / "corporeal"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -m corporeal "$@"\n')
    file.chmod(0o755)
    return folder


def test_bash_completes_with_the_script_it_was_given(tmp_path: Path) -> None:
    script = completion.shell_script("bash") + (
        "COMP_WORDS=(corporeal check --only robot_f); COMP_CWORD=3; _corporeal corporeal\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
        "COMP_WORDS=(corporeal ''); COMP_CWORD=1; _corporeal corporeal\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{_program(tmp_path / 'bin')}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60,
        env=os.environ | {"PATH": path},
    )  # fmt: skip
    lines = result.stdout.splitlines()
    assert lines[0] == "robot_fell", result.stderr
    assert "record" in lines


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_reads_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    script = completion.shell_script(shell)
    if shell == "fish":
        script += "complete --do-complete 'corporeal check --only robot_f'\n"
    path = f"{_program(tmp_path / 'bin')}:{os.environ['PATH']}"
    result = subprocess.run(
        [shell, "-c", script], capture_output=True, text=True, timeout=60,
        env=os.environ | {"PATH": path, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "robot_fell" in result.stdout or shell == "zsh"


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_installing_twice_writes_one_line(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        result = CliRunner().invoke(program(), ["--install-completion", shell])
        assert result.exit_code == 0, result.output
    (file,) = (each for each in tmp_path.rglob("*") if each.is_file())
    assert file.read_text().count("corporeal --show-completion") == 1


def test_another_shell_is_answered_with_those_that_are_known() -> None:
    result = CliRunner().invoke(program(), ["--show-completion", "tcsh"])
    assert "expected one of: bash, fish, zsh" in str(result.exception)
