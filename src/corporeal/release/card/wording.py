"""The words of a card: text from outside made harmless, figures, licences, what to beware of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from corporeal.quality.check import title_of
from corporeal.release.card.facts import UNKNOWN, CardFacts, CardShare, StreamFacts, TaskFacts
from corporeal.words import counted

_MOST_LETTERS = 240
# What Markdown and HTML act on; an underscore inside a word does nothing.
_ACTIVE = re.compile(r"[\\`*\[\]<>&|~$\"'{}@]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.", re.IGNORECASE)
_AT_START = re.compile(r"^(?:[#+=>!-]|\d+(?=[.)]))")


def plain(text: str, *, most: int = _MOST_LETTERS) -> str:
    """Words for a sentence or a cell: one line, no markup, no links, not too long."""
    line = _ACTIVE.sub(_entity, one_line(text, most=most))
    return _AT_START.sub(lambda found: "".join(f"&#{ord(each)};" for each in found[0]), line)


def code(text: str, *, most: int = _MOST_LETTERS) -> str:
    """A name as code. Nothing acts inside of it but a backtick, which becomes an apostrophe."""
    line = one_line(text, most=most).replace("`", "'")
    return f"`{line}`" if line else ""


def one_line(text: str, *, most: int = _MOST_LETTERS) -> str:
    """Text without line breaks, control characters and marks that turn the direction around."""
    seen = "".join(" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text)
    line = " ".join(seen.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table; the cells are Markdown already. Columns with these numbers are set to the right."""
    numbers = set(right)
    rules = ["---:" if number in numbers else "---" for number in range(len(heads))]
    lines = [list(heads), rules, *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def _cell(text: str) -> str:
    """A bar would end the cell, even inside code."""
    return text.replace("|", r"\|")


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


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
    told = [f"{plain(share.name, most=80)} {100 * share.episodes / max(1, total):.0f} %"
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


# Nobody should have made more than the first share; a task or place above the second dominates.
_MOST_OF_ONE, _DOMINATES = 0.30, 0.80
_FIELDS = {"recorded_ns": "time of recording", "duration_s": "duration", "success": "outcome"}
_MOST_FINDINGS = 12


def limitations(facts: CardFacts) -> Iterator[str]:
    """What is missing, and what checks found that is still in the release."""
    for finding in facts.findings[:_MOST_FINDINGS]:
        yield (
            f"{_part(finding.episodes, facts)} with the finding {title_of(finding.check)} "
            f"({finding.severity})."
        )
    if len(facts.findings) > _MOST_FINDINGS:
        yield f"Findings of {len(facts.findings) - _MOST_FINDINGS} more checks."
    for hole in facts.holes:
        field = _FIELDS.get(hole.field, hole.field)
        yield f"{_part(hole.episodes, facts)} without a stated {field}."
    for stream in facts.streams:
        if stream.episodes < facts.episodes:
            missing = facts.episodes - stream.episodes
            yield f"{_part(missing, facts)} without the stream {stream.path}."
    if facts.erased:
        yield f"{_part(facts.erased, facts)} erased since the release was made."
    if facts.licence is None:
        yield "No licence is stated."


def biases(facts: CardFacts) -> Iterator[str]:
    """What there is more of than the rest: people, tasks, places, robots."""
    for share in facts.operators:
        if share.name != UNKNOWN and share.episodes > _MOST_OF_ONE * facts.episodes:
            cent = 100 * share.episodes / facts.episodes
            yield f"One person ({share.name}) made {cent:.0f} % of it."
    kinds: Mapping[str, Sequence[CardShare | TaskFacts]] = {
        "task": facts.tasks,
        "station": facts.stations,
        "environment": facts.environments,
        "robot": facts.robots,
    }
    for kind, shares in kinds.items():
        named = [share for share in shares if share.name != UNKNOWN]
        if len(named) == 1:
            yield f"Every stated {kind} is the same: {named[0].name}."
        elif named and named[0].episodes > _DOMINATES * facts.episodes:
            part = named[0].episodes / facts.episodes
            yield f"The {kind} {named[0].name} makes up {100 * part:.0f} % of it."


def _part(episodes: int, facts: CardFacts) -> str:
    share = episodes / max(1, facts.episodes)
    told = "under 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
    return f"{counted(episodes, 'episode')} ({told})"
