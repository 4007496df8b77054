"""Tables of what was found, for the screen, for JSON and for the documentation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median
from typing import Any

from rich.table import Table

from bench.detection.fault import Fault
from bench.detection.faults import every_fault
from bench.detection.harness import Control, Outcome
from corporeal.quality.check import checks

GOAL = 0.95


@dataclass
class Row:
    """One fault, one kind of data, one strength."""

    fault: str
    kind: str
    strength: float
    counted: bool
    tried: int = 0
    detected: int = 0
    named: int = 0
    failed: int = 0
    quarantined: int = 0
    off_by: list[float] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    wrong_stream: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    example: str = ""
    missed: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """Share of the bad episodes about which something was said."""
        return self.detected / self.tried if self.tried else 0.0

    @property
    def named_recall(self) -> float:
        """Share of the bad episodes whose fault was named."""
        return self.named / self.tried if self.tried else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        plain = {name: value for name, value in vars(self).items() if name != "off_by"}
        plain |= {"recall": self.recall, "named_recall": self.named_recall}
        return plain | {"off_by": median(self.off_by) if self.off_by else None}


def rows(outcomes: Iterable[Outcome]) -> list[Row]:
    """The outcomes counted by fault, kind and strength, in the order of the faults."""
    found: dict[tuple[str, str, float], Row] = {}
    faults = every_fault()
    for each in outcomes:
        if each.skipped is not None:
            continue
        trial = each.trial
        key = (trial.fault, trial.kind, trial.strength)
        counted = trial.strength >= faults[trial.fault].tolerance
        row = found.setdefault(key, Row(*key, counted))
        row.tried += 1
        row.detected += each.detected
        row.named += each.named
        row.failed += each.verdict == "failed"
        row.quarantined += each.verdict == "quarantined"
        if each.off_by is not None:
            row.off_by.append(each.off_by)
        row.others.update(each.others)
        row.wrong_stream.update(each.wrong_stream)
        if each.error:
            row.errors[each.error] += 1
        if each.messages:
            row.example = each.messages[0]
        if not each.named:
            row.missed.append(f"episode {trial.place} seed {trial.seed}: {each.truth}")
    order = {name: place for place, name in enumerate(faults)}
    return sorted(found.values(), key=lambda row: (order[row.fault], row.kind, row.strength))


@dataclass(frozen=True)
class Total:
    """Everything at tolerance or worse together."""

    faults: int
    tried: int
    recall: float
    named: float


def total(listed: Sequence[Row]) -> Total:
    """Over all rows that count, every fault and kind of data weighing the same."""
    counted = [row for row in listed if row.counted and row.tried]
    by_cell: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in counted:
        by_cell[row.fault, row.kind].append(row)
    cells = [
        (sum(row.detected for row in each), sum(row.named for row in each),
         sum(row.tried for row in each))
        for each in by_cell.values()
    ]  # fmt: skip
    number = max(1, len(cells))
    return Total(
        faults=len({row.fault for row in counted}),
        tried=sum(row.tried for row in counted),
        recall=sum(detected / tried for detected, _, tried in cells) / number,
        named=sum(named / tried for _, named, tried in cells) / number,
    )


def table(listed: Sequence[Row], *, all_strengths: bool = False) -> Table:
    """For the screen."""
    shown = Table(
        "fault", "data", "strength", "n", "found", "named", "off by", "verdict", "instead"
    )
    for row in listed:
        if not (row.counted or all_strengths):
            continue
        instead = ", ".join(f"{name} {count}" for name, count in row.others.most_common(3))
        if row.errors:
            instead = f"CRASH {row.errors.most_common(1)[0][0][:60]}"
        shown.add_row(
            row.fault, row.kind, strength_text(row), str(row.tried), f"{row.recall:.0%}",
            f"{row.named_recall:.0%}", f"{median(row.off_by):.0f}" if row.off_by else "",
            f"{row.failed}f {row.quarantined}q", instead,
            style=None if row.named_recall >= GOAL else "yellow",
        )  # fmt: skip
    return shown


def strength_text(row: Row) -> str:
    """The strength with its unit; in brackets where it is below what must be found."""
    fault = every_fault()[row.fault]
    if len(fault.strengths) == 1:
        return ""
    text = f"{row.strength:g} {fault.unit}"
    return text if row.counted else f"({text})"


@dataclass(frozen=True)
class Quiet:
    """Clean episodes of one kind of data."""

    kind: str
    episodes: int
    alarmed: int
    alarms: tuple[tuple[str, str | None, str, str, str], ...]
    set_alarms: tuple[tuple[str, str | None, str, str], ...]
    errors: tuple[str, ...]

    @property
    def per_hundred(self) -> float:
        """Episodes with a false alarm, of a hundred."""
        return 100 * self.alarmed / max(1, self.episodes)


def quiet(controls: Sequence[Control]) -> list[Quiet]:
    """The clean episodes counted by kind of data."""
    found = []
    for kind in dict.fromkeys(each.kind for each in controls):
        mine = [each for each in controls if each.kind == kind]
        episodes = [each for each in mine if each.place is not None and each.error is None]
        loud = [
            (check, stream, severity, message, each.id)
            for each in episodes
            for check, stream, severity, message in each.alarms
            if severity != "note"
        ]
        whole = [
            alarm for each in mine if each.place is None for alarm in each.alarms
            if alarm[2] != "note"
        ]  # fmt: skip
        alarmed = len({alarm[4] for alarm in loud})
        errors = tuple(sorted({each.error for each in mine if each.error}))
        found.append(Quiet(kind, len(episodes), alarmed, tuple(loud), tuple(whole), errors))
    return found


def quiet_table(listed: Sequence[Quiet]) -> Table:
    """For the screen."""
    shown = Table("clean data", "episodes", "with a false alarm", "per 100", "of the set", "errors")
    for each in listed:
        shown.add_row(
            each.kind, str(each.episodes), str(each.alarmed), f"{each.per_hundred:.1f}",
            str(len(each.set_alarms)), "; ".join(each.errors)[:80],
        )  # fmt: skip
    return shown


def weaknesses(listed: Sequence[Row], silent: Sequence[Quiet], skipped: Counter[str]) -> str:
    """What is missed and what is cried out for nothing, as Markdown for those who mend it."""
    whole = total(listed)
    lines = [
        "# Detection: current weaknesses",
        "",
        f"{date.today().isoformat()}: {whole.faults} faults, {whole.tried} bad episodes at "
        f"tolerance or worse: found {whole.recall:.1%}, named {whole.named:.1%}.",
        "",
        "## False alarms on clean data",
        "",
    ]
    for each in silent:
        lines.append(
            f"- **{each.kind}**: {each.alarmed} of {each.episodes} episodes "
            f"({each.per_hundred:.1f} per 100); of the set: {len(each.set_alarms)}"
            + (f"; errors: {'; '.join(each.errors)}" if each.errors else "")
        )
        by_check: dict[str, list[str]] = defaultdict(list)
        for check, stream, severity, message, episode in each.alarms:
            by_check[f"{check} ({severity})"].append(f"{episode} {stream}: {message}")
        for check, stream, severity, message in each.set_alarms:
            by_check[f"{check} ({severity}, set)"].append(f"{stream}: {message}")
        for name, messages in sorted(by_check.items(), key=lambda item: -len(item[1])):
            lines.append(f"  - `{name}` {len(messages)} times, such as: {messages[0][:300]}")
            lines += [f"    - {message[:300]}" for message in messages[1:4]]
    lines += ["", "## Not named in 95 % (at tolerance or worse)", ""]
    lines += ["| fault | data | strength | n | found | named | off by | instead | wrong stream |",
              "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in listed:
        if row.counted and row.named_recall < GOAL:
            lines.append("| " + " | ".join(_weak(row)) + " |")
    lines += ["", "## Where they were missed", ""]
    lines += [
        f"- {row.fault} ({row.kind} {row.strength:g}): {'; '.join(row.missed[:3])}"
        for row in listed
        if row.counted and row.named_recall < GOAL
    ]
    missed = [row for row in listed if row.counted and row.off_by and median(row.off_by) > 5]
    lines += ["", "## Named but far from the place (more than 5 frames off)", ""]
    lines += [f"- {row.fault} ({row.kind}): {median(row.off_by):.0f} frames" for row in missed]
    lines += ["", "## Crashes", ""]
    lines += [
        f"- {row.fault} ({row.kind}): {error} ({count} times)"
        for row in listed
        for error, count in row.errors.items()
    ]
    lines += ["", "## Not applicable", ""]
    lines += [f"- {what}: {count}" for what, count in skipped.most_common(40)]
    return "\n".join(lines) + "\n"


def _weak(row: Row) -> list[str]:
    others = ", ".join(f"{name} x{count}" for name, count in row.others.most_common(4))
    wrong = ", ".join(f"{name} x{count}" for name, count in row.wrong_stream.most_common(2))
    if not every_fault()[row.fault].expected & set(checks()):
        others += " (no check that names it exists yet)"
    return [
        row.fault, row.kind, strength_text(row) or "-", str(row.tried), f"{row.recall:.0%}",
        f"{row.named_recall:.0%}", f"{median(row.off_by):.0f}" if row.off_by else "-",
        others or "-", wrong or "-",
    ]  # fmt: skip


def skipped(outcomes: Sequence[Outcome]) -> Counter[str]:
    """Why faults could not be planted anywhere."""
    tried = {each.trial.fault for each in outcomes if each.skipped is None}
    return Counter(
        f"{each.trial.fault} on {each.trial.kind}: {each.skipped}"
        for each in outcomes
        if each.skipped is not None and each.trial.fault not in tried
    )


def explained(faults: Sequence[Fault]) -> str:
    """Every fault in a sentence, as Markdown."""
    lines = ["| fault | what | counts from | named by |", "|---|---|---|---|"]
    for each in faults:
        least = f"{each.tolerance:g} {each.unit}" if len(each.strengths) > 1 else ""
        lines.append(
            f"| {each.name} | {each.what.splitlines()[0]} | {least} | "
            f"{', '.join(sorted(each.expected))} |"
        )
    return "\n".join(lines)
