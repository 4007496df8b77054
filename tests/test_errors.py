"""Errors read as sentences that say what to do."""

from __future__ import annotations

import pytest

from corporeal import units
from corporeal.errors import (
    CorporealError,
    DocumentError,
    EpisodeError,
    MissingExtraError,
    ModelError,
    Problem,
    UnknownNameError,
    WriteError,
)


@pytest.mark.parametrize(
    "error",
    [DocumentError, ModelError, EpisodeError, WriteError, UnknownNameError, MissingExtraError],
)
def test_every_error_is_caught_by_its_root(error: type[Exception]) -> None:
    assert issubclass(error, CorporealError)


def test_a_write_error_is_an_episode_error() -> None:
    assert issubclass(WriteError, EpisodeError)


def test_a_document_error_gives_file_line_and_field() -> None:
    error = DocumentError("rig.yaml", [Problem(7, "streams[0].unit", "got 'x'.")])
    assert str(error) == "rig.yaml:7: streams[0].unit: got 'x'."


@pytest.mark.parametrize(
    ("count", "tail"),
    [(1, ""), (2, " (1 more problem in this file)"), (3, " (2 more problems in this file)")],
)
def test_a_document_error_counts_the_problems_it_does_not_show(count: int, tail: str) -> None:
    error = DocumentError("a.yaml", [Problem(None, "", "wrong.")] * count)
    assert str(error) == f"a.yaml: wrong.{tail}"
    assert len(error.problems) == count


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    error = UnknownNameError("robot", "walker", ["walker_s2", "gr1"])
    assert str(error) == (
        "unknown robot, got 'walker'; expected one of: gr1, walker_s2. Did you mean 'walker_s2'?"
    )


def test_an_unknown_name_among_none_says_so() -> None:
    assert (
        str(UnknownNameError("robot", "x", [])) == "unknown robot, got 'x'; expected one of: none."
    )


def test_a_missing_package_comes_with_its_install_line() -> None:
    assert "pip install 'corporeal[robot]'" in str(MissingExtraError("mujoco", "robot"))


def test_a_known_unit_is_itself_and_another_is_refused() -> None:
    assert units.check_unit("rad/s") == "rad/s"
    with pytest.raises(UnknownNameError, match=r"unknown unit, got 'rads'; expected one of: 1, A"):
        units.check_unit("rads")
