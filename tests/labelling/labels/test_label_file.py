"""Files of labels: what is written comes back, and what means harm is refused in one sentence."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.errors import UnknownNameError, WriteError
from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Correction,
    Instruction,
    Segment,
)
from corporeal.labelling.labels import EpisodeLabels, format_of, write_label_file
from corporeal.labelling.labels.label_file import label_formats, on_stamps, read_label_file

STAMPS = np.round(np.arange(90) * (1e9 / 30) + 12_345_678.4).astype(np.int64)


def annotation(edges: tuple[int, ...] = (0, 30, 61)) -> Annotation:
    """Phases on frames, a moment of contact, two wordings, a failure."""
    ends = (*edges[1:], len(STAMPS) - 1)
    names = ("rest", "reach", "grasp")
    segments = [
        Segment(id=f"p{n}", lane="phase", label=names[n % 3], start_ns=int(STAMPS[a]),
                end_ns=int(STAMPS[b]))
        for n, (a, b) in enumerate(zip(edges, ends, strict=True))
    ]  # fmt: skip
    moment = int(STAMPS[edges[-1]])
    held = {"hand": "left", "force_n": 2.5}
    segments.append(Segment(id="c0", lane="contact", label="touch", start_ns=moment,
                            end_ns=moment, attributes=held))  # fmt: skip
    return Annotation(
        reference="observations/head", segments=tuple(segments),
        instructions=(Instruction(id="i0", text="Take the box."),
                      Instruction(id="i1", text='=cmd|"; drop, <b>&amp;')),
        outcome="failure", failure_mode="dropped", variant="left_hand", flags=("dark",),
    )  # fmt: skip


def spoken(given: Annotation) -> object:
    """What all formats keep."""
    return (
        sorted((each.lane, each.label, each.start_ns, each.end_ns, str(each.attributes))
               for each in given.segments),
        sorted(each.text for each in given.instructions),
        given.outcome, given.failure_mode, given.variant, given.flags,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["csv", "elan", "json"])
def test_labels_come_back_from_every_format(name: str, tmp_path: Path) -> None:
    labels = EpisodeLabels("e-1", annotation(), STAMPS, movie="head.mp4")
    path = tmp_path / f"labels{label_formats()[name].suffix}"
    write_label_file(path, [labels])
    (got,) = read_label_file(path, stamps={"e-1": STAMPS})
    assert got.episode == "e-1"
    assert spoken(got.annotation) == spoken(labels.annotation)


@given(st.lists(st.integers(1, 88), min_size=1, max_size=8, unique=True))
def test_frames_survive_the_milliseconds_of_elan(
    tmp_path_factory: pytest.TempPathFactory, inner: list[int]
) -> None:
    labels = EpisodeLabels("e", annotation((0, *sorted(inner))), STAMPS)
    path = tmp_path_factory.mktemp("elan") / "e.eaf"
    write_label_file(path, [labels])
    (got,) = read_label_file(path, stamps={"e": STAMPS})
    assert spoken(got.annotation) == spoken(labels.annotation)


def test_json_loses_nothing(tmp_path: Path) -> None:
    proposed = Segment(id="q", lane="phase", label="rest", start_ns=1, end_ns=2,
                       source="proposal", confirmed=False, confidence=0.5)  # fmt: skip
    mended = Correction(id="k", time_ns=3, kind="grasp", predicted={"x": 1.0},
                        corrected={"x": 2.0})  # fmt: skip
    whole = Annotation(segments=(proposed,), corrections=(mended,), reference="head")
    write_label_file(tmp_path / "a.json", [EpisodeLabels("e", whole), EpisodeLabels("f", whole)])
    found = read_label_file(tmp_path / "a.json")
    assert [(each.episode, each.annotation) for each in found] == [("e", whole), ("f", whole)]
    assert not format_of(tmp_path / "a.json").loses


def test_csv_has_exact_seconds_frames_and_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    write_label_file(path, [EpisodeLabels("e", annotation(), STAMPS)])
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {
        "episode": "e", "lane": "phase", "label": "reach", "start_s": "1.012345678",
        "end_s": "2.045679012", "start_frame": "30", "end_frame": "61", "attributes": "",
    }  # fmt: skip
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())


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


def test_boundaries_go_to_the_nearest_frame_or_to_the_end_of_the_last() -> None:
    moved = Segment(id="s", lane="phase", label="rest", start_ns=int(STAMPS[3]) - 400_000,
                    end_ns=int(STAMPS[-1]) + 40_000_000)  # fmt: skip
    got = on_stamps(EpisodeLabels("e", Annotation(segments=(moved,))), STAMPS)
    (segment,) = got.annotation.segments
    assert segment.start_ns == STAMPS[3]
    assert segment.end_ns == STAMPS[-1] + np.median(np.diff(STAMPS)).astype(int)


HOSTILE = {
    "no_column.csv": ("episode,lane\ne,phase\n", "got no column 'label'"),
    "no_time.csv": ("episode,lane,label,start_s,end_s\ne,phase,rest,soon,2\n", "expected seconds"),
    "endless.csv": ("episode,lane,label,start_s,end_s\ne,phase,rest,1e999999,2\n",
                    "expected seconds"),
    "backwards.csv": ("episode,lane,label,start_s,end_s\ne,phase,rest,2,1\n", "ends before"),
    "lane.csv": ("episode,lane,label,start_s,end_s\ne,A B,rest,1,2\n", "lane: String should match"),
    "deep.csv": ('episode,lane,label,start_s,end_s,attributes\ne,phase,rest,1,2,"'
                 + "[" * 50_000 + '"\n', "expected a JSON object"),
    "quote.csv": ('episode,lane,label,start_s,end_s\ne,phase,"rest,1,2\n', "not CSV"),
    "entities.eaf": ('<!DOCTYPE a [<!ENTITY b "ccc">]><ANNOTATION_DOCUMENT>&b;'
                     "</ANNOTATION_DOCUMENT>", "got a <!DOCTYPE>"),
    "other.eaf": ("<robot/>", "expected a document of ELAN"),
    "cut.eaf": ("<ANNOTATION_DOCUMENT>", "not valid XML"),
    "time.eaf": ('<ANNOTATION_DOCUMENT><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="a" '
                 'TIME_VALUE="\uff19"/></TIME_ORDER></ANNOTATION_DOCUMENT>',
                 "expected a whole number"),
    "slot.eaf": ('<ANNOTATION_DOCUMENT><TIER TIER_ID="phase"><ANNOTATION><ALIGNABLE_ANNOTATION '
                 'ANNOTATION_ID="a1"/></ANNOTATION></TIER></ANNOTATION_DOCUMENT>',
                 "a1: a time slot without a time"),
    "deep.json": ("[" * 100_000, "not JSON"),
    "other.json": ('{"episodes": []}', "got no annotations"),
    "field.json": ('{"format": "corporeal-annotations", "episodes": {"e": {"outcome": "maybe"}}}',
                   "e: outcome: Input should be"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_make_no_sense_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, told = HOSTILE[name]
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(AnnotationError) as caught:
        read_label_file(tmp_path / name)
    assert told in str(caught.value)
    assert name in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corporeal.labelling.labels.label_file.MAX_BYTES", 1 << 20)
    (tmp_path / "big.csv").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(AnnotationError, match="larger than 1 MiB"):
        read_label_file(tmp_path / "big.csv")


def test_a_file_is_never_overwritten_and_elan_holds_one_episode(tmp_path: Path) -> None:
    labels = EpisodeLabels("e", annotation())
    write_label_file(tmp_path / "a.csv", [labels])
    with pytest.raises(WriteError, match="already exists"):
        write_label_file(tmp_path / "a.csv", [labels])
    with pytest.raises(AnnotationError, match="got 2 episodes; expected one"):
        write_label_file(tmp_path / "a.eaf", [labels, labels])
    with pytest.raises(AnnotationError, match=r"expected a file ending in \.csv"):
        format_of(tmp_path / "a.txt")
    with pytest.raises(UnknownNameError):
        format_of(tmp_path / "a.csv", "boris")
