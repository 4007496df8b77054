"""Random faults in every part of the house, and the worst loss in each.

Run: python -m bench.faults --subject all --count 250 --out out/faults.jsonl
     python -m bench.faults --subject recorder --count 50 --json
     python -m bench.faults --count 0 --out out/faults.jsonl --page docs/guides/recording.md

A subject is a module of this package with a constant SUBJECT. Every outcome is a line of `--out`
as soon as it is known; the same command goes on where an interrupted one stopped. Everything runs
on this machine, and only processes that a subject started itself are killed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from rich.console import Console
from rich.table import Table

from bench import faults
from bench.faults.outcome import Outcome, Subject

_MOST = 20
BEGIN, END = "<!-- bench.faults -->", "<!-- /bench.faults -->"


@dataclass(frozen=True)
class Tally:
    """All faults of one kind: how many, how many broke a promise, and the longest loss."""

    subject: str
    kind: str
    tried: int
    broken: int
    worst_loss_ms: float | None


def subjects() -> dict[str, Subject]:
    """Every subject by its name."""
    names = [module.name for module in iter_modules(faults.__path__) if module.name != "__main__"]
    modules = [import_module(f"{faults.__name__}.{name}") for name in names]
    made = [module.SUBJECT for module in modules if hasattr(module, "SUBJECT")]
    return {subject.name: subject for subject in made}


def run_subject(subject: Subject, count: int, seed: int, out: Path) -> list[Outcome]:
    """Faults of a subject until `count` of them are in `out`; all of its outcomes there."""
    outcomes = read_outcomes(out).get(subject.name, [])
    if len(outcomes) >= count:
        return outcomes
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, out.open("a", encoding="utf-8") as file:
        first_seed = seed + len(outcomes)
        for outcome in subject.run(count - len(outcomes), first_seed, Path(name) / "faults"):
            file.write(json.dumps({"subject": subject.name, **asdict(outcome)}) + "\n")
            file.flush()
            outcomes.append(outcome)
    return outcomes


def read_outcomes(out: Path) -> dict[str, list[Outcome]]:
    """The outcomes of an earlier run by subject; a line that was torn by a kill is left out."""
    outcomes: dict[str, list[Outcome]] = {}
    for line in out.read_text("utf-8").splitlines() if out.exists() else ():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        outcomes.setdefault(values.pop("subject"), []).append(Outcome(**values))
    return outcomes


def tally(outcomes: dict[str, list[Outcome]]) -> list[Tally]:
    """One line for each subject and kind of fault."""
    lines = []
    for subject, made in outcomes.items():
        for kind in dict.fromkeys(outcome.kind for outcome in made):
            same = [outcome for outcome in made if outcome.kind == kind]
            losses = [outcome.loss_ms for outcome in same if outcome.loss_ms is not None]
            broken = sum(not outcome.held for outcome in same)
            lines.append(Tally(subject, kind, len(same), broken, max(losses, default=None)))
    return lines


def show(outcomes: dict[str, list[Outcome]]) -> None:
    """The table, and the first promises that were broken."""
    shown = Table("subject", "fault", "tried", "worst loss", "broken promises")
    lines = tally(outcomes)
    for line in lines:
        worst = "" if line.worst_loss_ms is None else f"{line.worst_loss_ms:.0f} ms"
        shown.add_row(line.subject, line.kind, str(line.tried), worst, str(line.broken))
    total = str(sum(line.tried for line in lines))
    shown.add_row("all", "", total, "", str(sum(line.broken for line in lines)))
    page = Console()
    page.print(shown)
    broken = [one.detail for made in outcomes.values() for one in made if not one.held]
    for detail in broken[:_MOST]:
        page.print(f"! {detail}", markup=False)


def write_page(page: Path, outcomes: dict[str, list[Outcome]], date: str) -> None:
    """Put the table between the two marks of a page, in place of what was there."""
    lines = tally(outcomes)
    rows = ["| subject | fault | tried | held | failed | worst loss |", "|---|---|---|---|---|---|"]
    for line in lines:
        worst = "" if line.worst_loss_ms is None else f"{line.worst_loss_ms:.0f} ms"
        rows.append(f"| {line.subject} | {line.kind} | {line.tried} | "
                    f"{line.tried - line.broken} | {line.broken} | {worst} |")  # fmt: skip
    tried, broken = (sum(getattr(line, name) for line in lines) for name in ("tried", "broken"))
    rows.append(f"| all | {date} | {tried} | {tried - broken} | {broken} | |")
    text = page.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{chr(10).join(rows)}\n{END}{after}", "utf-8")


def main() -> int:
    known = subjects()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subject", choices=["all", *known], default="all")
    parser.add_argument("--count", type=int, default=100, help="faults of each subject, at least")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, help="outcomes so far; the same file goes on")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", type=Path, help="a page that gets the table between its marks")
    chosen = parser.parse_args()
    begin_s = time.monotonic()
    names = list(known) if chosen.subject == "all" else [chosen.subject]
    with tempfile.TemporaryDirectory() as folder:
        out = chosen.out or Path(folder) / "outcomes.jsonl"
        outcomes = {name: run_subject(known[name], chosen.count, chosen.seed, out)
                    for name in names}  # fmt: skip
        date, took_s = f"{datetime.now(UTC):%Y-%m-%d}", round(time.monotonic() - begin_s)
        if chosen.page is not None:
            write_page(chosen.page, read_outcomes(out), date)
    if chosen.json:
        lines = [asdict(line) for line in tally(outcomes)]
        Console().print_json(json.dumps({"date": date, "took_s": took_s, "faults": lines}))
    else:
        show(outcomes)
        Console().print(f"{date}, {took_s} s")
    return 1 if any(line.broken for line in tally(outcomes)) else 0


if __name__ == "__main__":
    raise SystemExit(main())
