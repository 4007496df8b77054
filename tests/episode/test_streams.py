"""Readers give the samples asked for, and read nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.file import Storage
from corporeal.errors import EpisodeError
from corporeal.schema import Schema

ARM = "observations/arm"
SELECTIONS = [
    0, 7, -1, -20, slice(None), slice(3, 9), slice(9, 3), slice(None, None, 4), slice(15, 2, -3),
    slice(-4, None), slice(18, 99), [], [3], [5, 1, 5, -1], np.array([2, 0], np.uint8), (1, 2),
    np.int64(4),
]  # fmt: skip


def _values(samples: list[tuple[int, Any]]) -> NDArray[Any]:
    return np.stack([value for _, value in samples])


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
@pytest.mark.parametrize("path", [ARM, "debug/pose", "debug/flag"])
def test_a_selection_is_what_numpy_would_give(
    every_episode: Episode, every_sample: Any, path: str, selection: Any
) -> None:
    expected = _values(every_sample[path])
    if path != ARM:
        expected = np.concatenate([expected, expected])[:10]
        if isinstance(selection, int | np.integer) and not -10 <= selection < 10:
            return
    wanted = list(selection) if isinstance(selection, tuple) else selection
    if isinstance(wanted, list) and not wanted:
        wanted = slice(0, 0)
    np.testing.assert_array_equal(every_episode[path][selection], expected[wanted])


@pytest.mark.parametrize("selection", [20, -21, [0, 20], np.array([2**63], np.uint64)], ids=str)
def test_a_sample_that_is_not_there_is_an_index_error(
    every_episode: Episode, selection: Any
) -> None:
    with pytest.raises(IndexError, match=r"observations/arm has 20\."):
        every_episode[ARM][selection]


@pytest.mark.parametrize("selection", [1.0, [1.5], "a", [True, False], [[0, 1]], None], ids=str)
def test_a_selection_that_is_no_number_is_a_type_error(
    every_episode: Episode, selection: Any
) -> None:
    with pytest.raises(TypeError):
        every_episode[ARM][selection]


@pytest.mark.parametrize("path", [ARM, "observations/cloud", "observations/words",
                                  "observations/depth", "observations/camera"])  # fmt: skip
def test_a_stream_can_be_walked_through(every_episode: Episode, path: str) -> None:
    assert len(list(every_episode[path])) == len(every_episode[path])
    assert len(list(reversed(every_episode[path]))) == len(every_episode[path])


def test_stamps_are_read_only_integers(every_episode: Episode, every_sample: Any) -> None:
    for path, samples in every_sample.items():
        stamps = every_episode[path].time_ns
        assert stamps.dtype == np.int64
        assert stamps.tolist() == [stamp for stamp, _ in samples]
        with pytest.raises(ValueError, match="read-only"):
            stamps[0] = 1


def test_points_come_back_as_they_were_also_when_there_are_none(
    every_episode: Episode, every_sample: Any
) -> None:
    reader = every_episode["observations/cloud"]
    for found, (_, expected) in zip(reader[:], every_sample["observations/cloud"], strict=True):
        assert found.shape == expected.shape
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)
    assert reader[0].shape == (0, 4)
    assert [len(rows) for rows in reader[[2, 0]]] == [10, 0]


def test_words_come_back_as_they_were(every_episode: Episode) -> None:
    reader = every_episode["observations/words"]
    assert reader[:] == ["pick up the box", "", "naïve 箱 🤖"]
    assert reader[-1] == "naïve 箱 🤖"
    assert reader[::-2] == ["naïve 箱 🤖", "pick up the box"]


def test_a_stream_describes_itself(every_episode: Episode) -> None:
    assert repr(every_episode[ARM]) == "<observations/arm: 20 samples, array>"
    assert every_episode[ARM].nbytes == 20 * 8 + 20 * 12
    assert all(every_episode[path].nbytes > 0 for path in every_episode)


DTYPES = ["float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
          "uint8", "bool"]  # fmt: skip


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(1, 4), max_size=3),
                  st.integers(1, 9), st.booleans()),
        min_size=1, max_size=4,
    ),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_any_numbers_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory,
    make_schema: Callable[..., Schema],
    streams: list[tuple[str, list[int], int, bool]],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    schema = make_schema(
        *({"name": f"s{number}", "group": "debug", "dtype": dtype, "shape": shape}
          for number, (dtype, shape, _, _) in enumerate(streams))
    )  # fmt: skip
    path = tmp_path_factory.mktemp("any") / "a.h5"
    written = {}
    with EpisodeWriter(path, schema=schema) as writer:
        for number, (dtype, shape, count, at_once) in enumerate(streams):
            size = (count, *shape)
            raw = rng.bytes(int(np.prod(size)) * np.dtype(dtype).itemsize)
            values = np.frombuffer(raw, np.uint8) % 2 == 1 if dtype == "bool" else (
                np.frombuffer(raw, dtype)
            )  # fmt: skip
            values = values.reshape(size)
            times = rng.integers(-(2**63), 2**63 - 1, count)
            written[f"debug/s{number}"] = (times, values)
            if at_once:
                writer.extend(f"debug/s{number}", times, values)
            else:
                for stamp, value in zip(times, values, strict=True):
                    writer.append(f"debug/s{number}", stamp, value)
    with Episode.open(path) as episode:
        for name, (times, values) in written.items():
            found = episode[name][:]
            assert found.dtype == values.dtype
            assert found.tobytes() == values.tobytes()
            np.testing.assert_array_equal(episode[name].time_ns, times)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 6), st.text(max_size=30)), min_size=1, max_size=8))
def test_any_clouds_and_texts_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    make_schema: Callable[..., Schema],
    samples: list[tuple[int, str]],
) -> None:
    schema = make_schema(
        {"name": "p", "group": "debug", "kind": "points", "shape": [3], "dtype": "int16"},
        {"name": "t", "group": "debug", "kind": "text"},
    )
    path = tmp_path_factory.mktemp("ragged") / "a.h5"
    rng = np.random.default_rng(len(samples))
    clouds = [rng.integers(-99, 99, (count, 3)).astype(np.int16) for count, _ in samples]
    with EpisodeWriter(path, schema=schema) as writer:
        writer.extend("debug/p", np.arange(len(samples)), clouds)
        for number, (_, text) in enumerate(samples):
            writer.append("debug/t", number, text)
    with Episode.open(path) as episode:
        assert episode["debug/t"][:] == [text for _, text in samples]
        for found, expected in zip(episode["debug/p"][:], clouds, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_long_text_comes_back(tmp_path: Path, make_schema: Callable[..., Schema]) -> None:
    schema = make_schema({"name": "t", "group": "debug", "kind": "text"})
    text = "箱🤖 \0\n" * 200_000
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        writer.append("debug/t", 0, text)
    with Episode.open(tmp_path / "a.h5") as episode:
        assert episode["debug/t"][0] == text


def test_a_slice_reads_its_rows_and_no_more(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    fill = Storage.fill

    def counted(self: Storage, array: NDArray[Any], offset: int) -> None:
        taken.append(array.nbytes)
        fill(self, array, offset)

    monkeypatch.setattr(Storage, "fill", counted)
    with Episode.open(recording) as episode:
        reader = episode["observations/joint_position"]
        assert taken == []
        assert reader[10:13].shape == (3, 29)
        assert taken == [3 * 29 * 4]


def test_distant_rows_are_read_one_by_one(
    tmp_path: Path, make_schema: Callable[..., Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = make_schema({"name": "a", "group": "debug", "dtype": "int64"})
    with EpisodeWriter(tmp_path / "a.h5", schema=schema) as writer:
        writer.extend("debug/a", np.arange(10_000), np.arange(10_000))
    with Episode.open(tmp_path / "a.h5") as episode:
        assert episode["debug/a"][[9_999, 0, 5_000]].tolist() == [9_999, 0, 5_000]


def test_a_closed_episode_says_so(every_kind: Path) -> None:
    with Episode.open(every_kind) as episode:
        arm, camera, late = (
            episode[ARM], episode["observations/camera"], episode["observations/words"]
        )  # fmt: skip
        arm[0], camera[0]
    episode.close()
    for reader in (arm, camera):
        with pytest.raises(EpisodeError) as caught:
            reader[0]
        assert "is closed" in str(caught.value)
    with pytest.raises(EpisodeError):
        late[0]
    with pytest.raises(EpisodeError):
        episode["debug/pose"]
