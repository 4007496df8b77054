"""A person's hands are shown on the pictures of a calibrated camera, and in the scene."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.egocentric_scene import CAMERA, EgoScene, calibration, make_scene
from fastapi.testclient import TestClient
from tests.studio.test_movie import unpacked

from corporeal.capture.hand_stream import hand_streams
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode, EpisodeWriter
from corporeal.geometry import matrix_from_quaternion
from corporeal.protocol import Calibration
from corporeal.schema import Schema, Stream

PICTURES = np.arange(45) / 30


@pytest.fixture(scope="module")
def scene() -> EgoScene:
    return make_scene(1.6)


def _episode(path: Path, scene: EgoScene, *, calibrated: bool = True) -> Path:
    camera = Stream.model_validate(
        {"name": CAMERA, "group": "observations", "kind": "video", "shape": (48, 64, 3),
         "rate_hz": 30}
    )  # fmt: skip
    kept = [each for each in hand_streams() if not each.name.endswith("glove_joints")]
    schema = Schema(document="schema", name="ego", version="1.0.0", description="made",
                    streams=(camera, *kept))  # fmt: skip
    stamps = np.round(scene.times_s * 1e9).astype(np.int64)
    turn = matrix_from_quaternion(scene.head[:, 3:])
    text = json.dumps(calibration(scene.lens))
    documents = [Calibration.parse(text, source="made", suffix=".json")] if calibrated else []
    with EpisodeWriter(path, schema=schema, metadata={"task": "fold"}, documents=documents) as to:
        to.extend("debug/head_pose", stamps, scene.head)
        for side, rows in scene.joints.items():
            seen = np.ones(len(stamps), bool)
            if side == "right":
                seen[60:100] = False
            beside = np.einsum("tji,tkj->tki", turn, rows - scene.head[:, None, :3])
            to.extend(f"observations/{side}_hand_joints", stamps[seen], beside[seen])
            sure = np.full((seen.sum(), 26), 0.5)
            to.extend(f"observations/{side}_hand_confidence", stamps[seen], sure)
        for number, time in enumerate(PICTURES):
            to.append(f"observations/{CAMERA}", round(time * 1e9),
                      np.full((48, 64, 3), number, np.uint8))  # fmt: skip
    return path


def _take_in(workspace: Workspace, path: Path) -> str:
    with Episode.open(path) as made:
        name = made.id
    taken = ingest(workspace, [path], who="tester", on="serial", check=False)
    assert [each.id for each in taken.outcomes] == [name], taken
    return name


def test_hands_lie_where_the_lens_shows_them(
    client: TestClient, workspace: Workspace, tmp_path: Path, scene: EgoScene
) -> None:
    episode = _take_in(workspace, _episode(tmp_path / "a.h5", scene))
    answer = client.get(
        f"/api/episodes/{episode}/hands", params={"stream": f"observations/{CAMERA}"}
    )
    facts, arrays = unpacked(answer.content)
    assert (facts["width"], facts["height"], facts["reason"]) == (640, 480, None)
    truth = scene.at(PICTURES)
    for number, side in enumerate(("left", "right")):
        seen = arrays["state"][:, number] > 0
        away = arrays["pixels"][seen, number] - truth.pixels(side)[seen]
        assert np.abs(away).max() < 0.1
    assert (arrays["state"][:, 0] == 1).all()
    assert set(arrays["state"][21:32, 1]) == {0}
    assert np.isnan(arrays["pixels"][25, 1]).all()
    assert np.allclose(arrays["confidence"][:, 0], 0.5)
    assert 0.2 < np.nanmedian(arrays["distance_m"]) < 0.8
    # The trail ends where the finger is, and keeps its place in the room while the head turns.
    assert np.abs(arrays["trail"][40, 0, -1] - arrays["pixels"][40, 0, 10]).max() < 0.2
    part = client.get(
        f"/api/episodes/{episode}/hands",
        params={"stream": f"observations/{CAMERA}", "first": 40, "count": 3},
    )
    assert np.allclose(unpacked(part.content)[1]["pixels"], arrays["pixels"][40:43], equal_nan=True)


def test_without_a_calibration_the_reason_is_told(
    client: TestClient, workspace: Workspace, tmp_path: Path, scene: EgoScene
) -> None:
    episode = _take_in(workspace, _episode(tmp_path / "b.h5", scene, calibrated=False))
    answer = client.get(
        f"/api/episodes/{episode}/hands", params={"stream": f"observations/{CAMERA}"}
    )
    facts, arrays = unpacked(answer.content)
    assert "without a calibration" in facts["reason"]
    assert arrays == {}


def test_the_scene_has_hands_a_head_and_the_camera_on_it(
    client: TestClient, workspace: Workspace, tmp_path: Path, scene: EgoScene
) -> None:
    episode = _take_in(workspace, _episode(tmp_path / "c.h5", scene))
    said = client.get(f"/api/episodes/{episode}/robot").json()
    assert said["hands"]["frame"] == "head"
    assert said["hands"]["head"]["stream"] == "debug/head_pose"
    assert said["hands"]["left"]["stream"] == "observations/left_hand_joints"
    assert said["objects"] == []
    (camera,) = said["cameras"]
    assert (camera["link"], camera["looks_along"]) == ("head", "z")
