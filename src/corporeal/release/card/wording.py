"""Figures in the words of a card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from corporeal.release.card.escaping import plain
from corporeal.release.card.facts import CardFacts
from corporeal.release.card.parts import Share, StreamFacts
from corporeal.words import counted

MOST_ROWS = 40


def more(found: int, most: int = MOST_ROWS) -> str:
    """A sentence for what a table leaves out; nothing if it leaves out nothing."""
    return f"\n\nand {found - most:,} more." if found > most else ""


def summary(facts: CardFacts) -> str:
    """How much there is of how many tasks."""
    tasks = counted(len(facts.tasks), "task")
    return f"{counted(facts.episodes, 'episode')} ({length(facts.hours)}) of {tasks}"


def length(hours: float) -> str:
    """Hours, or minutes where that is less than one."""
    return f"{hours:,.1f} h" if hours >= 1 else f"{60 * hours:.1f} min"


def shape(stream: StreamFacts) -> str:
    """480 x 640 x 3."""
    return "" if stream.shape is None else " x ".join(plain(str(each)) for each in stream.shape)


def rate(stream: StreamFacts) -> str:
    """The rate, or the lowest and the highest; `events` where there is none."""
    if stream.lowest_hz is None or stream.highest_hz is None:
        return "events"
    low, high = f"{stream.lowest_hz:.4g}", f"{stream.highest_hz:.4g}"
    return low if low == high else f"{low} to {high}"


def number(value: object) -> str:
    """Three digits; nothing for what is no number."""
    return f"{value:.3g}" if isinstance(value, int | float) else ""


def day(stamp_ns: int) -> str:
    """The date in UTC."""
    return datetime.fromtimestamp(stamp_ns / 1e9, UTC).strftime("%Y-%m-%d")


def unit(stream: StreamFacts) -> str:
    """The unit; nothing for a pure number."""
    return "" if stream.unit in (None, "1") else plain(str(stream.unit))


def bullets(lines: Iterable[str]) -> str | None:
    """A list of sentences; None for none."""
    return "\n".join(f"- {plain(line, most=600)}" for line in lines) or None


def spread(shares: Sequence[Share], total: int) -> str:
    """The values and their shares in a row, the rarest left out."""
    told = [f"{plain(share.name, most=80)} {share.episodes / max(1, total):.0%}"
            for share in shares[:8]]  # fmt: skip
    return ", ".join(told) + (f" and {len(shares) - 8} more" if len(shares) > 8 else "")
