"""ELAN's EAF 3.0: a tier for every lane, its attributes in a tier below it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from corporeal.errors import ModelError
from corporeal.labelling.annotation import AnnotationError
from corporeal.labelling.labels.label_file import (
    MAX_ROWS,
    EpisodeLabels,
    LabelFormat,
    Line,
    annotation_of,
    attributes_of,
    bounded_bytes,
    lines_of,
)
from corporeal.xml_text import parse_xml

_MS = 1_000_000
_ATTRIBUTES = ":attributes"
_SEGMENT, _PROPERTY = "segment", "attributes"
_EPISODE, _OFFSET, _REFERENCE = "corporeal_episode", "corporeal_offset_ns", "corporeal_reference"
_SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_MOST_MS = 2**53 // _MS


def write(path: Path, labels: Sequence[EpisodeLabels]) -> None:
    """One episode. Time 0 is its first frame, as it is in a movie of the reference stream."""
    (one,) = labels
    lines = lines_of(one.annotation)
    offset = _offset(one, lines)
    spans = [_span(line, offset) for line in lines]
    times = sorted({time for span in spans for time in span})
    slots = {time: f"ts{number}" for number, time in enumerate(times, start=1)}
    root = Element("ANNOTATION_DOCUMENT", {
        "AUTHOR": "", "DATE": datetime.now(UTC).isoformat(timespec="seconds"), "FORMAT": "3.0",
        "VERSION": "3.0", "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "xsi:noNamespaceSchemaLocation": _SCHEMA,
    })  # fmt: skip
    _header(root, one, offset, 2 * len(lines))
    order = SubElement(root, "TIME_ORDER")
    for time, name in slots.items():
        SubElement(order, "TIME_SLOT", TIME_SLOT_ID=name, TIME_VALUE=str(time))
    _tiers(root, lines, spans, slots)
    _types(root)
    indent(root, "    ")
    ElementTree(root).write(path, "UTF-8", xml_declaration=True)


def _offset(one: EpisodeLabels, lines: Sequence[Line]) -> int:
    begin = int(one.stamps[0]) if one.stamps is not None and len(one.stamps) else 0
    return min([begin, *(line.start_ns for line in lines)])


def _span(line: Line, offset: int) -> tuple[int, int]:
    """Milliseconds; a moment gets one, since ELAN has no annotation without length."""
    start, end = (round((time - offset) / _MS) for time in (line.start_ns, line.end_ns))
    return start, max(end, start + 1)


def _header(root: Element, one: EpisodeLabels, offset: int, last: int) -> None:
    header = SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    if one.movie is not None:
        SubElement(header, "MEDIA_DESCRIPTOR", MEDIA_URL=f"file:///{one.movie}",
                   MIME_TYPE="video/mp4", RELATIVE_MEDIA_URL=f"./{one.movie}")  # fmt: skip
    said = {_EPISODE: one.episode, _OFFSET: str(offset), _REFERENCE: one.annotation.reference,
            "lastUsedAnnotationId": str(last)}  # fmt: skip
    for name, text in said.items():
        SubElement(header, "PROPERTY", NAME=name).text = text


def _tiers(
    root: Element, lines: Sequence[Line], spans: Sequence[tuple[int, int]], slots: Mapping[int, str]
) -> None:
    """Lanes in the order in which they come up; an annotation's number is its line's."""
    for tier, members in _by_tier(lines, spans).items():
        element = SubElement(root, "TIER", LINGUISTIC_TYPE_REF=_SEGMENT, TIER_ID=tier)
        for number in members:
            start, end = (slots[time] for time in spans[number])
            inner = SubElement(SubElement(element, "ANNOTATION"), "ALIGNABLE_ANNOTATION",
                               ANNOTATION_ID=f"a{number + 1}", TIME_SLOT_REF1=start,
                               TIME_SLOT_REF2=end)  # fmt: skip
            SubElement(inner, "ANNOTATION_VALUE").text = lines[number].label
        having = [number for number in members if lines[number].attributes]
        if not having:
            continue
        below = SubElement(root, "TIER", LINGUISTIC_TYPE_REF=_PROPERTY, PARENT_REF=tier,
                           TIER_ID=f"{tier}{_ATTRIBUTES}")  # fmt: skip
        for number in having:
            inner = SubElement(SubElement(below, "ANNOTATION"), "REF_ANNOTATION",
                               ANNOTATION_ID=f"a{number + 1 + len(lines)}",
                               ANNOTATION_REF=f"a{number + 1}")  # fmt: skip
            said = json.dumps(dict(lines[number].attributes), ensure_ascii=False)
            SubElement(inner, "ANNOTATION_VALUE").text = said


def _by_tier(lines: Sequence[Line], spans: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    """Numbers of lines by tier. Wordings are true at the same time, so each has a tier."""
    tiers: dict[str, list[int]] = {}
    ends: dict[str, int] = {}
    for number, (line, (start, end)) in enumerate(zip(lines, spans, strict=True)):
        name, place = line.lane, 1
        # Annotations of one tier may not overlap.
        while name in tiers and start < ends[name]:
            place += 1
            name = f"{line.lane} {place}"
        tiers.setdefault(name, []).append(number)
        ends[name] = end
    return tiers


def _types(root: Element) -> None:
    SubElement(root, "LINGUISTIC_TYPE", GRAPHIC_REFERENCES="false", LINGUISTIC_TYPE_ID=_SEGMENT,
               TIME_ALIGNABLE="true")  # fmt: skip
    SubElement(root, "LINGUISTIC_TYPE", CONSTRAINTS="Symbolic_Association",
               GRAPHIC_REFERENCES="false", LINGUISTIC_TYPE_ID=_PROPERTY,
               TIME_ALIGNABLE="false")  # fmt: skip
    SubElement(root, "CONSTRAINT", STEREOTYPE="Symbolic_Association",
               DESCRIPTION="1-1 association with a parent annotation")  # fmt: skip


def read(path: Path) -> list[EpisodeLabels]:
    """The tiers of a file as the labels of one episode, which others' files call by their name."""
    try:
        root = parse_xml(bounded_bytes(path), source=str(path), texts=True)
    except ModelError as error:
        raise AnnotationError(str(error)) from None
    if root.tag != "ANNOTATION_DOCUMENT":
        raise AnnotationError(f"{path}: got <{root.tag[:40]}>; expected a document of ELAN.")
    said = {each.get("NAME", ""): each.text or "" for each in root.iterfind("HEADER/PROPERTY")}
    offset = _whole(said.get(_OFFSET, "0"), f"{path}: {_OFFSET}")
    times = {
        slot.get("TIME_SLOT_ID", ""): _time(slot, path) * _MS + offset
        for slot in root.iterfind("TIME_ORDER/TIME_SLOT")
        if slot.get("TIME_VALUE") is not None
    }
    lines = list(_lines(root, times, path))
    annotation = annotation_of(lines, reference=said.get(_REFERENCE, ""))
    return [EpisodeLabels(said.get(_EPISODE) or path.stem, annotation)]


