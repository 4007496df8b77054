"""The index leads to the episode."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.demonstrations import demonstration

from corporeal.episode.recording import Defect
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.index_wrong import find


def test_passes_when_the_reader_met_nothing() -> None:
    assert not list(find(Subject(replace(demonstration(), regridded=True))))


def test_finds_what_the_reader_met() -> None:
    defect = Defect("index_wrong", "rows start at 101; expected 100", 3, "index", 101.0, 100.0)
    spoilt = replace(demonstration(), regridded=True, defects=(defect,))
    (found,) = find(Subject(spoilt))
    assert (found.stream, found.value, found.limit) == ("index", 101.0, 100.0)


def test_a_file_of_its_own_has_no_index_to_assess() -> None:
    with pytest.raises(NotAssessed, match="no index"):
        list(find(Subject(demonstration())))
