"""`corporeal shifts`: who works when, where and on what."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import (
    AsJson,
    check_picture,
    console,
    make_table,
    print_json,
    save_picture,
    show_progress,
)
from corporeal.cli.workspaces import read_catalog
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.operations.shifts import (
    Fixture,
    Roster,
    ShiftPlan,
    explain_missing,
    fill_roster,
    find_breaches,
    find_remedies,
    list_strangers,
    measure_balance,
    plan_shifts,
    plot_plan,
)
from corporeal.words import counted


def shifts(
    roster: Annotated[Path, argument("The roster document.", "ROSTER")],
    out: Annotated[
        Path | None, option("File for the plan, to plan on from; .json.", "--out", "-o")
    ] = None,
    picture: Annotated[
        Path | None, option("Picture of the plan: .png, .pdf or .svg.", "--picture")
    ] = None,
    plan: Annotated[
        Path | None, option("A plan made before: as little of it as can be is changed.", "--plan")
    ] = None,
    ill: Annotated[
        list[str] | None, option("NAME:DATE, who cannot come on a day; repeat.", "--ill")
    ] = None,
    start: Annotated[
        datetime | None,
        option(
            "What began before stays as it was; by default the first day.",
            "--from",
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"],
        ),
    ] = None,
    from_workspace: Annotated[
        Path | None,
        option(
            "A workspace whose certificates and campaigns decide who may do what, and what is "
            "wanted."
        ),
    ] = None,
    seconds: Annotated[float, option("How long to look for a better plan.", min=1, max=3600)] = 30,
    seed: Annotated[int, option("The same seed and time give plans alike.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Plan the shifts of a floor so that no rule of its roster is broken.

    Certificates, breaks, four hours at most, closed stations and shares of people always hold;
    hours that cannot be had are named with the reason and with what would help. Exit 1 then.

    Example: [bold]corporeal shifts week.yaml --out week.json --picture week.png[/bold]

    When somebody is ill: [bold]corporeal shifts week.yaml --plan week.json --ill anna:2026-11-25
    --from 2026-11-25[/bold]
    """  # fmt: skip
    if picture is not None:
        check_picture(picture)
    document = Roster.load(roster)
    taken: tuple[str, ...] = ()
    if from_workspace is not None:
        with read_catalog(from_workspace, "judge") as connection:
            document, taken = fill_roster(connection, document)
    keep = _fixture(document, plan, ill or [], start)
    with show_progress("planning", counted=False):
        made = plan_shifts(document, seconds=seconds, seed=seed, keep=keep)
        reasons = list(explain_missing(document, made))
        remedies = find_remedies(document, made, seconds=max(1.0, seconds / 6), keep=keep) \
            if made.missing else []  # fmt: skip
    # What was worked cannot be mended any more, and is no fault of the new plan.
    known = set() if keep is None else set(find_breaches(document, keep.plan))
    broken = [words for words in find_breaches(document, made, shares=keep is None)
              if words not in known]  # fmt: skip
    if broken:
        raise CorporealError(f"{roster}: the plan breaks a rule: {broken[0]}. Nothing was written.")
    if out is not None:
        made.save(out, document)
    if picture is not None:
        save_picture(plot_plan(document, made), picture)
    if as_json:
        print_json(made.as_json(document) | {
            "balance": asdict(measure_balance(document, made)),
            "from_workspace": taken, "reasons": reasons,
            "remedies": [asdict(remedy) for remedy in remedies],
        })  # fmt: skip
    else:
        for words in taken:
            console().print(words, style="dim", markup=False)
        _show(document, made)
        if keep is not None:
            console().print(_changed(keep, made))
        for words in reasons:
            console().print(words, style="yellow")
        if remedies:
            page = console()
            page.print("one of these would help:")
            for remedy in remedies[:5]:
                left = f"{remedy.missing_h:g} h missing" if remedy.missing_h else "nothing missing"
                page.print(f"  {remedy.change}: {left}")
        _next(roster, out, picture)
    if made.missing:
        raise typer.Exit(1)


def _fixture(
    roster: Roster, plan: Path | None, ill: list[str], start: datetime | None
) -> Fixture | None:
    if plan is None:
        if ill or start is not None:
            raise CorporealError(
                "--ill and --from, got no --plan; expected the plan that is to be changed. "
                "Give what --out wrote."
            )
        return None
    away = set()
    names = [person.name for person in roster.people]
    for text in ill:
        name, _, day = text.partition(":")
        if name not in names:
            raise UnknownNameError("person", name, names)
        try:
            away.add((name, date.fromisoformat(day)))
        except ValueError:
            raise CorporealError(
                f"--ill, got {text!r}; expected NAME:DATE, such as {names[0]}:{roster.first_day}."
            ) from None
    begin = start or datetime.combine(roster.first_day, roster.opens)
    slot = sum(first < begin.time() for first, _ in roster.slots)
    before = ShiftPlan.read(plan)
    for duty in list_strangers(roster, before)[:1]:
        raise CorporealError(
            f"{plan}, got {duty.person} at {duty.station} on {duty.day}; expected people, stations "
            f"and times of {roster.reference}. Plan anew without --plan."
        )
    return Fixture(before, begin.date(), slot, frozenset(away))


def _show(roster: Roster, plan: ShiftPlan) -> None:
    page = console()
    for day in roster.dates:
        page.print(f"{day:%A %d %B}", style="bold")
        table = make_table("time", "station", "who", "task", "breaks at")
        for stretch in plan.stretches(roster):
            if stretch.day == day:
                table.add_row(f"{stretch.begins} to {stretch.ends}", stretch.station,
                              stretch.person, stretch.task, ", ".join(stretch.breaks))  # fmt: skip
        page.print(table if table.row_count else "nobody works")
    page.print(_tasks(roster, plan))
    balance = measure_balance(roster, plan)
    page.print(
        f"people work {balance.least_h:g} to {balance.most_h:g} h; how far the time of day follows "
        f"the task {balance.task_and_half:.2f}, the person {balance.person_and_half:.2f} "
        "(Cramer's V: 0 not at all, 1 wholly)"
    )
    rules = roster.rules
    page.print(f"a break of {rules.break_min} min after every {rules.work_min} min of work")
    if not plan.proved:
        page.print("the time was up: a better plan may exist", style="dim")


def _changed(keep: Fixture, made: ShiftPlan) -> str:
    """Who has to be asked, in one line."""
    ill = {name for name, _ in keep.away}
    people = sorted({duty.person for duty in {*keep.plan.duties} ^ {*made.duties}} - ill)
    if not people:
        return "nobody else's duties change"
    return f"{counted(len(people), 'person', 'people')} to ask: {', '.join(people)}"


def _tasks(roster: Roster, plan: ShiftPlan) -> Table:
    table = make_table("task", "wanted h", "planned h", "people", right=("wanted h", "planned h",
                                                                          "people"))  # fmt: skip
    for wanted in roster.wanted:
        people = {duty.person for duty in plan.duties if duty.task == wanted.task}
        table.add_row(wanted.task, f"{wanted.slots:g}", f"{plan.hours(roster, task=wanted.task):g}",
                      str(len(people)))  # fmt: skip
    return table


def _next(roster: Path, out: Path | None, picture: Path | None) -> None:
    for path in (out, picture):
        if path is not None:
            console().print(f"written: {path}")
    if out is not None:
        console().print(f"when somebody is ill: corporeal shifts {roster} --plan {out} "
                        "--ill NAME:DATE --from DATE")  # fmt: skip
    else:
        console().print("next: --out week.json keeps the plan, --picture week.png draws it")


COMMAND = Command(shifts, panel="People")
