"""Text from files is shown as text: never as markup, never as an escape sequence."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from corporeal.cli import output
from corporeal.cli.program import main
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.testing import Workload

HOSTILE = "[/x]\x1b[2J\x9b2J\x1b]0;title\x07\u202e\x7f"
FORBIDDEN = "\x1b\x9b\x07\u202e\x7f"


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["corporeal", *arguments])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workload = Workload(open_robot("g1"), duration_s=0.3, size=(32, 48))
    path = tmp_path_factory.mktemp("names") / "e.h5"
    metadata = {**workload.metadata, "task": HOSTILE, "instruction": HOSTILE, HOSTILE: HOSTILE}
    with EpisodeWriter(path, schema=workload.schema, embodiment=workload.embodiment,
                       metadata=metadata, epoch_ns=0) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    return path


@pytest.mark.parametrize("command", ["info", "verify"])
def test_a_command_shows_names_as_they_are(
    command: str, episode: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, command, str(episode)) == 0
    shown = capsys.readouterr()
    assert not set(FORBIDDEN) & set(shown.out + shown.err)
    assert command != "info" or "[/x]" in shown.out


def test_json_keeps_every_character_and_shows_none_that_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.print_json({"task": HOSTILE + "\udc80"})
    shown = capsys.readouterr().out
    assert not set(FORBIDDEN) & set(shown)
    assert json.loads(shown) == {"task": HOSTILE + "\udc80"}


def test_an_error_shows_a_path_without_its_escapes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(monkeypatch, "info", str(tmp_path / HOSTILE.replace("/", ""))) == 2
    assert not set(FORBIDDEN) & set(capsys.readouterr().err)


def test_tables_and_styles_on_a_terminal_have_no_escapes_but_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = output.make_table("title")
    table.add_row(HOSTILE)
    page = output.console()
    monkeypatch.setattr(page, "file", io.StringIO())
    page.print(table)
    page.print(output.emphasise(HOSTILE, HOSTILE))
    assert not set(FORBIDDEN) & set(page.file.getvalue())  # type: ignore[attr-defined]
