"""Lists, counts, shares, sizes, hours, amounts and days as sentences have them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_UNITS = ("kB", "MB", "GB", "TB")


def listed(names: Iterable[str], *, between: str = ", ") -> str:
    """`a, b and c`."""
    every = list(names)
    return " and ".join([between.join(every[:-1]), every[-1]] if len(every) > 1 else every)


def some_of(names: Iterable[str], *, most: int = 4, between: str = ", ") -> str:
    """`a, b and c`, or `a, b, c, d and 5 more`; never so much as `and 1 more`."""
    every = list(names)
    if len(every) > most + 1:
        return f"{between.join(every[:most])} and {len(every) - most} more"
    return listed(every, between=between)


def counted(number: int, noun: str, many: str | None = None) -> str:
    """`1 episode`, `12,400 episodes`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def percent(share: float) -> str:
    """A share in per cent; small ones keep a digit, none is rounded to all or nothing."""
    value = 100 * share
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 99.9 < value < 100:
        return "over 99.9 %"
    close = value < 10 or value > 90
    return f"{value:.1f} %" if close and value not in (0, 100) else f"{value:.0f} %"


def percent_bound(share: float) -> str:
    """An upper bound in per cent, rounded up so that it stays true."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g} %"


def byte_size(count: float) -> str:
    """`812 B`, `1.5 kB`, `2.0 GB`: in the unit that fits, of thousands."""
    if count < 1000:
        return f"{count:.0f} B"
    power = min(int(math.log10(count) / 3), len(_UNITS))
    return f"{count / 1000**power:.1f} {_UNITS[power - 1]}"


def with_unit(value: float, unit: str) -> str:
    """`4.59 MPa`, `94 N`: three digits, and thousands as a prefix of the unit."""
    power = min(int(math.log10(abs(value)) / 3), 3) if abs(value) >= 1000 else 0
    shown = f"{value / 1000**power:.3g}"
    return f"{shown} {('', 'k', 'M', 'G')[power]}{unit}"


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


# Control characters but for the end of a line and the tabulator, marks that turn the direction of
# writing, and halves of characters, which no terminal can be sent.
UNSHOWN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def show_plainly(text: str) -> str:
    """The text without what would move a cursor, clear a terminal or change its title."""
    return UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text)
