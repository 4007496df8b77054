"""The page of the documentation with the results, written by the run that measured them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from bench.detection.fault import Fault
from bench.detection.faults import every_fault
from bench.detection.peers import PEERS, Contest
from bench.detection.report import Quiet, Row, total
from bench.detection.sources import DESCRIPTIONS, FAMILY

TOPICS = {
    "time": "Time", "joints": "Joints", "frames": "Frames and the body", "dynamics": "Dynamics",
    "pictures": "Pictures", "sets": "Sets", "records": "The books of a dataset on disk",
}  # fmt: skip

_HEAD = """\
# Detection

How many planted faults the checks find and name, and how often they cry out for nothing. The
table is written by the benchmark itself:

```
python -m bench.detection --peers all --page docs/detection.md
```

A fault is put into one clean episode in memory, or into the books of a dataset on disk, and all
checks run as they always do, the batch's included, with the limits of the default policy. It is
**found** if a check says something (a note does not count) that it does not say of the clean
episode, and **named** if that is a check that stands for the fault and it names the right
stream. `off by` is the distance in frames from the place of the fault to the nearest range
reported. A number in a cell is the share of bad episodes whose fault was named, in brackets the
share in which it was found at all where that is more; a dash: this data cannot have the fault.
"""


def page(
    listed: Sequence[Row],
    silent: Sequence[Quiet],
    contests: Sequence[Contest],
    clean: dict[str, list[str]],
    *,
    facts: dict[str, str],
) -> str:
    """The whole page as Markdown."""
    whole = total(listed)
    parts = [
        _HEAD,
        f"Measured on {facts['date']} with seeds from {facts['first']}: {whole.faults} kinds of "
        f"fault, {whole.tried} bad episodes at tolerance or worse. Found {whole.recall:.1%}, named "
        f"{whole.named:.1%}; every kind of fault and of data weighs the same.\n",
        "## Clean data\n\n" + _clean_table(silent),
    ]
    kinds = list(dict.fromkeys(FAMILY.get(row.kind, row.kind) for row in listed))
    for topic, title in TOPICS.items():
        faults = [fault for fault in every_fault().values() if fault.topic == topic]
        shown = _topic_table(faults, listed, kinds)
        if shown:
            parts.append(f"## {title}\n\n{shown}")
    known = [f"- **{kind}**: {DESCRIPTIONS[kind]}" for kind in kinds if kind in DESCRIPTIONS]
    parts.append("## The data\n\n" + "\n".join(known))
    if contests:
        parts.append(_peer_section(contests, clean, facts))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _clean_table(silent: Sequence[Quiet]) -> str:
    lines = ["| data | episodes | with a false alarm | per 100 |", "|---|---|---|---|"]
    episodes = alarmed = 0
    for each in silent:
        if not each.episodes:
            continue
        episodes, alarmed = episodes + each.episodes, alarmed + each.alarmed
        lines.append(f"| {each.kind} | {each.episodes} | {each.alarmed} | {each.per_hundred:.1f} |")
    lines.append(f"| all | {episodes} | {alarmed} | {100 * alarmed / max(1, episodes):.1f} |")
    alarms = [
        f"- {each.kind}, `{check}`: {message}"
        for each in silent
        for check, _, _, message, _ in each.alarms
    ]
    alarms += [
        f"- {each.kind}, the set, `{check}`: {message}"
        for each in silent
        for check, _, _, message in each.set_alarms
    ]
    return "\n".join([*lines, *(["", *alarms[:20]] if alarms else [])])


def _topic_table(faults: Sequence[Fault], listed: Sequence[Row], kinds: Sequence[str]) -> str:
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in listed:
        if row.counted and row.tried:
            cells[row.fault, FAMILY.get(row.kind, row.kind)].append(row)
    used = [kind for kind in kinds if any((fault.name, kind) in cells for fault in faults)]
    if not used:
        return ""
    lines = ["| fault | what | from | " + " | ".join(used) + " | off by |",
             "|---|---|---|" + "---|" * (len(used) + 1)]  # fmt: skip
    for fault in faults:
        mine = {kind: cells.get((fault.name, kind), []) for kind in used}
        if not any(mine.values()):
            continue
        least = f"{fault.tolerance:g} {fault.unit}" if len(fault.strengths) > 1 else ""
        off = [value for rows in mine.values() for row in rows for value in row.off_by]
        entry = [fault.name, fault.what.splitlines()[0], least]
        entry += [_cell(mine[kind]) for kind in used]
        lines.append("| " + " | ".join([*entry, f"{median(off):.0f}" if off else ""]) + " |")
    return "\n".join(lines)


def _cell(rows: Sequence[Row]) -> str:
    tried = sum(row.tried for row in rows)
    if not tried:
        return "-"
    named = sum(row.named for row in rows) / tried
    found = sum(row.detected for row in rows) / tried
    return f"{named:.0%}" if found <= named else f"{named:.0%} ({found:.0%})"


def _peer_section(
    contests: Sequence[Contest], clean: dict[str, list[str]], facts: dict[str, str]
) -> str:
    names = ["ours", *PEERS]
    lines = [
        "## Beside public checkers",
        "",
        f"On {facts['date']}, each as its users call it: "
        + "; ".join(f"{name} {facts[name]} (`{PEERS[name].called}`)" for name in PEERS)
        + ". The unit is a LeRobot v3.0 dataset of ten simulated episodes, one of them bad, or one "
        "fault in its books; each fault once at tolerance and once at its worst. A checker flags "
        "it if it warns or fails in words it does not have for the clean set, and names it if "
        "those words describe it (`bench/detection/peers.py` has them). Of the clean set itself "
        + ", ".join(f"{name} complains in {len(said)} places" for name, said in clean.items())
        + f", and ours in {facts['ours_clean']}.",
        "",
        "| fault | strength | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for each in contests:
        fault = every_fault()[each.fault]
        strength = f"{each.strength:g} {fault.unit}" if len(fault.strengths) > 1 else ""
        marks = [_mark(each.flagged.get(name), each.named.get(name)) for name in names]
        lines.append("| " + " | ".join([each.fault, strength, *marks]) + " |")
    counts = []
    for name in names:
        flagged = sum(bool(each.flagged.get(name)) for each in contests)
        named = sum(bool(each.named.get(name)) for each in contests)
        counts.append(f"{named} named, {flagged} flagged")
    lines.append("| " + " | ".join([f"of {len(contests)}", "", *counts]) + " |")
    return "\n".join(lines)


def _mark(flagged: bool | None, named: bool | None) -> str:
    if flagged is None:
        return "failed to run"
    return "named" if named else "flagged" if flagged else ""
