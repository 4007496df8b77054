"""Numbers and files of recordings that are lists of steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.errors import EpisodeError
from corporeal.exchange.episode_file import json_values
from corporeal.exchange.formats.unitree_json import read_truncated_json
from corporeal.exchange.steps import column, files_at, inside, side_by_side


def test_a_quantity_is_taken_from_the_steps_that_have_it() -> None:
    steps = [{"a": {"q": [1, 2]}}, {"a": {}}, {"a": {"q": []}}, {"a": {"q": [3, 4]}}, 5, None]
    found = column(steps, "a", "q")
    assert found.values.tolist() == [[1, 2], [3, 4]]
    assert found.steps.tolist() == [0, 3]
    assert found.odd == 0


def test_steps_of_another_shape_are_left_out_and_counted() -> None:
    steps = [{"q": [1, 2]}, {"q": [1, 2, 3]}, {"q": [3, 4]}, {"q": "text"}, {"q": [[1], [2, 3]]}]
    found = column(steps, "q")
    assert found.values.tolist() == [[1, 2], [3, 4]]
    assert found.odd == 1


def test_a_single_number_is_a_column_of_one() -> None:
    assert column([{"t": 1.5}, {"t": 2}], "t").values.tolist() == [[1.5], [2.0]]


def test_quantities_stand_side_by_side_where_all_are_there() -> None:
    one = column([{"a": [1]}, {"a": [2]}, {"a": [3]}], "a")
    other = column([{"b": [4, 5]}, {}, {"b": [6, 7]}], "b")
    both = side_by_side([one, other])
    assert both.values.tolist() == [[1, 4, 5], [3, 6, 7]]
    assert both.steps.tolist() == [0, 2]


def test_files_must_lie_in_their_folder(tmp_path: Path) -> None:
    steps = [{"image": "a/b.png"}, {"image": None}, {"image": "a\\c.png"}]
    files, places = files_at(tmp_path, steps, "image")
    assert files == [tmp_path / "a" / "b.png", tmp_path / "a" / "c.png"]
    assert places.tolist() == [0, 2]
    for name in ("../x", "a/../../x", "/etc/hostname"):
        with pytest.raises(EpisodeError, match="not in its folder"):
            inside(tmp_path, name)


@pytest.mark.parametrize("cut", range(20, 60))
def test_a_torn_file_gives_what_is_whole_of_it(tmp_path: Path, cut: int) -> None:
    text = '{"info": {"fps": 30},\n "data": [ {"idx": 0}, {"idx": 1} , {"idx": 2}\n], "end": 1}'
    path = tmp_path / "data.json"
    path.write_text(text)
    assert read_truncated_json(path, growing="data") == (
        {"info": {"fps": 30}, "data": [{"idx": 0}, {"idx": 1}, {"idx": 2}], "end": 1}, False,
    )  # fmt: skip
    path.write_text(text[:cut])
    whole = sum(text[:cut].count(f'{{"idx": {number}}}') for number in range(3))
    if whole:
        document, torn = read_truncated_json(path, growing="data")
        assert torn
        assert [each["idx"] for each in document["data"]] == list(range(whole))
        assert document["info"] == {"fps": 30}
    else:
        with pytest.raises(EpisodeError, match="not JSON"):
            read_truncated_json(path, growing="data")


def test_values_of_any_origin_become_json() -> None:
    given = {"a": np.float32(0.5), 2: (1, b"two"), "c": {"d": {np.int64(3)}}, "e": float("inf")}
    assert json_values(given) == {"a": 0.5, "2": [1, "two"], "c": {"d": [3]}, "e": "inf"}


def test_values_without_end_are_cut_off() -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless
    assert isinstance(json_values(endless), dict)
