"""Choosing: shares per task, reasons, weights, and nothing that names or clocks decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.curation.pools import cut, pool_of, reach

from corporeal.curation.choice import curate
from corporeal.curation.comparison import compare_selections
from corporeal.curation.pool import Demonstration
from corporeal.curation.report import render
from corporeal.curation.selection import CurationSelection
from corporeal.curation.summary import summarise
from corporeal.errors import CorporealError, UnknownNameError


def mixed(count: int = 12) -> list[Demonstration]:
    return [
        replace(reach(seed, seconds=3.0 + seed % 4), verdict="accepted", total=(seed % 7) / 7,
                success=seed % 5 > 0, traits={"operator": f"op{seed % 3}", "object": "cup"})
        for seed in range(count)
    ]  # fmt: skip


def test_of_every_task_the_share_is_kept() -> None:
    walks = [replace(each, id=f"w{each.id}", digest=f"w{each.digest}", task="walk")
             for each in mixed(6)]  # fmt: skip
    choice = curate(pool_of(*mixed(12), *walks), ["quality"], keep=0.5)
    tasks = [choice.pool.episodes[n].task for n in np.flatnonzero(choice.kept)]
    assert (tasks.count("reach"), tasks.count("walk")) == (6, 3)


def test_tasks_of_few_compete_with_each_other() -> None:
    episodes = [replace(each, task=f"worded {n}") for n, each in enumerate(mixed(9))]
    assert curate(pool_of(*episodes), ["quality"], keep=0.33).kept.sum() == 3


@pytest.mark.parametrize("by", [["duplicates", "quality"], ["random"], ["deminf", "consistency"],
                                ["random_of_length"], ["success"], ["diversity"]])  # fmt: skip
def test_other_names_ids_and_clocks_choose_the_same(by: list[str]) -> None:
    plain = [*mixed(12), cut(mixed(12)[3], 9, 0)]
    renamed = [
        replace(each, id=f"z{97 - n}", source=f"x{n}.h5", index=50 - n)
        for n, each in enumerate(plain)
    ]
    first = curate(pool_of(*plain), by, keep=0.4)
    second = curate(pool_of(*reversed(renamed)), by, keep=0.4)
    kept = [
        {each.digest for each, kept in zip(choice.pool.episodes, choice.kept, strict=True) if kept}
        for choice in (first, second)
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) >= 4


def test_weighted_leaves_nothing_out_but_what_was_dropped() -> None:
    bad = replace(reach(40), verdict="failed", findings=("Nothing moves",))
    choice = curate(pool_of(*mixed(10), bad), ["quality"], keep=0.3, weighted=True)
    weights = dict(zip((each.id for each in choice.pool.episodes), choice.weights, strict=True))
    assert weights.pop(bad.id) == 0
    assert min(weights.values()) > 0
    assert np.mean(list(weights.values())) == pytest.approx(1)
    assert len(set(weights.values())) > 3


def test_a_selection_says_why_of_everything_and_reads_back() -> None:
    copied = cut(mixed(12)[3], 9, 0)
    choice = curate(pool_of(*mixed(12), copied), ["duplicates", "quality", "qoq"], keep=0.4)
    made = choice.to_selection("third", "1.0.0", of="a folder")
    again = CurationSelection.parse(made.canonical(), suffix=".json")
    assert again.hash == made.hash
    assert "trusted" in made.refused["qoq"]
    assert all(each.reason for each in made.episodes.values())
    copies = [each for each in made.episodes.values() if each.copy_of]
    assert len(copies) == 1
    assert copies[0].weight == 0
    kept = [made.episodes[name].weight for name in made.kept]
    assert np.mean(kept) == pytest.approx(1, abs=1e-5)


def test_two_selections_are_told_apart_by_what_they_keep() -> None:
    pool = pool_of(*mixed(12))
    one = curate(pool, ["shortest"], keep=0.5).to_selection("a", "1.0.0", of="x")
    other = curate(pool, ["quality"], keep=0.5).to_selection("b", "1.0.0", of="x")
    difference = compare_selections(one, other)
    assert len(difference.both) + len(difference.added) == 6
    assert 0 < difference.likeness < 1
    assert compare_selections(one, one).likeness == 1


def test_the_summary_has_every_baseline_at_the_same_size() -> None:
    choice = curate(pool_of(*mixed(12)), ["quality"], keep=0.5)
    summary = summarise(choice)
    sizes = {each.name: each.episodes for each in summary.sets}
    assert sizes["all"] == 12
    assert {sizes[name] for name in sizes if name != "all"} == {6}
    assert {"random", "shortest", "success", "random, as long as the chosen"} <= sizes.keys()
    assert {each.trait for each in summary.groups} == {"task", "operator", "object"}
    assert summary.reasons == (("others of its task rank higher", 6),)
    hidden = summarise(choice, hidden=("operator",))
    assert {each.trait for each in hidden.groups} == {"task", "object"}


def test_the_page_has_reasons_and_nothing_of_a_name_as_markup() -> None:
    nasty = replace(reach(1), source="<script>alert(1)</script>.h5")
    choice = curate(pool_of(nasty, *mixed(8)), ["duplicates", "quality"], keep=0.5)
    page = render(choice, summarise(choice), of="x & y", pictures={0: b"jpeg"})
    assert "<script>alert" not in page
    assert "x &amp; y" in page
    assert "groups of copies 1" in page
    assert "others of its task rank higher" in page


def test_what_cannot_be_chosen_by_is_said() -> None:
    pool = pool_of(*mixed(6))
    with pytest.raises(UnknownNameError, match="quality"):
        curate(pool, ["qualty"], keep=0.5)
    with pytest.raises(CorporealError, match="no method can judge"):
        curate(pool, ["influence"], keep=0.5)
    with pytest.raises(CorporealError, match="above 0"):
        curate(pool, ["random"], keep=0.0)
    with pytest.raises(CorporealError, match="got none"):
        pool_of()
