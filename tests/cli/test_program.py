"""The program as people call it: output, exit codes, one clear sentence for every mistake."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from corporeal import __version__
from corporeal.cli.command import Command, LazyCommand
from corporeal.cli.output import console, emphasise, make_table, stderr
from corporeal.cli.program import main, program
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.errors import CorporealError
from corporeal.registry import plugins
from corporeal.testing import Workload

COMMANDS = [
    "account", "annotate", "audit", "calibrate", "campaign", "check", "checks", "convert",
    "curate", "dataset", "demo", "design", "document", "export", "failures", "fatigue", "floor",
    "import_", "info", "ingest", "init", "learn", "lineage", "ls", "mark", "migrate",
    "operator", "plan", "plot", "record", "recover", "rejudge", "release", "retarget",
    "retarget_hands", "retarget_live", "review", "robot", "score", "shifts", "simulate_robot",
    "smoke_train", "snapshot", "stations", "store", "studio", "sync_test", "teleoperate",
    "triangulate", "trust", "verify", "watch", "watch_folder",
]  # fmt: skip


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


def _complaint(*arguments: str | Path) -> str:
    """The sentence the program would print before it exits with 2."""
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    sentence = str(result.exception)
    assert "\n" not in sentence
    return sentence


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode of half a second."""
    workload = Workload(open_robot("g1"), duration_s=0.5)
    path = tmp_path_factory.mktemp("demo") / "wave.h5"
    with EpisodeWriter(
        path,
        schema=workload.schema,
        embodiment=workload.embodiment,
        metadata=workload.metadata,
    ) as writer:
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    return path


def _help_texts(name: str, command: Any) -> Iterator[tuple[str, str]]:
    loaded = command.load() if isinstance(command, LazyCommand) else command
    yield name, loaded.help or ""
    for parameter in loaded.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for inner, each in getattr(loaded, "commands", {}).items():
        yield from _help_texts(f"{name} {inner}", each)


def test_no_help_has_words_in_brackets_that_are_eaten_as_markup() -> None:
    texts = dict(_help_texts("corporeal", get_command(program())))
    assert len(texts) > 200
    marks = {name: re.findall(r"(?<!\\)\[[^\]]*\]", text) for name, text in texts.items()}
    eaten = {name: sorted({*found} - {"[bold]", "[/bold]"}) for name, found in marks.items()}
    assert {name: found for name, found in eaten.items() if found} == {}


def test_words_in_brackets_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = make_table("extra [track]")
    table.add_row("[alerts.lab]")
    for page in (console(), stderr()):
        page.print("pip install 'corporeal[track]' :bug:", style="yellow")
        page.print(table)
        page.print(emphasise("[red]", " [/red]"))
    output = capsys.readouterr()
    for text in (output.out, output.err):
        assert "corporeal[track]' :bug:" in text
        assert "extra [track]" in text
        assert "[alerts.lab]" in text
        assert "[red] [/red]" in text


def test_the_commands_are_the_files_in_the_folder() -> None:
    assert list(plugins("corporeal.cli.commands", "COMMAND", Command)) == COMMANDS


@pytest.mark.parametrize("command", [name.rstrip("_").replace("_", "-") for name in COMMANDS])
def test_every_command_explains_itself(command: str) -> None:
    result = _run(command, "--help")
    assert result.exit_code == 0
    groups = {
        "calibrate": ["board", "camera", "hand-eye", "force"],
        "annotate": ["taxonomy", "propose", "gold", "queue", "status", "agreement", "accept",
                     "return", "history", "requeue", "export"],
        "account": ["add", "list", "token", "revoke"],
        "audit": ["verify", "log", "note"],
        "campaign": ["create", "list", "show", "next", "close"],
        "operator": ["add", "change", "list", "show", "begin", "certify", "revoke", "require",
                     "tasks", "privacy"],
        "dataset": ["drop", "keep", "merge", "split"],
        "document": ["check", "show", "diff"],
        "floor": ["demo"],
        "release": ["create", "list", "verify", "diff", "card"],
        "review": ["create", "list", "show", "decide", "close"],
        "robot": ["list", "show", "diff"],
        "store": ["verify"],
    }  # fmt: skip
    for path in [[command, inner] for inner in groups.get(command, [])] or [[command]]:
        page = _run(*path, "--help").stdout
        assert "Example" in page
        assert "--json" in page


