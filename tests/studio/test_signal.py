"""The routes of signals: the file's own values, bounded answers, sentences for nonsense."""

from __future__ import annotations

import json
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import every_episode
from corporeal.catalog.stores.folder import FolderStore
from corporeal.catalog.workspace import Workspace
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import Schema, Stream
from corporeal.studio.plotting import pyramid
from corporeal.studio.routes import signal

JOINTS = "observations/joint_position"


def unpack(raw: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    length = int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4 : 4 + length])
    offset, found = 4 + length, {}
    for each in head["arrays"]:
        count = int(np.prod(each["shape"], dtype=int))
        values = np.frombuffer(raw, each["dtype"], count, offset)
        found[each["name"]] = values.reshape(each["shape"])
        offset += -(-values.nbytes // 8) * 8
    return head, found


def ask(client: TestClient, episode: str, **params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    answer = client.get(f"/api/episodes/{episode}/signal", params=params)
    assert answer.status_code == 200, answer.text
    return unpack(answer.content)


def file_of(workspace: Workspace, episode: str) -> Path:
    with workspace.database.read() as connection:
        row = next(row for row in every_episode(connection) if row.id == episode)
    assert isinstance(workspace.store, FolderStore)
    return workspace.store.path(row.hash)


def add_episode(workspace: Workspace, folder: Path, streams: dict[Stream, tuple[Any, Any]]) -> str:
    """Take in an episode that holds these stamps and samples; its id."""
    robot = open_robot("g1")
    schema = Schema(document="schema", name="odd", version="1.0.0", streams=tuple(streams))
    path = folder / "odd.h5"
    with EpisodeWriter(path, schema=schema, embodiment=robot, epoch_ns=10**18) as writer:
        for stream, (stamps, values) in streams.items():
            writer.extend(stream.path, stamps, values)
    with Episode.open(path) as episode:
        name = episode.id
    ingest(workspace, [path], who="tester", on="serial", check=False)
    return name


def test_samples_are_those_of_the_file(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    episode = small_workspace.episodes[0]
    head, found = ask(client, episode, stream=JOINTS, columns="3,0")
    with Episode.open(file_of(workspace, episode)) as opened:
        reader = opened[JOINTS]
        assert head["mode"] == "samples"
        np.testing.assert_array_equal(found["time_ns"], reader.time_ns)
        np.testing.assert_array_equal(found["values"], reader[:][:, [3, 0]].T)
        assert isinstance(reader.spec.components, tuple)
        assert head["columns"] == [reader.spec.components[place] for place in (3, 0)]
        assert head["units"] == ["rad", "rad"]


def test_few_points_keep_the_extremes_of_the_span(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    episode = small_workspace.episodes[0]
    head, found = ask(client, episode, stream=JOINTS, columns="5", points=20)
    with Episode.open(file_of(workspace, episode)) as opened:
        values = opened[JOINTS][:][:, 5]
    assert head["mode"] == "envelope"
    assert found["low"].shape[1] <= 40
    assert found["low"].min() == values.min()
    assert found["high"].max() == values.max()


def test_a_span_comes_with_one_sample_on_either_side(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    _, found = ask(client, small_workspace.episodes[0], stream=JOINTS, columns="0",
                   start_ns=1_000_000_000, end_ns=1_100_000_000)  # fmt: skip
    time_ns = found["time_ns"]
    assert time_ns[0] < 1_000_000_000 <= time_ns[1]
    assert time_ns[-2] <= 1_100_000_000 < time_ns[-1]


def test_a_tactile_map_is_summed_up(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    episode = small_workspace.episodes[0]
    head, found = ask(client, episode, stream="observations/left_tactile")
    with Episode.open(file_of(workspace, episode)) as opened:
        maps = opened["observations/left_tactile"][:].astype(np.float64)
    assert head["columns"] == ["sum", "max"]
    np.testing.assert_allclose(found["values"][0], maps.sum(axis=(1, 2)))
    np.testing.assert_array_equal(found["values"][1], maps.max(axis=(1, 2)))


def test_the_value_at_a_time_is_of_the_last_sample_not_after_it(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    episode = small_workspace.episodes[0]
    with Episode.open(file_of(workspace, episode)) as opened:
        stamps, values = opened[JOINTS].time_ns, opened[JOINTS][:]
    for time_ns in (int(stamps[7]), int(stamps[8]) - 1):
        answer = client.get(f"/api/episodes/{episode}/sample",
                            params={"stream": JOINTS, "time_ns": time_ns}).json()  # fmt: skip
        assert answer["index"] == 7
        assert answer["age_ns"] == time_ns - stamps[7]
        np.testing.assert_allclose(answer["values"], values[7])
    early: dict[str, str | int] = {"stream": JOINTS, "time_ns": int(stamps[0]) - 1}
    before = client.get(f"/api/episodes/{episode}/sample", params=early).json()
    assert (before["index"], before["values"]) == (-1, [])


def test_odd_streams_are_drawn_all_the_same(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    backwards = Stream(name="back", group="observations", rate_hz=100, shape=(1,))
    flags = Stream(name="flags", group="observations", dtype="bool", shape=(2,))
    counts = Stream(name="counts", group="observations", dtype="int64", shape=())
    broken = Stream(name="broken", group="observations", rate_hz=100, shape=(1,))
    one = Stream(name="one", group="observations", shape=(1,))
    period = 10_000_000
    stamps = np.arange(20) * period
    turned = np.concatenate([stamps[:10], stamps[5:15]])
    values = np.arange(20, dtype=np.float32)[:, None]
    lost = values.copy()
    lost[4:6] = np.nan
    episode = add_episode(workspace, tmp_path, {
        backwards: (turned, values),
        flags: (stamps, np.tile([[True, False]], (20, 1))),
        counts: (stamps, np.arange(20) + 2**40),
        broken: (np.where(np.arange(20) < 10, stamps, stamps + 30 * period), lost),
        one: ([5], values[:1]),
    })  # fmt: skip
    head, found = ask(client, episode, stream="observations/back")
    assert head["backward"] > 0
    assert (np.diff(found["time_ns"]) >= 0).all()
    np.testing.assert_array_equal(found["values"][0], values[:, 0])
    _, found = ask(client, episode, stream="observations/flags")
    np.testing.assert_array_equal(found["values"], np.tile([[1], [0]], (1, 20)))
    _, found = ask(client, episode, stream="observations/counts")
    np.testing.assert_array_equal(found["values"][0], np.arange(20) + 2**40)
    _, found = ask(client, episode, stream="observations/broken")
    assert np.flatnonzero(found["gap"]).tolist() == [10]
    assert np.isnan(found["values"][0, 4:6]).all()
    _, found = ask(client, episode, stream="observations/broken", points=2)
    assert found["nan"].sum() == 1
    _, found = ask(client, episode, stream="observations/one", points=2)
    assert found["values"].shape == (1, 1)
    lost_at: dict[str, str | int] = {"stream": "observations/broken", "time_ns": 4 * period}
    answer = client.get(f"/api/episodes/{episode}/sample", params=lost_at)
    assert answer.json()["values"] == [None]


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"stream": "../../etc/passwd"}, 404),
        ({"stream": "observations/head_left"}, 404),
        ({}, 422),
        ({"stream": JOINTS, "columns": "29"}, 422),
        ({"stream": JOINTS, "columns": "-1"}, 422),
        ({"stream": JOINTS, "columns": "0;drop"}, 422),
        ({"stream": JOINTS, "columns": ",".join(["1"] * 65)}, 422),
        ({"stream": JOINTS, "points": "0"}, 422),
        ({"stream": JOINTS, "points": "1e9"}, 422),
        ({"stream": JOINTS, "points": str(10**30)}, 422),
        ({"stream": JOINTS, "start_ns": str(10**30)}, 422),
        ({"stream": JOINTS, "start_ns": "nan"}, 422),
        ({"stream": JOINTS, "start_ns": "5", "end_ns": "4"}, 422),
        ({"stream": "x" * 400}, 422),
    ],
)
def test_nonsense_is_answered_with_a_sentence(
    client: TestClient, small_workspace: SmallWorkspace, params: dict[str, Any], status: int
) -> None:
    answer = client.get(f"/api/episodes/{small_workspace.episodes[0]}/signal", params=params)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert "Traceback" not in answer.text


def test_an_unknown_episode_is_not_found(client: TestClient) -> None:
    answer = client.get("/api/episodes/nobody/signal", params={"stream": JOINTS})
    assert answer.status_code == 404


def test_a_span_beside_the_episode_is_almost_empty(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    _, found = ask(client, small_workspace.episodes[0], stream=JOINTS, start_ns=10**15)
    assert found["time_ns"].shape[0] <= 1


def test_a_long_stream_comes_from_its_pyramid_within_bounded_memory(
    client: TestClient,
    workspace: Workspace,
    small_workspace: SmallWorkspace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    episode = small_workspace.episodes[0]
    whole = ask(client, episode, stream=JOINTS, points=50)[1]
    monkeypatch.setattr(signal, "_MOST_READ", 100)
    monkeypatch.setattr(signal, "_PIECE_BYTES", 1 << 13)
    monkeypatch.setattr(signal, "_PYRAMIDS", type(signal._PYRAMIDS)(1 << 20))
    tracemalloc.start()
    head, found = ask(client, episode, stream=JOINTS, points=50)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert head["mode"] == "envelope"
    assert signal._PYRAMIDS.nbytes > 0
    assert found["high"].max() == whole["high"].max()
    assert found["low"].min() == whole["low"].min()
    assert peak < 16e6


def test_a_very_long_stream_is_shown_coarsely_until_all_of_it_is_looked_through(
    client: TestClient, small_workspace: SmallWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = small_workspace.episodes[0]
    whole = ask(client, episode, stream=JOINTS, points=50)[1]
    monkeypatch.setattr(signal, "_MOST_READ", 100)
    monkeypatch.setattr(signal, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(signal, "_PYRAMIDS", type(signal._PYRAMIDS)(1 << 20))
    may_build = threading.Event()
    build = pyramid.build

    def slow(*given: Any, **named: Any) -> Any:
        assert may_build.wait(20)
        return build(*given, **named)

    monkeypatch.setattr(signal, "build", slow)
    answer = client.get(f"/api/episodes/{episode}/signal", params={"stream": JOINTS, "points": 50})
    head, found = unpack(answer.content)
    assert head["coarse"]
    assert head["mode"] == "envelope"
    assert answer.headers["cache-control"] == "no-store"
    assert found["low"].min() >= whole["low"].min()
    assert found["high"].max() <= whole["high"].max()
    assert (np.diff(found["time_ns"]) > 0).all()
    may_build.set()
    until = time.monotonic() + 20
    while head["coarse"] and time.monotonic() < until:
        time.sleep(0.01)
        head, found = ask(client, episode, stream=JOINTS, points=50)
    assert not head["coarse"]
    assert found["high"].max() == whole["high"].max()
