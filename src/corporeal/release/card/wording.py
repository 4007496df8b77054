"""Figures in the words of a card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from corporeal.release.card.escaping import plain
from corporeal.release.card.facts import CardFacts
from corporeal.release.card.parts import CardShare, StreamFacts
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


def spread(shares: Sequence[CardShare], total: int) -> str:
    """The values and their shares in a row, the rarest left out."""
    told = [f"{plain(share.name, most=80)} {share.episodes / max(1, total):.0%}"
            for share in shares[:8]]  # fmt: skip
    return ", ".join(told) + (f" and {len(shares) - 8} more" if len(shares) > 8 else "")


# As SPDX writes them, since addresses tell upper case from lower.
_SPDX = (
    "AFL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-2.0", "CC-BY-2.5",
    "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0",
    "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "ECL-2.0", "EPL-1.0",
    "EPL-2.0", "EUPL-1.1", "EUPL-1.2", "GPL-2.0", "GPL-3.0", "ISC", "LGPL-2.1", "LGPL-3.0", "MIT",
    "MPL-2.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "Unlicense", "WTFPL", "Zlib",
)  # fmt: skip
_HUB = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}


def spdx_name(licence: str) -> str | None:
    """The name with the letters that SPDX gives it; None for a licence of one's own."""
    said = licence.strip().lower()
    return next((name for name in _SPDX if said in (name.lower(), _HUB.get(name))), None)


def hub_name(licence: str) -> str | None:
    """How the Hugging Face Hub calls it; None for one that it does not know."""
    name = spdx_name(licence)
    return None if name is None else _HUB.get(name, name.lower())


def address(licence: str) -> str | None:
    """Where the text of a well-known licence stands."""
    name = spdx_name(licence)
    return None if name is None else f"https://spdx.org/licenses/{name}.html"
