"""Numbers and dates as sentences have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def percent(share: float) -> str:
    """A share in per cent; small ones keep a digit, none is rounded to all or nothing."""
    value = 100 * share
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 99.9 < value < 100:
        return "over 99.9 %"
    close = value < 10 or value > 90
    return f"{value:.1f} %" if close and value not in (0, 100) else f"{value:.0f} %"


def counted(number: int, noun: str, many: str | None = None) -> str:
    """`1 episode`, `12,400 episodes`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def hours(value: float) -> str:
    """Hours as people say them; minutes below one, seconds below a minute."""
    if value >= 10:
        return f"{value:,.0f} h"
    if value >= 1:
        return f"{value:.1f} h"
    return f"{60 * value:.0f} min" if 60 * value >= 1 else f"{3600 * value:.0f} s"


def money(value: float, currency: str) -> str:
    """An amount with its currency; cents below a hundred."""
    return f"{value:,.2f} {currency}" if value < 100 else f"{value:,.0f} {currency}"


def day(number: int) -> str:
    """A day counted from 1970, as ISO 8601."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)).date().isoformat()


def listed(words: list[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
