"""Text from files is shown as text: never as markup, never as an escape sequence."""

from __future__ import annotations

import functools
import io
import json
from pathlib import Path

import pytest
import typer

from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import open_workspace
from corporeal.cli import completion, output
from corporeal.cli.program import main, program
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.testing import Workload

HOSTILE = "[/x]\x1b[2J\x9b2J\x1b]0;title\x07\u202e\x7f"
PLAIN = HOSTILE.replace("/", "")
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
    path = tmp_path_factory.mktemp("names") / f"{PLAIN}.h5"
    names = dict.fromkeys(("task", "instruction", "operator", "station", "protocol", HOSTILE),
                          HOSTILE)  # fmt: skip
    metadata = {**workload.metadata, **names}
    with EpisodeWriter(path, schema=workload.schema, embodiment=workload.embodiment,
                       metadata=metadata, epoch_ns=0) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    return path


@pytest.fixture(scope="module")
def lab(episode: Path) -> Path:
    """A workspace with an episode all of whose names are hostile, and a release and a review."""
    root = episode.parent / "lab"
    steps = (
        ["init"],
        ["ingest", str(episode), "--batch", HOSTILE, "--no-check", "--jobs", "1"],
        ["review", "create", "monday", "state = recorded"],
        ["mark", "1", "--accept", "--reason", HOSTILE, "--note", HOSTILE],
        ["release", "create", "small", "--split", "1"],
    )
    with pytest.MonkeyPatch.context() as patch:
        for command in steps:
            root_words = [str(root)] if command == ["init"] else ["--workspace", str(root)]
            assert _run(patch, *command, *root_words) == 0, command
    return root


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
    assert _run(monkeypatch, "info", str(tmp_path / PLAIN)) == 2
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


COMMANDS = """
ingest FILE --jobs 1 --no-check
ls
ls --json
ls TASK
release list
release verify small
lineage release:small@1.0.0
lineage episode:ID
review list
review show monday
audit log episode:ID
audit verify
annotate status
stations
rejudge 1 --no-pictures
watch-folder FOLDER --once --settle 0 --no-pictures
watch-folder FOLDER --once --settle 0 --no-pictures --batch again --json
"""


@pytest.mark.parametrize("command", COMMANDS.strip().splitlines())
def test_no_command_lets_names_of_a_workspace_reach_the_terminal(
    command: str,
    lab: Path,
    episode: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "incoming"
    folder.mkdir()
    (folder / f"{PLAIN}.txt").write_text("no episode")
    with open_workspace(lab) as workspace, workspace.database.read() as connection:
        [row] = every_episode(connection)
    values = {"FILE": episode, "TASK": f'task = "{HOSTILE}"', "FOLDER": folder,
              "episode:ID": f"episode:{row.id}"}  # fmt: skip
    words = [str(values.get(word, word)) for word in command.split()]
    code = _run(monkeypatch, *words, "--workspace", str(lab))
    shown = capsys.readouterr()
    assert code in (0, 1), shown
    assert shown.out
    assert not set(FORBIDDEN) & set(shown.out + shown.err)


def test_tab_offers_nothing_that_a_terminal_or_a_shell_obeys(
    lab: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    read = functools.partial(typer.main.get_command, program())
    episodes = completion.answer(["ls", "-w", str(lab), ""], read)
    assert "[x]" in episodes
    tasks = completion.answer(["ls", "-w", str(lab), "task = "], read)
    assert not set(FORBIDDEN) & set(episodes + tasks)
    names = ["task = plain", "task = $(reboot)", "task = `reboot`", "task = it's", "task != x"]
    monkeypatch.setattr(completion, "_candidates", lambda *_: ((name, "\x9b") for name in names))
    offered = completion.answer(["ls", "task"], read).splitlines()
    assert offered == ["task = plain\t\ufffd", "task != x\t\ufffd"]
