"""Numbers and dates as sentences have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


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
