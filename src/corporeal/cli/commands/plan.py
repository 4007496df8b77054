"""`corporeal plan`: what more data would be worth, by a team's own evaluations."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, console, make_table, print_json, stderr
from corporeal.curation.planning import EvaluationCount, best_purchase, fit_growth
from corporeal.errors import CorporealError
from corporeal.words import percent

_COLUMNS = ("environments", "successes", "trials")
_MOST_ROWS, _MOST_BYTES = 10_000, 1 << 20


def plan(
    table: Annotated[
        Path, argument("A CSV with the columns environments, successes, trials: a row a training.")
    ],
    at: Annotated[
        list[int] | None, option("Say the success at so many environments; repeatable.", min=1)
    ] = None,
    target: Annotated[
        float | None, option("Say how many environments this success takes.", min=0.01, max=0.999)
    ] = None,
    cost: Annotated[float, option("What one more environment costs, in any currency.")] = 0.0,
    seed: Annotated[int, option("Another seed draws other walkers.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Say what more environments would be worth, with bounds that hold nine times of ten.

    Exit 1 where the evaluations cannot carry a forecast; the sentence says what is missing.

    Example: [bold]corporeal plan evaluations.csv --target 0.9[/bold]
    """
    counts = _read(table)
    fit = fit_growth(counts, seed=seed)
    most = max(each.environments for each in counts)
    asked = sorted(set(at or (most, 2 * most, 4 * most)))
    forecasts = [fit.forecast(number) for number in asked]
    needed = None if target is None else fit.needed(target)
    purchase = best_purchase(fit, most, environment_cost=cost)
    if as_json:
        print_json({
            "refusal": fit.refusal or None, "environments": most,
            "forecasts": forecasts,
            "needed": None if needed is None else dict(
                zip(("low", "middle", "high", "unreachable"), needed, strict=True)),
            "next_environment": purchase,
        })  # fmt: skip
    elif fit.refusal:
        stderr().print(
            f"{table} cannot say what more would be worth: {fit.refusal}", style="yellow"
        )
    else:
        rows = make_table("environments", "success", "nine times of ten")
        for each in forecasts:
            rows.add_row(f"{each.environments:,}", percent(each.middle),
                         f"{percent(each.low)} to {percent(each.high)}")  # fmt: skip
        console().print(rows)
        console().print(f"one more than {most} environments adds {100 * purchase['gain']:.2f} "
                        f"points ({100 * purchase['gain_low']:.2f} to "
                        f"{100 * purchase['gain_high']:.2f})"
                        + (f", {cost / max(100 * purchase['gain'], 1e-9):,.0f} a point"
                           if cost else ""))  # fmt: skip
        if needed is not None and target is not None:
            console().print(_needed_words(target, needed))
    raise typer.Exit(1 if fit.refusal else 0)


def _needed_words(target: float, needed: tuple[float, float, float, float]) -> str:
    low, middle, high, unreachable = needed
    shown = [f"{value:,.0f}" if value < 1e6 else "more than a million"
             for value in (middle, low, high)]  # fmt: skip
    words = f"{percent(target)} takes {shown[0]} environments ({shown[1]} to {shown[2]})"
    if unreachable >= 0.01:
        words += f"; with a chance of {percent(unreachable)} no number of them is enough"
    return words


def _read(table: Path) -> list[EvaluationCount]:
    if not table.is_file():
        raise CorporealError(f"{table} does not exist; expected a CSV of evaluations.")
    if table.stat().st_size > _MOST_BYTES:
        raise CorporealError(f"{table}, got more than {_MOST_BYTES >> 20} MB; expected a row for "
                             "each training. Count the trials together.")  # fmt: skip
    try:
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorporealError(f"{table} is no CSV: {error}; expected text with commas.") from None
    missing = [name for name in _COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise CorporealError(f"{table}: no column {missing[0]!r}; expected {', '.join(_COLUMNS)}.")
    if len(rows) > _MOST_ROWS:
        raise CorporealError(f"{table}, got {len(rows)} rows; expected {_MOST_ROWS} at most.")
    counts = []
    for number, row in enumerate(rows, 2):
        try:
            counts.append(EvaluationCount(*(int(row[name]) for name in _COLUMNS)))
        except (TypeError, ValueError):
            raise CorporealError(
                f"{table}: line {number}, got {[row[name] for name in _COLUMNS]}; expected whole "
                "numbers."
            ) from None
    return counts


COMMAND = Command(plan, panel="Curate")
