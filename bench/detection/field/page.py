"""The page of the documentation, put together from the results of several benchmarks.

python -m bench.detection.field.page --held-out out/held.json --tuning out/tuning.json
    --real out/bench_real.json --speed out/bench_checks.json --then out/planted.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.detection.field.count import count_by, percent, summarise, table_of
from bench.detection.field.run import outcome_of
from bench.detection.field.sites import SITES
from bench.detection.field.trial import Outcome

_HEAD = """\
# Detection

How many mistakes the checks name, how many of their findings on real data are true, and what they
cost. Nothing here is a promise: every table says when and from what it was measured.
"""
_FILES = """\
`python -m bench.detection.field` makes mistakes of collection teams in takes, writes them in every
format, and runs all checks on the files as `corporeal check` does. Takes, places and strengths of
the two halves come from different seeds: the tuning half is there for those who mend checks, the
held-out half was only counted before this page was written. Its table below tells which kinds are
missed: the next measurement needs seeds of its own. A mistake is **named** if a check that stands
for it says something new of the right take and stream, and **located** if what it says also has
the column and lies within half a second, where the mistake has those. Two things make this
lenient: several checks may stand for one mistake, and a finding that gives no stream or no time is
not held against its check.
"""


def main() -> int:
    """Write the page."""
    asked = _arguments()
    held_out, tuning, real, speed = (
        json.loads(path.read_text())
        for path in (asked.held_out, asked.tuning, asked.real, asked.speed)
    )
    parts = [
        _HEAD,
        "## Mistakes in files",
        _FILES,
        _halves(held_out, tuning),
        _tables(held_out),
        "## Findings on real data",
        _real(real),
        "## Cost",
        _speed(speed),
        *(lower_headings(path.read_text()) for path in asked.then),
    ]
    asked.page.write_text("\n\n".join(part.strip() for part in parts) + "\n")
    return 0


def _outcomes(document: dict[str, Any]) -> list[Outcome]:
    return [outcome_of(row) for row in document["outcomes"]]


def _halves(*documents: dict[str, Any]) -> str:
    lines = []
    for each in documents:
        loud = [row for row in each["clean"] if _alarms(row)]
        takes = sum(row["takes"] for row in each["clean"])
        errors = sum(row["error"] is not None for row in each["outcomes"])
        alarms = sum(map(_alarms, each["clean"]))
        lines.append(
            f"- **{each['half']}**, {each['date']}, checks as of {each['commit']}: "
            f"{summarise(_outcomes(each))}. {errors} ended in a crash. Of the good files, "
            f"{takes} takes, {alarms} findings count{_named_sites(loud)}."
        )
    return "\n".join(lines)


def _alarms(row: dict[str, Any]) -> int:
    return sum(severity != "note" for _, _, severity, _ in row["findings"])


def _named_sites(rows: Sequence[dict[str, Any]]) -> str:
    words = [
        f"{row['site']}: " + ", ".join(sorted({f[1] for f in row["findings"] if f[2] != "note"}))
        for row in rows
    ]
    return f" ({'; '.join(words)})" if words else ""


def _tables(held_out: dict[str, Any]) -> str:
    outcomes = _outcomes(held_out)
    by_site = count_by(outcomes, lambda each: each.trial.site)
    by_mistake = count_by(outcomes, lambda each: each.trial.mistake)
    sites = "\n".join(f"- **{site.name}**: {site.what}" for site in SITES.values())
    weak = [each for each in by_mistake if each.located < each.tried]
    return (
        f"The held-out half by site:\n\n{table_of(by_site, first='site')}\n\n{sites}\n\n"
        f"{len(weak)} of {len(by_mistake)} kinds were missed at least once in the held-out half. "
        f"All kinds:\n\n{table_of(by_mistake, first='mistake', explained=True)}"
    )


def _real(real: dict[str, Any]) -> str:
    rows = [row for row in real["findings"] if row["severity"] != "note"]
    total = {truth: sum(row["findings"] for row in rows if row["is_true"] is truth)
             for truth in (True, False, None)}  # fmt: skip
    episodes = sum(real["episodes"].values())
    lines = [
        f"`python -m bench.detection.real` on {episodes} real episodes of {len(real['episodes'])} "
        f"public sets, {real['date']}. {total[True]} findings are true, {total[False]} are false "
        f"and {total[None]} could not be decided from the raw data or were not looked at one by "
        f"one: {percent(total[True], total[True] + total[False])} of those decided are true, "
        f"{percent(total[True], sum(total.values()))} if every undecided one were false; "
        f"{50 * total[False] / episodes:.1f} false findings per 50 episodes. A verdict is of one "
        "check on one set. These sets were known while checks were written: none of them is "
        "held out.",
        "",
        "| set | check | findings | verdict | reason |",
        "|---|---|---|---|---|",
    ]
    verdicts = {True: "true", False: "false", None: "undecided"}
    lines += [
        f"| {row['set']} | {row['check']} | {row['findings']} | {verdicts[row['is_true']]} | "
        f"{row['reason']} |"
        for row in rows
    ]
    return "\n".join(lines)


def _speed(speed: dict[str, Any]) -> str:
    signals, pictures = speed["signals"], speed["pictures"]
    whole = ", ".join(f"{name} {each['cpu_s']:.1f}" for name, each in speed["set"].items())
    return (
        f"`python -m bench.checks`, {speed['date']}, CPU seconds, medians of three on a machine "
        "that others used too.\n\n"
        + "\n".join(
            f"- {each['seconds']:.1f} s of a humanoid without pictures ({name}): "
            f"{each['cpu_s']:.2f}"
            for name, each in signals.items()
        )
        + f"\n- pictures of 640 x 480, decoding included: {pictures['per_cpu_s']:.0f} per CPU "
        f"second\n- 50 tables of 29 joints, whole programs: {whole}"
    )


def lower_headings(text: str) -> str:
    """Markdown with every heading one level down; fenced lines are left alone."""
    lines, fenced = [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append(f"#{line}" if line.startswith("#") and not fenced else line)
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--held-out", "--tuning", "--real", "--speed"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--then", type=Path, nargs="*", default=[], help="pages to add")
    parser.add_argument("--page", type=Path, default=Path("docs/detection.md"))
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
