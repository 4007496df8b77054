"""The section of docs/detection.md on real data: both halves, their lists and reasons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from bench.detection import held_out

FIRST_LOOK = Path(__file__).with_name("first_look.json")
_WORDS = {True: "true", False: "false", None: "undecided"}


@dataclass(frozen=True)
class RealFinding:
    """What one check says of one set: how often, how gravely, and the first sentence."""

    set: str
    check: str
    severity: str
    findings: int
    sentence: str
    is_true: bool | None
    reason: str


def section(rows: Sequence[RealFinding], episodes: Mapping[str, int]) -> str:
    """The section as Markdown; notes do not count."""
    counted = [row for row in rows if row.severity != "note"]
    known = [row for row in counted if row.set not in held_out.SETS]
    mended = [row for row in counted if row.set in held_out.SETS]
    known_sets = {name: count for name, count in episodes.items() if name not in held_out.SETS}
    later_sets = {name: count for name, count in episodes.items() if name in held_out.SETS}
    first: dict[str, Any] = json.loads(FIRST_LOOK.read_text())
    looked = [
        RealFinding(row["set"], row["check"], "", row["findings"], "", row["true"], row["reason"])
        for row in first["findings"]
    ]
    parts = [
        "## Findings on real data",
        "`python -m bench.detection.real ../shared/data --held-out DIR --page out/real.md`, "
        f"{date.today().isoformat()}. A person decided every finding in the raw data; a verdict is "
        "of one check on one set (`bench/detection/judged.json`), and notes do not count. Those "
        "who judged also mended the checks.",
        "### Sets known while checks were written",
        f"{_tally(known, known_sets)} None of them is held out. Earlier on the same day 34 were "
        "true, 16 false and 15 undecided: the list of sets named a wrong robot for one of them, "
        "which is refused now, reasons why an episode could not be judged were several findings, "
        "and overlaps were undecided until they were held against the meshes of the robot.",
        _table(known),
        "### Held out: the first look",
        f"{_tally(looked, first['episodes'])} Checks as of {first['commit']}, {first['date']}, "
        "before anybody looked at the files. They are what registries of packages have in a "
        "format that we read: demonstrations by people of simulated arms, of one family "
        "(`python -m bench.detection.held_out DIR` fetches them). No registry had a log of a real "
        "robot that took no part in tuning, so that this half says little of those.",
        _table(looked),
        "### The same sets after their causes were mended",
        f"{_tally(mended, later_sets)} They are no longer held out.",
        _table(mended),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tally(rows: Sequence[RealFinding], episodes: Mapping[str, int]) -> str:
    count = {truth: sum(row.findings for row in rows if row.is_true is truth) for truth in _WORDS}
    true, false, open_ = count[True], count[False], count[None]
    total = sum(episodes.values())
    shares = ""
    if true + false:
        shares = f" {true / (true + false):.1%} of those decided are true"
        shares += f", {true / (true + false + open_):.1%} of all;" if open_ else ";"
    return (
        f"{total} episodes of {len(episodes)} sets: {true} findings are true, {false} false, "
        f"{open_} undecided.{shares} {50 * false / max(1, total):.1f} false findings per 50 "
        "episodes."
    )


def _table(rows: Sequence[RealFinding]) -> str:
    if not rows:
        return ""
    lines = ["| set | check | findings | verdict | reason |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.set} | {row.check} | {row.findings} | {_WORDS[row.is_true]} | {row.reason} |"
        for row in rows
    ]
    return "\n".join(lines)
