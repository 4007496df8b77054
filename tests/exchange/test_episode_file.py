"""Recordings of any origin become episode files that lose nothing and say where they come from."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.exchange.small_sets import write_episode

from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.episode.recording import ArraySignal, Defect, ImageSequence, Recording, VideoFile
from corporeal.errors import EpisodeError
from corporeal.exchange.episode_file import is_uuid, write_recording
from corporeal.exchange.foreign_stream import EpisodeReading, picture_stream
from corporeal.exchange.opening import open_dataset
from corporeal.schema import Stream
from corporeal.signal.grid import even_stamps


def _foreign(**changes: Any) -> Recording:
    reading = EpisodeReading(3, 10.0)
    stamps = even_stamps(6, 10.0)
    values = np.arange(18, dtype=np.float32).reshape(6, 3)
    reading.take_numbers("observation.state", values, stamps, names=("a", "b", "c"))
    reading.take_numbers("action", values + 1, stamps)
    plain = reading.to_recording("set_000003", Path("data") / "file.parquet", {})
    return replace(plain, **changes)


def _png(height: int, width: int, level: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((height, width, 3), level, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def test_streams_keep_values_stamps_names_and_group(tmp_path: Path) -> None:
    recording = _foreign()
    kept = write_recording(recording, tmp_path / "e.h5", source_format="lerobot")
    assert verify(tmp_path / "e.h5") == ()
    with Episode.open(tmp_path / "e.h5") as episode:
        assert set(episode) == {"observations/state", "actions/action"}
        for label, path in (
            ("observation.state", "observations/state"),
            ("action", "actions/action"),
        ):
            assert np.array_equal(episode[path][:], recording.signals[label][:])
            assert np.array_equal(episode[path].time_ns, recording.signals[label].time_ns)
            assert episode[path].spec == recording.signals[label].spec
        assert episode.id == kept.id
        assert is_uuid(episode.id)
        assert episode.metadata == {
            "source_id": "set_000003",
            "source_format": "lerobot",
            "source_file": "file.parquet",
            "source_index": 3,
            "source_labels": {"observations/state": "observation.state",
                              "actions/action": "action"},
        }  # fmt: skip
        assert episode.missing_metadata == ()
        assert episode.missing_streams == ()


def test_an_instruction_in_the_metadata_becomes_a_stream(tmp_path: Path) -> None:
    recording = _foreign(metadata={"task": "Lift the cube."})
    write_recording(recording, tmp_path / "e.h5")
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode["observations/instruction"][:] == ["Lift the cube."]
        assert episode["observations/instruction"].time_ns.tolist() == [0]
        assert episode.metadata["task"] == "Lift the cube."


def test_an_instruction_that_is_a_stream_already_stays_alone(tmp_path: Path) -> None:
    text = Stream(name="instruction", group="observations", kind="text")
    given = ArraySignal(text, np.array([5, 9], np.int64), ["Lift.", "Put it down."])
    recording = _foreign(metadata={"task": "another"})
    recording = replace(recording, signals={**recording.signals, "language": given})
    write_recording(recording, tmp_path / "e.h5")
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode["observations/instruction"][:] == ["Lift.", "Put it down."]


def test_metadata_that_json_cannot_hold_is_put_into_words(tmp_path: Path) -> None:
    odd = {"rate": np.float32(0.5), "list": np.arange(3), "hole": float("nan"), 7: b"seven",
           "where": Path("/somewhere/on/a/disk/file.txt")}  # fmt: skip
    write_recording(_foreign(metadata=odd), tmp_path / "e.h5")
    with Episode.open(tmp_path / "e.h5") as episode:
        said = {name: episode.metadata[name] for name in ("rate", "list", "hole", "7", "where")}
    assert said == {"rate": 0.5, "list": [0, 1, 2], "hole": "nan", "7": "seven",
                    "where": "file.txt"}  # fmt: skip


def test_two_signals_in_one_role_get_names_of_their_own(tmp_path: Path) -> None:
    recording = _foreign()
    state = recording.signals["observation.state"]
    twice = {"observation.state": state, "obs/robot1_state": state, "state": state}
    write_recording(replace(recording, signals=twice), tmp_path / "e.h5")
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode.metadata["source_labels"] == {
            "observations/state": "observation.state",
            "observations/robot1_state": "obs/robot1_state",
            "observations/state_2": "state",
        }


def test_pictures_of_odd_size_get_one_row_and_column_more(tmp_path: Path) -> None:
    spec = picture_stream("image", height=31, width=33, rate_hz=10.0)
    pictures = [_png(31, 33, 40 * number) for number in range(4)]
    camera = ImageSequence(spec, even_stamps(4, 10.0), pictures)
    kept = write_recording(_foreign(signals={"image": camera}), tmp_path / "e.h5")
    assert kept.cameras == {"observations/image": "encoded"}
    assert verify(tmp_path / "e.h5") == ()
    with Episode.open(tmp_path / "e.h5") as episode:
        shown = episode["observations/image"][:]
        assert shown.shape == (4, 32, 34, 3)
        assert episode.metadata["source_sizes"] == {"observations/image": [31, 33]}
        for number in range(4):
            assert abs(float(shown[number].mean()) - 40 * number) < 2
            # What was added shows what lies beside it, not black.
            assert abs(int(shown[number, -1, -1, 0]) - 40 * number) < 4


def test_what_the_reader_complained_of_is_kept(tmp_path: Path) -> None:
    empty = ArraySignal(Stream(name="wrench", group="observations", shape=(6,)),
                        np.zeros(0, np.int64), np.zeros((0, 6), np.float32))  # fmt: skip
    recording = _foreign(defects=(Defect("index_wrong", "rows out of order", 3, "action"),))
    recording = replace(recording, signals={**recording.signals, "wrench": empty})
    kept = write_recording(recording, tmp_path / "e.h5")
    assert kept.problems == ("action: rows out of order", "wrench: no sample")
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode.metadata["source_problems"] == list(kept.problems)
        assert "observations/wrench" not in episode


def test_a_movie_with_fewer_pictures_than_stamps_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    source = open_dataset(write_episode(tmp_path / "own.h5", seconds=0.5)).open(0)
    camera = next(each for each in source.signals.values() if isinstance(each, VideoFile))
    count = len(camera)
    longer = replace(camera, time_ns=even_stamps(count + 3, 30.0))
    kept = write_recording(_foreign(signals={"head": longer}), tmp_path / "e.h5")
    assert kept.cameras == {camera.spec.path: "copied"}
    (problem,) = kept.problems
    assert problem == f"head: {count} pictures for {count + 3} stamps, of which {count} are kept"
    with Episode.open(tmp_path / "e.h5") as episode:
        assert len(episode[camera.spec.path]) == count


def test_a_movie_without_a_picture_of_the_episode_is_told_and_left_out(tmp_path: Path) -> None:
    source = open_dataset(write_episode(tmp_path / "own.h5", seconds=0.5)).open(0)
    camera = next(each for each in source.signals.values() if isinstance(each, VideoFile))
    beyond = replace(camera, first=10_000, count=5, time_ns=even_stamps(5, 30.0))
    recording = _foreign()
    recording = replace(recording, signals={**recording.signals, "head": beyond})
    kept = write_recording(recording, tmp_path / "e.h5")
    assert kept.problems == ("head: 0 pictures for 5 stamps, of which 0 are kept",)
    with Episode.open(tmp_path / "e.h5") as episode:
        assert camera.spec.path not in episode
        assert episode.missing_streams == ()


def test_an_episode_of_our_own_is_written_again_without_any_change(tmp_path: Path) -> None:
    write_episode(tmp_path / "own.h5", seconds=0.5)
    recording = open_dataset(tmp_path / "own.h5").open(0)
    kept = write_recording(recording, tmp_path / "e.h5")
    assert set(kept.cameras.values()) == {"copied"}
    assert verify(tmp_path / "e.h5") == ()
    with Episode.open(tmp_path / "own.h5") as old, Episode.open(tmp_path / "e.h5") as new:
        assert (new.id, new.epoch_ns, new.metadata) == (old.id, old.epoch_ns, old.metadata)
        assert new.documents == old.documents
        assert list(new) == list(old)
        for path in old:
            assert new[path].spec == old[path].spec
            assert np.array_equal(new[path].time_ns, old[path].time_ns)
            one, other = old[path][:], new[path][:]
            if isinstance(one, list):
                assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
            else:
                assert np.array_equal(one, other)


def test_documents_of_any_kind_travel_on(tmp_path: Path) -> None:
    text = '{"document":"calibration","focal":[1.5,2],"name":"head","version":"1.0.0"}'
    write_recording(_foreign(documents={"calibration": text}), tmp_path / "e.h5")
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode.document("calibration") == text


def test_streams_can_be_left_out_by_path_or_by_name(tmp_path: Path) -> None:
    write_episode(tmp_path / "own.h5", seconds=0.3)
    recording = open_dataset(tmp_path / "own.h5").open(0)
    gone = [signal.spec.path for signal in recording.signals.values()
            if signal.spec.kind in ("video", "depth")]  # fmt: skip
    write_recording(recording, tmp_path / "e.h5", exclude=[gone[0], gone[1].split("/")[1]])
    with Episode.open(tmp_path / "e.h5") as episode:
        assert set(recording.signals) - set(episode) == set(gone[:2])
        assert not set(gone[:2]) & set(episode.missing_streams)


def test_a_recording_without_a_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="episode 3 has no sample"):
        write_recording(_foreign(signals={}), tmp_path / "e.h5")
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    wrong = Stream.model_construct(name="state", group="observations", kind="array", dtype="bool",
                                   shape=(3,), rate_hz=-5.0, unit="1")  # fmt: skip
    signal = ArraySignal(wrong, even_stamps(2, 10.0), np.zeros((2, 3), bool))
    with pytest.raises(EpisodeError, match=r"data.file.parquet: odd cannot be a stream"):
        write_recording(_foreign(signals={"odd": signal}), tmp_path / "e.h5")
