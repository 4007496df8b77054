"""How taxonomies, queues, coverage and agreement look on a screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from corporeal.cli.output import console, emphasise, make_table
from corporeal.labelling.agreement import AgreementReport, BoundaryFigures
from corporeal.labelling.labels import LabelCoverage
from corporeal.labelling.queues import QueueProgress
from corporeal.labelling.review import Happening, Impact
from corporeal.labelling.tasks import LabelTask
from corporeal.labelling.taxonomy import Taxonomy

_MOST = 50


def print_taxonomy(taxonomy: Taxonomy) -> None:
    """Lanes and labels with the rules that decide their boundaries."""
    page = console()
    page.print(emphasise(taxonomy.reference, f" {taxonomy.hash}"))
    page.print(Text(taxonomy.description or ""))
    for lane in taxonomy.lanes:
        kind = f"{lane.kind}, without gaps" if lane.tiles else lane.kind
        page.print(emphasise(f"\n{lane.title}", f" ({lane.name}: {kind})"))
        table = make_table("label", "key", "definition", "begins at", "rule", "must say")
        for label in lane.labels:
            rule = label.starts
            table.add_row(label.name, label.key or "", Text(label.definition),
                          ", ".join(rule.events) if rule else "", Text(rule.text if rule else ""),
                          ", ".join(label.attributes))  # fmt: skip
        page.print(table)
    for title, choices in (("grasp types", taxonomy.grasp_types),
                           ("failure modes", taxonomy.failure_modes)):  # fmt: skip
        if choices:
            page.print(f"\n{title}: {', '.join(choice.name for choice in choices)}")
    page.print("\nnext: corporeal annotate propose QUERY --taxonomy NAME")


def print_impact(before: Taxonomy, after: Taxonomy, found: Impact) -> None:
    """What a new version touches, one line each."""
    page = console()
    if found.is_empty:
        page.print(f"{after.reference} touches no label of {before.reference}")
        return
    page.print(f"{after.reference} touches labels of {before.reference}:")
    for (lane, label), why in found.labels.items():
        page.print(Text(f"  {lane}/{label} {why}"))
    for (name, value), why in found.attributes.items():
        page.print(Text(f"  {name} {value} {why}"))
    for why in found.requirements.values():
        page.print(Text(f"  {why}"))
    page.print("next: corporeal annotate requeue OLD NEW")


def plain_impact(found: Impact) -> dict[str, Any]:
    """An impact as JSON has it."""
    return {
        "labels": {f"{lane}/{label}": why for (lane, label), why in found.labels.items()},
        "attributes": {f"{name}={value}": why for (name, value), why in found.attributes.items()},
        "requirements": dict(found.requirements),
    }


def print_queues(found: Sequence[QueueProgress], held: Sequence[LabelTask]) -> None:
    """How far queues are, and the tasks of one."""
    page = console()
    states = ("open", "working", "submitted", "returned")
    table = make_table("queue", "done", *states, "hours", "people")
    for each in found:
        people = ", ".join(f"{who} {count}" for who, count in sorted(each.people.items()))
        table.add_row(each.queue, f"{each.done} of {each.total}",
                      *(str(each.states.get(state, 0)) for state in states),
                      f"{each.seconds / 3600:.1f}", people)  # fmt: skip
    page.print(table)
    if held:
        rows = make_table("task", "episode", "kind", "state", "with", "edits", "minutes", "pair")
        for task in held[:_MOST]:
            rows.add_row(task.id, task.episode, task.kind, task.state, task.assigned_to or "",
                         str(task.version), f"{task.seconds / 60:.1f}",
                         (task.pair or "")[:8])  # fmt: skip
        page.print(rows)
        if len(held) > _MOST:
            page.print(f"and {len(held) - _MOST} more: --json lists all")
    if any(each.states.get("submitted") for each in found):
        page.print("next: a lead accepts what is submitted: corporeal annotate accept TASK")


def print_coverage(
    found: LabelCoverage, people: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]
) -> None:
    """Which episodes are annotated, what the others lack, by their numbers; who has qualified."""
    page = console()
    total = len(found.annotated) + len(found.missing)
    page.print(
        f"{len(found.annotated)} of {total} episodes are annotated ({100 * found.share:.0f} %), "
        f"{len(found.machine)} of them by a machine alone",
        style="" if found.missing else "green",
    )
    for name, why in found.missing[:_MOST]:
        page.print(Text(f"#{numbers[name]}: {why}" if name in numbers else f"{name}: {why}"))
    if len(found.missing) > _MOST:
        page.print(f"and {len(found.missing) - _MOST} more")
    for each in people:
        word = "qualified" if each["passed"] else "not qualified"
        page.print(f"{each['account']}: {word} for {each['taxonomy']}")
    if found.missing:
        page.print("next: corporeal annotate propose QUERY, then corporeal studio")


def print_agreement(found: AgreementReport) -> None:
    """The three gates, people, rules, and what to look into."""
    page = console()
    told = found.summary
    if not told.episodes:
        page.print(f"{found.taxonomy}: nobody has done the same episode as another yet")
        page.print("next: corporeal annotate propose QUERY --double 0.1")
        return
    page.print(emphasise(found.taxonomy, f": {told.episodes} episodes by two people each"))
    low, high = told.hit_rate_bounds
    page.print(
        f"edit score {_number(told.edit_score)}; {told.boundaries} boundaries differ by "
        f"{_number(told.mean_difference_frames)} frames, {100 * told.hit_rate:.0f} % "
        f"({100 * low:.0f} to {100 * high:.0f} %) within the tolerance"
    )
    kappas = ", ".join(f"{name} {_number(value)}" for name, value in told.kappa.items())
    page.print(f"kappa: {kappas}")
    page.print(_boundary_table("annotator", found.annotators))
    page.print(_boundary_table("rule", found.rules))
    anchored = found.anchoring
    if anchored.with_boundaries and anchored.without_boundaries:
        page.print(f"from the proposal: {_number(anchored.with_frames)} frames when it was shown, "
                   f"{_number(anchored.without_frames)} when not")  # fmt: skip
    for each in found.alerts:
        page.print(Text(f"alert: {each}", style="yellow"))
    if told.is_good:
        page.print("every gate is passed", style="green")


def print_history(lines: Sequence[Happening]) -> None:
    """What happened, one line each."""
    if not lines:
        console().print("nothing has happened to its labels; next: corporeal annotate propose")
        return
    table = make_table("at", "who", "what", "why", "task")
    for each in lines:
        table.add_row(each.at[:19], each.who, each.what, Text(each.why or ""), each.task or "")
    console().print(table)


def _boundary_table(title: str, given: Mapping[str, BoundaryFigures]) -> Table:
    table = make_table(title, "boundaries", "mean", "bias", "spread", "within")
    for name, each in given.items():
        within = "-" if math.isnan(each.hit_rate) else f"{100 * each.hit_rate:.0f} %"
        table.add_row(name, str(each.boundaries), _number(each.mean_frames),
                      _number(each.bias_frames, sign=True), _number(each.spread_frames),
                      within)  # fmt: skip
    return table


def _number(value: float, *, sign: bool = False) -> str:
    return "-" if math.isnan(value) else f"{value:+.2f}" if sign else f"{value:.2f}"
