"""ELAN's files are as its schema wants them, and milliseconds lose no frame."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.labelling.written_labels import STAMPS, annotation, spoken

from corporeal.labelling.labels import (
    EpisodeLabels,
    write_label_file,
)
from corporeal.labelling.labels.label_file import read_label_file


@given(st.lists(st.integers(1, 88), min_size=1, max_size=8, unique=True))
def test_frames_survive_the_milliseconds_of_elan(
    tmp_path_factory: pytest.TempPathFactory, inner: list[int]
) -> None:
    labels = EpisodeLabels("e", annotation((0, *sorted(inner))), STAMPS)
    path = tmp_path_factory.mktemp("elan") / "e.eaf"
    write_label_file(path, [labels])
    (got,) = read_label_file(path, stamps={"e": STAMPS})
    assert spoken(got.annotation) == spoken(labels.annotation)


def test_elan_files_are_as_its_schema_wants_them(tmp_path: Path) -> None:
    path = tmp_path / "e.eaf"
    write_label_file(path, [EpisodeLabels("e", annotation(), STAMPS, movie="head.mp4")])
    root = ElementTree.parse(path).getroot()
    order = [each.tag for each in root]
    assert order[:2] == ["HEADER", "TIME_ORDER"]
    kinds = list(dict.fromkeys(order))
    assert kinds == ["HEADER", "TIME_ORDER", "TIER", "LINGUISTIC_TYPE", "CONSTRAINT"]
    slots = {each.attrib["TIME_SLOT_ID"]: int(each.attrib["TIME_VALUE"])
             for each in root.iterfind("TIME_ORDER/TIME_SLOT")}  # fmt: skip
    assert list(slots.values()) == sorted(slots.values())
    assert min(slots.values()) == 0
    types = {each.attrib["LINGUISTIC_TYPE_ID"] for each in root.iterfind("LINGUISTIC_TYPE")}
    names = [each.attrib["ANNOTATION_ID"] for each in root.iter() if "ANNOTATION_ID" in each.attrib]
    assert len(set(names)) == len(names)
    for tier in root.iterfind("TIER"):
        assert tier.attrib["LINGUISTIC_TYPE_REF"] in types
        spans = [(slots[each.attrib["TIME_SLOT_REF1"]], slots[each.attrib["TIME_SLOT_REF2"]])
                 for each in tier.iterfind("ANNOTATION/ALIGNABLE_ANNOTATION")]  # fmt: skip
        assert all(start < end for start, end in spans)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    parents = {each.attrib["TIER_ID"]: each.attrib.get("PARENT_REF")
               for each in root.iterfind("TIER")}  # fmt: skip
    assert parents["contact:attributes"] == "contact"
