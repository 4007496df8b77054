"""An episode describes itself: streams, metadata, documents; also to plain h5py."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import av
import h5py
import numpy as np
import pytest

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode, EpisodeWriter, new_id
from corporeal.episode.file import depth, write_attribute
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.schema import Document, Schema
from corporeal.testing import Workload

Edit = Callable[[h5py.File], None]


def test_the_workload_comes_back_whole(recording: Path, workload: Workload) -> None:
    with Episode.open(recording) as episode:
        assert list(episode) == [stream.path for stream in workload.schema.streams]
        for stream in workload.schema.streams:
            reader = episode[stream.path]
            assert reader.spec == stream
            np.testing.assert_array_equal(reader.time_ns, workload.times(stream.path))
            if stream.kind == "array":
                np.testing.assert_array_equal(reader[:], workload.signal(stream.path))
            elif stream.kind == "depth":
                expected = np.stack(list(workload.frames(stream.path)))
                np.testing.assert_array_equal(reader[:], expected)


def test_the_root_says_what_the_episode_is(recording: Path) -> None:
    with Episode.open(recording) as episode:
        assert episode.version == 1
        assert UUID(episode.id).version == 7
        assert episode.epoch_ns == 1_700_000_000_000_000_000
        assert episode.robot == "g1"
        assert episode.recovered is None
        assert episode.content_hash.startswith("sha256:")
        assert repr(episode) == "<Episode episode.h5: g1, 18 streams>"


def test_the_documents_in_it_are_those_it_was_recorded_under(
    recording: Path, workload: Workload, robot: Embodiment
) -> None:
    with Episode.open(recording) as episode:
        assert episode.schema == workload.schema
        assert episode.embodiment == robot
        assert episode.embodiment.hash == robot.hash
        assert json.loads(episode.document("schema"))["name"] == "teleop_humanoid"
        with pytest.raises(UnknownNameError, match="unknown document in this episode, got 'x'"):
            episode.document("x")


def test_metadata_with_holes_is_seen(recording: Path, every_episode: Episode) -> None:
    with Episode.open(recording) as episode:
        assert episode.metadata["operator"] == "op00"
        assert episode.missing_metadata == ()
    assert every_episode.metadata == {"task": "test", "operator": "op07"}
    assert "station" in every_episode.missing_metadata
    assert "task" not in every_episode.missing_metadata


def test_streams_without_a_sample_are_seen(
    tmp_path: Path, make_schema: Callable[..., Schema]
) -> None:
    schema = make_schema(
        *({"name": name, "group": "debug", "optional": name == "c"} for name in "abc")
    )
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        writer.append("debug/a", 0, 1.0)
    with Episode.open(tmp_path / "a.h5") as episode:
        assert list(episode) == ["debug/a"]
        assert episode.missing_streams == ("debug/b",)


def test_it_is_a_mapping(every_episode: Episode) -> None:
    assert len(every_episode) == len(dict(every_episode)) == 8
    assert "observations/arm" in every_episode
    assert "observations/leg" not in every_episode
    assert every_episode.get("observations/leg") is None
    assert every_episode.get("observations/arm") is every_episode["observations/arm"]
    with pytest.raises(UnknownNameError, match=r"got 'observations/leg'; expected one of: actions"):
        every_episode["observations/leg"]


def test_the_span_is_from_the_first_stamp_of_all_to_the_last(every_episode: Episode) -> None:
    assert every_episode.span_ns == (0, 200_000_000)


def test_a_file_is_immutable_and_leaves_nothing_beside_it(every_kind: Path) -> None:
    assert stat.S_IMODE(every_kind.stat().st_mode) == 0o444
    assert [path.name for path in every_kind.parent.iterdir()] == ["every.h5"]


def test_ids_are_sorted_by_the_time_of_their_making() -> None:
    ids = [new_id() for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(UUID(text).version == 7 for text in ids)
    assert len({text[:8] for text in ids}) == 1


def test_the_same_document_twice_is_refused(
    tmp_path: Path, workload: Workload, every_schema: Schema
) -> None:
    with pytest.raises(EpisodeError, match="documents schema, schema; expected one of each kind"):
        EpisodeWriter(tmp_path / "a.h5", schema=every_schema, documents=[workload.schema])


def test_any_document_travels_along(tmp_path: Path, make_schema: Callable[..., Schema]) -> None:
    class Note(Document):
        kind = "note"
        text: str

    note = Note(document="note", name="a", version="1.0.0", text="naïve 箱")
    schema = make_schema({"name": "a", "group": "debug"})
    with EpisodeWriter(tmp_path / "a.h5", schema=schema, documents=[note]) as writer:
        writer.append("debug/a", 0, 1.0)
    with Episode.open(tmp_path / "a.h5") as episode:
        assert sorted(episode.documents) == ["note", "schema"]
        assert Note.parse(episode.document("note"), suffix=".json") == note


def test_plain_h5py_reads_everything(every_kind: Path, every_sample: Any) -> None:
    with h5py.File(every_kind) as file:
        assert file.attrs["format"] == b"corporeal-episode"
        assert file.attrs["version"] == 1
        assert file.attrs["epoch_ns"] == 5
        assert sorted(file) == ["actions", "debug", "metadata", "observations"]
        fields = json.loads(file["metadata/fields"][()])
        assert fields["task"] == "test"
        schema = json.loads(file["metadata/documents/schema"][()])
        assert schema["document"] == "schema"
        streams = json.loads(file["metadata/streams"][()])
        assert {f"{stream['group']}/{stream['name']}" for stream in streams} == set(every_sample)
        arm = file["observations/arm"]
        assert (arm.attrs["unit"], arm.attrs["rate_hz"]) == (b"rad", 100)
        assert arm.attrs["kind"].decode() == "array"
        assert list(file["debug/pose"].attrs["components"][-4:]) == [b"qw", b"qx", b"qy", b"qz"]
        for path, samples in every_sample.items():
            assert file[path]["time_ns"][:].tolist() == [stamp for stamp, _ in samples]
        for path in ("observations/arm", "debug/pose", "debug/flag", "actions/target"):
            expected = np.stack([value for _, value in every_sample[path]])
            np.testing.assert_array_equal(file[path]["data"][:], expected)
        cloud = file["observations/cloud"]
        for number, (_, expected) in enumerate(every_sample["observations/cloud"]):
            start, stop = cloud["offset"][number : number + 2]
            np.testing.assert_array_equal(cloud["data"][start:stop], expected)
        words = file["observations/words"]
        start, stop = words["offset"][2:4]
        assert words["data"][start:stop].tobytes().decode() == "naïve 箱 🤖"
        np.testing.assert_array_equal(
            depth.restore(file["observations/depth/data"][3]),
            every_sample["observations/depth"][3][1],
        )
        movie = file["observations/camera/data"][:].tobytes()
    with av.open(io.BytesIO(movie), "r") as container:
        assert len(list(container.decode(video=0))) == 6


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda file: file.attrs.__delitem__("format"), "an HDF5 file, but not an episode"),
        (lambda file: file.attrs.__setitem__("format", 3), "attribute 'format' is int"),
        (lambda file: file.attrs.__setitem__("version", 3), "episode format version 3"),
        (lambda file: file.attrs.__setitem__("version", 0), "episode format version 0"),
        (lambda file: write_attribute(file, "version", "1"), "'version' is str; expected int"),
        (lambda file: file.attrs.__setitem__("epoch_ns", 1.5), "'epoch_ns' is float"),
        (lambda file: file.__delitem__("metadata/streams"), "metadata/streams is missing"),
    ],
)
def test_a_file_that_is_no_episode_of_ours_is_explained(
    changed: Callable[[Edit], Path], edit: Edit, sentence: str
) -> None:
    with pytest.raises(EpisodeError) as caught, Episode.open(changed(edit)) as episode:
        assert episode.epoch_ns
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_document_that_does_not_match_its_hash_is_not_handed_out(
    changed: Callable[[Edit], Path],
) -> None:
    path = changed(lambda file: write_attribute(file, "schema_hash", "sha256:0"))
    with Episode.open(path) as episode, pytest.raises(EpisodeError, match="match its hash"):
        _ = episode.schema
