"""Reference cards: every label with its rule, and pictures of a workspace's own episodes."""

from __future__ import annotations

import base64
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import numpy as np
from PIL import Image
from sqlalchemy import Connection

from corporeal.catalog.episodes import EpisodeRow, find_episode
from corporeal.catalog.store import Store, open_remote
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Segment
from corporeal.labelling.labels.versions import Labels, labelled_under, labels_in_force
from corporeal.labelling.taxonomy import AttributeChoice, LabelDefinition, Taxonomy
from corporeal.quality import Subject
from corporeal.words import counted

WIDTH = 240
MOST_EXAMPLES = 2
"""Episodes that a card shows pictures of."""
MOST_EPISODES = 200
"""Labelled episodes that examples are looked for in, the latest ids first."""
CardTopic = tuple[str, str]
"""What a card is about: lane and label, or `=attribute` and its value."""


@dataclass(frozen=True)
class CardExample:
    """One stretch of an episode that a card shows, and its pictures: caption and JPEG."""

    episode: str
    file: str
    start_ns: int
    end_ns: int
    pictures: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class CardPage:
    """The cards of a taxonomy as one HTML page, and what they could not show."""

    html: str
    episodes: int
    pictures: int
    without: tuple[str, ...]
    """Labels and choices that no labelled episode has a picture of."""


def reference_cards(connection: Connection, store: Store, taxonomy: Taxonomy) -> CardPage:
    """The cards of a taxonomy, with pictures cut from the episodes that people labelled under it.

    Labels that do not hold any more, and proposals that nobody confirmed, are no examples.
    """
    names = labelled_under(connection, taxonomy.hash, holding=True)[-MOST_EPISODES:]
    held = labels_in_force(connection, names)
    examples: dict[CardTopic, list[CardExample]] = defaultdict(list)
    blind: set[str] = set()
    for about, candidates in _by_topic(held).items():
        for labels, segment in candidates:
            if len(examples[about]) == MOST_EXAMPLES:
                break
            shown = {each.episode for each in examples[about]} | blind
            if labels.episode in shown:
                continue
            example = _cut(store, find_episode(connection, labels.episode), labels, segment)
            if example is None:
                blind.add(labels.episode)
            else:
                examples[about].append(example)
    return _page(taxonomy, examples, len(held))


def _by_topic(held: Mapping[str, Labels]) -> dict[CardTopic, list[tuple[Labels, Segment]]]:
    """Confirmed stretches of every label and value, those nearest to their middle length first."""
    found: dict[CardTopic, list[tuple[Labels, Segment]]] = defaultdict(list)
    for labels in held.values():
        for segment in labels.annotation.segments:
            if segment.confirmed:
                found[segment.lane, segment.label].append((labels, segment))
                for attribute, value in segment.attributes.items():
                    if isinstance(value, str):
                        found[f"={attribute}", value].append((labels, segment))
    for about, own in found.items():
        lengths = np.array([segment.end_ns - segment.start_ns for _, segment in own])
        order = np.argsort(np.abs(lengths - np.median(lengths)), kind="stable")
        found[about] = [own[place] for place in order.tolist()]
    return found


def _cut(store: Store, row: EpisodeRow, labels: Labels, segment: Segment) -> CardExample | None:
    """The pictures of a stretch; None where its episode has no camera or cannot be read."""
    try:
        with open_remote(store, row.hash) as episode:
            cameras = Subject(recording_of(episode)).footage
            footage = cameras.get(labels.annotation.reference)
            footage = footage or next(iter(cameras.values()), None)
            if footage is None or not len(footage.time_ns):
                return None
            frames = _frames(footage.time_ns, segment)
            numbers = sorted(set(frames.values()))
            shown = dict(zip(numbers, footage[numbers], strict=True))
            pictures = tuple((caption, _jpeg(shown[number])) for caption, number in frames.items())
    except (CorporealError, OSError):
        return None
    return CardExample(row.id, row.file, segment.start_ns, segment.end_ns, pictures)


def _frames(stamps: np.ndarray, segment: Segment) -> dict[str, int]:
    """The frame before a segment, its first, its middle and its last one."""
    last = len(stamps) - 1
    first = min(int(np.searchsorted(stamps, segment.start_ns)), last)
    stop = min(max(int(np.searchsorted(stamps, segment.end_ns)) - 1, first), last)
    if stop == first:
        return {"the moment": first}
    before = {"before": first - 1} if first else {}
    return before | {"first": first, "middle": (first + stop) // 2, "last": stop}


def _jpeg(picture: np.ndarray) -> bytes:
    image = Image.fromarray(picture)
    image.thumbnail((WIDTH, WIDTH))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=78)
    return data.getvalue()


