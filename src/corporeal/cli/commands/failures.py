"""`corporeal failures`: what was sorted out, by reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, console, make_table, print_json
from corporeal.errors import UnknownNameError
from corporeal.quality.check import present_name
from corporeal.quality.verdict_folders import read_entries


def failures(
    folder: Annotated[Path, argument("A folder made by corporeal check --sort.")],
    reason: Annotated[
        str | None, option("Only this reason: a check, or how the task failed.")
    ] = None,
    quarantined: Annotated[
        bool, option("Also those that wait for a human.", "--quarantined")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List failed episodes by reason: they are kept, and make good negative examples.

    Example: [bold]corporeal failures demo/sorted --reason robot_fell[/bold]
    """
    wanted = ("failed", "quarantined") if quarantined else ("failed",)
    entries = [entry for entry in read_entries(folder) if entry.verdict in wanted]
    reasons = Counter(why for entry in entries for why in {*entry.reasons, entry.outcome} if why)
    if reason is not None:
        reason = present_name(reason)
        if reason not in reasons:
            raise UnknownNameError("reason among these episodes", reason, reasons)
        entries = [entry for entry in entries if reason in (*entry.reasons, entry.outcome)]
    if as_json:
        print_json({"episodes": entries, "reasons": dict(reasons)})
        return
    table = make_table("episode", "verdict", "reasons", "in words")
    for entry in entries:
        said = entry.findings[0]["message"] if entry.findings else ""
        table.add_row(entry.path, entry.verdict, ", ".join(entry.reasons), said)
    console().print(table)
    total = ", ".join(f"{why} {count}" for why, count in reasons.most_common())
    console().print(f"\n{len(entries)} episodes. By reason: {total or 'none'}")


COMMAND = Command(failures, panel="Check")