def _lines(root: Element, times: Mapping[str, int], path: Path) -> Iterator[Line]:
    more = {
        each.get("ANNOTATION_REF", ""): _value(each)
        for tier in root.iterfind("TIER")
        if tier.get("TIER_ID", "").endswith(_ATTRIBUTES)
        for each in tier.iterfind("ANNOTATION/REF_ANNOTATION")
    }
    count = 0
    for tier in root.iterfind("TIER"):
        # A second tier of a lane, since annotations of one tier may not overlap.
        lane = tier.get("TIER_ID", "").partition(" ")[0]
        for each in tier.iterfind("ANNOTATION/ALIGNABLE_ANNOTATION"):
            name = each.get("ANNOTATION_ID", "")
            where = f"{path}: {name}"
            edges = [each.get(f"TIME_SLOT_REF{end}", "") for end in (1, 2)]
            if any(edge not in times for edge in edges):
                raise AnnotationError(f"{where}: a time slot without a time. Align it in ELAN.")
            count += 1
            if count > MAX_ROWS:
                raise AnnotationError(f"{path}: more than {MAX_ROWS} annotations. Split it.")
            attributes = attributes_of(more.get(name, ""), where)
            yield Line(lane, _value(each), times[edges[0]], times[edges[1]], attributes, where)


def _value(element: Element) -> str:
    return (element.findtext("ANNOTATION_VALUE") or "").strip()


def _time(slot: Element, path: Path) -> int:
    time = _whole(slot.get("TIME_VALUE", ""), f"{path}: TIME_VALUE")
    if not 0 <= time <= _MOST_MS:
        raise AnnotationError(f"{path}: TIME_VALUE, got {time}; expected milliseconds.")
    return time


def _whole(text: str, where: str) -> int:
    digits = text.strip().removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 19:
        raise AnnotationError(f"{where}, got {text[:40]!r}; expected a whole number.")
    return int(text)


FORMAT = LabelFormat(
    "ELAN",
    ".eaf",
    read,
    write,
    loses=(
        "times are rounded to milliseconds: with the stamps of the stream they come back exact",
        "a moment lasts a millisecond",
        "who or what put a segment or a pose there, and how sure it was",
        "corrections of predictions",
        "the language of an instruction",
    ),
    many=False,
)
