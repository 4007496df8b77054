"""The card is read by people: complete, and harmless whatever episodes call themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.catalog.entries import changed, made_entry
from tests.release.card.small_release import FACTS, PEOPLE, entries, facts_of

from corporeal.release.card import CardFacts, render_card
from corporeal.release.card.wording import code, one_line, plain

PICTURES = ("episodes.png", "scores.png", "durations.png", "outcomes.png", "operators.png")
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "a | b | c |\n| --- |\n# head\n\n- list",
    "`` ` ``` code",
    "---\nlicense: mit\n---",
    "https://evil.example www.evil.example",
    "*bold* _it_ ~~gone~~ **b** &lt;b&gt; \\<b>",
    "right\u202eto left\u0000\u200b",
    "x" * 5000,
    "1. list",
    "'; rm -rf ~; echo '",
)


def _tokens(text: str) -> list[Token]:
    _, _, body = text.removeprefix("---\n").partition("\n---\n")
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(body)
    return [each for token in parsed for each in (token, *(token.children or ()))]


def _head(text: str) -> dict[str, Any]:
    head: dict[str, Any] = yaml.safe_load(text.removeprefix("---\n").partition("\n---\n")[0])
    return head


def _hostile(facts: CardFacts, text: str) -> CardFacts:
    """Every text of the facts that comes from outside is this one."""
    shares: dict[str, Any] = {
        name: tuple(replace(each, name=text) for each in getattr(facts, name))
        for name in ("robots", "stations", "environments", "modes", "software", "splits",
                     "verdicts", "failures")
    }  # fmt: skip
    return replace(
        facts,
        condition=text,
        stated={"licence": text, "description": text, "notes": text,
                "representativeness": {"words": text, "properties": [{"property": text,
                                                                      "judgement": text}]}},
        tasks=tuple(replace(each, name=text, instructions=(text,)) for each in facts.tasks),
        streams=tuple(replace(each, path=text, unit=text, frame=text, kind=text, shape=(text,))
                      for each in facts.streams[:2]),
        documents=tuple(replace(each, name=text, kind=text, hash=text)
                        for each in facts.documents),
        findings=tuple(replace(each, check=text) for each in facts.findings),
        **shares,
    )  # fmt: skip


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> CardFacts:
    return facts_of(tmp_path_factory.mktemp("card"))


def test_the_card_says_what_is_in_the_release(facts: CardFacts) -> None:
    card = render_card(facts, pictures=PICTURES)
    for said in (
        "240 episodes", "`pick_place`", "Put the red cup on the tray.", "`train`", "Gap in stream",
        "observations/joint_position", "rad/s", facts.manifest, "CC-BY-4.0",
        "teleop_humanoid@1.0.0", "corporeal release verify kitchen@1.2.0",
        "The splits differ in operator.",
        "60 episodes (25 %) without a stated environment", "2026-08-31",
        "left out, though they met the condition: 7 quarantined",
    ):  # fmt: skip
        assert said in card, said
    for name in PICTURES:
        assert f"](plots/{name})" in card


def test_a_release_without_a_condition_says_so(facts: CardFacts) -> None:
    assert "of all episodes that were fit" in render_card(replace(facts, condition=""))


def test_a_picture_that_is_not_there_is_not_shown(facts: CardFacts) -> None:
    assert ".png" not in render_card(facts)


def test_the_front_matter_is_what_a_hub_reads(facts: CardFacts) -> None:
    head = _head(render_card(facts))
    assert head["license"] == "cc-by-4.0"
    assert head["task_categories"] == ["robotics"]
    assert head["size_categories"] == ["n<1K"]
    assert {"LeRobot", "g1", "h1"} <= set(head["tags"])


def test_a_licence_of_ones_own_is_told_as_such_and_none_is_left_out(facts: CardFacts) -> None:
    own = replace(facts, stated={"licence": "Our House Licence 2"})
    assert _head(render_card(own))["license"] == "other"
    assert _head(render_card(own))["license_name"] == "Our House Licence 2"
    none = render_card(replace(facts, stated={}))
    assert "license" not in _head(none)
    assert "No licence is stated" in none


def test_a_card_names_nobody(facts: CardFacts) -> None:
    card = render_card(facts, pictures=PICTURES)
    # A name of three letters is part of many words.
    assert not [name for name in PEOPLE if name in card and len(name) > 3]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_from_outside_does_nothing(facts: CardFacts, text: str) -> None:
    wild = render_card(_hostile(facts, text), pictures=PICTURES)
    tame = _tokens(render_card(_hostile(facts, "word"), pictures=PICTURES))
    kinds = ("html_block", "html_inline", "link_open", "image", "em_open", "table_open", "hr",
             "heading_open", "fence", "list_item_open", "th_open", "td_open", "s_open")  # fmt: skip
    found = _tokens(wild)
    assert {kind: sum(each.type == kind for each in found) for kind in kinds} == {
        kind: sum(each.type == kind for each in tame) for kind in kinds
    }
    assert _head(wild)["license"] == "other"
    assert "\u202e" not in wild
    assert "\u0000" not in wild
    assert len(wild) < 100_000


def test_a_command_that_people_paste_runs_nothing_else(facts: CardFacts) -> None:
    card = render_card(replace(facts, name="x; rm -rf ~", version="1.0.0"))
    assert "corporeal release verify 'x; rm -rf ~@1.0.0'" in card
    assert "--out x-rm--rf" in card


def test_a_release_that_says_nothing_has_a_card(tmp_path: Path) -> None:
    bare = made_entry(name="e1", facts={"hash": "sha256:1", "bytes": 1, "file": "a.h5"})
    card = render_card(facts_of(tmp_path, [bare], facts={}))
    assert "1 episodes" not in card
    assert "at times that are not stated" in card


def test_a_report_on_the_splits_may_be_anything(facts: CardFacts) -> None:
    reports: list[Any] = [None, [], "alike", {"properties": 3}, {"properties": [1, {}]}]
    for report in reports:
        render_card(replace(facts, stated={**FACTS, "representativeness": report}))


def test_many_tasks_are_cut_short_and_told(tmp_path: Path) -> None:
    made = [changed(entry, task=f"task_{number}")
            for number, entry in enumerate(entries(60))]  # fmt: skip
    card = render_card(facts_of(tmp_path, made))
    assert "and 20 more." in card


def test_plain_words_stay_as_they_are() -> None:
    assert plain("Put the red cup on tray 3, slowly (twice).") == (
        "Put the red cup on tray 3, slowly (twice)."
    )
    assert plain("pick_place") == "pick_place"
    assert code("a`b") == "`a'b`"
    assert one_line("a\r\n\tb\u2028c") == "a b c"