def _page(
    taxonomy: Taxonomy, examples: Mapping[CardTopic, Sequence[CardExample]], episodes: int
) -> CardPage:
    sections, without = [], []
    for lane in taxonomy.lanes:
        cards = []
        for label in lane.labels:
            own = examples.get((lane.name, label.name), ())
            cards.append(_label_card(label, own))
            without += [] if own else [label.name]
        sections.append(_section(lane.title, cards))
    for title, attribute, choices in _choices(taxonomy, examples):
        cards = []
        for choice in choices:
            own = examples.get((f"={attribute}", choice.name), ())
            cards.append(_choice_card(choice, own))
            without += [] if own else [choice.name]
        sections.append(_section(title, cards))
    shown = sum(len(each.pictures) for own in examples.values() for each in own)
    style = (files("corporeal.labelling.labels") / "reference_card.css").read_text("utf-8")
    guide = f"<p class=guide>{escape(taxonomy.guidelines)}</p>" if taxonomy.guidelines else ""
    html = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>{escape(taxonomy.reference)}: reference cards</title><style>{style}</style>"
        f"<header><h1>{escape(taxonomy.name)} {escape(taxonomy.version)}</h1>"
        f"<p>{escape(taxonomy.description or '')}</p>{guide}"
        f"<p class=small>Pictures from {counted(episodes, 'episode')} labelled under exactly this "
        f"version, {escape(taxonomy.hash[:19])}. A boundary lies on the first frame that fulfils "
        f"the rule; {counted(taxonomy.tolerance_frames, 'frame')} more or less are within the "
        f"tolerance.</p></header>{''.join(sections)}</html>"
    )
    return CardPage(html, episodes, shown, tuple(dict.fromkeys(without)))


def _choices(
    taxonomy: Taxonomy, examples: Mapping[CardTopic, Sequence[CardExample]]
) -> Iterator[tuple[str, str, tuple[AttributeChoice, ...]]]:
    """Grasp types, objects, and what else has choices; objects that people named count as well."""
    yield "Grasp types", "grasp_type", taxonomy.grasp_types
    written = {each.name: each for each in taxonomy.choices("object")}
    named = {value for attribute, value in examples if attribute == "=object"}
    for name in sorted(named - set(written)):
        written[name] = AttributeChoice.model_construct(
            name=name, definition="As annotators called it.", examples=()
        )
    yield "Objects", "object", tuple(written.values())
    for each in taxonomy.attributes:
        if each.choices:
            yield each.name.replace("_", " ").capitalize(), each.name, each.choices
    yield "Failure modes", "failure_mode", taxonomy.failure_modes


def _words(name: str) -> str:
    return escape(name.replace("_", " "))


def _section(title: str, cards: Sequence[str]) -> str:
    return f"<h2>{escape(title)}</h2><main>{''.join(cards)}</main>" if cards else ""


def _label_card(label: LabelDefinition, own: Sequence[CardExample]) -> str:
    key = f"<kbd>{escape(label.key)}</kbd>" if label.key else ""
    rows = []
    for title, rule in (("begins", label.starts), ("ends", label.ends)):
        if rule is not None:
            seen = ", ".join(name.replace("_", " ") for name in rule.events)
            rows.append((title, f"{escape(rule.text)} <em>{escape(seen)}</em>"))
    rows += [("made of", _words(", ".join(label.parts)))] if label.parts else []
    rows += [("must say", _words(", ".join(label.attributes)))] if label.attributes else []
    rows += [("such as", escape(" ".join(label.examples)))] if label.examples else []
    rows += [("not this", escape(" ".join(label.not_this)))] if label.not_this else []
    return _card(f"{_words(label.name)}{key}", label.definition, rows, own)


def _choice_card(choice: AttributeChoice, own: Sequence[CardExample]) -> str:
    rows = [("such as", escape(" ".join(choice.examples)))] if choice.examples else []
    return _card(_words(choice.name), choice.definition, rows, own)


def _card(
    title: str, definition: str, rows: Sequence[tuple[str, str]], own: Sequence[CardExample]
) -> str:
    listed = "".join(f"<dt>{name}<dd>{text}" for name, text in rows)
    strips = "".join(map(_strip, own)) or "<p class=none>No labelled episode shows it yet.</p>"
    return (
        f"<article><h3>{title}</h3><p>{escape(definition)}</p>"
        f"{f'<dl>{listed}</dl>' if listed else ''}{strips}</article>"
    )


def _strip(example: CardExample) -> str:
    pictures = "".join(
        f"<div><img alt='' src='data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}'>"
        f"<span>{caption}</span></div>"
        for caption, jpeg in example.pictures
    )
    when = f"{example.start_ns / 1e9:.3f} s to {example.end_ns / 1e9:.3f} s"
    return f"<figure>{pictures}<figcaption>{escape(example.file)}, {when}</figcaption></figure>"
