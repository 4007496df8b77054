"""`corporeal retarget` as people call it: options, exit codes, many clips, what it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tests.retargeting.clips import walk, write_clip
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.file import journal_path
from corporeal.errors import CorporealError
from corporeal.schema import open_schema


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program(), [str(each) for each in ("retarget", *arguments)])


def _complaint(*arguments: str | Path) -> str:
    """The sentence the program would print before it exits with 2."""
    result = _run(*arguments)
    assert isinstance(result.exception, CorporealError), result.output
    sentence = str(result.exception)
    assert "\n" not in sentence
    return sentence


def _metadata(path: Path) -> dict[str, Any]:
    with Episode.open(path) as episode:
        return dict(episode.metadata)


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "clips" / "walk.json", walk())


@pytest.fixture
def jumpy(tmp_path: Path) -> Path:
    """Somebody who is suddenly elsewhere."""
    points = walk(60)
    points[30:] += [5.0, 0.0, 0.0]
    return write_clip(tmp_path / "clips" / "jumpy.json", points)


def test_one_command_gives_an_episode_that_knows_where_it_is_from(
    clip: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "deep" / "walk.h5"
    result = _run(clip, "--out", out, "--operator", "anna", "--demonstrator", "ben",
                  "--consent", "form 7", "--task", "stroll", "--meta", "lab=north")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert f"next: corporeal check {out}" in result.stdout
    assert "hands off" in result.stdout
    assert "up is z, found from the body" in result.stdout
    told = _metadata(out)
    wanted = {"operator": "anna", "demonstrator": "ben", "consent": "form 7", "task": "stroll",
              "lab": "north", "source_file": "walk.json", "robot": "g1"}  # fmt: skip
    assert {name: told[name] for name in wanted} == wanted


def test_json_is_alone_on_standard_output(clip: Path, tmp_path: Path) -> None:
    result = _run(clip, "--out", tmp_path / "walk.h5", "--json")
    (told,) = json.loads(result.stdout)["clips"]
    assert told["good"] is True
    assert told["episodes"] == [str(tmp_path / "walk.h5")]
    assert told["frames"] == 24


def test_a_broken_clip_alone_is_misuse(tmp_path: Path) -> None:
    broken = write_clip(tmp_path / "clip.json", walk(1))
    assert "has 1 frame" in _complaint(broken, "--out", tmp_path / "walk.h5")
    result = _run(broken, "--out", tmp_path / "walk.h5", "--json")
    assert "has 1 frame" in json.loads(result.stdout)["refused"][str(broken)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--preview", "a.gif"], "expected one of .mp4, .png, .rrd"),
        (["--report", "a.txt"], "expected one of .png, .svg, .pdf"),
        (["--tracker", "none.onnx"], "none.onnx: no such file"),
        (["--policy", "drop"], "expected one of: clip, interpolate, reject, split"),
        (["--unit", "feet"], "unknown --unit, got 'feet'; expected one of: cm"),
        (["--up", "w"], "unknown --up, got 'w'; expected one of: -x"),
        (["--format", "fbx"], "unknown --format, got 'fbx'; expected one of: asf_amc"),
        (["--bones", "none.asf"], "none.asf: no such file"),
        (["--map", "none.yaml"], "none.yaml: cannot be read"),
        (["--robot", "nobody"], "unknown robot"),
        (["--robot", "aloha"], "has no left foot"),
        (["--meta", "lab"], "expected NAME=VALUE"),
        (["--on", "the moon"], "unknown runner"),
        (["--out", "results"], "results: got a name ending in ''; expected one of .h5"),
    ],
)
def test_a_wrong_option_is_told_before_any_work(
    options: list[str], words: str, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.cli.commands.retarget.run_clips", pytest.fail)
    assert words in _complaint(clip, "--out", tmp_path / "walk.h5", *options)


@pytest.mark.parametrize("option", ["--clip-rate", "--rate", "--cutoff"])
@pytest.mark.parametrize("value", ["-1", "nan", "fast"])
def test_a_rate_that_is_none_is_refused(
    option: str, value: str, clip: Path, tmp_path: Path
) -> None:
    assert _run(clip, "--out", tmp_path / "walk.h5", option, value).exit_code == 2


def test_what_is_not_named_is_asked_for(clip: Path, tmp_path: Path) -> None:
    assert "no --out" in _complaint(clip)
    assert "no clip" in _complaint("--out", tmp_path / "walk.h5")
    assert "does not exist" in _complaint(tmp_path / "none.bvh", "--out", tmp_path / "walk.h5")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no file of human motion" in _complaint(empty, "--out", tmp_path / "all")


def test_a_draft_of_the_map_given_back_changes_nothing(clip: Path, tmp_path: Path) -> None:
    draft = _run("--robot", "g1", "--draft-map")
    document = tmp_path / "g1.yaml"
    document.write_text(draft.stdout)
    _run(clip, "--out", tmp_path / "a.h5")
    assert _run(clip, "--out", tmp_path / "b.h5", "--map", document).exit_code == 0
    with Episode.open(tmp_path / "a.h5") as one, Episode.open(tmp_path / "b.h5") as other:
        stream = "observations/joint_position"
        assert np.array_equal(one[stream][:], other[stream][:])
    assert yaml.safe_load(draft.stdout) == json.loads(_run("--draft-map", "--json").stdout)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("robot", "h1", "is for robot 'h1', got 'g1'"),
        (
            "places",
            {"left_knee": "left_knie_link"},
            "got 'left_knie_link'; did you mean 'left_knee_link'?",
        ),
        ("places", {"left_knie": "left_knee_link"}, "'left_knie'; expected one of left_hip"),
        ("head", "nose", "got 'nose'; expected one of"),
        ("weights", {"nose": 1.0}, "'nose'; expected one of"),
        ("weights", {"left_elbow": -1.0}, "greater than or equal to 0"),
    ],
)
def test_a_wrong_map_is_one_sentence(
    field: str, value: object, words: str, clip: Path, tmp_path: Path
) -> None:
    told = yaml.safe_load(_run("--draft-map").stdout)
    document = tmp_path / "map.yaml"
    document.write_text(yaml.safe_dump({**told, field: value}))
    assert words in _complaint(clip, "--out", tmp_path / "walk.h5", "--map", document)


def test_a_clip_that_the_policy_rejects_exits_with_1(jumpy: Path, tmp_path: Path) -> None:
    result = _run(jumpy, "--out", tmp_path / "jumpy.h5", "--policy", "reject")
    assert result.exit_code == 1
    assert "are out of reach, so there is no episode" in result.stdout
    assert not (tmp_path / "jumpy.h5").exists()


def test_a_folder_of_clips_is_taken_whole_and_only_the_rest_the_next_time(
    clip: Path, tmp_path: Path
) -> None:
    write_clip(clip.parent / "deep" / "stroll.json", walk(30))
    write_clip(clip.parent / "broken.json", walk(1))
    out = tmp_path / "out"
    first = _run(clip.parent, "--out", out, "--on", "serial")
    assert first.exit_code == 1
    assert "2 new, 0 there already, 1 without an episode" in first.stdout
    assert "broken.json: " in first.stderr
    made = sorted(str(path.relative_to(out)) for path in out.rglob("*.h5"))
    assert made == ["deep/stroll.h5", "walk.h5"]
    (out / "walk.h5").unlink()
    write_clip(clip.parent / "broken.json", walk(20))
    second = _run(clip.parent, "--out", out, "--on", "serial")
    assert second.exit_code == 0
    assert "2 new, 1 there already, 0 without an episode" in second.stdout


def test_many_clips_do_not_go_into_one_file(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "file.h5").touch()
    sentence = _complaint(clip.parent, "--out", tmp_path / "file.h5")
    assert "is one file; expected a folder for many clips" in sentence
    sentence = _complaint(clip.parent, "--out", tmp_path / "all", "--preview", "all.mp4")
    assert "all.mp4: is one file; expected a folder for many clips" in sentence


def test_one_clip_goes_into_a_folder_that_is_there(clip: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.svg"
    out.mkdir()
    assert _run(clip, "--out", out, "--report", page).exit_code == 0
    assert (out / "walk.h5").is_file()
    assert page.is_file()


def test_what_a_run_left_that_was_killed_after_the_last_sample_is_removed(
    clip: Path, tmp_path: Path
) -> None:
    out = tmp_path / "walk.h5"
    assert _run(clip, "--out", out).exit_code == 0
    facts = {"mode": RETARGETED_MOCAP}
    writer = EpisodeWriter(tmp_path / "killed.h5", schema=open_schema("mocap"), metadata=facts)
    with pytest.raises(KeyboardInterrupt), writer:
        raise KeyboardInterrupt
    left = journal_path(out)
    journal_path(tmp_path / "killed.h5").rename(left)
    again = _run(clip, "--out", out, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["clips"][0]["was_there"]
    assert not left.exists()


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    for number in range(6):
        write_clip(tmp_path / "clips" / f"{number}.json", walk(40 + number))
    out = tmp_path / "out"
    words = [sys.executable, "-c", "from corporeal.cli.program import main; main()", "retarget",
             str(tmp_path / "clips"), "--out", str(out), "--on", "serial"]  # fmt: skip
    killed = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(out.glob("*.h5")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*.h5")}
    assert 0 < len(kept) < 6
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == [f"{n}.h5" for n in range(6)]
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())
    assert sum(each["was_there"] for each in json.loads(done.stdout)["clips"]) >= len(kept)


@pytest.mark.slow
def test_the_walk_passes_every_gate(shared_data: Path, tmp_path: Path) -> None:
    walked = shared_data / "mocap" / "bvh_pybvh" / "cmu_12_01_walk.bvh"
    out = tmp_path / "walk.h5"
    assert _run(walked, "--robot", "g1", "--out", out, "--operator", "anna").exit_code == 0
    checked = CliRunner().invoke(program(), ["check", str(out), "--json"])
    (episode,) = json.loads(checked.stdout)["episodes"]
    assert episode["verdict"] == "accepted"
    assert episode["findings"] == []


def test_a_second_that_nobody_saw_is_quarantined(tmp_path: Path) -> None:
    points = walk(75)
    points[30:60] = np.nan
    hidden = write_clip(tmp_path / "hidden.json", points)
    out = tmp_path / "hidden.h5"
    assert _run(hidden, "--out", out).exit_code == 0
    checked = CliRunner().invoke(program(), ["check", str(out), "--only", "retarget_goal_unseen"])
    assert "was not seen for 1.00 s from 1.00 s on" in checked.stdout
