"""What the help says: in the order of the work, without types, with an example everywhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from corporeal.cli.command import FORMER, PANELS, LazyCommand
from corporeal.cli.program import program
from corporeal.errors import CorporealError, UnknownNameError


def _pages() -> Iterator[tuple[str, str]]:
    """The help of every command, as it is shown."""
    runner = CliRunner(env={"COLUMNS": "160"})

    def walk(path: list[str], command: Any) -> Iterator[tuple[str, str]]:
        loaded = command.load() if isinstance(command, LazyCommand) else command
        inner = getattr(loaded, "commands", {})
        if not inner:
            yield " ".join(path), runner.invoke(program(), [*path, "--help"]).stdout
        for name, each in inner.items():
            yield from walk([*path, name], each)

    yield from walk([], get_command(program()))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(_pages())


@pytest.mark.slow
def test_no_help_names_a_type_of_python_and_every_command_has_an_example(
    pages: dict[str, str],
) -> None:
    assert len(pages) > 60
    types = re.compile(r"<(bool|str|int|float|path|list|Path)|list\[|int range|float range")
    assert [name for name, page in pages.items() if types.search(page)] == []
    assert [name for name, page in pages.items() if "Example: corporeal " not in page] == []
    assert [name for name, page in pages.items() if "()" in page] == []


@pytest.mark.slow
def test_the_example_of_a_command_is_of_that_command(pages: dict[str, str]) -> None:
    strange = {name: page for name, page in pages.items()
               if f"Example: corporeal {name}" not in page}  # fmt: skip
    assert list(strange) == []


def test_the_help_is_in_the_order_of_the_work() -> None:
    page = CliRunner().invoke(program(), ["--help"]).stdout
    shown = [title for title in re.findall(r"^╭─ ([\w ]+?) ─", page, re.M) if title != "Options"]
    assert shown == [panel for panel in PANELS if panel in shown]
    assert shown[:3] == ["Start", "Record", "Check"]
    assert "<bool>" not in page


@pytest.mark.parametrize(("former", "present"), FORMER.items())
def test_a_former_command_says_its_present_name_and_works(
    former: str, present: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = str(tmp_path / "absent")
    episodes = ["--episodes", "0"] if former in ("delete", "select") else []
    sys.stderr.flush()
    result = CliRunner().invoke(
        program(), [former, absent, *episodes, "--out", str(tmp_path / "out")]
    )
    assert f"corporeal {former} is now: corporeal {' '.join(present)}" in result.stderr
    assert isinstance(result.exception, CorporealError)
    assert "does not exist" in str(result.exception)


def test_of_a_long_list_the_nearest_name_comes_first() -> None:
    result = CliRunner().invoke(program(), ["check", "absent", "--only", "joints_swaped"])
    assert str(result.exception).startswith(
        "unknown check, got 'joints_swaped'; did you mean 'joints_swapped'? Expected one of "
    )
    assert str(result.exception).endswith("all of them: corporeal checks.")
    names = [f"name_{number}" for number in range(100)]
    complaint = str(UnknownNameError("thing", "xyz", names))
    assert complaint.startswith("unknown thing, got 'xyz'; expected one of 100, such as name_0, ")
