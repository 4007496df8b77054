"""The robot's tree and the streams that move it, and exact samples in windows of time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from tests.studio.conftest import SmallWorkspace
from tests.studio.small_workspace import write_episode

from corporeal.appearance import FittedMeshes, keep_meshes
from corporeal.appearance.surface import box
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import Stream, open_schema
from corporeal.studio.plotting.samples import samples_between
from corporeal.studio.scene.surroundings import surroundings

MEASURED = "observations/joint_position"


def unpack(raw: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `binary.pack` packed."""
    length = int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4 : 4 + length])
    offset, arrays = 4 + length, {}
    for each in head["arrays"]:
        count = int(np.prod(each["shape"]))
        flat = np.frombuffer(raw, each["dtype"], count, offset)
        arrays[each["name"]] = flat.reshape(each["shape"])
        offset += -(-flat.nbytes // 8) * 8
    return head, arrays


def take_in(
    workspace: Workspace, folder: Path, streams: dict[Stream, NDArray[Any]], robot: Embodiment
) -> str:
    """A workspace's id for an episode of these streams, 100 samples a second."""
    path = folder / "made.h5"
    changes = {"streams": tuple(streams), "metadata": (), "file_name": "{id}"}
    schema = open_schema("teleop_humanoid").model_copy(update=changes)
    with EpisodeWriter(path, schema=schema, embodiment=robot, metadata={}, epoch_ns=1) as writer:
        for stream, values in streams.items():
            for number, value in enumerate(values):
                writer.append(stream.path, number * 10_000_000, value)
    with Episode.open(path) as made:
        name = made.id
    taken = ingest(workspace, [path], who="tester", on="serial", check=False)
    assert [each.id for each in taken.outcomes] == [name], taken
    return name


def joints(name: str, group: str, columns: tuple[str, ...], unit: str = "rad") -> Stream:
    """A stream of joint positions."""
    return Stream.model_validate(
        {"name": name, "group": group, "shape": (len(columns),), "components": columns,
         "rate_hz": 100, "unit": unit}
    )  # fmt: skip


def test_the_robot_comes_with_its_tree_and_what_moves_it(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[0]}/robot").json()
    robot = open_robot("g1")
    assert said["model"]["base"] == robot.base
    assert {joint["name"] for joint in said["model"]["joints"]} == {j.name for j in robot.joints}
    assert [each["joint"] for each in said["measured"]["columns"]] == list(robot.joint_names)
    assert said["measured"]["stream"] == MEASURED
    assert said["commanded"]["stream"] == "actions/joint_position_target"
    assert said["base"]["stream"] == "debug/base_pose"
    reached = {robot.base}
    for joint in said["model"]["joints"]:
        assert joint["parent"] in reached, "joints go outwards"
        reached.add(joint["child"])


def test_a_robot_whose_columns_have_other_names_explains_itself(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    strange = joints("joint_position", "observations", ("alpha", "beta"))
    episode = take_in(workspace, tmp_path, {strange: np.zeros((5, 2), "f4")}, open_robot("g1"))
    said = client.get(f"/api/episodes/{episode}/robot").json()
    assert said["measured"] is None
    assert any("alpha, beta" in sentence for sentence in said["missing"])
    assert any("commanded" in sentence for sentence in said["missing"])


def test_some_joints_are_enough_and_degrees_are_turned_into_radians(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    few = joints("joint_position", "observations", ("left_knee_joint", "lamp"), unit="deg")
    episode = take_in(workspace, tmp_path, {few: np.ones((5, 2), "f4")}, open_robot("g1"))
    said = client.get(f"/api/episodes/{episode}/robot").json()
    assert said["measured"]["columns"] == [
        {"column": 0, "joint": "left_knee_joint", "factor": pytest.approx(np.pi / 180)}
    ]
    assert any("1 of 29 joints" in sentence for sentence in said["missing"])
    assert any("drawn standing" in sentence for sentence in said["missing"])


def test_motion_is_exact_and_begins_with_the_sample_that_is_shown(
    client: TestClient, small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    episode = small_workspace.episodes[0]
    url = f"/api/episodes/{episode}/motion"
    params: dict[str, str | int] = {"stream": MEASURED, "start_ns": 10**9, "end_ns": 2 * 10**9}
    head, arrays = unpack(client.get(url, params=params).content)
    digest = _digest(workspace, episode)
    with Episode.open(digest) as opened:
        times, values = opened[MEASURED].time_ns, opened[MEASURED][:]
    first, stop = np.searchsorted(times, [10**9, 2 * 10**9], "right") - [1, 0]
    assert head["first"] == first
    assert head["next_ns"] is None
    np.testing.assert_array_equal(arrays["time_ns"], times[first:stop])
    np.testing.assert_array_equal(arrays["values"], values[first:stop])


def _digest(workspace: Workspace, episode: str) -> Path:
    from corporeal.catalog.episodes import find_episode
    from corporeal.catalog.stores.folder import FolderStore

    assert isinstance(workspace.store, FolderStore)
    with workspace.database.read() as connection:
        return workspace.store.path(find_episode(connection, episode).hash)


def test_a_window_that_is_too_large_comes_in_parts_that_leave_nothing_out(
    small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    with Episode.open(_digest(workspace, small_workspace.episodes[0])) as opened:
        reader = opened[MEASURED]
        start: int | None = 0
        seen: list[int] = []
        while start is not None:
            part = samples_between(reader, start, 4 * 10**9, most_values=29 * 30)
            assert len(part.time_ns) <= 30
            seen += [number for number in range(part.first, part.first + len(part.time_ns))
                     if number not in seen]  # fmt: skip
            start = part.next_ns
        assert seen == list(range(len(reader)))


def test_before_the_first_sample_nothing_is_left_out(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    url = f"/api/episodes/{small_workspace.episodes[0]}/motion"
    params: dict[str, str | int] = {"stream": MEASURED, "start_ns": -(10**9), "end_ns": -1}
    head, arrays = unpack(client.get(url, params=params).content)
    assert head["first"] == 0
    assert len(arrays["time_ns"]) == 0


def test_what_cannot_be_a_motion_is_refused_in_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    episode = small_workspace.episodes[0]
    asked: list[tuple[dict[str, str | int], int]] = [
        ({"stream": "observations/head_left", "start_ns": 0, "end_ns": 1}, 404),
        ({"stream": "../../etc/passwd", "start_ns": 0, "end_ns": 1}, 404),
        ({"stream": MEASURED, "start_ns": "soon", "end_ns": 1}, 422),
        ({"stream": MEASURED, "start_ns": 0, "end_ns": 1 << 70}, 422),
        ({"stream": MEASURED}, 422),
    ]
    for params, status in asked:
        answer = client.get(f"/api/episodes/{episode}/motion", params=params)
        assert answer.status_code == status, params
        assert answer.json()["error"].endswith((".", "?"))


def test_stamps_come_in_parts_and_say_how_many_there_are(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    url = f"/api/episodes/{small_workspace.episodes[0]}/stamps"
    head, arrays = unpack(client.get(url, params={"stream": MEASURED}).content)
    assert head["total"] == len(arrays["time_ns"]) > 100
    part: dict[str, str | int] = {"stream": MEASURED, "first": 50, "count": 10}
    _, some = unpack(client.get(url, params=part).content)
    np.testing.assert_array_equal(some["time_ns"], arrays["time_ns"][50:60])
    assert client.get(url, params={"stream": MEASURED, "count": 10**9}).status_code == 422


def test_surroundings_take_nothing_on_trust() -> None:
    thing = {"name": "cup", "shape": "box", "size": [0.1, 0.1, 0.1], "position": [0, 0, 1],
             "colour": "red", "yaw_rad": float("nan")}  # fmt: skip
    odd = [None, {}, {**thing, "size": [0, 1, 1]}, {**thing, "size": "big"},
           {**thing, "position": [1e9, 0, 0]}, {**thing, "shape": "dragon"}]  # fmt: skip
    said = {"variation": {"things": [thing, *odd], "table_height_m": "high", "goal": 3,
                          "mark": True}}  # fmt: skip
    found = surroundings(said, ["debug/cup_pose"])
    assert [(each.name, each.track, each.yaw_rad) for each in found.things] == [
        ("cup", "debug/cup_pose", 0.0)
    ]
    assert found.table is None
    assert found.target is None
    assert surroundings({"variation": [1, 2]}, []).things == []


def test_meshes_that_somebody_gave_come_with_the_robot_and_by_their_hash(
    client: TestClient,
    small_workspace: SmallWorkspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    address = f"/api/episodes/{small_workspace.episodes[0]}/robot"
    assert client.get(address).json()["meshes"] is None
    robot = open_robot("g1")
    cube = FittedMeshes(robot, tmp_path / "g1.urdf", {"torso_link": box((0.1, 0.1, 0.1))}, 12, 0, 1)
    kept, _ = keep_meshes(cube)
    meshes = client.get(address).json()["meshes"]
    assert meshes["hash"] == kept.hash
    (link,) = meshes["links"]
    answer = client.get(f"/api/robots/meshes/{kept.hash}")
    _, arrays = unpack(answer.content)
    assert link["link"] == "torso_link"
    assert len(arrays["positions"]) == link["vertices"] == 24
    assert len(arrays["index"]) == link["indices"] == 36
    assert "immutable" in answer.headers["cache-control"]
    assert client.get("/api/robots/meshes/..%2F..%2Fsecret").status_code in (404, 422)


def test_a_fall_is_told_with_its_direction_and_a_robot_that_stands_has_none(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    robot = open_robot("g1")
    names = ("x", "y", "z", "qw", "qx", "qy", "qz")
    base = Stream.model_validate(
        {"name": "base_pose", "group": "debug", "shape": (7,), "components": names,
         "rate_hz": 100, "unit": ("m", "m", "m", "1", "1", "1", "1"), "frame": "world"}
    )  # fmt: skip
    # It turns about x, from upright to lying on its right side: its head goes towards -y.
    share = np.clip((np.arange(300) - 100) / 100, 0, 1)
    angle = share * np.pi / 2
    poses = np.zeros((300, 7), "f4")
    poses[:, 2] = 0.78 - 0.7 * share
    poses[:, 3], poses[:, 4] = np.cos(angle / 2), np.sin(angle / 2)
    falls = {}
    for word, values in (("falls", poses), ("stands", poses[:100])):
        (tmp_path / word).mkdir()
        episode = take_in(workspace, tmp_path / word, {base: values}, robot)
        falls[word] = client.get(f"/api/episodes/{episode}/robot").json()["fall"]
    assert falls["stands"] is None
    assert falls["falls"]["time_ns"] == pytest.approx(1.56e9, abs=3e7)
    assert falls["falls"]["heading_rad"] == pytest.approx(-np.pi / 2, abs=1e-3)


def test_cameras_stand_where_calibration_metadata_or_frames_say(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    stated = {
        "head_left": {"xyz": [0.1, 0, 0.4], "rpy": [-1.5, 0, -1.5], "frame": "torso_link"},
        "head_right": {"xyz": [1, 2, 3]},
        "left_wrist": {"xyz": [1, 2, "far"]},
    }
    path = write_episode(tmp_path / "seen.h5", duration_s=0.5, metadata={"cameras": stated})
    with Episode.open(path) as made:
        name = made.id
    ingest(workspace, [path], who="tester", on="serial", check=False)
    cameras = client.get(f"/api/episodes/{name}/robot").json()["cameras"]
    found = {each["stream"].rpartition("/")[2]: each for each in cameras}
    assert found["head_left"]["link"] == "torso_link"
    assert found["head_right"]["link"] is None
    assert found["head_right"]["xyz"] == [1, 2, 3]
    assert not found["head_right"]["is_fov_known"]
    assert "left_wrist" not in found


def test_a_description_without_forms_is_drawn_with_those_of_the_same_robot(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    robot = open_robot("g1")
    bare = tuple(link.model_copy(update={"collision": ()}) for link in robot.links)
    for name, forms in (("g1_of_mine", True), ("stranger", False)):
        links = bare if forms else tuple(
            link.model_copy(update={"name": link.name.replace("link", "part")}) for link in bare
        )  # fmt: skip
        joints_of_it = robot.joints if forms else tuple(
            joint.model_copy(update={"parent": joint.parent.replace("link", "part"),
                                     "child": joint.child.replace("link", "part")})
            for joint in robot.joints
        )  # fmt: skip
        mine = robot.model_copy(update={
            "name": name, "links": links, "joints": joints_of_it, "frames": (),
            "end_effectors": {}, "feet": {}, "touching": (),
        })  # fmt: skip
        (tmp_path / name).mkdir()
        stream = joints("joint_position", "observations", robot.joint_names)
        values = np.zeros((5, len(robot.joint_names)), "f4")
        episode = take_in(workspace, tmp_path / name, {stream: values}, mine)
        model = client.get(f"/api/episodes/{episode}/robot").json()["model"]
        assert any(link["shapes"] for link in model["links"]) == forms
        assert ("head" in model["end_effectors"]) == forms
