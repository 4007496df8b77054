"""What became of a check: into the station's log and the workspace, and said to people."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from corporeal import catalog
from corporeal.calibration.verification import (
    CalibrationCheck,
    Creep,
    append,
    describe_check,
    find_creeps,
    log_of,
    logged,
    read_log,
)
from corporeal.cli.output import console, emphasise, print_json, stderr
from corporeal.cli.workspaces import enter_workspace
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration
from corporeal.words import counted


def note_check(
    check: CalibrationCheck,
    document: Path,
    *,
    root: Path | None,
    station: str | None = None,
    log_only: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> catalog.episodes.Halt | None:
    """Into the log and, where there is one, the workspace; says what it found and did."""
    append(log_of(document), logged(check))
    creeps = find_creeps(read_log(log_of(document)), check.calibration)
    halt = None if log_only else _note_in_workspace(check, root, station)
    if quiet:
        return halt
    if as_json:
        print_json({
            "calibration": check.calibration, "at": check.at, "passed": check.passed,
            "markers": logged(check).to_json()["shifts"],
            "creeps": [each.marker for each in creeps if each.is_alarming],
            "halt": None if halt is None else halt.key,
            "held": 0 if halt is None else halt.held,
        })  # fmt: skip
        return halt
    for line in describe_check(check):
        console().print(line)
    for creep in creeps:
        if creep.is_alarming:
            show_creep(creep)
    if check.passed:
        console().print(emphasise("good", f" ({check.calibration} holds)", style="green"))
        return halt
    console().print(emphasise("halt", ": record no more with this calibration", style="red"))
    if halt is not None:
        since = "its beginning" if halt.since is None else f"the good check of {halt.since[:16]}"
        console().print(f"{counted(halt.held, 'episode')} since {since} quarantined ({halt.key})")
    console().print(
        f"next: fasten and calibrate again, or corporeal calibrate lift -c {document} --reason WHY"
    )
    return halt


def _note_in_workspace(
    check: CalibrationCheck, root: Path | None, station: str | None
) -> catalog.episodes.Halt | None:
    if root is None and not catalog.workspace.is_here():
        stderr().print("no workspace here: the check is in the log alone (-w WORKSPACE)",
                       style="dim")  # fmt: skip
        return None
    entry = logged(check).to_json()
    noted = catalog.episodes.StationCheck(check.calibration, check.at, check.passed,
                                       entry["shifts"], station, check.source)  # fmt: skip
    with (
        enter_workspace(root, "ingest") as (workspace, actor),
        workspace.database.write() as connection,
    ):
        return catalog.episodes.take_check(connection, noted, who=actor.name, why=reason_of(check))


def reason_of(check: CalibrationCheck) -> str:
    """Why episodes are held, in one line; what a good check is noted with is empty."""
    if check.passed:
        return ""
    line = next(line for line, shift in zip(describe_check(check), check.shifts, strict=True)
                if shift.cause in ("camera", "camera or marker"))  # fmt: skip
    return f"{check.calibration} failed its check at {check.at[:16]}: {line}"


def lift_in(
    root: Path | None, document: Calibration | None, key: str | None, reason: str
) -> catalog.episodes.LiftedHalt:
    """Lift the halt of this key, or the only open one."""
    with (
        enter_workspace(root, "judge") as (workspace, actor),
        workspace.database.write() as connection,
    ):
        found = [
            halt for halt in catalog.episodes.list_halts(connection, lifted=False)
            if document is None or halt.calibration.partition("@")[0] == document.name
        ]  # fmt: skip
        if key is None and len(found) != 1:
            names = ", ".join(f"{halt.key} ({halt.calibration})" for halt in found) or "none"
            raise CorporealError(f"halt, got {len(found)} open ones: {names}; expected one. "
                                 "Name it with --key.")  # fmt: skip
        return catalog.episodes.lift_halt(connection, key or found[0].key, why=reason, by=actor)


def moment_now() -> str:
    """Now, as the log has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def show_creep(creep: Creep) -> None:
    """Where a marker stands on both charts."""
    words = (f"{creep.marker} by {creep.camera}, {creep.axis}: CUSUM {creep.cusum:.1f} of 5, "
             f"EWMA {creep.ewma:.1f} of 3.5 after {counted(creep.checks, 'check')}")  # fmt: skip
    if creep.is_alarming:
        words += "; it creeps: look at what holds the camera"
    console().print(words, style="yellow" if creep.is_alarming else "dim")
