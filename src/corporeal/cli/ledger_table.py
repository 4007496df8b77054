"""The ledger of a source as people read it: what is taken, what is not and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.text import Text

from corporeal.cli.output import console, make_table
from corporeal.episode.recording import Ledger, SourceItem
from corporeal.exchange.format import BESIDE
from corporeal.words import counted, listed, some_of

_OPTIONS = {"rate_hz": "--source-rate", "robot": "--robot"}


def show_ledger(ledger: Ledger) -> None:
    """One line when everything was taken; else a row for each reason that something was not."""
    if not ledger.items:
        return
    page = console()
    page.print(f"source: {_counts(ledger)}", style="dim")
    beside = [place.removeprefix(BESIDE).split("/")[-1]
              for item in ledger.items for place in item.taken_as
              if place.startswith(BESIDE)]  # fmt: skip
    if beside:
        streams = list(dict.fromkeys(beside))
        hint = f"--include {streams[0]} puts it into them"
        page.print(f"{BESIDE}{some_of(streams)} ({hint})", style="dim")
    if not ledger.not_taken:
        return
    groups: dict[tuple[str, str, bool], list[SourceItem]] = {}
    for item in ledger.not_taken:
        is_lost = item.lost and not item.taken_as
        groups.setdefault((item.kind, _why(item), is_lost), []).append(item)
    table = make_table("not taken", "kind", "samples", "why", right=("samples",))
    for (kind, why, is_lost), items in sorted(groups.items(), key=lambda group: not group[0][2]):
        counts = {item.samples for item in items}
        samples = f"{counts.pop():,}" if len(counts) == 1 and None not in counts else ""
        names = some_of((item.name for item in items), most=3)
        style = "bold red" if is_lost else ""
        table.add_row(Text(names, style=style), kind, samples, Text(why))
    page.print(table)


def _counts(ledger: Ledger) -> str:
    kinds = Counter(item.kind for item in ledger.items)
    parts = listed(counted(count, kind) for kind, count in kinds.items())
    if not ledger.not_taken:
        return f"{parts}, all taken"
    return f"{parts}, {len(ledger.items) - len(ledger.not_taken)} taken"


def _why(item: SourceItem) -> str:
    reason = item.reason or ""
    if item.lacking == item.episodes:
        return reason
    return f"in {item.lacking:,} of {item.episodes:,} episodes: {reason}"


def show_assumed(assumed: Mapping[str, str]) -> None:
    """What the source does not say and was assumed, and which option says it."""
    for of, text in assumed.items():
        option = f" ({_OPTIONS[of]} says it)" if of in _OPTIONS else ""
        console().print(f"assumed {of}: {text}{option}", style="yellow")


def lost_sentence(lost: Sequence[SourceItem]) -> str:
    """What is lost whole, and what to do about it."""
    names = some_of((f"{item.kind} {item.name} ({item.reason})" for item in lost), most=3)
    return (
        f"lost whole: {names}. Put right what is said of it and run the command again with another "
        f"--out, or say that it may be missing: --exclude {lost[0].name}."
    )
