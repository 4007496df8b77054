"""Operators, their training and certificates, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.text import Text
from sqlalchemy import Connection

from corporeal.catalog.people import Certificate, Experience, Operator, list_certificates
from corporeal.cli.output import console, make_table
from corporeal.operations.operators import PhaseEvidence, TaskTraining

_COLOURS = {"passed": "green", "failed": "red", "under way": "yellow", "not begun": "dim"}


def holding(connection: Connection) -> dict[str, list[str]]:
    """The tasks for which each operator holds a certificate now."""
    stamp = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    tasks: dict[str, list[str]] = {}
    for each in list_certificates(connection):
        if each.holds(stamp) and each.task not in tasks.setdefault(each.operator, []):
            tasks[each.operator].append(each.task)
    return tasks


def plain_operator(
    operator: Operator, holding: Mapping[str, list[str]], done: Experience | None
) -> dict[str, Any]:
    """An operator as JSON; their experience only where it may be shown."""
    return vars(operator) | {
        "certified_for": holding.get(operator.name, []),
        "experience": None if done is None else vars(done),
    }


def plain_certificate(certificate: Certificate, *, shown: bool) -> dict[str, Any]:
    """A certificate as JSON; its evidence only where it may be shown."""
    return vars(certificate) | ({} if shown else {"evidence": None})


def plain_training(training: TaskTraining) -> dict[str, Any]:
    """The training for a task as JSON."""
    return {"task": training.task, "document": training.document, "ready": training.is_ready,
            "phases": [asdict(each) for each in training.phases]}  # fmt: skip


def show_phase(phase: PhaseEvidence) -> None:
    """One phase, and every thing that it asks for."""
    page = console()
    attempt = f", attempt {phase.attempt}" if phase.attempt > 1 else ""
    page.print(Text.assemble(f"  {phase.phase}: ", (phase.state, _COLOURS[phase.state]), attempt))
    for each in phase.criteria:
        mark = {True: ("yes", "green"), False: ("no ", "red"), None: ("?  ", "yellow")}
        page.print(Text.assemble("    ", mark[each.passed], f" {each.name}: {each.words}"))


def show_certificates(certificates: list[Certificate]) -> None:
    """The certificates of an operator as a table."""
    if not certificates:
        console().print("no certificate")
        return
    table = make_table("task", "from", "until", "given by", "")
    for each in certificates:
        note = f"revoked: {each.revoked_why}" if each.revoked_at else (each.why or "")
        table.add_row(each.task, each.valid_from[:10], each.ends[:10], each.given_by, note)
    console().print(table)
