"""Reference cards: every label with its rule, and pictures of a workspace's own episodes."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import numpy as np
from PIL import Image
from sqlalchemy import Connection

from corporeal.catalog.episodes import find_episode
from corporeal.catalog.store import Store, open_remote
from corporeal.labelling.labels.card_example import (
    CardExample,
    CardExamples,
    CardTopic,
    card_examples,
)
from corporeal.labelling.taxonomy import AttributeChoice, LabelDefinition, Taxonomy
from corporeal.words import counted

WIDTH = 240


@dataclass(frozen=True)
class CardPage:
    """The cards of a taxonomy as one HTML page, and what they could not show."""

    html: str
    episodes: int
    pictures: int
    without: tuple[str, ...]
    """Labels and choices that no labelled episode has a picture of."""


@dataclass(frozen=True)
class _CutExample:
    """An example and its pictures: caption and JPEG."""

    about: CardExample
    pictures: tuple[tuple[str, bytes], ...]


def reference_cards(connection: Connection, store: Store, taxonomy: Taxonomy) -> CardPage:
    """The cards of a taxonomy, with pictures cut from the episodes that people labelled under it.

    Labels that do not hold any more, and proposals that nobody confirmed, are no examples.
    """
    found = card_examples(connection, lambda row: open_remote(store, row.hash), taxonomy)
    return _page(taxonomy, _cut(connection, store, found), found.episodes)


def _cut(
    connection: Connection, store: Store, found: CardExamples
) -> dict[CardTopic, list[_CutExample]]:
    """The examples with their pictures."""
    made: dict[CardTopic, list[_CutExample]] = {}
    for about, own in found.by_topic.items():
        for each in own:
            row = find_episode(connection, each.episode)
            with open_remote(store, row.hash) as episode:
                camera = episode[each.stream]
                cut = tuple((one.caption, _jpeg(camera[one.frame])) for one in each.pictures)
            made.setdefault(about, []).append(_CutExample(each, cut))
    return made


def _jpeg(picture: np.ndarray) -> bytes:
    image = Image.fromarray(picture)
    image.thumbnail((WIDTH, WIDTH))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=78)
    return data.getvalue()


def _page(
    taxonomy: Taxonomy, examples: Mapping[CardTopic, Sequence[_CutExample]], episodes: int
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
    taxonomy: Taxonomy, examples: Mapping[CardTopic, Sequence[_CutExample]]
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


def _label_card(label: LabelDefinition, own: Sequence[_CutExample]) -> str:
    # The workbench keeps O for the object and gives such a label another letter.
    key = f"<kbd>{escape(label.key)}</kbd>" if label.key and label.key != "o" else ""
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


def _choice_card(choice: AttributeChoice, own: Sequence[_CutExample]) -> str:
    rows = [("such as", escape(" ".join(choice.examples)))] if choice.examples else []
    return _card(_words(choice.name), choice.definition, rows, own)


def _card(
    title: str, definition: str, rows: Sequence[tuple[str, str]], own: Sequence[_CutExample]
) -> str:
    listed = "".join(f"<dt>{name}<dd>{text}" for name, text in rows)
    strips = "".join(map(_strip, own)) or "<p class=none>No labelled episode shows it yet.</p>"
    return (
        f"<article><h3>{title}</h3><p>{escape(definition)}</p>"
        f"{f'<dl>{listed}</dl>' if listed else ''}{strips}</article>"
    )


def _strip(example: _CutExample) -> str:
    pictures = "".join(
        f"<div><img alt='' src='data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}'>"
        f"<span>{caption}</span></div>"
        for caption, jpeg in example.pictures
    )
    said = example.about
    when = f"{said.start_ns / 1e9:.3f} s to {said.end_ns / 1e9:.3f} s"
    return f"<figure>{pictures}<figcaption>{escape(said.file)}, {when}</figcaption></figure>"
