"""A path finds its format, or an error that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from corporeal.errors import EpisodeError
from corporeal.exchange.format import formats
from corporeal.exchange.opening import open_dataset


def test_every_format_is_found_by_the_name_of_its_file() -> None:
    assert {"aloha", "episodes", "lerobot", "motion_csv", "rlds", "robomimic"} <= set(formats())
    assert all(each.title for each in formats().values())


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(EpisodeError, match=r"expected one of: aloha .* robomimic"):
        open_dataset(tmp_path / "notes.txt")
    with pytest.raises(EpisodeError, match="known format"):
        open_dataset(tmp_path)


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="does not exist"):
        open_dataset(tmp_path / "nowhere")
