"""`corporeal design`: how many episodes a protocol's factors take, and what each plan leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast, get_args

from corporeal.cli.command import Command, option
from corporeal.cli.output import (
    AsJson,
    check_picture,
    console,
    make_table,
    print_json,
    save_picture,
    show_progress,
)
from corporeal.errors import UnknownNameError
from corporeal.protocol import open_protocol
from corporeal.protocol.design import (
    CONFOUNDED,
    KINDS,
    Design,
    DesignError,
    DesignJudgement,
    Kind,
    count_changes,
    draw_designs,
    make_design,
)
from corporeal.words import counted, percent, some_of

_SHOWN = 12
_MOST_LISTED = 200


def design(
    protocol: str,
    kind: Annotated[
        str | None, option(f"One of: {', '.join(KINDS)}; else all of them, side by side.")
    ] = None,
    episodes: Annotated[
        int | None, option("How many episodes; else as many as the design needs.", min=1)
    ] = None,
    seed: Annotated[int, option("Another seed is another plan that is as good.")] = 0,
    picture: Annotated[Path | None, option("Draw which levels meet: .png, .pdf or .svg.")] = None,
    as_json: AsJson = False,
) -> None:
    """Plan which combinations of a protocol's factors to collect, and see what a plan leaves open.

    Without --kind every design is shown: how many episodes it needs, which pairs of levels never
    meet, which factors are confounded, how even the levels are. With --kind its episodes are listed
    in the order to collect them: what is hard to change (change_min) changes least.

    Example: [bold]corporeal design pick_place --kind balanced --episodes 24[/bold]
    """
    if picture is not None:
        check_picture(picture)
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("design", kind, list(KINDS))
    document = open_protocol(protocol)
    kinds = get_args(Kind) if kind is None else (cast(Kind, kind),)
    designs: list[Design] = []
    left_out: dict[str, str] = {}
    with show_progress("designing", len(kinds)) as bar:
        for each in kinds:
            size = None if each == "full" and kind is None else episodes
            try:
                designs.append(make_design(document, each, episodes=size, seed=seed))
            except DesignError as error:
                if kind is not None or not str(error).startswith("the full design"):
                    raise
                left_out[each] = str(error)
            bar.advance()
    if picture is not None:
        save_picture(draw_designs(designs, f"Designs of {document.reference}"), picture)
    if as_json:
        print_json({
            "protocol": {"name": document.reference, "hash": document.hash}, "seed": seed,
            "designs": [_facts(each, has_episodes=kind is not None) for each in designs],
            "left_out": left_out, "picture": picture,
        })  # fmt: skip
        return
    _show(designs, left_out)
    if kind is not None:
        _list(designs[0])
    if picture is not None:
        console().print(f"wrote {picture}", soft_wrap=True, markup=False)
    if kind is None:
        console().print(f"next: corporeal design {protocol} --kind balanced", soft_wrap=True,
                        markup=False)  # fmt: skip
    else:
        console().print(f"next: corporeal campaign create NAME --protocol {protocol} -w FOLDER",
                        soft_wrap=True, markup=False)  # fmt: skip


def _facts(made: Design, *, has_episodes: bool) -> dict[str, Any]:
    told = made.judgement
    facts: dict[str, Any] = {
        "kind": made.kind, "episodes": len(made.rows), "pairs": told.pairs,
        "pairs_missing": told.missing, "triples": told.triples, "balance": told.balance,
        "relations": told.relations, "d_efficiency": told.d_efficiency,
        "few_operators": told.few_operators, "changes": _changes(made),
    }  # fmt: skip
    if has_episodes:
        facts["plan"] = made.episodes
    return facts


def _changes(made: Design) -> dict[str, int]:
    """How often what is hard to change changes when one station collects all of it."""
    return {
        factor.name: count_changes(made.rows, column)
        for column, factor in enumerate(made.space.factors)
        if factor.change_min
    }


def _show(designs: list[Design], left_out: dict[str, str]) -> None:
    titles = ("design", "episodes", "pairs", "triples", "farthest off", "most confounded",
              "D-efficiency")  # fmt: skip
    table = make_table(*titles, right=("episodes", "pairs", "triples", "D-efficiency"))
    for made in designs:
        told = made.judgement
        off, worst = told.worst_balance, told.worst_relation
        table.add_row(
            made.kind, str(len(made.rows)), f"{told.pairs - len(told.missing)} of {told.pairs}",
            "" if told.triples is None else percent(told.triples),
            "" if off is None else f"{off.factor} {off.level} {percent(off.off)}",
            "" if worst is None else f"{worst.first}, {worst.second} {worst.cramers_v:.2f}",
            f"{told.d_efficiency:.2f}",
        )  # fmt: skip
    console().print(table)
    for made in designs:
        for line in _unknown(made.judgement):
            console().print(f"{made.kind}: {line}", soft_wrap=True, markup=False)
        changes = ", ".join(f"{name} {count}" for name, count in _changes(made).items())
        if changes and len(made.rows) <= _MOST_LISTED:
            console().print(f"{made.kind}: changes at one station: {changes}", markup=False)
    for reason in left_out.values():
        console().print(f"! {reason}", style="yellow", soft_wrap=True, markup=False)


def _unknown(told: DesignJudgement) -> Iterator[str]:
    """What episodes leave unknown, in sentences."""
    if told.missing:
        pairs = [f"{each.first_level} with {each.second_level}" for each in told.missing]
        yield f"{counted(len(pairs), 'pair')} too seldom: {some_of(pairs)}"
    for each in told.confounded[:3]:
        why = " (rules make it so)" if each.by_rule else ""
        yield (
            f"{each.first} and {each.second} are confounded: Cramer's V {each.cramers_v:.2f}, "
            f"above {CONFOUNDED:g}{why}"
        )
    if told.few_operators:
        people = [f"{name} {level} ({count})" for name, level, count in told.few_operators]
        yield f"too few operators: {some_of(people)}"
    if not told.d_efficiency:
        yield "some effects cannot be told apart at all"


def _list(made: Design) -> None:
    table = make_table("", *(factor.name for factor in made.space.factors), right=("",))
    shown = made.episodes if len(made.rows) <= _SHOWN else made.episodes[:_SHOWN]
    for number, levels in enumerate(shown, start=1):
        table.add_row(str(number), *(levels[factor.name] for factor in made.space.factors))
    console().print(table)
    if len(made.rows) > _SHOWN:
        console().print(f"and {len(made.rows) - _SHOWN} more; --json has all of them",
                        style="dim")  # fmt: skip


COMMAND = Command(design, panel="Record")
