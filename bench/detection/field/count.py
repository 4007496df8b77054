"""Counts what was named and located, by mistake and by site, and lists what was not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.detection.field.mistakes import every_mistake
from bench.detection.field.trial import Outcome


@dataclass(frozen=True)
class Count:
    """Mistakes of one kind: how many were made, and of how many the checks said what and where.

    `flagged` were found in any words, `elsewhere` are trials in which a take was blamed that had
    nothing wrong.
    """

    name: str
    tried: int
    flagged: int
    named: int
    located: int
    elsewhere: int


def count_all(outcomes: Iterable[Outcome]) -> Count:
    """All of them together, each weighing the same."""
    tried = [each for each in outcomes if each.skipped is None]
    return Count(
        name="all",
        tried=len(tried),
        flagged=sum(each.named or bool(each.beside) for each in tried),
        named=sum(each.named for each in tried),
        located=sum(each.located for each in tried),
        elsewhere=sum(bool(each.elsewhere) for each in tried),
    )


def count_by(outcomes: Sequence[Outcome], key: Callable[[Outcome], str]) -> list[Count]:
    """The same for each kind, in the order in which they first came."""
    names = dict.fromkeys(key(each) for each in outcomes)
    counts = []
    for name in names:
        mine = count_all(each for each in outcomes if key(each) == name)
        if mine.tried:
            counts.append(Count(name, *list(vars(mine).values())[1:]))
    return counts


def table_of(counts: Sequence[Count], *, first: str, explained: bool = False) -> str:
    """Counts as Markdown; `explained` adds what each mistake is."""
    what = {each.name: each.what for each in every_mistake().values()} if explained else {}
    head = [first, *(["what"] if explained else []), "made", "named", "named and located"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for each in counts:
        cells = [each.name, *([what.get(each.name, "")] if explained else [])]
        cells += [str(each.tried), str(each.named), str(each.located)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def percent(part: int, whole: int) -> str:
    """A share as people read it."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def summarise(outcomes: Sequence[Outcome]) -> str:
    """One sentence."""
    whole = count_all(outcomes)
    return (
        f"{whole.tried} mistakes of {len(count_by(outcomes, _mistake))} kinds at "
        f"{len(count_by(outcomes, _site))} sites: flagged {percent(whole.flagged, whole.tried)}, "
        f"named {percent(whole.named, whole.tried)}, named and located "
        f"{percent(whole.located, whole.tried)}; a take that had nothing wrong was blamed in "
        f"{whole.elsewhere}"
    )


def _mistake(outcome: Outcome) -> str:
    return outcome.trial.mistake


def _site(outcome: Outcome) -> str:
    return outcome.trial.site


def list_misses(outcomes: Sequence[Outcome], clean: Sequence[dict[str, Any]]) -> str:
    """Where the checks were silent or wrong, for those who mend them."""
    lines = ["# Not named or not located", ""]
    for each in outcomes:
        if each.skipped is None and not each.located:
            state = "named elsewhere in it" if each.named else "not named"
            instead = "; ".join(each.said + each.beside) or "nothing"
            lines.append(
                f"- {each.trial.mistake} at {each.trial.site}, seed {each.trial.seed}: {state}. "
                f"Truth: {each.mark}. Said: {instead}"
            )
    lines += ["", "# Takes blamed without reason", ""]
    lines += [
        f"- {each.trial.mistake} at {each.trial.site}, seed {each.trial.seed}: "
        f"{'; '.join(each.elsewhere)}"
        for each in outcomes
        if each.elsewhere
    ]
    lines += ["", "# Said of good files", ""]
    for row in clean:
        lines += [
            f"- {row['site']} take {take}: {check} ({severity}): {message[:200]}"
            for take, check, severity, message in row["findings"]
            if severity != "note"
        ]
    return "\n".join(lines) + "\n"
