"""The certification document: limits of training, read as they were written."""

from __future__ import annotations

import pytest

from corporeal.catalog.people import Certification, certification_names, open_certification
from corporeal.errors import DocumentError

_HEAD = "document: certification\nname: mine\nversion: 1.0.0\n"


def test_the_ready_one_asks_for_what_the_specification_says() -> None:
    assert certification_names() == ("standard",)
    standard = open_certification("standard")
    assert standard.practice.success_above == 0.9
    assert (standard.protocol.reviewed, standard.calibration.episodes) == (50, 20)
    assert standard.is_for("anything")


def test_what_is_kept_means_the_same_when_it_is_read_again() -> None:
    mine = Certification.parse(f"{_HEAD}calibration: {{slower: 2.0}}\n")
    again = Certification.parse(mine.canonical(), suffix=".json")
    assert again == mine
    assert again.calibration.grasps is None


@pytest.mark.parametrize(("body", "said"), [
    ("calibration: {episodes: 20}", "asks for nothing"),
    ("calibration: {slower: 2.0}\ntasks: [walk]\nafter: [walk]", "before itself"),
    ("calibration: {slower: 2.0}\ntasks: [walk, walk]", "listed twice"),
])  # fmt: skip
def test_a_document_that_makes_no_sense_is_refused_in_words(body: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        Certification.parse(f"{_HEAD}{body}\n")
