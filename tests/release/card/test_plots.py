"""The pictures of a card show what is there, and any text from outside."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from tests.catalog.entries import changed, made_entry
from tests.release.card.small_release import entries, facts_of

from corporeal.catalog.episodes import EpisodeEntry
from corporeal.release.card import CardFacts, card_plots
from corporeal.release.card.plots import (
    episodes_over_time,
    label,
    outcomes_of_tasks,
    shares_of_operators,
)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> CardFacts:
    return facts_of(tmp_path_factory.mktemp("plots"))


def _with(made: Sequence[EpisodeEntry], **facts: Sequence[Any]) -> list[EpisodeEntry]:
    return [
        changed(entry, **{name: values[number % len(values)] for name, values in facts.items()})
        for number, entry in enumerate(made)
    ]  # fmt: skip


def _bars(figure: Figure) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


@pytest.mark.slow
def test_there_is_a_picture_of_everything_and_the_same_facts_give_the_same_file(
    facts: CardFacts,
) -> None:
    drawn = card_plots(facts)
    assert list(drawn) == ["episodes.png", "scores.png", "durations.png", "outcomes.png",
                           "operators.png"]  # fmt: skip
    for name, content in drawn.items():
        picture = Image.open(io.BytesIO(content)).convert("RGB")
        assert picture.width == 1280, name
        assert len(picture.getcolors(1 << 24) or ()) > 50, f"{name} is all but empty"
    assert card_plots(facts) == drawn


def test_a_picture_that_would_show_nothing_is_left_out(tmp_path: Path) -> None:
    bare = made_entry(name="e1", facts={"hash": "sha256:1", "bytes": 1, "file": "a.h5"})
    assert card_plots(facts_of(tmp_path, [bare], facts={})) == {}


def test_bars_over_time_add_up_to_all_episodes(facts: CardFacts) -> None:
    figure = episodes_over_time(facts)
    assert figure is not None
    (axis,) = figure.axes
    assert sum(bar.get_height() for bar in _bars(figure)) == facts.episodes
    assert axis.get_title(loc="left") == "Episodes per day"


@pytest.mark.parametrize(
    ("days", "title"), [(300, "per week"), (1500, "per 30 days"), (9000, "per year")]
)
def test_longer_times_have_wider_bars(tmp_path: Path, days: int, title: str) -> None:
    stamps = [1_700_000_000_000_000_000 + day * 86_400 * 10**9 for day in (0, days // 2, days)]
    figure = episodes_over_time(facts_of(tmp_path, _with(entries(9), recorded_ns=stamps)))
    assert figure is not None
    (axis,) = figure.axes
    assert title in axis.get_title(loc="left")
    assert sum(bar.get_height() for bar in _bars(figure)) == 9


def test_outcomes_of_a_task_fill_its_bar(facts: CardFacts) -> None:
    figure = outcomes_of_tasks(facts)
    assert figure is not None
    widths = [bar.get_width() for bar in _bars(figure)]
    assert sum(widths) == pytest.approx(len(facts.tasks))


def test_who_made_too_much_has_another_colour(tmp_path: Path) -> None:
    figure = shares_of_operators(
        facts_of(tmp_path, _with(entries(10), operator=("a", "a", "a", "b", "c")))
    )
    assert figure is not None
    bars = _bars(figure)
    assert bars[0].get_facecolor() != bars[1].get_facecolor()
    assert bars[1].get_facecolor() == bars[2].get_facecolor()


@pytest.mark.slow
def test_any_name_of_a_task_can_be_drawn(tmp_path: Path) -> None:
    names = [r"$\frac{", "拿起杯子", "x" * 500, "\x07\n\u202e", "$$", "<b>", "🤖", "a", "b"]
    drawn = card_plots(facts_of(tmp_path, _with(entries(18), task=names)))
    assert len(drawn) == 5


def test_a_label_is_short_and_no_formula() -> None:
    assert label("pick_place") == "pick place"
    assert label("$x$") == r"\$x\$"
    assert label("\n\x00") == "??"
    assert len(label("x" * 100)) < 30