def test_the_list_says_of_every_command_what_the_command_says_of_itself() -> None:
    for listed in [LazyCommand(name) for name in COMMANDS]:
        listed.describe()
        loaded = listed.load()
        assert listed.help == loaded.help
        assert listed.rich_help_panel == loaded.rich_help_panel
        assert listed.name == loaded.name
        assert listed.is_group == hasattr(loaded, "commands")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["--help"], []), (["--version"], []), (["ls", "--help"], ["ls"]),
     (["release", "list", "--help"], ["release"])],
)  # fmt: skip
def test_only_the_command_that_is_called_is_imported(
    arguments: list[str], expected: list[str]
) -> None:
    script = (
        "import sys\nfrom corporeal.cli.program import program\n"
        f"program()({arguments!r}, standalone_mode=False)\n"
        "names = [name.split('.')[3] for name in sys.modules\n"
        "         if name.startswith('corporeal.cli.commands.')]\n"
        "sys.stderr.write(' '.join(names))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.split() == expected


def test_a_mistyped_command_is_answered_with_the_nearest_ones() -> None:
    result = _run("chekc")
    assert result.exit_code == 2
    assert "Did you mean 'check', 'checks'?" in result.stderr


def test_the_version_is_printed() -> None:
    assert _run("--version").stdout.strip() == f"corporeal {__version__}"


def test_an_error_is_one_line_on_stderr_and_exit_code_2(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "corporeal", "info", str(tmp_path / "absent.h5")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == f"corporeal: {tmp_path / 'absent.h5'}: No such file or directory.\n"


def test_what_nobody_expected_is_one_line_and_the_details_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise KeyError("nobody\nexpected \x1b[2J this")

    monkeypatch.setattr("corporeal.cli.program.program", lambda: fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["corporeal", "info", "--password=secret", "/home/me/x.h5"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("corporeal: this is a fault of ours: KeyError")
    (details,) = tmp_path.glob("corporeal-fault-*.txt")
    assert str(details) in line
    assert details.stat().st_mode & 0o777 == 0o600
    written = details.read_text()
    assert "raise KeyError" in written
    assert "corporeal info --password\n" in written


def test_a_wrong_option_exits_with_2() -> None:
    assert _run("info", "--nonsense").exit_code == 2


@pytest.mark.slow
def test_the_demo_accepts_good_episodes_and_names_what_is_wrong_with_the_others(
    tmp_path: Path,
) -> None:
    result = _run("demo", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert len(report["episodes"]) == 5
    for episode in report["episodes"]:
        assert _run("verify", episode["path"]).exit_code == 0
        assert episode["missing_metadata"] == []
        assert episode["missing_streams"] == []
        failed = not episode["metadata"]["outcome"]["success"]
        assert (episode["verdict"] == "failed") == failed
    *_, late = report["episodes"]
    assert late["verdict"] == "quarantined"
    verdicts = {episode["verdict"] for episode in report["episodes"]}
    assert verdicts == {"accepted", "quarantined", "failed"}
    assert Path(report["picture"]).read_bytes().startswith(b"\x89PNG")
    assert "quarantined" in Path(report["report"]).read_text()
    listed = json.loads(_run("failures", tmp_path / "sorted", "--json").stdout)
    assert all("task_failed" in entry["reasons"] for entry in listed["episodes"])
    assert len(list((tmp_path / "sorted" / "failures").iterdir())) == len(listed["episodes"])


def test_info_shows_every_stream_with_a_sparkline(demo: Path) -> None:
    page = _run("info", demo).stdout
    for name in (
        "joint_position",
        "head_depth",
        "instruction",
        "g1@1.0.0",
        "teleop_humanoid@1.0.0",
    ):
        assert name in page
    assert any(bar in page for bar in "▁▂▃▅▇")


def test_info_as_json_is_complete(demo: Path) -> None:
    values = json.loads(_run("info", demo, "--json").stdout)
    streams = {stream["path"]: stream for stream in values["streams"]}
    assert streams["observations/joint_position"]["samples"] == 50
    assert streams["observations/joint_position"]["measured_hz"] == pytest.approx(100, rel=0.02)
    assert streams["observations/head_left"]["shape"] == [480, 640, 3]
    assert values["missing_streams"] == []
    assert values["robot"] == "g1"


def test_plot_writes_the_kind_of_picture_asked_for(demo: Path, tmp_path: Path) -> None:
    assert _run("plot", demo, "-o", tmp_path / "page.svg").exit_code == 0
    assert "<svg" in (tmp_path / "page.svg").read_text()[:1000]


def test_plot_refuses_a_picture_it_cannot_draw(demo: Path, tmp_path: Path) -> None:
    assert ".png, .pdf, .svg" in _complaint("plot", demo, "-o", tmp_path / "page.docx")
    assert "No such file" in _complaint("plot", demo, "-o", tmp_path / "absent" / "page.png")


def test_verify_names_the_damaged_part_and_exits_with_1(demo: Path, tmp_path: Path) -> None:
    from corporeal.episode import Episode

    raw = bytearray(demo.read_bytes())
    with Episode.open(demo) as episode:
        offset, length = episode["observations/head_left"].byte_range  # type: ignore[attr-defined]
    raw[offset + length // 2] ^= 1
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(raw)
    result = _run("verify", damaged, demo, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report[str(demo)] == []
    assert report[str(damaged)][0]["path"] == "observations/head_left/data"


def test_recover_says_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert "nothing to recover" in _run("recover", tmp_path).stdout
    assert "does not exist" in _complaint("recover", tmp_path / "absent")


@pytest.mark.parametrize("robot", ["g1", "g1_23dof", "h1", "gr1", "walker_s2", "aloha"])
def test_robot_show_prints_every_joint(robot: str) -> None:
    values = json.loads(_run("robot", "show", robot, "--json").stdout)
    page = _run("robot", "show", robot).stdout
    for joint in values["joints"]:
        assert joint["name"] in page


def test_robot_show_says_what_is_not_public() -> None:
    assert "estimated, not public" in _run("robot", "show", "walker_s2").stdout


def test_robot_show_reports_missing_meshes(shared_data: Path) -> None:
    file = shared_data / "models" / "unitree_g1" / "g1_29dof_rev_1_0.urdf"
    assert "meshes are not here" in _run("robot", "show", file).stdout


def test_robot_diff_exits_with_1_when_they_differ() -> None:
    result = _run("robot", "diff", "g1", "g1_23dof")
    assert result.exit_code == 1
    assert "only A has: waist_roll_joint" in result.stdout
    assert _run("robot", "diff", "g1", "g1").exit_code == 0


def test_an_unknown_robot_is_answered_with_the_known_ones() -> None:
    sentence = _complaint("robot", "show", "g2")
    assert "aloha, g1, g1_23dof, gr1, h1, walker_s2" in sentence


def test_document_check_lists_every_problem_with_its_line(tmp_path: Path) -> None:
    bad = tmp_path / "rig.yaml"
    bad.write_text(
        "document: schema\nname: rig\nversion: 1.0.0\nstreams:\n"
        "  - {name: arm, group: observations, shpe: [3]}\n"
        "  - {name: cam, group: observations, kind: video, shape: [480, 640, 3], "
        "placement: external}\n"
    )
    result = _run("document", "check", bad, "--json")
    assert result.exit_code == 1
    first, second = json.loads(result.stdout)[str(bad)]
    assert first == f"{bad}:5: streams[0].shpe: unknown field. Did you mean 'shape'?"
    assert second.startswith(f"{bad}:6: streams[1]: stream 'cam' is external")


def test_document_diff_speaks_of_streams_by_name(tmp_path: Path) -> None:
    from importlib.resources import files

    text = (files("corporeal.schema") / "rigs" / "mocap.yaml").read_text()
    changed = tmp_path / "mocap.yaml"
    changed.write_text(text.replace("rate_hz: 1000", "rate_hz: 2000").replace("1.0.0", "1.1.0"))
    result = _run("document", "diff", "mocap", changed)
    assert result.exit_code == 1
    assert "~ version: was 1.0.0, now 1.1.0" in result.stdout
    assert "~ streams[debug/left_force_plate].rate_hz: was 1000.0, now 2000.0" in result.stdout
    assert _run("document", "diff", "mocap", "mocap").exit_code == 0
    assert "got 'embodiment'; expected 'schema'" in _complaint("document", "diff", "mocap", "g1")


def test_document_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    stray = tmp_path / "stray.yaml"
    stray.write_text("document: recipe\nname: soup\n")
    result = _run("document", "check", stray)
    assert result.exit_code == 1
    assert ":1: document: got 'recipe'; expected one of: schema, embodiment, " in result.stdout
