"""Adherence rule by rule: which rules of a protocol every episode keeps, breaks or leaves open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text

from corporeal.cli.output import console, make_table
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.protocol import Protocol
from corporeal.quality.assessment import ProtocolRule, adherence
from corporeal.quality.inspection import Report

_WORDS = {True: ("kept", "green"), False: ("broken", "red"), None: ("unchecked", "dim")}


def embedded_protocol(opener: Callable[[], Dataset]) -> Protocol:
    """The protocol that the episodes were made under; raises where there is none, or several."""
    dataset = opener()
    texts: dict[str, str] = {}
    for number in dataset.episodes:
        try:
            text = dataset.open(number).documents.get("protocol")
        except CorporealError:
            continue  # An episode that cannot be read has a verdict of its own.
        if text is not None:
            texts.setdefault(text, str(number))
    if len(texts) != 1:
        found = "no protocol in the episodes" if not texts else f"{len(texts)} protocols in them"
        raise CorporealError(f"--adherence, got {found}; expected one. Name it with --protocol.")
    return Protocol.parse(next(iter(texts)), source="protocol of the episodes", suffix=".json")


def adherence_json(report: Report, protocol: Protocol) -> dict[str, Any]:
    """The same as JSON: `kept` is true, false, or null where it could not be judged."""
    return {
        "protocol": {"name": protocol.reference, "hash": protocol.hash},
        "episodes": [
            {
                "index": episode.index,
                "id": episode.id,
                "rules": [vars(rule) for rule in adherence(episode.assessment, protocol)],
            }
            for episode in report.episodes
        ],
        "set": [vars(rule) for rule in adherence(report.batch, protocol, batch=True)],
    }


def show_adherence(report: Report, protocol: Protocol) -> None:
    """One table for each episode, and one for the set."""
    page = console()
    for episode in report.episodes:
        rules = adherence(episode.assessment, protocol)
        page.print(Text(f"{episode.index} {episode.source.name}: {_sum(rules)}", style="bold"))
        page.print(_table(rules))
    rules = adherence(report.batch, protocol, batch=True)
    page.print(Text(f"the set of {len(report.episodes)}: {_sum(rules)}", style="bold"))
    page.print(_table(rules))
    page.print(f"under the protocol {protocol.reference}")


def _table(rules: tuple[ProtocolRule, ...]) -> Any:
    table = make_table("rule", "", "why")
    for rule in rules:
        word, colour = _WORDS[rule.kept]
        table.add_row(rule.name, Text(word, style=colour), "" if rule.kept else rule.message)
    return table


def _sum(rules: tuple[ProtocolRule, ...]) -> str:
    counts = {kept: sum(rule.kept is kept for rule in rules) for kept in (True, False, None)}
    return f"{counts[True]} kept, {counts[False]} broken, {counts[None]} unchecked"
