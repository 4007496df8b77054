"""Recordings of hands become episodes one by one or by the folder, and the command goes on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.egocentric_scene import CAMERA, make_scene, write_table
from typer.testing import CliRunner, Result

from corporeal.cli.program import program
from corporeal.episode import Episode, EpisodeWriter
from corporeal.geometry import matrix_from_quaternion
from corporeal.schema import Schema, Stream

pytest.importorskip("daqp", reason="needs the extra robot")

START_NS = 5_000_000_000
PICTURES = f"observations/{CAMERA}"


def _run(*arguments: str | Path | int) -> Result:
    return CliRunner().invoke(program(), ["retarget-hands", *map(str, arguments)])


def _record_ego(path: Path) -> Path:
    """1.5 s of hands, a head and a camera, the camera on since half a second before."""
    scene = make_scene(1.5)
    stamps = START_NS + np.round(scene.times_s * 1e9).astype(np.int64)
    streams = [
        Stream(name="head_pose", group="debug", shape=(7,)),
        *(Stream(name=f"{side}_hand_joints", group="observations", shape=(26, 3))
          for side in scene.joints),
        Stream(name=CAMERA, group="observations", kind="video", shape=(32, 48, 3), rate_hz=30,
               frame="head_left_camera"),
    ]  # fmt: skip
    schema = Schema(document="schema", name="ego", version="1.0.0", streams=tuple(streams))
    metadata = {"operator": "ann", "task": "fold", "station": "s1", "mode": "egocentric"}
    turn = np.asarray(matrix_from_quaternion(scene.head[:, 3:]))
    with EpisodeWriter(path, schema=schema, metadata=metadata) as writer:
        writer.extend("debug/head_pose", stamps, scene.head)
        for side, joints in scene.joints.items():
            beside = np.einsum("tji,tkj->tki", turn, joints - scene.head[:, None, :3])
            writer.extend(f"observations/{side}_hand_joints", stamps, beside)
        for number in range(75):
            picture = np.full((32, 48, 3), 3 * number, np.uint8)
            writer.append(PICTURES, START_NS - 500_000_000 + number * 33_333_333, picture)
    return path


@pytest.mark.slow
def test_the_pictures_of_an_episode_come_along_as_they_are(tmp_path: Path) -> None:
    source = _record_ego(tmp_path / "ego.h5")
    result = _run(source, "-o", tmp_path / "g1.h5", "--json")
    assert json.loads(result.stdout)["episode"] == str(tmp_path / "g1.h5")
    with Episode(source) as was, Episode(tmp_path / "g1.h5") as made:
        assert {name: made.metadata[name] for name in ("operator", "task", "station")} == {
            "operator": "ann", "task": "fold", "station": "s1"
        }  # fmt: skip
        assert made.metadata["source_episode"] == was.id
        pictures = made[PICTURES]
        last_ns = int(made["observations/joint_position"].time_ns[-1])
        assert pictures.time_ns[0] >= 0
        assert pictures.time_ns[-1] <= last_ns
        assert 42 <= len(pictures) <= 45
        assert pictures.spec.frame is None, "no camera of the robot"
        numbers = np.searchsorted(was[PICTURES].time_ns, pictures.time_ns + START_NS)
        assert (was[PICTURES].time_ns[numbers] == pictures.time_ns + START_NS).all()
        assert (was[PICTURES][numbers] == pictures[:]).all()


@pytest.mark.slow
def test_a_folder_of_recordings_goes_on_where_it_was(tmp_path: Path) -> None:
    for name in ("monday/one.csv", "monday/two.csv", "tuesday/one.csv"):
        path = tmp_path / "hands" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(make_scene(0.6, seed=len(name)), path)
    (tmp_path / "hands" / "notes.csv").write_text("who,when\nann,monday\n")
    out = tmp_path / "hands" / "out"
    first = _run(tmp_path / "hands", "-o", out, "--jobs", 1, "--json")
    made = json.loads(first.stdout)
    assert [Path(each["episode"]).name for each in made["episodes"]] == [
        "monday_one.h5", "monday_two.h5", "tuesday_one.h5"
    ]  # fmt: skip
    (out / "monday_two.h5").unlink()
    again = json.loads(_run(tmp_path / "hands", "-o", out, "--jobs", 1, "--json").stdout)
    assert [each["was_there"] for each in again["episodes"]] == [True, False, True]
    shares = [[each["seen_share"] for each in run["episodes"]] for run in (made, again)]
    assert shares[0] == shares[1]
    # Another recording of the same name is not taken for done, and costs the others nothing.
    write_table(make_scene(0.5, seed=9), tmp_path / "hands" / "monday" / "one.csv")
    third = _run(tmp_path / "hands", "-o", out, "--jobs", 1, "--json")
    assert third.exit_code == 1
    (said,) = json.loads(third.stdout)["refused"].values()
    assert "was made of something else" in said


def test_a_folder_without_hands_and_one_file_for_many_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("who,when\nann,monday\n")
    assert "no recording of hands" in str(_run(tmp_path, "-o", tmp_path / "out").exception)
    assert "expected a folder" in str(_run(tmp_path, "-o", tmp_path / "out.h5").exception)
